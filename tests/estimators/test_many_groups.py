"""Many groups: rates over few rows, pooled groups, audits, short reports."""

import numpy as np
import pytest
from scipy.optimize import nnls

from equipoise import (
    ConstrainedClassifier,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
    fit_until_audited,
    rate,
)
from equipoise.certificate import _multipliers
from equipoise.constraints import bind
from equipoise.estimators._counted import held, turning
from equipoise.metrics import worst_groups
from equipoise.solvers._newton import dual_multipliers
from equipoise.terms import Scores
from equipoise.terms._fixed_predictions import held_predictions


@pytest.fixture(scope="module")
def tiny():
    """Ten groups whose rates differ, of which the smallest has a dozen rows of the positive class."""
    rng = np.random.default_rng(3)
    sizes = np.array([60, 80, 120, 150, 300, 500, 600, 800, 1000, 1500])
    group = np.repeat(np.arange(10), sizes)
    X = rng.normal(size=(group.size, 12)) + 0.15 * np.linspace(-1, 1, 10)[group][:, None]
    logit = 1.5 * X[:, 0] - X[:, 1] + 0.7 * X[:, 2] - 0.8 + np.linspace(-1, 1, 10)[group]
    y = (rng.random(group.size) < 1 / (1 + np.exp(-logit))).astype(int)
    return X, y, np.array([f"g{g}" for g in group])


def odds_gap(y, predicted, groups):
    rates = [
        [predicted[(groups == g) & (y == label)].mean() for g in np.unique(groups)]
        for label in (0, 1)
    ]
    return max(max(rate) - min(rate) for rate in rates)


@pytest.mark.parametrize("fixable", [2_000_000, 0], ids=["all rows", "few rows"])
def test_bounds_finer_than_the_rows_of_a_group_are_kept(tiny, monkeypatch, fixable):
    monkeypatch.setattr("equipoise.estimators._counted.fixed.MAX_DENSE_ENTRIES", fixable)
    X, y, groups = tiny
    model = ConstrainedClassifier(equalized_odds(0.08)).fit(X, y, sensitive_features=groups)
    assert odds_gap(y, model.predict(X), groups) <= 0.08 + 1e-12
    assert model.result_.success
    assert ("rows of small groups" in model.report_.status) == (fixable == 0)
    assert model.report_.accuracy > max(y.mean(), 1 - y.mean())  # of the two constants


@pytest.fixture(scope="module")
def many():
    """Groups drawn at random, so many that chance alone sets their rates apart."""
    rng = np.random.default_rng(5)
    X, group = rng.normal(size=(8000, 40)), rng.integers(0, 25, 8000)
    chances = 1 / (1 + np.exp(1.0 - X @ rng.normal(scale=0.35, size=40)))
    return X, (rng.random(8000) < chances).astype(int), np.array([f"g{g}" for g in group])


def test_small_steps_keep_bounds_over_many_rates(many, monkeypatch):
    """Shifts move the model so far that other groups break their bounds."""
    monkeypatch.setattr("equipoise.estimators._counted.fixed.MAX_DENSE_ENTRIES", 0)
    X, y, groups = many
    model = ConstrainedClassifier(equalized_odds(0.08)).fit(X, y, sensitive_features=groups)
    predicted = model.predict(X)
    assert odds_gap(y, predicted, groups) <= 0.08 + 1e-12
    assert "small steps" in model.report_.status
    free = ConstrainedClassifier().fit(X, y).predict(X)
    assert odds_gap(y, free, groups) > 0.16
    assert (predicted == y).mean() > (free == y).mean() - 0.02


