"""Values of the library's constraints: by counting, at zero, and against fairlearn."""

import warnings

import numpy as np
import pytest

from equipoise.constraints import (
    Each,
    bind,
    bounded_group_loss,
    churn,
    coverage,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
    error_rate,
    false_negative_parity,
    false_negative_rate,
    false_positive_parity,
    false_positive_rate,
    group_loss,
    loss_budget,
    minority_coverage,
    parity_pair,
    precision,
    rate,
    recall,
    unfairness,
)
from equipoise.terms import Logistic, Sigmoid

from .examples import N, data


def hard(constraint, y, groups, scores, weight=None):
    binding = bind(constraint, y, groups, weight)
    values = binding.terms.thresholded(scores)[1:]
    return {row.name: row.measured(value) for row, value in zip(binding.inequalities, values)}


def test_hard_rates_by_counting(rng):
    y, groups, scores = data()
    w = rng.random(N) + 0.1
    yhat, old = (scores > 0).astype(int), rng.integers(0, 2, N)

    def share(event, given):
        return sum(wi for wi, e, g in zip(w, event, given) if e and g) / sum(
            wi for wi, g in zip(w, given) if g
        )

    F, one, zero = groups == "F", y == 1, y == 0
    everyone = np.ones(N, dtype=bool)
    expected = {
        rate("positive"): share(yhat == 1, everyone),
        rate("negative", "F"): share(yhat == 0, F),
        rate("positive", "F", label=0): share(yhat == 1, F & zero),
        rate("true_positive", "F"): share(yhat == 1, F & one),
        rate("false_negative", "F"): share(yhat == 0, F & one),
        rate("false_positive"): share(yhat == 1, zero),
        rate("true_negative", {"group": "F"}): share(yhat == 0, F & zero),
        rate("error", "F"): share(yhat != y, F),
        rate("error", "F", label=1): share(yhat != y, F & one),
        rate("accuracy"): share(yhat == y, everyone),
        rate("churn", "F", reference=old): share(yhat != old, F),
        rate("true_positive", "F", per="group"): share((yhat == 1) & one, F),
        rate("true_positive", "F", per="all"): share((yhat == 1) & one & F, everyone),
        rate("error", "F", label=0, per="group"): share((yhat != y) & zero, F),
        rate("negative", "F", per="all"): share((yhat == 0) & F, everyone),
    }
    binding = bind([expression <= 0.5 for expression in expected], y, groups, w)
    values = binding.terms.thresholded(scores)[1:] + 0.5
    np.testing.assert_allclose(values, list(expected.values()), rtol=1e-12)


@pytest.mark.parametrize("reference", ["pairs", "mean", "overall"])
def test_parities_by_counting(reference, rng):
    y, groups, scores = data()
    yhat = scores > 0
    for constraint, given, kind in (
        (demographic_parity, np.ones(N, dtype=bool), yhat),
        (equal_opportunity, y == 1, yhat),
        (false_positive_parity, y == 0, yhat),
        (false_negative_parity, y == 1, ~yhat),
    ):
        found = hard(constraint(0.1, reference), y, groups, scores)
        rates = {g: kind[given & (groups == g)].mean() for g in "FMX"}
        other = {"mean": np.mean(list(rates.values())), "overall": kind[given].mean()}
        assert len(found) == 6
        for name, value in found.items():
            a, b = name.split(": ")[1].split(" - ")
            expected = {**rates, **other}[a] - {**rates, **other}[b]
            assert value == pytest.approx(expected, abs=1e-12)


def test_fairlearn_agrees(rng):
    metrics = pytest.importorskip("fairlearn.metrics")
    for seed in range(5):
        y, groups, scores = data(seed=seed)
        w = rng.random(N) + 0.1
        yhat = (scores > 0).astype(int)
        options = {"sensitive_features": groups, "sample_weight": w}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dp = metrics.demographic_parity_difference(y, yhat, **options)
            dp_overall = metrics.demographic_parity_difference(
                y, yhat, method="to_overall", **options
            )
            eo = metrics.equalized_odds_difference(y, yhat, **options)
        assert max(hard(demographic_parity(0.1), y, groups, scores, w).values()) == pytest.approx(
            dp
        )
        overall = hard(demographic_parity(0.1, "overall"), y, groups, scores, w)
        assert max(overall.values()) == pytest.approx(dp_overall)
        assert max(hard(equalized_odds(0.1), y, groups, scores, w).values()) == pytest.approx(eo)


