"""The search for proofs of infeasibility: what its bundle holds after each step, by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, sets
from equipoise._errors import InputError
from equipoise.certificate import _proving as proving
from equipoise.certificate._proof import STEP_LENGTHS, InfeasibilityProof, _fall, lower_bound
from equipoise.certificate._proving import _Bundle, prove_infeasible

from .affine import affine

CONVEX = Facts(convex_constraints=True)


# ------------------------------------------------------------------ the bundle


@pytest.mark.parametrize(
    ("x", "domain", "length"),
    [
        ([0.3, 0.4], None, 1.0),
        ([3.0, 4.0], None, 5.0),
        ([3.0, 4.0], sets.Box([2.9, 3.9], [3.2, 4.3]), 0.5),
    ],
)
def test_the_first_modulus_makes_steps_as_long_as_the_point_or_the_domain(x, domain, length):
    problem = affine(
        [[3.0, 0.0], [0.0, 6.0], [9.0, 9.0]], [50.0, 40.0, -999.0], domain=domain, facts=CONVEX
    )
    bundle = _Bundle(problem, np.array(x), 0.0)
    assert bundle.indices.tolist() in ([1, 2], [2, 1])
    assert bundle.modulus == pytest.approx(6.0 / length)
    assert bundle.unit == bundle.excess == max(50 + 3 * x[0], 40 + 6 * x[1])
    assert bundle.weights.tolist() == [1.0, 0.0]


def test_flat_constraints_have_a_modulus_too():
    problem = affine([[0.0, 0.0]], [8.0], facts=CONVEX)
    assert _Bundle(problem, np.array([3.0, 4.0]), 0.0).modulus == 8.0 / 25.0
    met = affine([[0.0]], [-8.0], facts=CONVEX)
    assert _Bundle(met, np.zeros(1), 0.0).unit == 1e-300


def test_only_the_largest_constraints_get_planes(monkeypatch):
    monkeypatch.setattr(proving, "MOST_PLANES_ADDED", 3)
    values = [4.0, 2.0, 9.0, 8.0, 4.5, 4.4]
    problem = affine(np.eye(6), values, facts=CONVEX)
    bundle = _Bundle(problem, np.zeros(6), 0.0)
    assert bundle.indices.tolist() == [3, 4, 5]
    assert bundle.values.tolist() == [9.0, 8.0, 4.5]
    monkeypatch.setattr(proving, "MOST_PLANES_ADDED", 6)
    assert _Bundle(problem, np.zeros(6), 0.0).indices.tolist() == [3, 4, 5]


def two_planes(center=0.5):
    """``2 + x <= 0`` and ``1 - 3 x <= 0`` on [-2, 4], with planes from different points."""
    problem = affine([[1.0], [-3.0]], [2.0, 1.0], domain=sets.Box(-2, 4, dim=1), facts=CONVEX)
    bundle = _Bundle(problem, np.array([center]), 0.0)
    bundle.indices = np.array([1, 2])
    bundle.points = np.array([[1.0], [-1.0]])
    bundle.values = np.array([3.0, 4.0])
    bundle.rows = np.array([[1.0], [-3.0]])
    bundle.weights = np.array([0.5, 0.5])
    return problem, bundle


def test_planes_have_the_heights_of_their_constraints():
    _, bundle = two_planes()
    np.testing.assert_allclose(bundle._heights(), [2.5, -0.5])


def test_a_step_maximises_the_dual(monkeypatch):
    """At weights w the dual is ``w'h - |w'rows|^2 / (2 modulus)``, as long as the domain is far."""
    _, bundle = two_planes()
    bundle.modulus = 8.0
    y = bundle.solve()
    w = bundle.weights
    best = max(
        (v * 2.5 - (1 - v) * 0.5 - (v - 3 * (1 - v)) ** 2 / 16, v) for v in np.linspace(0, 1, 10001)
    )
    assert w[0] == pytest.approx(best[1], abs=2e-4)
    assert y[0] == pytest.approx(0.5 - (w[0] - 3 * w[1]) / 8.0)

    class Worse:
        x = np.array([0.0, 1.0])

    monkeypatch.setattr(proving, "minimize", lambda *_, **__: Worse)
    assert bundle.solve()[0] == y[0]
    np.testing.assert_array_equal(bundle.weights, w)
    for x, kept in (([0.3, 0.2], False), ([0.52, -0.1], True)):
        Worse.x = np.array(x)
        bundle.weights = np.array([0.0, 1.0])
        bundle.solve()
        expected = np.maximum(x, 0) / np.maximum(x, 0).sum() if kept else [0.0, 1.0]
        np.testing.assert_allclose(bundle.weights, expected)


@pytest.mark.parametrize("y", [-0.5, -0.1, 1.0, -0.249])
def test_a_step_that_wins_a_share_of_the_promise_moves_the_centre(y):
    _, bundle = two_planes()
    bundle.modulus = 4.0
    bundle.excess = before = 2.5
    promised = max(2.5 + (y - 0.5), -0.5 - 3 * (y - 0.5))
    excess = max(2 + y, 1 - 3 * y)
    bundle.advance(np.array([y]))
    moved = excess < before
    much = moved and excess <= before - proving.DESCENT * (before - promised)
    assert bundle.modulus == (1.0 if much else 4.0)
    assert bundle.center[0] == (y if moved else 0.5)
    assert bundle.excess == (excess if moved else before)
    assert bundle.points[-1, 0] == y


@pytest.mark.parametrize(("share", "longer"), [(0.099, False), (0.101, True)])
def test_steps_are_longer_after_a_tenth_of_the_promise(share, longer):
    """From 1 at 0 the plane promises 0 at -1; the function falls by a share of that."""
    problem = FunctionProblem(
        lambda x: (0.0, 0.0 * x),
        [lambda x: (1.0 + x[0] if x[0] == 0 else 1.0 - share, np.ones(1))],
        dim=1,
        facts=CONVEX,
    )
    bundle = _Bundle(problem, np.zeros(1), 0.0)
    modulus = bundle.modulus
    assert bundle.advance(-np.ones(1))
    assert bundle.modulus == (0.25 * modulus if longer else modulus)
    assert (bundle.center[0], bundle.excess) == (-1.0, pytest.approx(1.0 - share))


@pytest.mark.parametrize(("least", "on"), [(0.4, True), (0.5, False), (0.6, False)])
def test_a_search_ends_where_the_violation_is_small_enough(least, on):
    problem = affine([[1.0]], [1.0], facts=CONVEX)
    assert _Bundle(problem, np.zeros(1), least).advance(np.array([-0.5])) is on


@pytest.mark.parametrize(("promise", "on"), [(0.5e-9, False), (2e-9, True)])
def test_a_search_ends_where_nothing_is_promised(promise, on):
    problem = affine([[1.0]], [1.0], facts=CONVEX)
    assert _Bundle(problem, np.zeros(1), 0.0).advance(np.array([-promise])) is on


def test_points_that_are_not_finite_end_the_search():
    problem = FunctionProblem(
        lambda x: (0.0, 0.0 * x),
        [lambda x: (1.0 if x[0] >= 0 else math.nan, np.ones(1))],
        dim=1,
        facts=CONVEX,
    )
    bundle = _Bundle(problem, np.zeros(1), 0.0)
    assert not bundle.advance(np.array([-1.0]))
    assert bundle.weights.size == 1
    assert not bundle.advance(np.array([math.nan]))
    assert not bundle.advance(np.array([math.inf]))


def test_weights_are_a_proof_from_one_of_two_centres():
    _, bundle = two_planes()
    w = np.array([0.75, 0.25])  # of which the slopes cancel, and the mean is 1.75
    bundle.weights = np.append(w, 0.0)
    bundle.indices = np.append(bundle.indices, 1)
    for name in ("points", "rows"):
        setattr(bundle, name, np.vstack((getattr(bundle, name), [[9.0]])))
    bundle.values = np.append(bundle.values, 77.0)
    y = np.array([0.25])
    found = bundle.proof(y)
    assert found.weights.tolist() == [0.75, 0.25]
    assert found.indices.tolist() == [1, 2]
    np.testing.assert_array_equal(found.points, [[1.0], [-1.0]])
    assert found.center is y
    assert found.bound == pytest.approx(1.75, rel=1e-9)
    assert found.radius == 6.0
    for least, proved in ((1.74, True), (1.76, False)):
        bundle.least = least
        assert (bundle.proof(y) is not None) is proved
    tilted = bundle
    tilted.least, tilted.weights = 0.0, np.array([1.0, 0.0, 0.0])
    assert tilted.proof(y) is None  # 2 + x is 0 at the end of the domain


# ------------------------------------------------------------------ the search


class Script:
    """Stands for a bundle that proves or ends as it is told."""

    def __init__(self, proofs, advances, excess=1.0):
        self.proofs, self.advances, self.excess = iter(proofs), iter(advances), excess
        self.center, self.rounds, self.around = np.zeros(1), 0, 0

    def solve(self):
        self.rounds += 1
        return np.ones(1)

    def proof(self, y):
        return next(self.proofs)

    def advance(self, y):
        return next(self.advances)

    def surrounded(self):
        self.around += 1
        return "around"


@pytest.mark.parametrize(
    ("proofs", "advances", "excess", "options", "found", "rounds"),
    [
        ([None, None, "proof"], [True, True], 1.0, {}, "proof", 3),
        ([None, None], [True, False], 1.0, {}, "around", 2),
        ([None, None], [True, False], 0.5, {"least": 0.5}, None, 2),
        ([None, None], [True, False], 0.6, {"least": 0.5}, "around", 2),
        ([None] * 9, [True] * 9, 1.0, {"rounds": 4}, "around", 4),
        ([None] * 99, [True] * 99, 1.0, {"rounds": 99}, "around", proving.MAX_ROUNDS),
    ],
)
def test_the_search_goes_on_until_there_is_a_proof_or_no_use(
    proofs, advances, excess, options, found, rounds, monkeypatch
):
    script = Script(proofs, advances, excess)
    monkeypatch.setattr(proving, "_Bundle", lambda *_: script)
    answer = prove_infeasible(None, np.zeros(1), **options)
    assert (answer.proof, answer.excess, script.rounds) == (found, excess, rounds)
    assert script.around == (found != "proof" and excess > options.get("least", 0.0))


# ------------------------------------------------------------------ bounds


@pytest.mark.parametrize("seed", range(6))
def test_linear_functions_fall_no_further_than_their_bound(seed):
    """Against the vertices of a box, and against the formula with every step length."""
    rng = np.random.default_rng(seed)
    low, high = -rng.random(3), 3 * rng.random(3)
    box, c, slope = sets.Box(low, high), rng.uniform(low, high), rng.normal(size=3)
    exact = (np.minimum(slope * (low - c), slope * (high - c))).sum()
    radius, unit = box.diameter, 1e-9
    found = _fall(box, c, slope, radius, unit)
    assert found >= -exact
    assert found <= -exact * 1.01
    longest = np.linalg.norm(slope) / min(radius, max(1.0, np.linalg.norm(c)))
    bounds = [np.linalg.norm(slope) * radius]
    for s in longest / STEP_LENGTHS:
        p = np.clip(c - slope / s, low, high)
        n = -slope - s * (p - c)
        inexact = unit * np.linalg.norm(n) * (np.linalg.norm(c) + np.linalg.norm(slope) / s)
        bounds.append(n @ (p - c) + s * np.linalg.norm(p - c) * radius + inexact)
    assert found == pytest.approx(min(bounds), rel=1e-9)
    assert _fall(box, c, 0.0 * slope, radius, unit) == 0.0


def test_a_domain_of_one_point_has_no_fall():
    point = sets.Box(1.0, 1.0, dim=1)
    assert _fall(point, np.ones(1), np.array([5.0]), 0.0, 1e-16) == 0.0


def test_a_slope_that_rises_into_the_domain_falls_nowhere():
    box = sets.Box(0.0, 1.0, dim=1)
    assert _fall(box, np.zeros(1), np.array([5.0]), 1.0, 0.0) == 0.0
    assert _fall(box, np.zeros(1), np.array([-5.0]), 1.0, 0.0) == pytest.approx(5.0, rel=1e-6)


def test_an_unbounded_domain_needs_convex_constraints_and_a_positive_mean():
    proof = InfeasibilityProof(np.array([1]), np.zeros((1, 1)), np.ones(1), np.zeros(1))
    flat = np.zeros((1, 1))
    convex = affine([[0.0]], [1.0], facts=CONVEX)
    bound, radius = lower_bound(convex, proof, np.ones(1), flat)
    assert radius == math.inf
    assert 1.0 - 1e-14 < bound < 1.0
    assert lower_bound(convex, proof, np.zeros(1), flat) == (-math.inf, 0.0)
    assert lower_bound(convex, proof, -np.ones(1), flat) == (-math.inf, 0.0)
    weak = affine([[0.0]], [1.0], facts=Facts(weak_convexity=1e-9))
    assert lower_bound(weak, proof, np.ones(1), flat) == (-math.inf, 0.0)
    none = affine([[0.0]], [1.0], facts=Facts(weak_convexity=0.0))
    assert lower_bound(none, proof, np.ones(1), flat)[0] > 0


@pytest.mark.parametrize("off", [0.9e-9, 1.1e-9])
def test_weights_sum_to_one_but_for_a_billionth(off):
    problem = affine([[0.0]], [1.0], domain=sets.Box(-1, 1, dim=1), facts=CONVEX)
    proof = InfeasibilityProof(np.array([1]), np.zeros((1, 1)), np.array([1 - off]), np.zeros(1))
    assert proof.check(problem) is (off < 1e-9)


def test_a_share_of_a_millionth_is_not_listed():
    problem = affine(np.eye(2), np.zeros(2))
    for share, names in ((0.9e-6, 1), (1.1e-6, 2)):
        proof = InfeasibilityProof(
            np.array([1, 2]), np.zeros((2, 2)), np.array([1 - share, share]), np.zeros(2)
        )
        assert len(proof.shares(problem)) == names
    with pytest.raises(InputError, match="problem"):
        proof.check(SimpleNamespace())
