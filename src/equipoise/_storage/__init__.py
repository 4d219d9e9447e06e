"""How checkpoints and models are stored: what may be, as which text, in which bytes, in a file."""
