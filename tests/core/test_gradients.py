"""Many gradients at once: `Point.gradients`, and the `jacobian` that a problem may supply."""

from dataclasses import replace

import numpy as np
import pytest

from equipoise import Problem, certify, solve
from equipoise._problem import NonFiniteError
from equipoise.problems import REFERENCES, ProximalProblem, QuadraticProblem
from equipoise.run._watched import Counter, WatchedProblem
from equipoise.sets import Box
from equipoise.solvers import SOLVERS

X = np.array([0.3, -0.2, 0.5])


def quadratic(m=4, seed=0):
    rng = np.random.default_rng(seed)
    P = []
    for _ in range(m + 1):
        A = rng.normal(size=(3, 3))
        P.append(A @ A.T)
    return QuadraticProblem(P, rng.normal(size=(m + 1, 3)), -rng.random(m + 1), Box(-1, 1, dim=3))


class WithJacobian(Problem):
    """The same problem, which forms several gradients at once and notes how many."""

    def __init__(self, base, spoiled=False):
        self.base, self.spoiled, self.asked = base, spoiled, []
        self.dim, self.n_constraints, self.domain = base.dim, base.n_constraints, base.domain
        self.names, self.facts = base.names, base.facts

    def at(self, x):
        point = self.base.at(x)

        def jacobian(indices):
            self.asked.append(len(indices))
            rows = np.stack([point.gradient(int(i)) for i in indices])
            return np.where(indices[:, None] == 2, np.nan, rows) if self.spoiled else rows

        def vjp(weights):
            g = point.vjp(weights)
            return g * np.nan if self.spoiled and weights[2] else g

        return replace(point, vjp=vjp, jacobian=jacobian)


def test_gradients_are_stacked():
    point = quadratic().at(X)
    rows = point.gradients([0, 3, 3])
    np.testing.assert_array_equal(rows, np.stack([point.gradient(i) for i in (0, 3, 3)]))
    assert point.gradients([]).shape == (0, 3)
    assert point.gradients(1 + np.flatnonzero(point.constraints < -9)).shape == (0, 3)


def test_a_jacobian_is_used_and_not_asked_for_nothing():
    problem = WithJacobian(quadratic())
    point = problem.at(X)
    np.testing.assert_array_equal(
        point.gradients(range(1, 5)), problem.base.at(X).gradients(range(1, 5))
    )
    assert problem.asked == [4]
    point.gradients([])
    assert problem.asked == [4]


def test_the_proximal_problem_passes_it_on():
    for constraints in (True, False):
        plain = ProximalProblem(quadratic(), np.zeros(3), 2.0, constraints=constraints).at(X)
        problem = WithJacobian(quadratic())
        proximal = ProximalProblem(problem, np.zeros(3), 2.0, constraints=constraints).at(X)
        np.testing.assert_allclose(proximal.gradients([0, 2]), plain.gradients([0, 2]), rtol=1e-14)
        assert problem.asked == [2]


def test_every_gradient_is_counted_and_checked():
    counter = Counter()
    counted = WatchedProblem(WithJacobian(quadratic()), counter)
    counted.at(X).gradients([1, 2, 4])
    assert counter.gradients == 3
    spoiled = WatchedProblem(WithJacobian(quadratic(), spoiled=True), Counter())
    spoiled.at(X).gradients([1, 3])
    with pytest.raises(NonFiniteError, match="constraint 2"):
        spoiled.at(X).gradients([1, 2, 4])
    with pytest.raises(ValueError, match="constraint 2"):
        certify(WithJacobian(quadratic(), spoiled=True), X, active_within=10.0)


@pytest.mark.parametrize("method", SOLVERS)
def test_a_run_is_the_same_with_a_jacobian(method):
    reference = REFERENCES["auc"]()
    if any(need.missing(reference.problem, None) for need in SOLVERS[method]().needs):
        return
    plain = solve(reference.problem, method, reference.start, max_steps=60)
    problem = WithJacobian(reference.problem)
    other = solve(problem, method, reference.start, max_steps=60)
    np.testing.assert_allclose(other.x, plain.x, rtol=1e-10)
    assert (other.nfev, other.njev) == (plain.nfev, plain.njev)


def test_tensors_are_stacked_as_tensors():
    torch = pytest.importorskip("torch")
    from equipoise.problems import TorchProblem

    def functions(x):
        return torch.stack([(x**2).sum(), x[0], x[1] ** 3])

    problem = TorchProblem(functions, dim=2, n_constraints=2)
    point = problem.at(torch.tensor([1.0, 2.0], dtype=torch.float64))
    rows = point.gradients([0, 2])
    assert isinstance(rows, torch.Tensor)
    np.testing.assert_allclose(rows.numpy(), [[2.0, 4.0], [0.0, 12.0]])
    assert point.gradients([]).shape == (0, 2)
