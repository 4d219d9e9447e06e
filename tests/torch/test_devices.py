"""No tensor is made elsewhere than where the data are, and no rows are taken to the host.

PyTorch puts a tensor that is made without a device on its default device. Here that is "meta", which holds
no numbers, and the data are on the CPU: whatever is made without a device cannot be computed with. What takes
a tensor to NumPy is replaced by what refuses one with as many numbers as there are rows.
"""

import numpy as np
import pytest

from equipoise import Status, demographic_parity, solve
from equipoise.constraints import CONSTRAINTS, bind, loss_budget
from equipoise.models import LinearModel, MultiClassLinearModel
from equipoise.problems import LearningProblem
from equipoise.solvers import SOLVERS
from equipoise.torch import ModuleModel
from tests.constraints.examples import N, data, example
from tests.terms.examples import EXAMPLES as TERMS

torch = pytest.importorskip("torch")
D = 3


@pytest.fixture
def elsewhere():
    """The default device is another one than that of the data."""
    with torch.device("meta"):
        assert torch.zeros(1).device.type == "meta"
        yield


def here(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape), device="cpu")


def model_of(kind, A):
    if kind == "module":
        return ModuleModel(torch.nn.Linear(D, 1, device="cpu").double(), A)
    return LinearModel(A, scale=np.full(D, 2.0), center=np.ones(D))


def evaluate(model, terms):
    problem = LearningProblem.of(model, terms, l2=0.1)
    x, v, w = here(model.dim), here(model.dim, seed=1), np.ones(terms.n_constraints + 1)
    point = problem.at(x)
    found = [point.vjp(w), point.gradients(range(terms.n_constraints + 1))]
    if point.hvp is not None:
        found.append(point.hvp(w, v))
    assert np.isfinite(point.values).all()
    for tensor in found:
        assert tensor.device.type == "cpu"
        assert bool(tensor.isfinite().all())


@pytest.mark.parametrize("kind", ["linear", "module"])
@pytest.mark.parametrize("name", [n for n in CONSTRAINTS if n != "custom"])
def test_every_constraint(name, kind, elsewhere):
    y, groups, _ = data()
    evaluate(model_of(kind, here(N, D)), bind(example(name), y, groups, best_loss=0.5).terms)


@pytest.mark.parametrize("name", [n for n in TERMS if n not in ("callable", "joined")])
def test_every_term(name, elsewhere):
    make, shape = TERMS[name]
    A = here(shape[0], D)
    evaluate(LinearModel(A) if len(shape) == 1 else MultiClassLinearModel(A, shape[1]), make())


@pytest.mark.parametrize("kind", ["linear", "module"])
def test_a_whole_solve(kind, elsewhere):
    y, groups, _ = data()
    terms = bind(demographic_parity(0.02), y, groups).terms
    problem = LearningProblem.of(model_of(kind, here(N, D)), terms, l2=0.1)
    result = solve(problem, x0=here(D + 1), tol=1e-6)
    assert result.success
    assert result.x.device.type == "cpu"
    assert result.certificate.violation <= 1e-6


@pytest.fixture
def no_rows_to_the_host(monkeypatch):
    """Vectors of parameters may go there, rows and scores may not."""
    for name in ("cpu", "numpy", "__array__", "tolist"):
        taken = getattr(torch.Tensor, name)

        def checked(tensor, *args, taken=taken, name=name, **kwargs):
            assert tensor.numel() < N, f"{name} of {tuple(tensor.shape)}"
            return taken(tensor, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, name, checked)


def problems_here():
    """Rates under a rule, a convex problem with a constraint, and one without."""
    y, groups, _ = data()
    for rules, known in (
        (demographic_parity(0.02), {}),
        (loss_budget(0.1), {"best_loss": 0.5}),
        ([], {}),
    ):
        terms = bind(rules, y, groups, **known).terms
        yield LearningProblem.of(LinearModel(here(N, D)), terms, l2=0.1)


def runnable(method):
    """A problem on which a method runs, whose facts are known; None where there is none of them."""
    for problem in problems_here():
        if not any(need.missing(problem, None) for need in SOLVERS[method]().needs):
            return problem
    return None


def test_all_methods_but_those_for_pairs_run_on_one_of_the_problems():
    assert {method for method in SOLVERS if runnable(method) is None} == {"sfls", "smd"}


@pytest.mark.parametrize("method", [m for m in SOLVERS if m not in ("sfls", "smd")])
def test_every_method_stays_where_the_rows_are(method, elsewhere, request):
    problem = runnable(method)
    if method not in (
        "augmented_newton",
        "smoothing",
    ):  # sketches of curvature: of so few, all rows
        request.getfixturevalue("no_rows_to_the_host")
    result = solve(problem, method, here(D + 1), max_steps=30, tol=1e-9)
    assert result.x.device.type == "cpu"
    assert bool(result.x.isfinite().all())
    assert result.status is not Status.NON_FINITE, result.message