def test_held_predictions_make_numbers_of_small_rates(tiny):
    _, y, groups = tiny
    terms = bind(demographic_parity(0.05), y, groups).terms
    scores = np.random.default_rng(0).normal(size=y.size)
    largest = terms.sums.largest
    small = np.flatnonzero(largest >= np.sort(largest[1:])[-2])
    small = small[small > 0]
    held_terms = held_predictions(terms, scores > 0, 0.1, small)
    counted = terms.sums.thresholded(Scores(scores))
    values = terms.sums.values(scores)
    values[small] = counted[small]
    expected = dict(zip(terms.combination.names, terms.combination.plain_values(values)[1:]))
    found = dict(zip(held_terms.combination.names, held_terms.at(scores).values[1:]))
    kept = {name: value for name, value in found.items() if name in expected}
    assert len(kept) == 90 - 2  # the two gaps between the small groups are settled
    assert kept == pytest.approx({name: expected[name] for name in kept})
    inside = np.isin(groups, ["g0", "g1"])
    rows = {f"row {i}": 0.1 - abs(scores[i]) for i in np.flatnonzero(inside)}
    assert {name: v for name, v in found.items() if name.startswith("row")} == pytest.approx(rows)


def test_few_groups_are_not_held(tiny):
    X, y, groups = tiny
    two = np.where(np.isin(groups, ["g0"]), "small", "large")
    model = ConstrainedClassifier(equalized_odds(0.05)).fit(X, y, sensitive_features=two)
    assert "small groups" not in model.report_.status
    assert held.MANY_RATES > 6  # two rates of three groups


def test_a_report_of_many_groups_is_short_and_shows_the_worst_pair_first(tiny):
    X, y, groups = tiny
    model = ConstrainedClassifier(demographic_parity(0.2)).fit(X, y, sensitive_features=groups)
    report = model.report_
    assert len(report.to_frame()) == 90
    lines = [line for line in str(report).splitlines() if line.startswith("demographic parity")]
    assert len(lines) == 10
    worst = max(report.constraints, key=lambda line: line.true - line.bound)
    assert lines[0].startswith(worst.name)
    assert "... and 35 more" in str(report)  # 45 pairs, each once
    pairs = [frozenset(line.split(": ")[1].split("  ")[0].split(" - ")) for line in lines]
    assert len(set(pairs)) == 10


def test_small_intersections_are_pooled(tiny):
    X, y, groups = tiny
    half = np.where(np.arange(y.size) % 2, "odd", "even")
    columns = {"group": groups, "half": half}
    rule = demographic_parity(0.1, intersections=True)
    model = ConstrainedClassifier(rule, min_cell=100, small_cells="pool")
    model.fit(X, y, sensitive_features=columns)
    small = np.isin(groups, ["g0", "g1", "g2", "g3"])
    cells = np.where(small, "pool", np.char.add(groups, half))
    predicted = model.predict(X)
    rates = [predicted[cells == c].mean() for c in np.unique(cells)]
    assert max(rates) - min(rates) <= 0.1 + 1e-12
    assert len(model.report_.pooled) == 8
    assert "one group, 'other (pooled)', as each alone is small: group=g0 & half=even" in str(
        model.report_
    )
    names = {name for line in model.report_.constraints for name in line.groups}
    assert "other (pooled)" in names
    assert len(names) == 13


def test_a_pool_that_is_small_is_left_out(tiny):
    _, y, groups = tiny
    half = np.where(np.arange(y.size) % 2, "odd", "even")
    rule = demographic_parity(0.1, intersections=True)
    options = {"min_cell": 35, "small_cells": "pool"}
    binding = bind(rule, y, {"group": groups, "half": half}, **options)
    assert (len(binding.pooled), len(binding.skipped)) == (2, 0)
    alone = np.where(groups == "g0", half, "both")  # one small cell makes no pool
    binding = bind(
        rule, y, {"group": np.where(groups == "g0", "g0", "g1"), "half": alone}, **options
    )
    assert binding.pooled == () or len(binding.pooled) > 1


