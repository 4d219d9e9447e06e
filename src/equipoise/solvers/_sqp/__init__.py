"""Parts of sequential quadratic programming."""
