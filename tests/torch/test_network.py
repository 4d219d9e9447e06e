"""Networks as models: derivatives, precision, mini-batches, what is frozen, and training."""

import pickle

import numpy as np
import pytest

from equipoise import auc, demographic_parity, solve
from equipoise.constraints import bind
from equipoise.datasets import make_census
from equipoise.problems import LearningProblem, check_problem
from equipoise.sets import L2Ball
from equipoise.solvers import PLADA, YuNeelyWei
from equipoise.torch import ModuleModel

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

N, D, H = 60, 3, 4


def network(*middle, dtype=torch.float64, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(D, H), *(middle or [nn.Tanh()]), nn.Linear(H, 1)).to(dtype)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_derivatives_are_those_of_finite_differences(rng):
    model = ModuleModel(network(), rng.normal(size=(N, D)))
    x, v, g = model.start, rng.normal(size=model.dim), rng.normal(size=N)
    point, h = model.at(x), 1e-5
    ahead, behind = model.at(x + h * v), model.at(x - h * v)
    change = (ahead.scores - behind.scores) / (2 * h)
    np.testing.assert_allclose(point.push(v), change, rtol=1e-7, atol=1e-8)
    assert point.pull(g) @ v == pytest.approx(g @ change, rel=1e-7)
    bent = (ahead.pull(g) - behind.pull(g)) / (2 * h)
    np.testing.assert_allclose(point.bend(g, v), bent, rtol=1e-6, atol=1e-8)
    matrix = rng.normal(size=(N, 2))
    np.testing.assert_allclose(point.pull_each(matrix), [point.pull(c) for c in matrix.T])


def test_products_are_those_of_autograd_on_the_whole_function(rng):
    net, X, g = network(), rng.normal(size=(N, D)), rng.normal(size=N)
    model = ModuleModel(net, X)
    v = rng.normal(size=model.dim)

    def weighted(theta):
        parts, start = {}, 0
        for name, p in net.named_parameters():
            parts[name] = theta[start : start + p.numel()].reshape(p.shape)
            start += p.numel()
        scores = torch.func.functional_call(net, parts, (torch.tensor(X),))[:, 0]
        return (torch.tensor(g) * scores).sum()

    theta = torch.tensor(model.start)
    gradient = torch.autograd.functional.jacobian(weighted, theta)
    product = torch.autograd.functional.hvp(weighted, theta, torch.tensor(v))[1]
    np.testing.assert_allclose(model.at(model.start).pull(g), gradient, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(model.at(model.start).bend(g, v), product, rtol=1e-11, atol=1e-13)


def fair(model, rng, rule=None, **options):
    y, groups = rng.integers(0, 2, model.n_rows), rng.choice(["a", "b"], model.n_rows)
    return LearningProblem.of(
        model, bind(demographic_parity(0.02) if rule is None else rule, y, groups).terms, **options
    )


@pytest.mark.parametrize("rule", [demographic_parity(0.02), auc() >= 0.6])
def test_a_whole_problem_passes_the_check(rule, rng):
    problem = fair(ModuleModel(network(), rng.normal(size=(N, D))), rng, rule, l2=0.1)
    check_problem(problem, rng.normal(size=problem.dim)).raise_if_wrong()


@pytest.mark.parametrize("given", [np.float32, np.float64, torch.float32, torch.float64])
@pytest.mark.parametrize("inside", [torch.float32, torch.float64, torch.bfloat16])
def test_any_precision_is_converted_and_comes_back_in_that_of_x(given, inside, rng):
    model = ModuleModel(network(dtype=inside), rng.normal(size=(N, D)))
    x, v, g = model.start, rng.normal(size=model.dim), rng.normal(size=N)
    if isinstance(given, torch.dtype):
        x, v, g = (torch.tensor(a, dtype=given) for a in (x, v, g))
    else:
        x, v, g = (a.astype(given) for a in (x, v, g))
    point = model.at(x)
    for found in (point.scores, point.pull(g), point.push(v), point.bend(g, v)):
        assert isinstance(found, type(x))
        assert found.dtype == given
    assert model.rounding == torch.finfo(inside).eps
    assert model.predicted(model.start).dtype == np.float64
    np.testing.assert_allclose(
        model.predicted(model.start), np.asarray(point.scores, float), rtol=1e-5, atol=1e-6
    )


def test_what_is_given_is_left_alone(rng):
    net, X = network(nn.Tanh(), nn.Dropout(0.5), nn.BatchNorm1d(H)), rng.normal(size=(N, D))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    model = ModuleModel(net, X)
    point = model.at(model.start + 1.0)
    scores, pulled = point.scores.copy(), point.pull(np.ones(N))
    model.at(model.start)
    np.testing.assert_array_equal(model.at(model.start + 1.0).scores, scores)  # dropout is off
    np.testing.assert_array_equal(point.pull(np.ones(N)), pulled)  # of an older point
    assert net.training
    assert all((net.state_dict()[name] == value).all() for name, value in before.items())
    with torch.no_grad():
        net[0].weight.zero_()
    np.testing.assert_array_equal(model.at(model.start + 1.0).scores, scores)


def test_the_module_of_parameters_predicts_what_the_model_does(rng):
    net, X = network(), rng.normal(size=(N, D))
    model = ModuleModel(net, X)
    x = rng.normal(size=model.dim)
    trained = model.module_at(x)
    with torch.no_grad():
        np.testing.assert_array_equal(trained(torch.tensor(X))[:, 0], model.predicted(x))
    assert isinstance(trained, nn.Sequential)
    assert all(p.requires_grad for p in trained.parameters())
    np.testing.assert_array_equal(ModuleModel(trained, X).start, x)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predicted(x), model.predicted(x))


