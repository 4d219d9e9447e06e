"""A checkpoint is of one problem and one method: told by what they do, not by what they are called."""

import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Point, Problem, sets, solve
from equipoise.run import CheckpointError
from equipoise.run._content import content
from equipoise.run._identity import Measured, difference
from equipoise.run._probes import DISTANCES, identify
from equipoise.solvers import IQRC, Averaged, Constant, StepRule, SwitchingSubgradient

START = [0.5, 0.5]


def problem(
    objective=lambda x: (x[0], np.array([1.0, 0.0])),
    constraint=lambda x: (x @ x - 2.0, 2 * x),
    domain=None,
    facts=None,
    names=("disc",),
):
    domain = domain or sets.Box(-3, 3, dim=2)
    return FunctionProblem(
        objective, [constraint], domain=domain, facts=facts or Facts(), names=names
    )


def bump(x, height):
    """Nothing but for a smooth bump that is far from the start."""
    distance = max(0.0, 1.0 - float((x - 2.0) @ (x - 2.0)))
    return height * distance**2, -4 * height * distance * (x - 2.0)


OTHERS = {
    "equal values at the start": {"objective": lambda x: (x[1], np.array([0.0, 1.0]))},
    "equal values, other gradient": {"objective": lambda x: (1.0 - x[0], np.array([-1.0, 0.0]))},
    "equal to first order at the start": {
        "objective": lambda x: (
            x[0] + (x - 0.5) @ (x - 0.5),
            np.array([1.0, 0.0]) + 2 * (x - 0.5),
        )
    },
    "a constraint with equal values": {
        "constraint": lambda x: (4 * x[0] * x[1] - 2.5, 4 * x[::-1])
    },
    "a bound": {"constraint": lambda x: (x @ x - 2.0001, 2 * x)},
    "a larger domain": {"domain": sets.Box(-3, 4, dim=2)},
    "another kind of domain": {"domain": sets.L2Ball(3.0, center=[0.0, 0.0])},
    "facts": {"facts": Facts(convex=True)},
    "names": {"names": ("ball",)},
}


@pytest.mark.parametrize("change", OTHERS)
def test_another_problem_is_refused(change, tmp_path):
    path = tmp_path / "run"
    solve(problem(), "switching", START, max_steps=5, checkpoint=path)
    with pytest.raises(CheckpointError, match="belongs to another run: its problem is"):
        solve(problem(**OTHERS[change]), "switching", START, max_steps=9, checkpoint=path)
    assert solve(problem(), "switching", START, max_steps=9, checkpoint=path).nit == 9


def test_a_changed_closure_is_refused(tmp_path):
    def with_target(target):
        return problem(objective=lambda x: ((x - target) @ (x - target), 2 * (x - target)))

    path, target = tmp_path / "run", np.array([1.0, 2.0])
    solve(with_target(target), "switching", START, max_steps=5, checkpoint=path)
    solve(with_target(target.copy()), "switching", START, max_steps=6, checkpoint=path)
    with pytest.raises(CheckpointError, match="list of values at the start and around it"):
        solve(with_target(target[::-1]), "switching", START, max_steps=9, checkpoint=path)


def test_what_no_probe_sees_is_seen_at_the_best_point(tmp_path):
    """The functions differ only around the point that the run has reached."""

    def with_bump(height):
        def objective(x):
            value, gradient = bump(x, height)
            return -x.sum() + value, -np.ones(2) + gradient

        return problem(objective, lambda x: (x @ x - 8.0, 2 * x), names=("disc",))

    path, start = tmp_path / "run", [-2.0, -2.0]
    solver = SwitchingSubgradient(step_size=Constant(0.05), slack=Constant(1e-3))
    result = solve(with_bump(0.0), solver, start, max_steps=400, checkpoint=path)
    assert bump(result.x, 1.0)[0] > 0.1
    one, other = (identify(with_bump(h), solver, np.array(start), 0, 6) for h in (0.0, 1e-3))
    assert difference(one, other) is None
    with pytest.raises(CheckpointError, match="the values at its best point are"):
        solve(with_bump(1e-3), solver, start, max_steps=500, checkpoint=path)


class Batches(Problem):
    """Mini-batches that differ by their size only."""

    dim, n_constraints, names = 2, 0, ()
    domain = sets.Box(-3, 3, dim=2)
    facts = Facts(stochastic=True)

    def __init__(self, size, shift=0.0):
        self.size, self.shift = size, shift

    def at(self, x):
        y = x - self.shift
        return Point(x, np.array([float(y @ y)]), lambda w: 2 * w[0] * y)

    def sample(self, rng):
        return Batches(self.size, rng.normal(size=self.size).mean())


