"""Problems: from functions, from autodiff, quadratic, regularised, merged; the gradient checker."""

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Point, Problem, check_problem, sets, solve
from equipoise.problems import (
    REFERENCES,
    AugmentedLagrangianMerit,
    JaxProblem,
    Lagrangian,
    Maximum,
    MeritProblem,
    ProximalProblem,
    QuadraticPenalty,
    QuadraticProblem,
    TorchProblem,
)


def objective(x):
    return (x[0] - 2) ** 2 + x[1] ** 2, np.array([2 * x[0] - 4, 2 * x[1]])


def disc(x):
    return x @ x - 1, 2 * x


def simple_problem(**options):
    return FunctionProblem(objective, [disc], domain=sets.Box(-3, 3, dim=2), **options)


def test_point_gives_all_from_one_evaluation():
    point = simple_problem().at(np.array([1.0, 2.0]))
    np.testing.assert_allclose(point.values, [5.0, 4.0])
    assert (point.objective, point.excess, point.violation, point.worst) == (5.0, 4.0, 4.0, 1)
    np.testing.assert_allclose(point.gradient(0), [-2.0, 4.0])
    np.testing.assert_allclose(point.gradient(1), [2.0, 4.0])
    np.testing.assert_allclose(point.lagrangian_gradient(np.array([0.5])), [-1.0, 6.0])


def test_point_without_constraints():
    point = FunctionProblem(objective, dim=2).at(np.zeros(2))
    assert point.excess == -np.inf
    assert point.violation == 0.0


def test_ties_go_to_the_lowest_index():
    problem = FunctionProblem(objective, [disc, disc], dim=2)
    assert problem.at(np.ones(2)).worst == 1


def test_names_come_from_the_functions():
    assert simple_problem().names == ("disc",)
    assert FunctionProblem(objective, [lambda x: disc(x)], dim=2).names == ("f_1",)
    assert FunctionProblem(objective, [disc, disc], dim=2).names == ("f_1", "f_2")
    assert FunctionProblem(objective, disc, dim=2).n_constraints == 1


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: FunctionProblem(3, dim=2), "`objective` must be callable, got 3"),
        (lambda: FunctionProblem(objective, [3], dim=2), r"`constraints\[0\]` must be callable"),
        (lambda: FunctionProblem(objective), "`dim` must be given"),
        (lambda: FunctionProblem(objective, dim=0), "`dim` must be an integer of at least 1"),
        (lambda: simple_problem(dim=3), "`dim` must equal the domain's dimension 2, got 3"),
        (lambda: simple_problem(names=["a", "b"]), "`names` must have 1 entries"),
    ],
)
def test_bad_constructions_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: 3.0, TypeError, r"constraint 1 \('f_1'\) must return \(value, gradient\)"),
        (lambda x: (3.0, np.ones(3)), ValueError, r"gradient of shape \(3,\), expected \(2,\)"),
        (lambda x: (np.ones(2), np.ones(2)), ValueError, "must return a number as its value"),
    ],
)
def test_functions_that_return_the_wrong_thing_are_named(function, error, message):
    with pytest.raises(error, match=message):
        FunctionProblem(objective, [function], dim=2).at(np.zeros(2))


@pytest.mark.parametrize("name", REFERENCES)
def test_reference_gradients_and_products_are_right(name):
    reference = REFERENCES[name]()
    check = check_problem(reference.problem, np.linspace(0.1, 0.3, reference.problem.dim))
    assert check.ok, str(check)
    assert check.errors.max() < 1e-7
    assert check.hvp_errors.max() < 1e-6
    assert reference.problem.domain.contains(reference.start)


