"""AUC-fairness from rows that come one at a time."""

import numpy as np
import pytest

from equipoise.problems import REFERENCES, AUCStream
from equipoise.problems._auc_fairness import SUBSETS_OF
from equipoise.run import Online
from equipoise.sets import Box, L2Ball, WholeSpace
from equipoise.solvers import SFLS, SMD, InverseSqrt, SwitchingSubgradient, UnsuitableSolverError
from tests.solvers.auc_instance import instance, rows
from tests.solvers.test_smd import naive

W = np.array([0.3, -0.2, 0.5])


def stream(kind="group", **options):
    options = {"kappa": 0.05, "interval": instance(kind).interval, **options}
    return AUCStream(3, kind=kind, domain=L2Ball(2.0), **options)


def feed(problem, index, run=None):
    X, label, group = rows()
    for i in index:
        problem.feed(X[i], label[i] > 0, group[i] > 0)
        if run is not None:
            run.step()


@pytest.mark.parametrize("kind", SUBSETS_OF)
def test_the_functions_of_all_rows_so_far_follow_from_running_moments(kind):
    problem, whole = stream(kind), instance(kind)
    feed(problem, np.random.default_rng(0).permutation(200))
    point, expected = problem.at(W), whole.at(W)
    np.testing.assert_allclose(point.values, expected.values, atol=1e-12)
    for i in range(3):
        np.testing.assert_allclose(point.gradient(i), expected.gradient(i), atol=1e-12)
    np.testing.assert_allclose(problem.saddle().lift(W), whole.saddle().lift(W), atol=1e-12)


def test_t6_12_one_row_at_a_time_is_a_mini_batch_of_one():
    _, label, group = rows()
    whole = instance()
    problem = stream(counts=np.bincount(2 * (label > 0) + (group > 0), minlength=4))
    solver = SMD(level=0.5, step_size=InverseSqrt(0.1))
    run = Online(problem, solver)
    index = np.random.default_rng(1).integers(200, size=50)
    expected = naive(whole, 0.5, 50, 0.1, indices=index[:, None])
    for i, (U, w, y, alpha) in zip(index, expected):
        feed(problem, [i], run)
        assert solver.upper(problem, run.state) == pytest.approx(U, abs=1e-12)
        np.testing.assert_allclose(run.x, w, atol=1e-12)
        np.testing.assert_allclose(run.state.y, y, atol=1e-12)
        np.testing.assert_allclose(run.state.alpha, alpha, atol=1e-12)
    assert run.counter.values == run.steps == 50


def test_running_counts_become_the_true_shares():
    problem, whole = stream("inter"), instance("inter").saddle().functions
    feed(problem, range(200))
    x = whole.lift(W) + 0.1
    np.testing.assert_allclose(
        problem.saddle().functions.at(x).values, whole.of_rows(np.array([199])).at(x).values
    )


def test_a_pair_counts_as_equal_scores_until_both_subsets_were_seen():
    problem = stream("inter")
    assert problem.at(W).values == pytest.approx([0.5, -0.05, -0.05])
    problem.feed([1.0, 0.0, 0.0], positive=True, member=True)
    F, G = np.split(problem.saddle().functions.at(np.r_[W, np.zeros(10)]).values, 2)
    np.testing.assert_allclose(F, 0.5)
    np.testing.assert_allclose(G, 0.0)
    problem.feed([0.0, 1.0, 0.0], positive=False, member=True)  # a negative: the AUC has its pairs
    G = problem.saddle().functions.at(np.r_[W, np.zeros(10)]).values[5:]
    assert (G != 0).tolist() == [True, False, False, False, False]


def test_rows_in_random_order_end_feasible_and_better_than_equal_scores():
    problem = stream()
    inner = SMD(steps=150, step_size=InverseSqrt(0.1))
    run = Online(problem, SFLS(theta=1.0, inner_method=inner))
    rng = np.random.default_rng(0)
    feed(problem, np.concatenate([rng.permutation(200) for _ in range(12)]), run)
    whole = instance().at(run.x)
    assert whole.excess <= 0
    assert whole.objective <= 0.45  # equal scores: 0.5, the optimum: 0.3659
    np.testing.assert_allclose(run.certificate().violation, 0.0)


def test_known_counts_may_be_shares():
    counts = np.array([40, 30, 60, 70])
    whole, shares = stream(counts=counts), stream(counts=counts / counts.sum())
    for problem in (whole, shares):
        feed(problem, range(5))
    x = whole.saddle().lift(W) + 0.1
    np.testing.assert_allclose(
        shares.saddle().functions.at(x).values, whole.saddle().functions.at(x).values
    )


def test_a_row_may_be_written_over_once_it_is_fed():
    problem, row = stream(), np.array([1.0, 0.0, 2.0])
    problem.feed(np.zeros(3), False, False)
    problem.feed(row, True, True)
    x = problem.saddle().lift(W) + 0.1
    before = problem.saddle().functions.at(x).values
    row[:] = 7.0
    np.testing.assert_array_equal(problem.saddle().functions.at(x).values, before)


def test_wrong_input():
    problem = stream()
    with pytest.raises(ValueError, match=r"AUCStream\.feed: `row` must have shape \(3,\)"):
        problem.feed([1.0, 2.0], True, True)
    with pytest.raises(ValueError, match="`row` must be finite"):
        problem.feed([1.0, np.nan, 0.0], True, True)
    with pytest.raises(
        ValueError, match=r"AUCStream\.feed: `positive` must be True or False, got -1"
    ):
        problem.feed([1.0, 2.0, 0.0], -1, True)
    assert problem.counts.sum() == 0
    with pytest.raises(ValueError, match="AUCStream: `counts` must be non-negative"):
        stream(counts=[3, -1, 2, 2])
    with pytest.raises(ValueError, match="AUCStream: `counts` must have positives and negatives"):
        stream("inter", counts=[3, 0, 2, 2])
    with pytest.raises(ValueError, match="AUCStream: `domain` must be bounded"):
        AUCStream(3, domain=WholeSpace(), interval=1.0)
    with pytest.raises(ValueError, match="AUCStream: `domain` must have dimension 3, got 2"):
        AUCStream(3, domain=Box(0, 1, dim=2), interval=1.0)
    with pytest.raises(ValueError, match="AUCStream: `kappa` must be at least"):
        stream(c1=1.0)
    with pytest.raises(ValueError, match="AUCStream: `kind` must be one of"):
        AUCStream(3, kind="outer", domain=L2Ball(1.0), interval=1.0)
    convex = REFERENCES["convex"]().problem
    with pytest.raises(UnsuitableSolverError, match="min-max form"):
        Online(convex, SMD())
    with pytest.raises(ValueError, match="Online: `x0` must lie in the domain"):
        Online(problem, SMD(), [9.0, 0.0, 0.0])
    Online(convex, SwitchingSubgradient()).step()
