"""Every method goes on from its checkpoint as if it had never stopped, wherever it did."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
import pytest

from equipoise import FunctionProblem, Point, Problem, Status, sets, solve
from equipoise._storage.container import pack
from equipoise._storage.storable import storable_types
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.run import CheckpointError
from equipoise.solvers import (
    SOLVERS,
    Averaged,
    BestCertified,
    Restarted,
    Sequence,
    Solver,
    SwitchingSubgradient,
    UnsuitableSolverError,
)
from tests.solvers.auc_instance import instance

WRAPPED = {
    "averaged": Averaged(SOLVERS["switching"]()),
    "best certified": BestCertified(SOLVERS["augmented_lagrangian"](), every=7),
    "restarted": Restarted(SOLVERS["conex"](), every=5),
    "sequence": Sequence(SOLVERS["smoothing"](), SOLVERS["level_set"](), steps=9),
    "nested": Averaged(Restarted(Sequence(SOLVERS["sp_lm"](), SOLVERS["switching"](), steps=4))),
}
FREE = QuadraticProblem([np.diag([1.0, 30.0])], [[1.0, -2.0]], [0.0], sets.Box(-9, 9, dim=2))
PROBLEMS = [(make().problem, make().start) for make in REFERENCES.values()]
PROBLEMS.append((FREE, np.array([5.0, 3.0])))
PROBLEMS.append((instance(), np.zeros(3)))  # with a min-max form
METHODS = {name: make() for name, make in SOLVERS.items()} | WRAPPED


def same(one, two, solver):
    """Whether states are the same to the last bit, and so are the counts."""
    types = storable_types(solver)
    written = [b"".join(pack(result.state, types)) for result in (one, two)]
    assert written[0] == written[1]
    counts = [(r.nit, r.nfev, r.njev, r.nhev, r.status) for r in (one, two)]
    assert counts[0] == counts[1]
    np.testing.assert_array_equal(one.x, two.x)


@pytest.mark.parametrize("name", METHODS)
def test_wherever_it_stops(name, tmp_path):
    """Four stops at random steps, and then to the end."""
    solver, resumed_anywhere = METHODS[name], False
    steps = np.random.default_rng(len(name)).integers(1, 60, size=4)
    for number, (problem, start) in enumerate(PROBLEMS):
        options = {"solver": solver, "x0": start, "seed": 5}
        try:
            whole = solve(problem, max_steps=60, **options)
        except UnsuitableSolverError:
            continue
        path = tmp_path / f"{number}.checkpoint"
        for stop in sorted(steps):
            solve(problem, max_steps=int(stop), checkpoint=path, **options)
        same(solve(problem, max_steps=60, checkpoint=path, **options), whole, solver)
        resumed_anywhere = True
    assert resumed_anywhere


class Mood(Enum):
    CALM = 1
    WILD = 2


@dataclass(frozen=True)
class Part:
    mean: np.ndarray
    mood: Mood


@dataclass(frozen=True)
class OwnState:
    x: np.ndarray
    parts: tuple[Part, ...]
    history: list
    known: dict
    big: int
    single: np.float32


@dataclass(frozen=True)
class Own(Solver[OwnState]):
    """A user's own method, with a state of many kinds of values."""

    name = "own"

    def init(self, problem, x0):
        part = Part(np.asfortranarray(np.eye(2, 3)), Mood.CALM)
        return OwnState(x0, (part,), [], {1: x0, "best": np.inf}, 2**70, np.float32(0.1))

    def step(self, problem, state, t, rng):
        x = problem.domain.project(state.x - 0.01 * problem.at(state.x).gradient(0))
        x = x + 1e-3 * rng.normal(size=x.size)
        part = Part(state.parts[-1].mean + x[0], Mood.WILD)
        known = {1: x, "best": min(state.known["best"], float(x @ x))}
        return OwnState(
            x,
            (*state.parts[-2:], part),
            [*state.history[-5:], (t, None, True)],
            known,
            state.big + 1,
            state.single * np.float32(1.1),
        )

    def output(self, state):
        return state.x, None


def quadratic():
    return FunctionProblem(lambda x: (float(x @ x), 2 * x), dim=2)


def test_a_users_own_method_resumes_too(tmp_path):
    path = tmp_path / "run"
    solve(quadratic(), Own(), [1.0, 2.0], max_steps=13, checkpoint=path)
    resumed = solve(quadratic(), Own(), [1.0, 2.0], max_steps=40, checkpoint=path)
    same(resumed, solve(quadratic(), Own(), [1.0, 2.0], max_steps=40), Own())
    assert resumed.state.parts[0].mean.flags.f_contiguous
    assert type(resumed.state.single) is np.float32
    assert resumed.state.known[1] is resumed.state.x  # one array stays one array


def test_a_method_made_inside_a_function_resumes_too(tmp_path):
    @dataclass(frozen=True)
    class Inside:
        x: np.ndarray
        k: int

    @dataclass(frozen=True)
    class Local(Solver[Inside]):
        name = "local"

        def init(self, problem, x0):
            return Inside(x0, 0)

        def step(self, problem, state, t, rng):
            return Inside(0.9 * state.x, state.k + 1)

        def output(self, state):
            return state.x, None

    path = tmp_path / "run"
    solve(quadratic(), Averaged(Local()), [1.0, 2.0], max_steps=3, checkpoint=path)
    resumed = solve(quadratic(), Averaged(Local()), [1.0, 2.0], max_steps=9, checkpoint=path)
    assert resumed.state.inner.k == 9


@pytest.mark.parametrize("single", [False, True])
def test_a_run_on_tensors(tmp_path, single):
    torch = pytest.importorskip("torch")
    problem, path = REFERENCES["convex"]().problem, tmp_path / "run"
    start = torch.tensor([0.0, 2.0], dtype=torch.float32 if single else torch.float64)
    solver = SwitchingSubgradient()

    class OnTensors(Problem):
        dim, n_constraints, names = 2, 1, ("disc",)
        domain = problem.domain

        def at(self, x):
            values = np.array([float(x[0]), float(x @ x) - 4.0])
            objective = torch.tensor([1.0, 0.0], dtype=x.dtype)
            return Point(x, values, lambda w: w[0] * objective + w[1] * 2 * x)

    solve(OnTensors(), solver, start, max_steps=10, checkpoint=path)
    resumed = solve(OnTensors(), solver, start, max_steps=30, checkpoint=path)
    whole = solve(OnTensors(), solver, start, max_steps=30)
    assert resumed.state.x.dtype == start.dtype
    assert torch.equal(resumed.state.x, whole.state.x)
    with pytest.raises(CheckpointError):
        solve(OnTensors(), solver, start.numpy(), max_steps=30, checkpoint=path)


def test_the_end_of_a_run_is_not_run_again(tmp_path):
    reference, path = REFERENCES["convex"](), tmp_path / "run"
    first = solve(reference.problem, "auto", reference.start, tol=1e-6, checkpoint=path)
    again = solve(reference.problem, "auto", reference.start, tol=1e-6, checkpoint=path)
    assert first.status is again.status is Status.CONVERGED
    assert (again.nit, again.nfev) == (first.nit, first.nfev)