def test_the_checker_names_the_wrong_gradient_and_by_how_much():
    def wrong(x):
        return x @ x - 1, 2.2 * x

    problem = FunctionProblem(objective, [disc, wrong], dim=2, names=["disc", "recall"])
    check = check_problem(problem, np.array([0.5, -0.7]))
    assert not check.ok
    assert len(check.problems) == 1
    assert "constraint 2 ('recall')" in check.problems[0]
    assert check.errors[2] == pytest.approx(0.2 / 2.2, rel=1e-3)
    assert check.errors[:2].max() < 1e-6
    with pytest.raises(ValueError, match="recall"):
        check.raise_if_wrong()


def test_the_checker_compares_push_with_the_gradients():
    class Pushed(Problem):
        dim, n_constraints, names, domain = 2, 1, ("disc",), sets.WholeSpace()

        def at(self, x):
            values, gradients = np.array([x.sum(), x @ x]), np.array([np.ones(2), 2 * x])
            factor = np.array([1.0, self.factor])
            pull, push = (lambda w: w @ gradients), (lambda v: factor * (gradients @ v))
            return Point(x, values, pull, push=push)

    problem, x = Pushed(), np.array([0.5, -0.7])
    problem.factor = 1.0
    assert check_problem(problem, x).ok
    for problem.factor in (1.1, np.nan):
        check = check_problem(problem, x)
        assert len(check.problems) == 1
        assert "`push` is wrong for constraint 1 ('disc')" in check.problems[0]


def test_the_checker_sees_wrong_products_and_shapes():
    class Broken(Problem):
        dim, n_constraints, names, domain = 2, 0, (), sets.WholeSpace()

        def at(self, x):
            return Point(x, np.array([x @ x]), lambda w: 2 * w[0] * x, lambda w, v: 3 * w[0] * v)

    check = check_problem(Broken(), np.ones(2))
    assert "Hessian product of the objective" in str(check)
    with pytest.raises(ValueError, match=r"`x` must have shape \(2,\)"):
        check_problem(Broken(), np.ones(3))


def test_quadratic_facts_are_right():
    """Simple Example: rho = 5; the bounds hold on random points and pairs."""
    problem = REFERENCES["simple"]().problem
    assert problem.facts.weak_convexity == 5.0
    assert problem.facts.smoothness == 50.0
    assert problem.facts.convex is False
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, y = problem.domain.project(rng.normal(size=(2, 2))[0]), rng.normal(size=2)
        y = problem.domain.project(y)
        at_x, at_y = problem.at(x), problem.at(y)
        for i in range(2):
            g = at_x.gradient(i)
            assert np.linalg.norm(g) <= problem.facts.lipschitz
            assert np.linalg.norm(g - at_y.gradient(i)) <= 50.0 * np.linalg.norm(x - y) + 1e-12
            lower = at_x.values[i] + g @ (y - x) - 2.5 * (y - x) @ (y - x)
            assert at_y.values[i] >= lower - 1e-12


@pytest.mark.parametrize(
    ("P", "q", "c", "message"),
    [
        (np.zeros((1, 2, 2)), np.zeros(2), [0.0], "`q` must have shape"),
        (np.zeros((2, 2, 2)), np.zeros((1, 2)), [0.0], "`P` must have shape"),
        (np.zeros((1, 2, 2)), np.zeros((1, 2)), [0.0, 1.0], "`c` must have shape"),
        (np.full((1, 2, 2), np.nan), np.zeros((1, 2)), [0.0], "`P` must be finite"),
        ([[[0.0, 1.0], [0.0, 0.0]]], np.zeros((1, 2)), [0.0], "must be symmetric"),
    ],
)
def test_bad_quadratics_are_named(P, q, c, message):
    with pytest.raises(ValueError, match=message):
        QuadraticProblem(P, q, c, sets.WholeSpace())


def test_proximal_problem_adds_the_same_quadratic_to_every_function():
    base = REFERENCES["active"]().problem
    center = np.array([1.0, 0.05])
    problem = ProximalProblem(base, center, 4.0)
    x = np.array([0.7, -0.2])
    shift = 2.0 * (x - center) @ (x - center)
    np.testing.assert_allclose(problem.at(x).values, base.at(x).values + shift)
    assert check_problem(problem, x).ok
    assert problem.facts.convex
    assert problem.facts.weak_convexity == 0.0
    only = ProximalProblem(base, center, 4.0, constraints=False)
    np.testing.assert_allclose(only.at(x).values, base.at(x).values + [shift, 0.0])
    assert check_problem(only, x).ok


