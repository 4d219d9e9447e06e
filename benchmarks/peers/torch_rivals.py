"""PyTorch's libraries for constraints on a Problem: Cooper and humancompatible-train.

They are given Equipoise's evaluations (one product with the data forward, one backward), so what
differs is the method, not the arithmetic.
"""

from __future__ import annotations

import numpy as np
import torch

PRIMAL_STEP = 1e-2  # of Adam


def evaluator(problem):
    """Return ``x -> values`` as a PyTorch function with a gradient."""

    class Values(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.point = problem.at(x.detach().numpy().copy())
            return torch.from_numpy(np.array(ctx.point.values))

        @staticmethod
        def backward(ctx, weights):
            return torch.from_numpy(ctx.point.vjp(weights.numpy()))

    return Values.apply


def cooper(problem, watch, lr, steps):
    """The Lagrangian of Cooper's README: Adam for x, gradient ascent for the multipliers."""
    import cooper as library

    values = evaluator(problem)
    x = torch.zeros(problem.dim, dtype=torch.float64, requires_grad=True)

    class Constrained(library.ConstrainedMinimizationProblem):
        def __init__(self):
            super().__init__()
            multiplier = library.multipliers.DenseMultiplier(
                num_constraints=problem.n_constraints, dtype=torch.float64
            )
            self.bounds = library.Constraint(
                multiplier=multiplier, constraint_type=library.ConstraintType.INEQUALITY
            )

        def compute_cmp_state(self):
            f = values(x)
            return library.CMPState(
                loss=f[0], observed_constraints={self.bounds: library.ConstraintState(f[1:])}
            )

    constrained = Constrained()
    optimizer = library.optim.SimultaneousOptimizer(
        cmp=constrained,
        primal_optimizers=torch.optim.Adam([x], lr=PRIMAL_STEP),
        dual_optimizers=torch.optim.SGD(constrained.dual_parameters(), lr=lr, maximize=True),
    )
    for _ in range(steps):
        optimizer.roll()
        watch.see(x.detach().numpy())
    return f"{steps} steps"


def humancompatible(problem, watch, lr, steps):
    """Its augmented Lagrangian (penalty 1, inequality constraints) with Adam, as its README shows."""
    from humancompatible.train.dual_optim import ALM

    values = evaluator(problem)
    x = torch.zeros(problem.dim, dtype=torch.float64, requires_grad=True)
    duals = torch.zeros(problem.n_constraints, dtype=torch.float64)
    dual = ALM(lr=lr, penalty=1.0, is_ineq=True, init_duals=duals)
    optimizer = torch.optim.Adam([x], lr=PRIMAL_STEP)
    for _ in range(steps):
        f = values(x)
        dual.forward_update(f[0], f[1:]).backward()
        optimizer.step()
        optimizer.zero_grad()
        watch.see(x.detach().numpy())
    return f"{steps} steps"
