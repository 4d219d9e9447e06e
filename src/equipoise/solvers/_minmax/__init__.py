"""Methods that minimise the largest of convex functions; the level-set method calls them."""