@pytest.mark.parametrize(
    "merit",
    [
        Lagrangian(np.array([0.3, 0.7])),
        AugmentedLagrangianMerit(np.array([0.3, 0.0]), 5.0),
        QuadraticPenalty(7.0),
        Maximum(0.2),
    ],
    ids=lambda merit: type(merit).__name__,
)
def test_merits_merge_all_functions(merit):
    problem = MeritProblem(REFERENCES["auc"]().problem, merit)
    assert problem.n_constraints == 0
    assert check_problem(problem, np.array([0.4, -0.5, 0.3])).ok
    values = np.array([1.0, 0.5, -2.0])
    expected = {
        "Lagrangian": 1.0 + 0.15 - 1.4,
        "AugmentedLagrangianMerit": 1.0 + (2.8**2 - 0.3**2) / 10,
        "QuadraticPenalty": 1.0 + 3.5 * 0.25,
        "Maximum": 0.8,
    }
    assert merit(values)[0] == pytest.approx(expected[type(merit).__name__])


def _torch_values(x):
    import torch

    return torch.stack(((x[0] - 2) ** 2 + x[1] ** 2, (x**2).sum() - 1))


def test_torch_problem_from_one_function():
    torch = pytest.importorskip("torch")
    problem = TorchProblem(
        _torch_values, dim=2, n_constraints=1, domain=sets.Box(-3, 3, dim=2), names=["disc"]
    )
    x = np.array([0.3, -0.4])
    assert check_problem(problem, x).ok
    assert isinstance(problem.at(x).gradient(0), np.ndarray)
    reference = simple_problem()
    np.testing.assert_allclose(problem.at(x).values, reference.at(x).values)
    by_numpy = solve(problem, "switching", [0.0, 2.0], max_steps=200)
    by_torch = solve(
        problem, "switching", torch.tensor([0.0, 2.0], dtype=torch.float64), max_steps=200
    )
    plain = solve(reference, "switching", [0.0, 2.0], max_steps=200)
    assert isinstance(by_torch.x, torch.Tensor)
    np.testing.assert_allclose(by_numpy.x, plain.x, atol=1e-12)
    np.testing.assert_allclose(by_torch.x.numpy(), plain.x, atol=1e-12)


def test_jax_problem_from_one_function():
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    enable_x64 = getattr(jax, "enable_x64", None)  # its name from JAX 0.8 on
    if enable_x64 is None:
        from jax.experimental import enable_x64
    with enable_x64(True):
        problem = JaxProblem(
            lambda x: jnp.stack(((x[0] - 2) ** 2 + x[1] ** 2, (x**2).sum() - 1)),
            dim=2,
            n_constraints=1,
            domain=sets.Box(-3, 3, dim=2),
        )
        assert check_problem(problem, np.array([0.3, -0.4])).ok
        result = solve(problem, "switching", [0.0, 2.0], max_steps=100)
    plain = solve(simple_problem(), "switching", [0.0, 2.0], max_steps=100)
    np.testing.assert_allclose(result.x, plain.x, atol=1e-12)


def test_autodiff_adapters_check_the_number_of_values():
    pytest.importorskip("torch")
    problem = TorchProblem(_torch_values, dim=2, n_constraints=3)
    with pytest.raises(ValueError, match="must return 4 values"):
        problem.at(np.zeros(2))
    with pytest.raises(ValueError, match="`names` must have 1 entries"):
        TorchProblem(_torch_values, dim=2, n_constraints=1, names=["a", "b"])


def test_facts_are_optional():
    assert simple_problem().facts == Facts()
