"""Parts of the multiplier model: its network, its steps."""
