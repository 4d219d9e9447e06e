"""Scripts that write pages of the documentation."""
