"""AUCs as rates, and parity of AUCs, against counting pair by pair."""

import numpy as np
import pytest

from equipoise import Subset, auc, auc_parity, pair_loss, rate
from equipoise.constraints import AUC_PARITIES, Each, bind, bind_table
from equipoise.models import LinearUnits
from equipoise.rows import Blocks, MemoryTable
from equipoise.terms import PairSums, Scores

RNG = np.random.default_rng(0)
N = 80
Y = RNG.integers(0, 2, N)
GROUPS = RNG.choice(["a", "b"], N)
WEIGHT = RNG.integers(1, 4, N).astype(float)
SCORES = np.round(RNG.normal(size=N), 1)


def counted(constraints, weight=None):
    """Return the left-hand sides that counting pairs gives."""
    binding = bind(constraints, Y, GROUPS, weight)
    values = binding.terms.sums.thresholded(Scores(SCORES))
    functions = binding.combination.plain_values(values)[1:]
    return binding.measured(functions, lambda: values)


def naive(above, below, weight=None):
    """Return the share of pairs in the right order, ties as one half: the double loop."""
    w = np.ones(N) if weight is None else weight
    t = SCORES[above][:, None] - SCORES[below][None, :]
    pairs = w[above][:, None] * w[below][None, :]
    return (pairs * ((t > 0) + 0.5 * (t == 0))).sum() / pairs.sum()


A, B, POSITIVE = GROUPS == "a", GROUPS == "b", Y == 1
EXPECTED = {
    "group": lambda w: [naive(A, B, w) - 0.5],
    "inter": lambda w: [
        naive(A & POSITIVE, B & ~POSITIVE, w) - naive(B & POSITIVE, A & ~POSITIVE, w)
    ],
    "intra": lambda w: [
        naive(A & POSITIVE, A & ~POSITIVE, w) - naive(B & POSITIVE, B & ~POSITIVE, w)
    ],
    "positive": lambda w: [naive(g & POSITIVE, POSITIVE, w) - 0.5 for g in (A, B)],
    "negative": lambda w: [naive(g & ~POSITIVE, ~POSITIVE, w) - 0.5 for g in (A, B)],
    "background": lambda w: [
        naive(POSITIVE, g & ~POSITIVE, w) - naive(g & POSITIVE, ~POSITIVE, w) for g in (A, B)
    ],
}


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("kind", AUC_PARITIES)
def test_parities_are_the_definitions(kind, weight):
    rule = auc_parity(kind, 0.05)
    rows = bind(rule, Y, GROUPS, weight).inequalities
    expected = np.repeat(EXPECTED[kind](weight), 2)
    offsets = [row.bound - (0.05 if row.sense == "<=" else -0.05) for row in rows]
    np.testing.assert_allclose(counted(rule, weight) - offsets, expected, rtol=1e-12, atol=1e-14)


def test_auc_for_everyone_and_for_each_group():
    assert counted(auc() >= 0.5)[0] == pytest.approx(naive(POSITIVE, ~POSITIVE))
    each = counted(auc(Each(), Each()) >= 0.5)
    np.testing.assert_allclose(each, [naive(g & POSITIVE, g & ~POSITIVE) for g in (A, B)])


def test_aucs_and_rates_are_added_up():
    rule = auc("a", "b") - 0.5 * rate("positive", group="a") <= 0.4
    expected = naive(A & POSITIVE, B & ~POSITIVE) - 0.5 * (SCORES[A] > 0).mean()
    assert counted(rule)[0] == pytest.approx(expected)


def test_subsets_of_any_rows():
    rule = auc(Subset("a"), Subset({"group": "b"}, positive=True)) <= 0.6
    binding = bind(rule, Y, {"group": GROUPS})
    sums = binding.terms.sums.thresholded(Scores(SCORES))
    assert sums[-1] == pytest.approx(naive(A, B & POSITIVE))


def test_rules_on_pairs_alone_sum_nothing_else():
    """Not a sigmoid of every score for no rate at all."""
    table = MemoryTable(Y, None, GROUPS)
    binding = bind_table(auc_parity("inter", 0.1), table, objective=1.0 - auc())
    assert isinstance(table.score_sums(binding.specs), PairSums)
    assert binding.terms.at(SCORES).values.size == 3


@pytest.mark.parametrize("rates", [[rate("positive") <= 0.4], []], ids=["and a rate", "alone"])
def test_blocks_give_the_same_sums(rates):
    X = RNG.normal(size=(N, 3))
    rules = [auc_parity("inter", 0.1), *rates]
    whole = MemoryTable(Y, X, {"g": GROUPS}, weight=WEIGHT)
    cuts = [slice(0, 30), slice(30, 31), slice(31, N)]
    parts = [MemoryTable(Y[c], X[c], {"g": GROUPS[c]}, weight=WEIGHT[c]) for c in cuts]
    x, units, found = RNG.normal(size=3), LinearUnits(3, False), []
    for table in (whole, Blocks(parts)):
        binding = bind_table(rules, table, objective=pair_loss())
        rows = table.row_sums(units, binding.specs)
        for sums in (rows, rows.sharpened(3.0)):
            point = sums.at(x)
            found.append((point.values, point.pull(np.ones(sums.n_sums)), sums.thresholded(x)))
    for one, other in zip(found[:2], found[2:]):
        for a, b in zip(one, other):
            np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: auc_parity("between", 0.1), "`kind` must be one of"),
        (lambda: auc_parity("inter", 1.5), "`bound` must"),
        (lambda: auc_parity("inter", np.nan), "`bound` must"),
        (lambda: Subset("a", positive=1), "`positive` must be True or False"),
        (lambda: Subset([1, 2]), "`group` must be one value"),
        (lambda: pair_loss("cubic"), "`loss` must be one of"),
        (lambda: bind(auc_parity("inter", 0.1), Y, np.full(N, "a")), "at least two groups"),
        (lambda: bind(auc_parity("inter", 0.1), Y), "groups are needed"),
        (lambda: bind(auc("a", "c") >= 0.5, Y, GROUPS), "'c'"),
    ],
)
def test_wrong_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_group_without_positives_is_named():
    y = np.where(A, 0, Y)
    with pytest.raises(
        ValueError, match=r"group 'a' has no rows with the label 1, so its AUC is not"
    ):
        bind(auc_parity("inter", 0.1), y, GROUPS)
