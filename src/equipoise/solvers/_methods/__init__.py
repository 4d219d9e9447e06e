"""The registered methods, one file each; `equipoise.solvers._registry` lists them."""
