"""No tensor is made elsewhere than where the data are.

PyTorch puts a tensor that is made without a device on its default device. Here that is "meta", which holds
no numbers, and the data are on the CPU: whatever is made without a device cannot be computed with.
"""

import numpy as np
import pytest

from equipoise import demographic_parity, solve
from equipoise.constraints import CONSTRAINTS, bind
from equipoise.models import LinearModel, MultiClassLinearModel
from equipoise.problems import LearningProblem
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
