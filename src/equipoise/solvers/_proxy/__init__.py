"""Parts of the proxy-Lagrangian method: the players of its game, the choice of an output."""
