"""Parts of the bundle method with planes of the constraints."""