def test_weights_are_penalised_and_biases_are_not():
    model = ModuleModel(network(), np.ones((2, D)))
    np.testing.assert_array_equal(
        model.penalised, np.r_[np.ones(D * H), np.zeros(H), np.ones(H), 0.0]
    )


def test_frozen_parameters_stay_and_tied_ones_count_once(rng):
    net = network()
    net[0].weight.requires_grad_(False)
    model = ModuleModel(net, rng.normal(size=(N, D)))
    assert model.dim == H + H + 1
    np.testing.assert_array_equal(model.module_at(np.zeros(model.dim))[0].weight, net[0].weight)
    tied = nn.Sequential(nn.Linear(D, D), nn.Tanh(), nn.Linear(D, D), nn.Linear(D, 1)).double()
    tied[2].weight = tied[0].weight
    model = ModuleModel(tied, rng.normal(size=(N, D)))
    assert model.dim == D * D + 2 * D + D + 1
    x = rng.normal(size=model.dim)
    both = model.module_at(x)
    assert both[2].weight is both[0].weight
    v, h = rng.normal(size=model.dim), 1e-6
    change = (model.at(x + h * v).scores - model.at(x - h * v).scores) / (2 * h)
    np.testing.assert_allclose(model.at(x).push(v), change, rtol=1e-6, atol=1e-7)


def test_integers_reach_an_embedding(rng):
    codes = torch.tensor(rng.integers(0, 5, size=(N, 2)))
    net = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 1)).double()
    model = ModuleModel(net, codes)
    assert model.smooth
    assert model.at(model.start).pull(np.ones(N)).shape == (5 * 3 + 7,)


@pytest.mark.parametrize("smooth", [nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.Softplus])
@pytest.mark.parametrize("kinked", [nn.ReLU, nn.LeakyReLU, nn.Hardtanh, nn.PReLU])
def test_kinks_are_seen(smooth, kinked):
    X = np.ones((2, D))
    assert ModuleModel(network(smooth(), nn.LayerNorm(H)), X).smooth
    model = ModuleModel(network(smooth(), kinked()), X)
    assert not model.smooth
    assert model.at(model.start).bend is None
    model = ModuleModel(network(kinked()), X, smooth=True)
    assert model.at(model.start).bend is not None


def test_a_run_starts_at_the_parameters_of_the_module(rng):
    model = ModuleModel(network(nn.ReLU()), rng.normal(size=(N, D)))
    problem = fair(model, rng)
    np.testing.assert_array_equal(solve(problem, PLADA(), max_steps=0).x, model.start)
    inside = fair(model, rng, domain=L2Ball(0.5))
    found = solve(inside, PLADA(), max_steps=0).x
    np.testing.assert_allclose(found, 0.5 * model.start / np.linalg.norm(model.start), rtol=1e-12)


def test_mini_batches_are_the_rows_drawn(rng):
    X = rng.normal(size=(N, D))
    model, index = ModuleModel(network(), X), np.array([3, 1, 40])
    part = model.rows(index)
    assert part.n_rows == 3
    assert model.n_rows == N
    np.testing.assert_allclose(
        part.scores(model.start), model.scores(model.start)[index], rtol=1e-12
    )


@pytest.mark.parametrize("solver", [PLADA(eta=0.1), YuNeelyWei(steps=400)])
@pytest.mark.parametrize("kind", ["array", "tensor"])
def test_mini_batches_lower_the_loss(solver, kind):
    data = make_census(1000)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(X.shape[1], H), nn.ReLU(), nn.Linear(H, 1))  # float32
    model = ModuleModel(net, X)
    terms = bind(demographic_parity(0.05), data.y, data.groups).terms
    problem = LearningProblem.of(model, terms, l2=1e-3, batch=64)
    start = model.start if kind == "array" else torch.tensor(model.start, dtype=torch.float32)
    result = solve(problem, solver, start, max_steps=400, seed=0)
    assert isinstance(result.x, type(start))
    assert problem.at(result.x).objective < problem.at(start).objective - 0.05


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_network_keeps_its_bound_and_is_certified(dtype):
    data = make_census(1000)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(X.shape[1], H), nn.Tanh(), nn.Linear(H, 1)).to(dtype)
    model = ModuleModel(net, X)
    terms = bind(demographic_parity(0.05), data.y, data.groups).terms
    problem = LearningProblem.of(model, terms, l2=0.01)
    result = solve(problem, tol=1e-5)
    assert result.success
    assert result.certificate.violation <= 1e-5
    assert result.multipliers.max() > 0.01  # the bound holds the loss back
