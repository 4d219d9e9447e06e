"""Problems and what is asked of them."""

import numpy as np

from equipoise import (
    Facts,
    FunctionProblem,
    certify,
    check_problem,
    near_stationarity,
    problems,
    sets,
)
from equipoise.certificate import diagnose, examine, near_kinks, near_planes, near_within
from equipoise.models import LinearModel
from equipoise.problems import Lagrangian
from equipoise.rows import MemorySums
from tests.inputs.examples.shared import FACTS, GROUPS, MODEL, PROBLEM, TERMS, X, Y, half_square
from tests.inputs.zoo import (
    also,
    count,
    flag,
    function,
    kind,
    non_negative,
    optional,
    positive,
    real,
    strict,
    told_as,
)

DOMAIN = sets.L2Ball(1.0)
AT = np.array([0.5, 0.0])
domain = optional(strict(DOMAIN))
x, problem = strict(AT), strict(PROBLEM)
fact = optional(flag(True))
size = optional(also(non_negative(1.0), "inf"))  # no finite bound
facts = optional(strict(FACTS))
names = optional(strict(("one",)))
multipliers = optional(strict(np.array([0.5])))


def linear(x):
    """``x_1`` and its gradient."""
    return float(x[0]), np.array([1.0, 0.0])


def tensor(x):
    """Two values of a tensor."""
    return x


EXAMPLES = {
    "Facts": (
        Facts,
        {
            "smooth": fact,
            "convex_constraints": fact,
            "convex": fact,
            "weak_convexity": size,
            "smoothness": size,
            "lipschitz": size,
            "lower_bound": optional(real(0.0)),
            "stochastic": flag(False),
            "rounding": non_negative(1e-16),
        },
    ),
    "FunctionProblem": (
        FunctionProblem,
        {
            "objective": function(half_square),
            "constraints": told_as(
                also(strict([linear]), "function", "class"), "names"
            ),  # a single one
            "domain": domain,
            "dim": count(2),
            "names": names,
            "facts": facts,
        },
    ),
    "check_problem": (
        check_problem,
        {
            "problem": problem,
            "x": x,
            "directions": count(1),
            "tol": positive(1e-5),
            "seed": count(0),
        },
    ),
    "certify": (
        certify,
        {
            "problem": problem,
            "x": x,
            "multipliers": multipliers,
            "active_within": non_negative(0.1),
            "second_order": flag(True),
        },
    ),
    "near_stationarity": (
        near_stationarity,
        {
            "problem": problem,
            "x": x,
            "rho_hat": positive(1.0),
            "rho": told_as(optional(kind("half")(0.0)), "rho_hat"),  # must be below it
            "tol": positive(1e-3),
        },
    ),
    "certificate.examine": (
        examine,
        {
            "problem": problem,
            "point": strict(PROBLEM.at(AT)),
            "multipliers": multipliers,
            "active_within": non_negative(0.1),
        },
    ),
    "certificate.diagnose": (diagnose, {"problem": problem, "point": strict(PROBLEM.at(AT))}),
    "certificate.near_within": (
        near_within,
        {"problem": problem, "x": x, "tol": positive(1e-3), "rounds": count(2)},
    ),
    "certificate.near_planes": (
        near_planes,
        {"problem": problem, "x": x, "tol": positive(1e-3), "rounds": count(2)},
    ),
    "certificate.near_kinks": (near_kinks, {"problem": problem, "x": x, "tol": positive(1e-3)}),
    "problems.QuadraticProblem": (
        problems.QuadraticProblem,
        {
            "P": strict(np.stack([np.eye(2), np.eye(2)])),
            "q": strict(np.zeros((2, 2))),
            "c": strict(np.zeros(2)),
            "domain": strict(DOMAIN),
            "names": names,
        },
    ),
    "problems.LearningProblem": (
        problems.LearningProblem,
        {
            "rows": strict(MemorySums(MODEL, TERMS.sums)),
            "combination": strict(TERMS.combination),
            "domain": domain,
            "l2": non_negative(0.1),
            "facts": facts,
            "names": optional(also(strict(()), "empty list", "empty array")),  # no constraints
            "batch": optional(count(5)),
        },
    ),
    "problems.AbsoluteProblem": (
        problems.AbsoluteProblem,
        {"base": problem, "bound": non_negative(1.0)},
    ),
    "problems.ProxyProblem": (
        problems.ProxyProblem,
        {"surrogate": problem, "true_constraints": function(lambda problem, x: np.zeros(1))},
    ),
    "problems.DrawnConstraints": (
        problems.DrawnConstraints,
        {"base": problem, "count": count(1)},
    ),
    "problems.ProximalProblem": (
        problems.ProximalProblem,
        {"base": problem, "center": x, "rho_hat": non_negative(1.0), "constraints": flag(True)},
    ),
    "problems.MeritProblem": (
        problems.MeritProblem,
        {"base": problem, "merit": strict(Lagrangian(np.array([0.5])))},
    ),
}
reachable = {
    "kind": strict("group"),
    "kappa": non_negative(0.05),
    "c1": told_as(kind("half")(0.5), "kappa"),  # a larger one puts it out of reach
    "c2": told_as(kind("half")(1.0), "kappa"),
    "domain": strict(DOMAIN),
}
STREAM = problems.AUCStream(2, domain=DOMAIN, interval=1.0)
EXAMPLES |= {
    "problems.AUCFairness": (
        problems.AUCFairness,
        {
            "model": strict(LinearModel(X, intercept=False)),
            "labels": strict(Y),
            "groups": strict(GROUPS),
            **reachable,
            "interval": optional(positive(1.0)),
            "batch": optional(count(5)),
        },
    ),
    "problems.AUCStream": (
        problems.AUCStream,
        {
            "dim": count(2),
            **reachable,
            "interval": positive(1.0),
            "counts": optional(strict([1, 2, 3, 4])),
        },
    ),
    "problems.AUCStream.feed": (
        STREAM.feed,
        {"row": strict([1.0, 2.0]), "positive": flag(True), "member": flag(False)},
    ),
}
of_tensors = {
    "function": function(tensor),
    "dim": count(2),
    "n_constraints": count(1),
    "domain": domain,
    "names": names,
    "facts": facts,
}
lam = also(strict([0.5]), "empty list", "empty array", "long array")  # of another problem
EXAMPLES |= {
    "problems.Lagrangian": (Lagrangian, {"lam": lam}),
    "problems.AugmentedLagrangianMerit": (
        problems.AugmentedLagrangianMerit,
        {"lam": lam, "b": positive(1.0)},
    ),
    "problems.QuadraticPenalty": (problems.QuadraticPenalty, {"b": positive(1.0)}),
    "problems.Maximum": (problems.Maximum, {"level": also(real(0.0), "inf")}),
    "problems.TorchProblem": (problems.TorchProblem, of_tensors),
    "problems.JaxProblem": (problems.JaxProblem, of_tensors),
}
