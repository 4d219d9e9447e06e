"""Rows in several blocks: the same sums, the same counts, the same fits as rows in one place."""

import numpy as np
import pytest
from scipy import sparse

import equipoise as eq
from equipoise.constraints import bind_table
from equipoise.datasets import make_census
from equipoise.estimators._fit import fit_two_classes, walk_of
from equipoise.models import LinearUnits
from equipoise.problems import LearningProblem, check_problem
from equipoise.rows import Blocks, MemoryTable, RateEntry, Subgroup, column_scales
from equipoise.terms import Sigmoid

N = 600


def reference():
    """Another model's predictions: the labels, with some of them turned over."""
    turned = np.random.default_rng(5).random(N) < 0.2
    return np.where(turned, 1 - data()[1], data()[1])


def mean_score(scores, y, groups):
    """A function of all scores that is no sum over rows."""
    middle = float(np.tanh(scores.mean()))
    slope = np.full(scores.shape, (1 - middle**2) / scores.size)
    second = -2 * middle * (1 - middle**2) / scores.size**2
    return middle - 0.5, slope, lambda d: np.full(d.shape, second * d.sum())


RULES = {
    "parity": lambda: eq.demographic_parity(0.02),
    "odds": lambda: eq.equalized_odds(0.05),
    "loss": lambda: eq.bounded_group_loss(0.6),
    "churn": lambda: eq.churn(0.33, reference()),
    "precision": lambda: eq.precision(0.7),
    "auc": lambda: eq.auc_parity("inter", 0.03, column="sex"),
    "custom": lambda: [eq.recall(0.5), eq.custom(mean_score)],
}


def data(kind="dense", weighted=True, seed=0):
    """Rows sorted by group, so that blocks hold different groups."""
    census = make_census(N, seed=seed)
    order = np.argsort(census.groups, kind="stable")
    X = census.X[order] if kind == "dense" else sparse.csr_array(census.X[order])
    weight = np.random.default_rng(1).uniform(0.5, 2.0, N) if weighted else None
    race = np.random.default_rng(2).choice(["a", "b", "c"], N)
    return X, census.y[order], {"sex": census.groups[order], "race": race}, weight


def tables(kind="dense", weighted=True, cuts=(100, 101, 400)):
    X, y, groups, weight = data(kind, weighted)
    whole = MemoryTable(y, X, groups, weight=weight)
    ends = [0, *cuts, N]
    parts = [
        MemoryTable(
            y[a:b],
            X[a:b],
            {name: column[a:b] for name, column in groups.items()},
            weight=None if weight is None else weight[a:b],
        )
        for a, b in zip(ends, ends[1:])
    ]
    return whole, Blocks(parts)


