"""Networks under parity and odds: loops with constraints beside other libraries'."""
