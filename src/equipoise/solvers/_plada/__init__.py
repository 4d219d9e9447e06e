"""Parts of PLADA: its primal steps, their step sizes, its reduced Lagrangian."""