def test_bounds_by_counting(rng):
    y, groups, scores = data()
    yhat, old = scores > 0, rng.random(N) < 0.5
    found = {
        **hard(coverage(at_most=0.4), y, groups, scores),
        **hard(recall(0.9), y, groups, scores),
        **hard(false_positive_rate(0.1), y, groups, scores),
        **hard(false_negative_rate(0.1), y, groups, scores),
        **hard(error_rate(0.1), y, groups, scores),
        **hard(churn(0.1, old.astype(int)), y, groups, scores),
    }
    assert found == pytest.approx(
        {
            "coverage": yhat.mean(),
            "recall": yhat[y == 1].mean(),
            "false positive rate": yhat[y == 0].mean(),
            "false negative rate": 1 - yhat[y == 1].mean(),
            "error rate": (yhat != y).mean(),
            "churn": (yhat != old).mean(),
        }
    )


@pytest.mark.parametrize("group", [None, "M"])
def test_precision_is_a_ratio_written_linearly(group):
    y, groups, scores = data()
    rows = np.ones(N, dtype=bool) if group is None else groups == group
    yhat = scores > 0
    true = (y == 1)[yhat & rows].mean()
    for p in (true - 0.01, true + 0.01):
        value = bind(precision(p, group=group), y, groups).terms.thresholded(scores)[1]
        assert value == pytest.approx((p - true) * yhat[rows].mean())
    assert bind(precision(0.5), y).terms.thresholded(-np.ones(N))[1] == 0.0


def test_group_losses(rng):
    y, groups, scores = data()
    w = rng.random(N) + 0.1
    losses = np.log1p(np.exp(-np.where(y == 1, 1, -1) * scores))
    mean = {g: np.average(losses[groups == g], weights=w[groups == g]) for g in "FMX"}
    overall = np.average(losses, weights=w)
    found = hard(bounded_group_loss(0.5), y, groups, scores, w)
    assert found == pytest.approx({f"bounded group loss: {g}": mean[g] for g in "FMX"})
    found = hard(group_loss(0.5), y, groups, scores, w)
    assert found == pytest.approx({f"group loss: {g}": mean[g] - overall for g in "FMX"})
    found = hard(group_loss(0.5, mode="mean"), y, groups, scores, w)
    assert found == pytest.approx({"group loss: mean": np.mean(list(mean.values())) - overall})
    hinge = hard(bounded_group_loss(0.5, loss="hinge"), y, groups, scores)
    F = groups == "F"
    expected = np.maximum(0, 1 - np.where(y == 1, 1, -1) * scores)[F].mean()
    assert hinge["bounded group loss: F"] == pytest.approx(expected)


def test_overlapping_groups_are_columns_of_booleans():
    y, _, scores = data()
    columns = {"tall": scores > 1, "old": np.arange(N) < 70}
    binding = bind(group_loss(0.1, groups=(True,)), y, columns)
    assert binding.names == ("group loss: tall=True", "group loss: old=True")


def test_minority_coverage_at_zero_and_raw():
    y, groups, scores = data()
    share = (groups == "F").mean()
    for c in (0.1, 0.5):
        zero = bind(minority_coverage(c, "F"), y, groups).terms.at(np.zeros(N)).values[1]
        assert zero == pytest.approx((c - share) / 2)
    sigma = 1 / (1 + np.exp(-scores))
    raw = bind(minority_coverage(0.1, "F", normalise=False), y, groups).terms.at(scores).values[1]
    assert raw == pytest.approx(0.1 * sigma.sum() - sigma[groups == "F"].sum())
    normalised = bind(minority_coverage(0.1, "F"), y, groups).terms.at(scores).values[1]
    assert normalised == pytest.approx(raw / N)


@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_parity_pair(beta):
    y, groups, scores = data()
    binding = bind(parity_pair(1.05, beta, groups=("M", "F")), y, groups)
    assert binding.names == ("parity pair: M, F", "parity pair: F, M")
    np.testing.assert_allclose(
        binding.terms.at(np.zeros(N)).values[1:], (1 + beta) / 2 - 1.05, rtol=1e-12
    )
    sigma = 1 / (1 + np.exp(-scores))
    M, F = (sigma[groups == g].mean() for g in "MF")
    expected = [M + beta * (1 - F) - 1.05, F + beta * (1 - M) - 1.05]
    np.testing.assert_allclose(binding.terms.at(scores).values[1:], expected, rtol=1e-12)
    if beta == 1.0:
        parity = bind(demographic_parity(0.05, groups=("M", "F")), y, groups)
        np.testing.assert_allclose(parity.terms.at(scores).values[1:], expected, rtol=1e-10)
    assert len(bind(parity_pair(1.1), y, groups).inequalities) == 6


def test_loss_budget_is_over_the_rows_of_the_objective():
    y, groups, scores = data()
    first = np.arange(N) < 80
    binding = bind(
        loss_budget(0.1),
        y,
        groups,
        ~first,
        objective=unfairness(groups=("F", "M")),
        objective_weight=first,
        best_loss=0.4,
    )
    losses = np.log1p(np.exp(-np.where(y == 1, 1, -1) * scores))
    sigma = 1 / (1 + np.exp(-scores))
    R = sigma[~first & (groups == "F")].mean() - sigma[~first & (groups == "M")].mean()
    expected = [R**2 / 2, losses[first].mean() - 0.44]
    np.testing.assert_allclose(binding.terms.at(scores).values, expected, rtol=1e-12)


