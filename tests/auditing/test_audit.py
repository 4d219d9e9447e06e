"""Audits: values as counted, intervals for every rule, verdicts, and what is refused."""

import html
import json
import math

import numpy as np
import pytest

import equipoise as eq
from equipoise import audit
from equipoise.constraints import AUC_PARITIES, Each, bind
from equipoise.metrics import subset_auc
from equipoise.terms import Scores

RNG = np.random.default_rng(3)
N = 900
GROUP = RNG.choice(["a", "b", "c"], N, p=[0.5, 0.4, 0.1])
RACE = RNG.choice(["x", "y"], N)
Y = (RNG.random(N) < np.where(GROUP == "a", 0.5, 0.3)).astype(int)
SCORES = Y + RNG.normal(size=N)
PREDICTED = (SCORES > 0.5).astype(int)
COLUMNS = {"group": GROUP, "race": RACE}

RULES = {
    "parity": eq.demographic_parity(0.1, column="group"),
    "parity, mean": eq.demographic_parity(0.1, "mean", column="group"),
    "parity, overall": eq.demographic_parity(0.1, "overall", column="group"),
    "intersections": eq.demographic_parity(0.1, intersections=True),
    "odds": eq.equalized_odds(0.1, column="race"),
    "coverage": eq.coverage(at_most=0.5),
    "recall": eq.recall(0.5, group=Each("group")),
    "precision": eq.precision(0.5),
    "precision of a group": eq.precision(0.5, group={"group": "c"}),
    "F-score": eq.f_score(0.5),
    "error": eq.error_rate(0.4, group=Each("race")),
    "churn": eq.churn(0.2, (SCORES > 0.6).astype(int)),
    "four fifths": eq.rate("positive", {"group": "a"}) / eq.rate("positive", {"group": "b"}) >= 0.8,
    "three rates": eq.rate("positive", {"group": "a"}) + eq.rate("positive", {"group": "b"})
    <= 2 * eq.rate("positive", {"group": "c"}),
    "overlapping": abs(eq.rate("error", {"group": "a"}) - eq.rate("error", {"race": "x"})) <= 0.1,
    "ratio of sums": (eq.rate("error") + eq.rate("positive")) / eq.rate("negative") <= 3.0,
    "minority": eq.minority_coverage(0.05, {"group": "c"}),
    "pair": eq.parity_pair(1.2, column="group"),
    **{f"AUCs, {kind}": eq.auc_parity(kind, 0.1, column="group") for kind in AUC_PARITIES},
    "a set and a part below": eq.auc(eq.Subset(), eq.Subset({"group": "c"})) >= 0.4,
    "nested AUCs, added": eq.auc(eq.Subset({"group": "a"}), eq.Subset())
    + 2 * eq.auc(eq.Subset({"group": "b"}, True), eq.Subset(None, True))
    >= 0.4,
}


@pytest.mark.parametrize("name", RULES)
def test_values_are_those_of_the_rule_and_lie_between_their_limits(name):
    rule = RULES[name]
    found = audit(Y, PREDICTED, rule, sensitive_features=COLUMNS, scores=SCORES)
    binding = bind(rule, Y, COLUMNS, min_cell=2)
    sums = binding.terms.sums.thresholded(Scores(SCORES - 0.5))
    values = binding.combination.plain_values(sums)[1:]
    measured = binding.measured(values, lambda: sums)
    assert [line.name for line in found.lines] == [row.name for row in binding.inequalities]
    assert [line.value for line in found.lines] == pytest.approx(measured.tolist())
    for line in found.lines:
        assert line.lower <= line.value <= line.upper
        assert line.lower < line.upper


