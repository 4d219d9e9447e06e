"""Parts of IQRC: what it takes from its oracle and from the problem."""