def test_unfairness_has_the_constants_of_p004():
    """Of R^2/2 with R a gap: alpha-Lipschitz and (beta + alpha^2)-smooth."""
    y, groups, _ = data()
    norms = np.random.default_rng(0).random(N) + 0.5
    terms = bind([], y, groups, objective=unfairness(groups=("F", "M"))).terms
    means = [norms[groups == g].mean() for g in "FM"]
    squares = [(norms[groups == g] ** 2).mean() for g in "FM"]
    alpha, beta = sum(means) / 4, np.sqrt(3) / 18 * sum(squares)
    bounds = terms.bounds(norms)
    assert bounds.lipschitz[0] == pytest.approx(alpha)
    assert bounds.smoothness[0] == pytest.approx(beta + alpha**2)


def test_parity_has_the_constants_of_table_1_3():
    y, groups, _ = data()
    norms = np.random.default_rng(0).random(N) + 0.5
    bounds = bind(demographic_parity(0.1, groups=("F", "M")), y, groups).terms.bounds(norms)
    means = [norms[groups == g].mean() for g in "FM"]
    squares = [(norms[groups == g] ** 2).mean() for g in "FM"]
    np.testing.assert_allclose(bounds.lipschitz[1:], sum(means) / 4)
    np.testing.assert_allclose(bounds.weak_convexity[1:], np.sqrt(3) / 18 * sum(squares))


def test_duplicated_groups_have_no_gap_at_all(rng):
    scores = rng.normal(size=50)
    y = rng.integers(0, 2, 50)
    groups = np.repeat(["a", "b"], 50)
    binding = bind(equalized_odds(0.0), np.tile(y, 2), groups)
    assert not binding.terms.at(np.tile(scores, 2)).values[1:].any()
    assert (
        not bind(demographic_parity(0.0), np.tile(y, 2), groups)
        .terms.at(np.tile(scores, 2))
        .values[1:]
        .any()
    )


def test_each_group_of_each_column(rng):
    y, sex, scores = data()
    race = rng.choice(["b", "w"], N)
    found = hard(recall(0.5, group=Each()), y, {"sex": sex, "race": race}, scores)
    assert list(found) == [f"recall: sex={g}" for g in "FMX"] + [f"recall: race={g}" for g in "bw"]
    only = hard(recall(0.5, group=Each("race")), y, {"sex": sex, "race": race}, scores)
    assert list(only) == ["recall: race=b", "recall: race=w"]


def test_objectives(rng):
    y, groups, scores = data()
    margins = np.where(y == 1, 1, -1) * scores
    assert bind([], y, loss=Logistic()).terms.at(scores).values == pytest.approx(
        [np.log1p(np.exp(-margins)).mean()]
    )
    weight = rng.random(N)
    weighted = bind([], y, objective_weight=weight, loss="squared").terms.at(scores).values
    assert weighted == pytest.approx([np.average((margins - 1) ** 2, weights=weight)])
    one_class = bind([], y, objective=rate("loss", label=0) + 0.5).terms.at(scores).values
    assert one_class == pytest.approx([np.log1p(np.exp(scores[y == 0])).mean() + 0.5])
    odds = bind([], y, groups, objective=unfairness("equalized_odds")).terms.thresholded(scores)[0]
    gaps = 0.0
    for label in (0, 1):
        rates = [(scores > 0)[(groups == g) & (y == label)].mean() for g in "FMX"]
        gaps += sum((a - b) ** 2 for i, a in enumerate(rates) for b in rates[i + 1 :]) / 2
    assert odds == pytest.approx(gaps)


def test_sharpness_and_truth():
    y, groups, scores = data()
    soft, sharp = (bind(demographic_parity(0.02), y, groups, sharpness=k).terms for k in (1, 300))
    np.testing.assert_array_equal(soft.thresholded(scores), sharp.thresholded(scores))
    np.testing.assert_allclose(
        sharp.at(scores).values[1:], sharp.thresholded(scores)[1:], atol=0.02
    )


def test_any_pointwise_function_can_be_a_loss():
    """Losses are of the margin, also where the function is the one that stands for predictions."""
    y, groups, scores = data()
    margin = np.where(y == 1, 1, -1) * scores
    both = [rate("loss", loss=Sigmoid(1.0)) <= 0.5, rate("positive") <= 0.5]
    values = bind(both, y, groups).terms.at(scores).values[1:] + 0.5
    expected = [(1 / (1 + np.exp(-z))).mean() for z in (margin, scores)]
    np.testing.assert_allclose(values, expected, rtol=1e-12)