def test_intervals_are_right_all_at_once_for_small_groups():
    rng = np.random.default_rng(0)
    shares = {"a": 0.3, "b": 0.4, "c": 0.9}
    missed = 0
    for _ in range(80):
        group = np.repeat(list(shares), 20)
        predicted = (rng.random(60) < [shares[g] for g in group]).astype(int)
        rules = eq.demographic_parity(0.2)
        found = audit(np.arange(60) % 2, predicted, rules, sensitive_features=group, confidence=0.8)
        truth = [
            shares[a] - shares[b] for a, b in (line.name[-5:].split(" - ") for line in found.lines)
        ]
        missed += any(
            not line.lower <= value <= line.upper for line, value in zip(found.lines, truth)
        )
        assert not any(
            line.verdict == "holds" and value > 0.5 for line, value in zip(found.lines, truth)
        )
    assert missed <= 27  # of 16 expected at the most, with a standard deviation of 4


def test_verdicts_follow_the_limits():
    found = audit(Y, PREDICTED, [eq.coverage(at_most=0.95), eq.coverage(at_most=0.1)])
    fine, broken = found.lines
    assert (fine.verdict, broken.verdict) == ("holds", "broken")
    assert found.verdict == "broken"
    assert broken.p_value == 1.0
    near = audit(Y, PREDICTED, eq.coverage(at_most=PREDICTED.mean() + 0.01))
    (line,) = near.lines
    assert line.verdict == near.verdict == "too few rows"
    assert line.rows_needed > N
    many = int(line.rows_needed / N) + 1
    more = audit(
        np.tile(Y, many), np.tile(PREDICTED, many), eq.coverage(at_most=PREDICTED.mean() + 0.01)
    )
    assert more.verdict == "holds"


def test_all_bounds_together_need_no_correction():
    rules = [eq.coverage(at_most=PREDICTED.mean() + 0.031)] * 2
    alone, both = audit(Y, PREDICTED, rules[0]), audit(Y, PREDICTED, rules)
    assert both.p_value == alone.p_value <= 0.05
    assert both.holds


def test_aucs_are_audited_with_scores():
    rules = [eq.auc() >= 0.6, eq.auc_parity("intra", 0.3, column="race")]
    found = audit(Y, SCORES, rules, sensitive_features=COLUMNS)
    assert found.lines[0].value == pytest.approx(subset_auc(SCORES, Y == 1, Y == 0))
    assert found.verdict == "holds"
    mixed = audit(Y, PREDICTED, [*rules, RULES["odds"]], sensitive_features=COLUMNS, scores=SCORES)
    assert mixed.lines[0].value == found.lines[0].value
    with pytest.raises(ValueError, match="`scores` must hold numbers"):
        audit(Y, PREDICTED, [*rules, RULES["odds"]], sensitive_features=COLUMNS)
    crossed = eq.auc(eq.Subset({"group": "a"}), eq.Subset({"race": "x"})) >= 0.4
    with pytest.raises(ValueError, match="none is a part of the other"):
        audit(Y, SCORES, crossed, sensitive_features=COLUMNS)


def test_intervals_of_aucs_between_a_set_and_a_part_of_it_are_right():
    """A third of the positives win all pairs against the others."""
    rng, truth = np.random.default_rng(0), 5 / 6
    rule = eq.auc(eq.Subset("a", True), eq.Subset(None, True)) <= truth
    misses = dict.fromkeys(("below", "above"), 0)
    for _ in range(200):
        group = np.append(rng.choice(["a", "b", "b"], 40), ["a", "b"])
        scores, y = (group == "a") + 0.5 * rng.random(42), np.ones(42, dtype=int)
        y[-2:] = 0
        found = audit(y, scores, rule, sensitive_features=group, confidence=0.8).lines[0]
        misses["below"] += found.upper < truth
        misses["above"] += found.lower > truth
    assert max(misses.values()) <= 20 + 3 * math.sqrt(18)
    assert found.upper - found.lower < 0.4


