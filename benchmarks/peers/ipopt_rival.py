"""IPOPT, of CasADi's wheel, on a Problem: with gradients alone, as SLSQP has them."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.scipy_rivals import Shared

# The pairs of steps and gradients in its Hessian. Measured on a9a: with the default 6, or 20, it is not at
# 1e-6 after 500 steps, with 50 it is.
HISTORY = 50

OPTIONS = {
    "ipopt.hessian_approximation": "limited-memory",
    "ipopt.limited_memory_max_history": HISTORY,
    "ipopt.max_iter": 500,
    "ipopt.print_level": 0,
    "ipopt.sb": "yes",
    "print_time": False,
}


def ipopt(problem, watch, **options):
    """Run it with `OPTIONS`, changed by `options`, whose names lack "ipopt."."""
    import casadi

    shared, d, m = Shared(problem), problem.dim, problem.n_constraints

    class Values(casadi.Callback):
        """``x`` to the objective and the constraints."""

        def __init__(self):
            casadi.Callback.__init__(self)
            self.construct("values", {})

        def get_sparsity_in(self, _):
            return casadi.Sparsity.dense(d, 1)

        def get_sparsity_out(self, _):
            return casadi.Sparsity.dense(m + 1, 1)

        def eval(self, inputs):
            return [shared.at(np.array(inputs[0]).ravel()).values]

        def has_jacobian(self):
            return True

        def get_jacobian(self, name, _inputs, _outputs, options):
            self.derivative = Jacobian(name, options)  # CasADi keeps no reference to it
            return self.derivative

    class Jacobian(casadi.Callback):
        """``x`` and the values there to the gradients of all functions."""

        def __init__(self, name, options):
            casadi.Callback.__init__(self)
            self.construct(name, options)

        def get_n_in(self):
            return 2

        def get_sparsity_in(self, i):
            return casadi.Sparsity.dense(d if i == 0 else m + 1, 1)

        def get_sparsity_out(self, _):
            return casadi.Sparsity.dense(m + 1, d)

        def eval(self, inputs):
            x = np.array(inputs[0]).ravel()
            return [np.vstack([shared.gradient(x, 0), shared.jacobian(x)])]

    class Seen(casadi.Callback):
        """What is called after every step."""

        def __init__(self):
            casadi.Callback.__init__(self)
            self.construct("seen", {})

        def get_n_in(self):
            return casadi.nlpsol_n_out()

        def get_name_in(self, i):
            return casadi.nlpsol_out(i)

        def get_sparsity_in(self, i):
            sizes = {"x": d, "lam_x": d, "f": 1, "g": m, "lam_g": m}
            return casadi.Sparsity.dense(sizes.get(casadi.nlpsol_out(i), 0), 1)

        def eval(self, inputs):
            watch.see(np.array(inputs[0]).ravel())
            return [0]

    x = casadi.MX.sym("x", d)
    values, seen = Values(), Seen()
    f = values(x)
    asked = OPTIONS | {f"ipopt.{name}": value for name, value in options.items()}
    asked["iteration_callback"] = seen
    solver = casadi.nlpsol("ipopt", "ipopt", {"x": x, "f": f[0], "g": f[1:]}, asked)
    watch.restart()
    answer = solver(x0=np.zeros(d), lbg=-np.inf, ubg=0.0)
    watch.see(np.array(answer["x"]).ravel())
    steps = solver.stats()["iter_count"]
    return f"{steps} steps, {shared.evaluations} values, {shared.gradients} gradients"