def test_other_mini_batches_are_refused(tmp_path):
    path = tmp_path / "run"
    solve(Batches(10), "switching", START, max_steps=5, checkpoint=path)
    with pytest.raises(CheckpointError, match="its problem is another"):
        solve(Batches(20), "switching", START, max_steps=9, checkpoint=path)


class Falling(StepRule):
    """A user's rule that is no dataclass."""

    def __init__(self, size, power=0.5):
        self.size, self.shape = size, lambda t: (t + 1) ** -power

    def __call__(self, t, gap=None, g=None):
        return self.size * self.shape(t)


@dataclass(frozen=True)
class Longer(StepRule):
    size: float

    def __call__(self, t, gap=None, g=None):
        return self.size


@dataclass(frozen=True)
class Doubled(StepRule):
    size: float

    def __call__(self, t, gap=None, g=None):
        return 2 * self.size


Doubled.__qualname__ = "Longer"
RULES = {
    "another size": (Constant(0.1), Constant(0.11)),
    "an attribute": (Falling(0.1), Falling(0.2)),
    "a closure": (Falling(0.1, power=0.5), Falling(0.1, power=0.6)),
    "the code under one name": (Longer(0.1), Doubled(0.1)),
}


@pytest.mark.parametrize("change", RULES)
def test_other_step_rules_are_refused(change, tmp_path):
    path, rules = tmp_path / "run", RULES[change]
    one, other = (
        Averaged(SwitchingSubgradient(step_size=rule, slack=Constant(1e-3))) for rule in rules
    )
    solve(problem(), one, START, max_steps=5, checkpoint=path)
    with pytest.raises(CheckpointError, match="its solver is another: solver, step_size"):
        solve(problem(), other, START, max_steps=9, checkpoint=path)
    assert solve(problem(), one, START, max_steps=9, checkpoint=path).nit == 9


def test_rounding_is_not_another_problem():
    """Last digits differ between threads and BLAS libraries; the same for what is 0 but for rounding."""
    one = identify(problem(), IQRC(), np.array(START), 0, 6)
    noise = 1 + 1e-13
    shaken = problem(
        lambda x: (x[0] * noise + 1e-16, np.array([1.0, 1e-15])),
        lambda x: ((x @ x - 2.0) * noise, 2 * x * noise),
        sets.Box(-3, 3 * noise, dim=2),
    )
    other = identify(shaken, IQRC(), np.array(START) * noise, 0, 6)
    assert difference(one, other) is None
    assert Measured(np.array([[1.0, 0.0]])).agrees(Measured(np.array([[1.0, 1e-14]])))
    assert not Measured(np.array([[1.0, 0.0]])).agrees(Measured(np.array([[1.0, 1e-6]])))
    assert not Measured(np.array([[np.nan]])).agrees(Measured(np.array([[1.0]])))
    assert Measured(np.array([[np.nan, 1.0]])).agrees(Measured(np.array([[np.nan, 1.0]])))


def test_probing_is_not_counted_and_survives_functions_that_raise(tmp_path):
    calls = []

    def picky(x):
        calls.append(x)
        if abs(x).max() > 0.9:
            raise ZeroDivisionError("not here")
        return x[0], np.array([1.0, 0.0])

    free = FunctionProblem(picky, dim=2)
    with_file = solve(free, "switching", [0.1, 0.1], max_steps=1, checkpoint=tmp_path / "run")
    asked = len(calls)
    without = solve(free, "switching", [0.1, 0.1], max_steps=1)
    assert (with_file.nfev, with_file.njev) == (without.nfev, without.njev)
    assert asked - (len(calls) - asked) == 1 + len(DISTANCES)
    again = solve(free, "switching", [0.1, 0.1], max_steps=1, checkpoint=tmp_path / "run")
    assert again.nit == 1


CHILD = """
from tests.core.test_checkpoint_identity import RULES, problem
from equipoise._storage.container import pack
from equipoise.run._probes import identify
from equipoise._storage.storable import storable_types
from equipoise.solvers import SwitchingSubgradient
import hashlib, numpy as np
for rule, _ in RULES.values():
    made = identify(problem(), SwitchingSubgradient(step_size=rule), np.array([0.5, 0.5]), 0, 6)
    print(hashlib.sha256(b"".join(pack(made, storable_types()))).hexdigest())
"""


def test_the_same_in_every_process():
    out = {subprocess.check_output([sys.executable, "-c", CHILD], text=True) for _ in range(2)}
    assert len(out) == 1


def test_content_ends_where_objects_hold_themselves():
    loop = [1.0]
    loop.append(loop)
    assert content(loop) == [1.0, "itself"]
    rule = Falling(0.1)
    rule.me = rule
    assert content(rule)["me"] == "itself"
    assert content(replace(Constant(0.1), size=2.0)) == {"type": "Constant", "size": 2.0}