def test_weights_are_handled_or_refused():
    by_group = np.where(GROUP == "a", 2.0, 0.5)
    rule = RULES["parity"]
    plain = audit(Y, PREDICTED, rule, sensitive_features=COLUMNS)
    weighted = audit(Y, PREDICTED, rule, sensitive_features=COLUMNS, sample_weight=by_group)
    assert weighted == plain
    half = np.arange(N) % 2 == 0
    part = audit(
        Y[half], PREDICTED[half], rule, sensitive_features={k: v[half] for k, v in COLUMNS.items()}
    )
    masked = audit(Y, PREDICTED, rule, sensitive_features=COLUMNS, sample_weight=half)
    assert masked == part
    with pytest.raises(ValueError, match="`sample_weight` differs within group group=a"):
        audit(Y, PREDICTED, rule, sensitive_features=COLUMNS, sample_weight=1.0 + np.arange(N))


def test_what_predictions_do_not_tell_is_refused():
    with pytest.raises(ValueError, match="bounds a loss"):
        audit(Y, PREDICTED, eq.bounded_group_loss(0.5), sensitive_features=GROUP)
    with pytest.raises(ValueError, match="bounds a loss"):
        audit(Y, PREDICTED, [eq.loss_budget(0.1), eq.coverage(at_most=0.5)])
    with pytest.raises(ValueError, match="a function of its own"):
        audit(Y, PREDICTED, eq.custom(lambda s, y, g: (0.0, s)))
    with pytest.raises(ValueError, match="`predictions` must hold labels of two classes"):
        audit(Y, PREDICTED + 1, eq.coverage(at_most=0.5))
    with pytest.raises(
        ValueError, match=r"vector of labels.*\(a ndarray of shape \(900, 1\)\)"
    ) as error:
        audit(Y[:, None], PREDICTED, eq.coverage(at_most=0.5))
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="reference predictions"):
        audit(Y[:-1], PREDICTED[:-1], RULES["churn"])


def test_a_group_without_positives_has_too_few_rows():
    y = np.where(GROUP == "c", 0, Y)
    found = audit(y, PREDICTED, eq.recall(0.5, group=Each()), sensitive_features=GROUP)
    line = found.lines[2]
    assert (line.lower, line.upper, line.rows, line.verdict) == (0.0, 1.0, 0, "too few rows")
    assert math.isnan(line.value)
    assert "nan" in str(found)


def test_the_positive_class_can_be_named():
    words = np.where(Y == 1, "approve", "reject")
    said = np.where(PREDICTED == 1, "approve", "reject")
    found = audit(words, said, eq.recall(0.5), pos_label="approve")
    assert found.lines[0].value == PREDICTED[Y == 1].mean()
    none = np.full(N, "reject")
    rejected = audit(none, none, eq.coverage(at_most=0.1), pos_label="will be approved")
    assert (rejected.verdict, rejected.lines[0].value) == ("holds", 0.0)
    assert "-0.0000" not in str(rejected)
    with pytest.raises(ValueError, match="`pos_label` must be one of"):
        audit(none, none, eq.coverage(at_most=0.1), pos_label=1)
    other = audit(words, said, eq.recall(0.5)).lines[0]
    assert other.value == pytest.approx(1 - PREDICTED[Y == 0].mean())


def test_what_is_printed_is_short_and_has_the_worst_first():
    many = np.arange(N) % 12
    found = audit(Y, PREDICTED, eq.demographic_parity(0.1), sensitive_features=many)
    text = str(found)
    assert len(found.lines) == 132
    assert "... and 46 more" in text
    assert len(found.worst_first) == 66
    order = [line.excess for line in found.worst_first]
    assert order == sorted(order, reverse=True)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["verdict"] == found.verdict
    assert found.to_frame().shape == (132, 11)
    assert found._repr_html_() == f"<pre>{html.escape(text)}</pre>"


def test_without_bounds_nothing_is_said_to_hold():
    found = audit(Y, PREDICTED, [])
    assert not found.holds
    assert str(found).startswith("There was no bound to audit.")