def sums_of(table, rule, **options):
    scale, center = column_scales("test", table)
    units = LinearUnits(table.n_columns, True, scale, center)
    binding = bind_table(rule, table, **options)
    return table.row_sums(units, binding.specs), binding


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_scales_tallies_and_groups_agree(kind, weighted):
    whole, blocks = tables(kind, weighted)
    for ours, theirs in zip(column_scales("test", blocks), column_scales("test", whole)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    assert blocks.classes == whole.classes
    np.testing.assert_array_equal(blocks.class_counts(), whole.class_counts())
    np.testing.assert_allclose(blocks.class_totals(), whole.class_totals())
    assert blocks.total() == pytest.approx(whole.total())
    for name in ("sex", "race"):
        ours, theirs = blocks.groups.columns[name], whole.groups.columns[name]
        assert (ours.values, ours.labels) == (theirs.values, theirs.labels)
        np.testing.assert_array_equal(ours.counts, theirs.counts)
    ours, theirs = (t.groups.crossed(("sex", "race")) for t in (blocks, whole))
    assert (ours.values, ours.counts.tolist()) == (theirs.values, theirs.counts.tolist())


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("rule", RULES)
def test_every_sum_agrees(rule, kind, rng):
    whole, blocks = tables(kind)
    (one, binding), (many, again) = (sums_of(table, RULES[rule]()) for table in (whole, blocks))
    assert again.names == binding.names
    np.testing.assert_allclose(
        again.combination.coefficients.toarray(), binding.combination.coefficients.toarray()
    )
    x, v = rng.normal(size=(2, one.dim)) * 0.3
    u = rng.normal(size=one.n_sums)
    assert (one.dim, one.n_rows, one.n_sums) == (many.dim, many.n_rows, many.n_sums)
    assert (one.smooth, one.additive) == (many.smooth, many.additive)
    a, b = one.at(x), many.at(x)
    close = {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(b.values, a.values, **close)
    np.testing.assert_allclose(b.pull(u), a.pull(u), **close)
    np.testing.assert_allclose(b.push(v), a.push(v), **close)
    np.testing.assert_allclose(b.product(u, v), a.product(u, v), **close)
    index = rng.permutation(one.n_sums)
    np.testing.assert_allclose(b.jacobian(index), a.jacobian(index), **close)
    np.testing.assert_allclose(
        a.jacobian(index), [a.pull(np.eye(len(u))[i]) for i in index], **close
    )
    lower = np.tril_indices(one.dim)
    np.testing.assert_allclose(b.curvature(u)[lower], a.curvature(u)[lower], rtol=1e-4, atol=1e-6)
    for ours, theirs in zip(vars(many.bounds()).values(), vars(one.bounds()).values()):
        np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize("rule", RULES)
def test_every_count_agrees(rule, rng):
    whole, blocks = tables()
    (one, _), (many, _) = (sums_of(table, RULES[rule]()) for table in (whole, blocks))
    x = rng.normal(size=one.dim) * 0.3
    np.testing.assert_allclose(many.thresholded(x), one.thresholded(x), atol=1e-12)
    assert many.positives(x) == one.positives(x)
    assert 0 < one.positives(x)[0] < N
    assert many.spread(x) == pytest.approx(one.spread(x), rel=1e-12)
    slope = one.spread_slope(x)
    np.testing.assert_allclose(many.spread_slope(x), slope, atol=1e-12)
    for i, unit in enumerate(np.eye(one.dim)):
        change = one.spread(x + 1e-6 * unit) - one.spread(x - 1e-6 * unit)
        assert change / 2e-6 == pytest.approx(slope[i], abs=1e-6)
    np.testing.assert_allclose(many.sorted_scores(x), one.sorted_scores(x))
    np.testing.assert_allclose(many.largest, one.largest)
    np.testing.assert_array_equal(many.wrong_by_class(x) > 0, one.wrong_by_class(x) > 0)
    edges = np.array([-1.0, 0.0, 0.7])
    ours, theirs = (s.at_thresholds(x, edges) for s in (many, one))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(many.above(x, edges), one.above(x, edges), atol=1e-12)
    np.testing.assert_allclose(many.classes_above(x, edges), one.classes_above(x, edges))
    for column in (None, "sex", "race"):
        ours, theirs = many.confusion(x, column), one.confusion(x, column)
        for name in ("rows", "weight", "squares", "positive"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name))
    gathered = many.gathered()
    np.testing.assert_allclose(gathered.at(x).values, one.at(x).values, atol=1e-12)


def test_sketches_of_many_rows_are_drawn_alike(rng):
    """So many rows that a sample of them stands for all: the same rows, with the same masses."""
    n, d = 30_000, 40
    X, y = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    whole = MemoryTable(y, X)
    blocks = Blocks([MemoryTable(y[:7000], X[:7000]), MemoryTable(y[7000:], X[7000:])])
    (one, _), (many, _) = (sums_of(table, eq.recall(0.5)) for table in (whole, blocks))
    drawn = np.concatenate(
        [7000 * i + np.asarray(p.model.sketch().index) for i, p in enumerate(many.parts)]
    )
    np.testing.assert_array_equal(drawn, one.model.sketch().index)
    assert drawn.size < n
    x, u = rng.normal(size=one.dim), np.ones(one.n_sums)
    ours, theirs = (np.tril(sums.at(x).curvature(u)) for sums in (many, one))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("rule", RULES)
def test_the_fit_is_the_same(rule, kind):
    """To 1e-10: the same steps with the same decisions, but for rounding errors."""
    one, many = fits(RULES[rule](), kind, C=0.02, tol=1e-11)
    np.testing.assert_allclose(many.coef_, one.coef_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(many.intercept_, one.intercept_, rtol=1e-10, atol=1e-10)
    assert many.status_ is one.status_
    assert many.n_iter_ == one.n_iter_
    for ours, theirs in zip(many.report_.constraints, one.report_.constraints):
        assert ours.true == pytest.approx(theirs.true, abs=1e-12, nan_ok=True)
    for ours, theirs in zip(many.report_.groups, one.report_.groups):
        assert (ours.group, ours.rows) == (theirs.group, theirs.rows)
        assert ours.positive_rate == pytest.approx(theirs.positive_rate)


def fits(rule, kind="dense", **options):
    """The same fit on rows in one place, and in blocks."""
    models = []
    for table in tables(kind):
        # the search for another objective is for rows in one place
        model = eq.ConstrainedClassifier(rule, on_infeasible="ignore", scoring=None, **options)
        fit_two_classes(model, model._task(), table)
        models.append(model)
    return models


def test_a_fit_with_kinks_is_as_good():
    """Which of many nearby kinks a run ends on depends on rounding; how good it is does not."""
    one, many = fits(eq.demographic_parity(0.05, column="sex"), loss="hinge")
    assert one.status_ is many.status_ is eq.Status.CONVERGED
    assert many.result_.fun == pytest.approx(one.result_.fun, rel=0.01)
    assert all(line.holds for model in (one, many) for line in model.report_.constraints)


def test_mini_batches_of_blocks_are_those_of_memory(rng):
    whole, blocks = tables()
    (one, binding), (many, _) = (
        sums_of(table, eq.equalized_odds(0.1)) for table in (whole, blocks)
    )
    x = rng.normal(size=one.dim)
    for batch in (3, 50):
        ours, theirs = (s.sample(np.random.default_rng(7), batch).at(x).values for s in (many, one))
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    problem = LearningProblem(many, binding.combination, l2=0.1, batch=20)
    assert problem.facts.stochastic
    check_problem(problem.sample(rng), x).raise_if_wrong()


def test_tables_keep_their_classes_and_what_they_count():
    """A table that is put into blocks, or weighted, is not changed; nor is the order of its classes."""
    y, X = np.array([0, 1, 1, 0, 1]), np.ones((5, 2))
    table = MemoryTable(y, X, classes=[1, 0])
    blocks = Blocks([table, MemoryTable(y, X, classes=[1, 0])])
    assert table.classes == blocks.classes == (1, 0)
    np.testing.assert_array_equal(blocks.parts[0].positive, y == 0)
    lacking = Blocks([MemoryTable(y, X), MemoryTable(np.zeros(5, int), X)])
    assert lacking.classes == lacking.parts[1].classes == (0, 1)
    entry = RateEntry("positive", Sigmoid(), Subgroup(over="objective"), total=1.0)
    plain = MemoryTable(y, X)
    assert plain.tallies([entry])[0].rows == 5
    assert plain.class_weighted({0: 0.0, 1: 1.0}).tallies([entry])[0].rows == 3
    assert plain.tallies([entry])[0].rows == 5


def test_wrong_blocks():
    y = np.array([0, 1])
    one, other = MemoryTable(y, np.ones((2, 3)), classes=[1, 0]), MemoryTable(y, np.ones((2, 3)))
    with pytest.raises(ValueError, match="`parts` must have the same `classes`"):
        Blocks([one, other])
    grouped = MemoryTable(y, np.ones((2, 3)), np.array(["a", "b"]))
    with pytest.raises(ValueError, match="must all have sensitive columns, or none"):
        Blocks([grouped, other])
    with pytest.raises(ValueError, match="Blocks: `parts` must hold at least one table"):
        Blocks([])
    y = np.array([0, 1])
    with pytest.raises(ValueError, match="`parts` must have the same columns"):
        Blocks([MemoryTable(y, np.ones((2, 3))), MemoryTable(y, np.ones((2, 4)))])


def test_functions_of_the_scores_agree(rng):
    whole, blocks = tables()
    scores = rng.normal(size=N)
    for rule in RULES.values():
        ours, theirs = (bind_table(rule(), table).terms for table in (blocks, whole))
        np.testing.assert_allclose(ours.at(scores).values, theirs.at(scores).values, rtol=1e-12)
        np.testing.assert_allclose(ours.thresholded(scores), theirs.thresholded(scores), rtol=1e-12)


@pytest.mark.parametrize("options", [{"confidence": 0.9}, {"margin": "auto"}])
def test_fits_that_leave_rows_out_refuse_blocks_by_name(options):
    model = eq.ConstrainedClassifier(eq.demographic_parity(0.05), **options)
    with pytest.raises(
        ValueError, match=f"`{next(iter(options))}` is for rows that can be divided"
    ):
        walk_of(model, model._task(), tables()[1])
