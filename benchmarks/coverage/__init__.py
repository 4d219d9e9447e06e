"""Whether promises and intervals hold as often as they say: data sets taken as populations."""
