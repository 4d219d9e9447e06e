"""A network under a bound for hundreds of overlapping groups: PLADA and the multiplier model."""
