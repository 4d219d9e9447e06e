"""A hunt for wrong claims: random problems, and a judge that shares nothing with the library."""