def test_audited_fits_end_where_no_group_is_found(tiny):
    X, y, groups = tiny
    columns = {"group": groups, "side": np.where(X[:, 1] > 0.3, "left", "right")}
    rule = demographic_parity(0.2)
    done = fit_until_audited(ConstrainedClassifier(), X, y, columns, rule=rule)
    assert done.clean
    assert len(done.rounds) > 1
    assert done.rounds[0][0].name in str(done)
    assert str(done).endswith("no groups beyond the bound on the training rows")
    assert worst_groups(y, done.model.predict(X), columns, bound=0.2) == ()
    for finding in done.rounds[0]:
        inside = finding.members
        predicted = done.model.predict(X)
        assert abs(predicted[inside].mean() - predicted[~inside].mean()) <= 0.2 + 1e-12
    once = fit_until_audited(ConstrainedClassifier(), X, y, columns, rule=rule, max_rounds=1)
    assert not once.clean


@pytest.mark.parametrize("positive", ["no", "yes"])
def test_audits_speak_of_the_positive_class_of_the_model(positive, tiny):
    X, y, groups = tiny
    words = np.where(y == 1, "yes", "no")
    columns = {"group": groups, "side": np.where(X[:, 1] > 0.3, "left", "right")}
    model, rule = ConstrainedClassifier(pos_label=positive), equal_opportunity(0.05)
    first = fit_until_audited(model, X, words, columns, rule=rule, max_rounds=1)
    assert first.rounds[0]
    for finding in first.rounds[0]:
        rows = finding.members & (words == positive)
        assert finding.rate == np.mean(first.model.predict(X)[rows] == positive)


def test_audits_keep_other_constraints_and_refuse_those_on_groups(tiny):
    X, y, groups = tiny
    free = ConstrainedClassifier(rate("positive") <= 0.3)
    done = fit_until_audited(free, X, y, groups, rule=demographic_parity(0.3))
    assert done.model.predict(X).mean() <= 0.3 + 1e-12
    promising = ConstrainedClassifier(rate("positive") <= 0.3, confidence=0.9)
    with pytest.raises(ValueError, match="must have no `confidence`"):
        fit_until_audited(promising, X, y, {"group": groups}, rule=demographic_parity(0.1))
    named = ConstrainedClassifier(demographic_parity(0.1))
    with pytest.raises(ValueError, match="no constraints on groups"):
        fit_until_audited(named, X, y, groups, rule=demographic_parity(0.3))


def test_programs_of_a_fit_with_fifty_small_groups_stay_small(monkeypatch):
    """Parity compares 2,450 pairs of groups, whose gradients lie in six dimensions."""
    sizes = []

    def noted(A, b):
        sizes.append(b.size)
        return nnls(A, b)

    monkeypatch.setattr(dual_multipliers, "nnls", noted)
    monkeypatch.setattr(_multipliers, "nnls", noted)
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(50), 60)
    X, w, offsets = rng.normal(size=(3000, 5)), rng.normal(size=5), 0.7 * rng.normal(size=50)
    y = (rng.random(3000) < 1 / (1 + np.exp(-X @ w - offsets[groups]))).astype(int)
    model = ConstrainedClassifier(demographic_parity(0.1)).fit(X, y, sensitive_features=groups)
    positive = np.bincount(groups, model.predict(X)) / 60
    assert np.ptp(positive) <= 0.1 + 1e-12
    assert max(sizes) <= 2 * _multipliers.SHARED_OUT
    assert len(sizes) <= 2000
    assert model.n_iter_ <= 1000


def test_columns_are_told_apart_by_numbers_before_they_are_sorted(monkeypatch):
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(300, 7)).round(1)[:, rng.integers(0, 7, size=500)]
    expected, places = np.unique(columns, axis=1, return_inverse=True)
    sorted_whole, unique = [], np.unique

    def noted(values, **options):
        if "axis" in options:
            sorted_whole.append(values.shape[1])
        return unique(values, **options)

    monkeypatch.setattr(np, "unique", noted)
    cells, cell = turning._distinct(columns)
    np.testing.assert_array_equal(cells, expected)
    np.testing.assert_array_equal(cell, places.ravel())
    assert sorted_whole == [7]
