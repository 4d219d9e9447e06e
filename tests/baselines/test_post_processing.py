"""Scores of one group, scaled and shifted: the whole grid against one transform at a time."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from equipoise import AUCClassifier
from equipoise.baselines import ScorePostProcessing
from equipoise.baselines._transforms import SCALES, SHIFTS, AtomAUCs, Transforms
from equipoise.datasets import make_census
from equipoise.estimators import InfeasibleWarning
from equipoise.metrics import auc_gap, subset_auc

RNG = np.random.default_rng(3)
N = 120
SCORES = np.round(RNG.normal(size=N), 1)  # with ties
POSITIVE = RNG.random(N) < 0.4
MEMBER = RNG.random(N) < 0.5
DATA = make_census(800, seed=0)
KINDS = ("group", "inter", "intra", "positive", "background")


def transformed(scale, shift):
    return np.where(MEMBER, scale * SCORES + shift, SCORES)


def test_the_grid_of_the_paper():
    assert SCALES.size * SHIFTS.size == 6161
    assert (SCALES[0], SCALES[-1], SHIFTS[0], SHIFTS[-1]) == (0.0, 5.0, -3.0, 3.0)
    assert 1.0 in SCALES
    assert 0.0 in SHIFTS


@pytest.mark.parametrize("kind", KINDS)
def test_every_transform_has_the_metrics_of_its_scores(kind):
    scales, shifts = np.array([0.0, 0.5, 1.0, 2.0]), np.array([-1.0, 0.0, 0.3])
    found = Transforms.of(SCORES, POSITIVE, MEMBER, scales, shifts).measured
    for i, scale in enumerate(scales):
        for j, shift in enumerate(shifts):
            s = transformed(scale, shift)
            assert found.auc()[i, j] == pytest.approx(roc_auc_score(POSITIVE, s), abs=1e-12)
            if kind in ("group", "inter", "intra"):  # of two groups the others have two gaps
                gap = auc_gap(POSITIVE.astype(int), s, sensitive_features=MEMBER, kind=kind)
                assert found.gap(kind)[i, j] == pytest.approx(gap, abs=1e-12)
            one = AtomAUCs.of(s, POSITIVE, MEMBER)
            assert found.gap(kind)[i, j] == pytest.approx(float(one.gap(kind)), abs=1e-12)


def test_t6_11_no_change_reproduces_the_raw_metrics():
    raw, grid = AtomAUCs.of(SCORES, POSITIVE, MEMBER), Transforms.of(SCORES, POSITIVE, MEMBER)
    same = int(np.flatnonzero(SCALES == 1.0)[0]), int(np.flatnonzero(SHIFTS == 0.0)[0])
    np.testing.assert_allclose(grid.measured.aucs[same], raw.aucs, atol=1e-12)


def test_t6_11_scales_above_0_leave_aucs_within_groups():
    raw, grid = AtomAUCs.of(SCORES, POSITIVE, MEMBER), Transforms.of(SCORES, POSITIVE, MEMBER)
    assert np.allclose(grid.measured.gap("intra")[1:], raw.gap("intra"))
    s = transformed(2.0, 0.7)
    for inside in (MEMBER, ~MEMBER):
        found = [subset_auc(v, inside & POSITIVE, inside & ~POSITIVE) for v in (SCORES, s)]
        assert found[0] == pytest.approx(found[1], abs=1e-12)


def test_t6_11_scale_0_makes_ties():
    s = transformed(0.0, 0.7)
    above, below = MEMBER & POSITIVE, MEMBER & ~POSITIVE
    assert subset_auc(s, above, below, ties="strict") == 0.0
    assert subset_auc(s, above, below) == 0.5
    strict = [subset_auc(v, POSITIVE, ~POSITIVE, ties="strict") for v in (SCORES, s)]
    half = [subset_auc(v, POSITIVE, ~POSITIVE) for v in (SCORES, s)]
    assert half[1] - strict[1] > half[0] - strict[0]


@pytest.mark.parametrize("kind", ["group", "inter"])
@pytest.mark.parametrize("bound", [0.01, 0.05, 1.0])
def test_the_best_transform_within_the_bound(kind, bound):
    model = ScorePostProcessing(AUCClassifier(C=0.1), kind=kind, bound=bound)
    model.fit(DATA.X, DATA.y, sensitive_features=DATA.groups)
    scores = model.decision_function(DATA.X, sensitive_features=DATA.groups)
    gap = auc_gap(DATA.y, scores, sensitive_features=DATA.groups, kind=kind)
    found = model.transforms_.measured
    assert gap <= bound + 1e-12
    best = found.auc()[found.gap(kind) <= bound].max()
    assert roc_auc_score(DATA.y, scores) == pytest.approx(best, abs=1e-12)


def test_a_fitted_model_is_not_fitted_again():
    base = AUCClassifier().fit(DATA.X, DATA.y)
    coef = base.coef_.copy()
    half = np.arange(DATA.n) < 400
    model = ScorePostProcessing(base, kind="group", bound=0.02, prefit=True)
    model.fit(DATA.X[half], DATA.y[half], sensitive_features=DATA.groups[half])
    assert model.estimator_ is base
    np.testing.assert_array_equal(base.coef_, coef)


def test_a_bound_that_no_transform_keeps():
    model = ScorePostProcessing(kind="intra", bound=1e-9, scales=[0.5, 1.0], shifts=[0.0])
    with pytest.warns(InfeasibleWarning, match="no transform keeps the bound 1e-09; the gap is"):
        model.fit(DATA.X, DATA.y, sensitive_features=DATA.groups)


def test_wrong_input():
    model = ScorePostProcessing(kind="group").fit(DATA.X, DATA.y, sensitive_features=DATA.groups)
    wrong = np.full(DATA.n, "nobody")
    with pytest.raises(
        ValueError, match=r"`sensitive_features` must hold the groups .*got 'nobody'"
    ):
        model.decision_function(DATA.X, sensitive_features=wrong)
    with pytest.raises(ValueError, match="ScorePostProcessing: groups are needed"):
        model.decision_function(DATA.X)
    with pytest.raises(ValueError, match="`sensitive_features` must have positives and negatives"):
        ScorePostProcessing().fit(DATA.X, DATA.y, sensitive_features=DATA.y)
    with pytest.raises(ValueError, match="`estimator` must be given where it is fitted already"):
        ScorePostProcessing(prefit=True).fit(DATA.X, DATA.y, sensitive_features=DATA.groups)
    with pytest.raises(ValueError, match="`scales` must be non-negative, got -1"):
        ScorePostProcessing(scales=[-1.0]).fit(DATA.X, DATA.y, sensitive_features=DATA.groups)
