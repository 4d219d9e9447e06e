"""The searches of the examiner, for multipliers, proofs and near points: what each step does, by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, certify, sets
from equipoise._array import norm
from equipoise.certificate import _cutting_planes as planes
from equipoise.certificate import _infeasibility as infeasibility
from equipoise.certificate import _multipliers as multipliers
from equipoise.certificate import _proving as proving
from equipoise.certificate import _smooth as smooth
from equipoise.certificate._critical_cone import CriticalCone
from equipoise.certificate._curvature import _on_cone, violation_curvature
from equipoise.certificate._cutting_planes import _PlaneModel
from equipoise.certificate._lanczos import LeastCurvature
from equipoise.certificate._near_stationarity import _is_solvable
from equipoise.certificate._proof import InfeasibilityProof
from equipoise.certificate._proving import _Bundle, prove_infeasible
from equipoise.problems import ProximalProblem

from .affine import affine

CONVEX = Facts(convex_constraints=True)


# ------------------------------------------------------------------ the examiner


def test_a_point_that_is_small_may_be_outside_by_a_rounding_error_of_1():
    problem = affine([[1.0]], [-9.0], domain=sets.Box(-0.5, 0.5, dim=1))
    assert certify(problem, np.array([0.5 + 1.5e-12])).outside == pytest.approx(1.5e-12, rel=1e-3)
    assert certify(problem, np.array([0.5 + 0.5e-12])).outside == 0.0


def test_batches_of_gradients_grow_by_half(monkeypatch):
    """Each of 100 constraints balances one coordinate of the gradient, and none helps another."""
    sizes, add = [], multipliers._Fit.add
    monkeypatch.setattr(multipliers._Fit, "add", lambda fit, i: sizes.append(len(i)) or add(fit, i))
    problem = affine(-np.eye(100), np.zeros(100))
    found = certify(problem, np.zeros(100), second_order=False)
    np.testing.assert_allclose(found.multipliers, np.ones(100), rtol=1e-6)
    assert sizes == [16, 16, 24, 36, 8]


@pytest.mark.parametrize(("share", "weak"), [(1.5e-8, True), (2.5e-8, False)])
def test_weak_shares_are_relative_to_constraints_and_gradient_together(share, weak):
    """The first constraint has the share 1 and the lower bound of x_1 the share 1: weak is 2e-8."""
    problem = affine(
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        np.zeros(2),
        slope=[-1.0, 1.0, -share],
        domain=sets.Box([-1, 0, -1], 1),
    )
    point, lam = problem.at(np.zeros(3)), np.array([1.0, share])
    cone = CriticalCone.at(problem, point, lam, point.lagrangian_gradient(lam), 0.0)
    assert cone.is_space is not weak


def test_a_part_of_the_space_proves_nothing_of_flat_directions():
    cone = SimpleNamespace(holds=True)
    found = LeastCurvature(-0.5, 0.5, 0.25, 3.0, np.ones(1), 4)
    assert _on_cone(found, cone, exact=True).worth == "in probability"


def test_kinks_have_no_curvature_of_the_violation():
    problem = affine([[1.0]], [1.0], facts=Facts(smooth=False))
    assert violation_curvature(problem, problem.at(np.zeros(1))) is None


# ------------------------------------------------------------------ near points


def test_the_slope_of_an_envelope_counts_the_error_of_its_witness(monkeypatch):
    asked = []

    def solved(problem, rho, tol):
        asked.append((problem.rho_hat, rho, tol))
        return problem.center + np.array([0.3, 0.4]), None, 0.25

    monkeypatch.setattr(infeasibility, "minimise_with_kinks", solved)
    for weak, rho_hat in ((0.1, 5.0 / 2.0), (7.0, 14.0)):
        problem = affine([[3.0, 4.0]], [1.0], facts=Facts(weak_convexity=weak))
        found = infeasibility._envelope_slope(problem, np.array([0.7, -0.4]), 2.0)
        assert found == pytest.approx(rho_hat * (0.5 + 0.25))
        assert asked.pop() == (pytest.approx(rho_hat), weak, 1e-6)
    assert infeasibility._envelope_slope(affine([[3.0]], [1.0]), np.zeros(1), 2.0) == math.inf
    steep = affine([[1.5e308, 1.5e308]], [1.0], facts=CONVEX)
    assert infeasibility._envelope_slope(steep, np.zeros(2), 2.0) == math.inf
    flat = affine([[0.0]], [1.0], facts=CONVEX)
    assert infeasibility._envelope_slope(flat, np.zeros(1), 2.0) == 0.0


def test_steps_to_a_feasible_point_are_twice_polyaks():
    seen = []

    def constraint(x):
        seen.append(float(x[0]))
        return 3.0 * abs(x[0]) + 1.0, 3.0 * np.sign(x)

    problem = FunctionProblem(lambda x: (0.0, 0.0 * x), [constraint], dim=1)
    assert not _is_solvable(ProximalProblem(problem, np.array([5.0]), 1e-12), np.array([2.0]))
    evaluated = list(dict.fromkeys(seen))
    expected = [5.0, 2.0]
    for _ in range(4):
        x = expected[-1]
        expected.append(x - 2 * (3 * abs(x) + 1) / 9 * 3 * np.sign(x))
    assert evaluated[:6] == pytest.approx(expected, rel=1e-6)


def test_every_loop_is_ten_times_as_exact(monkeypatch):
    asked = []

    def ended(function, domain, y, tol):
        asked.append(tol)
        return np.ones(1) if len(asked) % 2 else 0.5 * np.ones(1)

    monkeypatch.setattr(smooth, "accelerated", ended)
    sub = ProximalProblem(affine([[1.0]], [-9.0]), np.zeros(1), 1e-9)
    smooth.minimise_smooth(sub, 1e-9, 1e-30)
    expected = [max(10.0 ** -(2 + k), 1e-13) for k in range(smooth.MAX_LOOPS)]
    assert asked == pytest.approx(expected, rel=1e-9)


def test_a_rise_within_the_rounding_of_large_values_is_none():
    def function(z):
        return (1e10 if z[0] == 0.0 else 1e10 + 5e-5), np.array([1e-3])

    assert smooth.accelerated(function, sets.WholeSpace(), np.zeros(1), 1e-2)[0] == -1e-3


def test_weights_of_the_objective_are_made_to_sum_to_one(monkeypatch):
    problem = FunctionProblem(
        lambda x: (np.abs(x).sum(), np.sign(x)), [lambda x: (x[0] + 0.5, np.array([1.0]))], dim=1
    )

    def solved():
        model = _PlaneModel(ProximalProblem(problem, np.array([0.4]), 1.0), 0.0)
        model.cut(np.array([0.4]))
        model.cut(np.array([-0.4]))
        return model, *model.solve()

    model, y, lam, lower = solved()
    assert model.weights[model.owner == 0].sum() == pytest.approx(1.0, abs=1e-15)
    assert lam[0] > 0.1
    minimize = planes.minimize

    def rough(*given, **options):
        answer = minimize(*given, **options)
        answer.x = np.where(model.owner == 0, 1.25, 1.0) * answer.x
        return answer

    monkeypatch.setattr(planes, "minimize", rough)
    again = solved()
    np.testing.assert_allclose(again[0].weights, model.weights, atol=1e-12)
    np.testing.assert_allclose(again[1], y, atol=1e-12)
    np.testing.assert_allclose(again[2], lam, atol=1e-12)
    assert again[3] == pytest.approx(lower, abs=1e-12)


# ------------------------------------------------------------------ proofs


def test_a_point_outside_the_domain_is_no_centre_of_a_proof():
    problem = affine([[0.0]], [1.0], domain=sets.Box(-1, 1, dim=1), facts=CONVEX)
    for off, holds in ((1e-14, True), (1e-9, False)):
        proof = InfeasibilityProof(
            np.array([1]), np.zeros((1, 1)), np.ones(1), np.array([1.0 + off])
        )
        assert proof.check(problem) is holds


def test_a_point_that_just_meets_the_constraints_ends_the_search(monkeypatch):
    monkeypatch.setattr(_Bundle, "surrounded", lambda _: pytest.fail("it went on"))
    found = prove_infeasible(affine([[0.0]], [0.0], facts=CONVEX), np.zeros(1))
    assert (found.proof, found.excess) == (None, 0.0)
    kink = FunctionProblem(
        lambda x: (0.0, 0 * x),
        [lambda x: (max(x[0], 0.0), np.array([float(x[0] > 0)]))],
        dim=1,
        facts=CONVEX,
    )
    assert not _Bundle(kink, np.ones(1), 0.0).advance(-np.ones(1))


def test_below_0_only_the_largest_constraint_has_a_plane():
    problem = affine(np.eye(3), np.array([-1.0, -1.1, -3.0]), facts=CONVEX)
    assert _Bundle(problem, np.zeros(3), 0.0).indices.tolist() == [1]
    above = affine(np.eye(3), np.array([1.0, 0.4, 0.6]), facts=CONVEX)
    assert _Bundle(above, np.zeros(3), 0.0).indices.tolist() == [1, 3]


def test_the_oldest_planes_without_weight_are_dropped(monkeypatch):
    monkeypatch.setattr(proving, "MAX_PLANES", 3)
    bundle = _Bundle(affine(np.eye(5), np.ones(5), facts=CONVEX), np.zeros(5), 0.0)
    bundle.weights = np.array([0.5, 1e-12, 0.25, 1e-12, 0.25])
    bundle._drop()
    assert bundle.weights.size == 5  # none is idle
    bundle.weights = np.array([0.5, 1e-14, 0.25, 0.0, 0.25])
    bundle._drop()
    assert bundle.weights.tolist() == [0.5, 0.25, 0.25]
    assert bundle.indices.tolist() == [1, 3, 5]
    np.testing.assert_array_equal(bundle.rows, np.eye(5)[[0, 2, 4]])
    assert bundle.points.shape == (3, 5)
    assert bundle.values.tolist() == [1.0] * 3
    bundle.weights = np.array([1.0, 0.0, 0.0])
    bundle._drop()
    assert bundle.weights.size == 3
    monkeypatch.setattr(proving, "MAX_PLANES", 2)
    bundle._drop()
    assert bundle.indices.tolist() == [1, 5]


@pytest.mark.parametrize(("domain", "most"), [(sets.Box(-1, 1, dim=2), 50), (None, 1)])
def test_planes_from_all_sides_are_for_unbounded_domains_of_few_variables(
    domain, most, monkeypatch
):
    monkeypatch.setattr(proving, "MAX_DIM_AROUND", most)
    problem = FunctionProblem(
        lambda x: (0.0, 0.0 * x),
        [lambda x: (x @ x + 1.0, 2 * x)],
        domain=domain,
        dim=2,
        facts=CONVEX,
    )
    bundle = _Bundle(problem, np.full(2, 1e-5), 0.0)
    assert bundle.surrounded() is None
    assert bundle.weights.size == 1


@pytest.mark.parametrize("size", [0.1, 30.0])
def test_planes_from_all_sides_are_a_thousandth_of_the_point_away(size):
    seen = []

    def constraint(x):
        seen.append(x)
        return x @ x + 1.0, 2 * x

    problem = FunctionProblem(lambda x: (0.0, 0 * x), [constraint], dim=2, facts=CONVEX)
    center = np.array([0.0, size])
    bundle = _Bundle(problem, center, 0.0)
    seen.clear()
    bundle.surrounded()
    step = 1e-3 * max(1.0, size)
    expected = center + step * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
    np.testing.assert_allclose(seen[:4], expected, rtol=1e-12)
    np.testing.assert_allclose(bundle.points, np.vstack((center, expected)), rtol=1e-12)


def test_a_side_that_is_not_finite_ends_the_search():
    def constraint(x):
        return (math.inf if x[0] > 1e-4 else 1.0 + x[0] ** 2), 2 * x

    problem = FunctionProblem(lambda x: (0.0, 0 * x), [constraint], dim=1, facts=CONVEX)
    bundle = _Bundle(problem, np.zeros(1), 0.0)
    assert bundle.surrounded() is None
    assert np.isfinite(bundle.values).all()


@pytest.mark.parametrize("seed", range(6))
def test_weights_of_planes_maximise_the_dual(seed):
    """Against the definition: the model's minimum, on a grid of weights and by its own minimiser."""
    rng = np.random.default_rng(seed)
    box = sets.Box(-1, 1, dim=2)
    problem = affine(rng.normal(size=(3, 2)), 1 + rng.random(3), domain=box, facts=CONVEX)
    bundle = _Bundle(problem, rng.uniform(-0.5, 0.5, 2), 0.0)
    bundle.add(problem.at(rng.uniform(-1, 1, 2)))
    y = bundle.solve()
    heights = bundle.values + ((bundle.center - bundle.points) * bundle.rows).sum(axis=1)

    def model(z):
        step = z - bundle.center
        return (heights + bundle.rows @ step).max() + 0.5 * bundle.modulus * step @ step

    grid = np.linspace(-1, 1, 81)
    least = min(model(np.array([a, b])) for a in grid for b in grid)
    assert model(y) <= least + 1e-6
    assert bundle.weights.sum() == pytest.approx(1.0)
    assert (bundle.weights >= 0).all()
    mean = bundle.weights @ heights + bundle.weights @ bundle.rows @ (y - bundle.center)
    mean += 0.5 * bundle.modulus * norm(y - bundle.center) ** 2
    assert mean == pytest.approx(model(y), abs=1e-5)


@pytest.mark.parametrize(("dim", "planes"), [(5, 80), (20, 160), (50, 100)])
def test_planes_from_all_sides_are_no_more_than_weights_can_be_chosen_for(dim, planes):
    """With sixty constraints that are equally large at the centre."""
    slopes = np.random.default_rng(0).normal(size=(60, dim))
    problem = FunctionProblem(
        lambda x: (0.0, 0 * x),
        [lambda x, a=a: (1.0 + a @ x + x @ x, a + 2 * x) for a in slopes],
        dim=dim,
        facts=CONVEX,
    )
    bundle = _Bundle(problem, np.zeros(dim), 0.0)
    known = bundle.weights.size
    bundle.solve = lambda: bundle.center
    bundle.surrounded()
    assert bundle.weights.size - known == planes
