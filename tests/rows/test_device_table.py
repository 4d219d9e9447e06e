"""Rows that are a tensor: the same sums, counts and fits as rows in NumPy, and nothing made elsewhere.

`EQUIPOISE_DEVICE` names another device than the CPU, such as "cuda". PyTorch's default device is "meta" here,
which holds no numbers: what is made without a device cannot be computed with.
"""

import os
import warnings

import numpy as np
import pytest

import equipoise as eq
from equipoise import AUCClassifier, ConstrainedClassifier, NeymanPearsonClassifier, solve
from equipoise._array import to_numpy
from equipoise.constraints import CONSTRAINTS, bind_table
from equipoise.datasets import make_census
from equipoise.estimators._fit import fit_two_classes
from equipoise.estimators._infeasible import InfeasibleWarning
from equipoise.models import LinearUnits
from equipoise.problems import LearningProblem
from equipoise.rows import DeviceTable, MemoryTable, column_scales
from tests.constraints.examples import N, data, example

torch = pytest.importorskip("torch")
DEVICE = os.environ.get("EQUIPOISE_DEVICE", "cpu")
CENSUS = make_census(1500, seed=0)
SEX = (np.asarray(CENSUS.groups) == "female").astype(np.int64)
RACE = np.random.default_rng(2).integers(0, 3, SEX.size)


@pytest.fixture(autouse=True)
def elsewhere():
    with torch.device("meta"):
        yield


def there(array, dtype=None):
    return torch.tensor(np.asarray(array), device=DEVICE, dtype=dtype)


def sums_of(table, rule, **options):
    scale, center = column_scales("test", table)
    binding = bind_table(rule, table, best_loss=0.5, **options)
    units = LinearUnits(table.n_columns, True, scale, center)
    return table.row_sums(units, binding.specs), binding


def both(rule, weighted=False, objective=None):
    """The sums over the same rows in NumPy and as a tensor, and their bindings."""
    y, groups, _ = data()
    X = np.random.default_rng(3).normal(1.0, 2.0, size=(N, 3))
    weight = np.random.default_rng(1).uniform(0.5, 2.0, N) if weighted else None
    if weighted:
        weight[:7] = 0.0
    host = MemoryTable(y, X, groups, weight=weight)
    device = DeviceTable(
        there(y), there(X), groups, weight=None if weight is None else there(weight)
    )
    options = {"objective": objective}
    return sums_of(host, rule, **options), sums_of(device, rule, **options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [n for n in CONSTRAINTS if n != "custom"])
def test_sums_and_derivatives_are_those_of_rows_in_numpy(name, weighted):
    rule = example(name)
    (host, binding), (device, other) = both(rule, weighted)
    assert [row.name for row in other.inequalities] == [row.name for row in binding.inequalities]
    problem = LearningProblem(host, binding.combination, l2=0.1)
    twin = LearningProblem(device, other.combination, l2=0.1)
    assert twin.facts.convex == problem.facts.convex
    for known in ("lipschitz", "smoothness", "weak_convexity"):
        ours, theirs = getattr(twin.facts, known), getattr(problem.facts, known)
        assert (ours is None) == (theirs is None)
        assert ours is None or ours == pytest.approx(theirs, rel=1e-10)
    rng = np.random.default_rng(0)
    x, v, w = rng.normal(size=4), rng.normal(size=4), rng.normal(size=twin.n_constraints + 1)
    ours, theirs = twin.at(x), problem.at(x)
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-10)
    np.testing.assert_allclose(ours.vjp(w), theirs.vjp(w), atol=1e-10)
    assert (ours.hvp is None) == (theirs.hvp is None)
    if ours.hvp is not None:
        np.testing.assert_allclose(ours.hvp(w, v), theirs.hvp(w, v), atol=1e-9)
    index = range(w.size)
    np.testing.assert_allclose(ours.gradients(index), theirs.gradients(index), atol=1e-10)
    np.testing.assert_allclose(twin.thresholded(x), problem.thresholded(x), atol=1e-12)
    tensor = twin.at(there(x))
    assert tensor.vjp(w).device.type == torch.device(DEVICE).type
    np.testing.assert_allclose(to_numpy(tensor.vjp(w)), theirs.vjp(w), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["demographic_parity", "equalized_odds", "churn", "auc_parity"])
def test_counts_of_predictions_are_those_of_rows_in_numpy(name, weighted):
    (host, _), (device, _) = both(example(name), weighted)
    x = np.array([0.5, -0.3, 0.1, 0.2])
    assert device.positives(x) == host.positives(x)
    edges = np.linspace(-2.0, 2.0, 7)
    np.testing.assert_allclose(device.above(x, edges), host.above(x, edges), atol=1e-12)
    np.testing.assert_allclose(device.classes_above(x, edges), host.classes_above(x, edges))
    np.testing.assert_allclose(device.at_thresholds(x, edges), host.at_thresholds(x, edges))
    np.testing.assert_allclose(device.sorted_scores(x), host.sorted_scores(x))
    np.testing.assert_allclose(device.score_moments(x, 0.3), host.score_moments(x, 0.3))
    np.testing.assert_allclose(device.predicted(x), host.predicted(x))
    np.testing.assert_allclose(device.wrong_by_class(x), host.wrong_by_class(x))
    np.testing.assert_allclose(device.largest, host.largest)
    np.testing.assert_array_equal(device.is_smooth, host.is_smooth)
    for column in (None, "group"):
        ours, theirs = device.confusion(x, column), host.confusion(x, column)
        for part in ("rows", "weight", "squares", "positive"):
            np.testing.assert_allclose(getattr(ours, part), getattr(theirs, part))
    for ours, theirs in zip(device.class_scores(x), host.class_scores(x)):
        np.testing.assert_allclose(to_numpy(ours), to_numpy(theirs))
    ours = device.gathered()
    np.testing.assert_allclose(ours.at(x).values, host.at(x).values, atol=1e-10)
    np.testing.assert_array_equal(device.some(np.arange(5), 2.0).at(x).values.shape, (host.n_sums,))
    some = np.array([3, 50, 70, 110])
    np.testing.assert_allclose(
        device.some(some, 2.0).at(x).values, host.some(some, 2.0).at(x).values, atol=1e-10
    )


RULES = {
    "parity": lambda: eq.demographic_parity(0.02),
    "odds and recall": lambda: [eq.equalized_odds(0.05), eq.recall(0.5)],
    "churn": lambda: eq.churn(0.2, np.asarray(CENSUS.y)),
    "precision": lambda: eq.precision(0.7),
    "loss": lambda: eq.loss_budget(0.02),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_a_fit_is_that_of_rows_in_numpy(rule, weighted):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, SEX.size) if weighted else None
    model = ConstrainedClassifier(RULES[rule](), class_weight={0: 1.0, 1: 1.5}, tol=1e-9)
    X, y = there(CENSUS.X), there(CENSUS.y)
    own = None if weight is None else there(weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleWarning)
        host = MemoryTable(CENSUS.y, CENSUS.X, SEX, weight=weight)
        host.ordered = lambda: (
            host
        )  # small tables are put in an order of their own, tensors are not
        twin = ConstrainedClassifier(RULES[rule](), class_weight={0: 1.0, 1: 1.5}, tol=1e-9)
        fit_two_classes(twin, twin._task(), host)
        model.fit(X, y, there(SEX), own)
    np.testing.assert_allclose(model.coef_, twin.coef_, atol=1e-7)
    assert model.status_ == twin.status_
    for ours, theirs in zip(model.report_.constraints, twin.report_.constraints):
        assert ours.true == pytest.approx(theirs.true, abs=1e-12)
    assert model.calibration_.slope == pytest.approx(twin.calibration_.slope, rel=1e-6)
    predicted = model.predict(X)
    assert predicted.device.type == torch.device(DEVICE).type
    np.testing.assert_array_equal(to_numpy(predicted), model.predict(CENSUS.X))
    probabilities = to_numpy(model.predict_proba(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(CENSUS.X), atol=1e-9)
    assert model.score(X, y) == model.score(CENSUS.X, CENSUS.y)


def test_bounds_hold_between_the_groups_of_two_columns():
    groups = {"sex": there(SEX), "race": there(RACE)}
    model = ConstrainedClassifier(eq.demographic_parity(0.03))
    positive = model.fit(there(CENSUS.X), there(CENSUS.y), groups).predict(CENSUS.X)
    for column in (SEX, RACE):
        rates = [positive[column == value].mean() for value in np.unique(column)]
        assert max(rates) - min(rates) <= 0.03


def test_intersections_are_pooled_as_in_numpy():
    groups = {"sex": SEX, "race": np.where(np.arange(SEX.size) < 6, 3, RACE)}
    rule = eq.demographic_parity(0.1, column=("sex", "race"))
    tensors = {name: there(column) for name, column in groups.items()}
    host = MemoryTable(CENSUS.y, CENSUS.X, groups)
    device = DeviceTable(there(CENSUS.y), there(CENSUS.X), tensors)
    x = np.random.default_rng(0).normal(size=CENSUS.X.shape[1] + 1)
    for small in ("skip", "pool"):
        first, one = sums_of(host, rule, small_cells=small)
        second, two = sums_of(device, rule, small_cells=small)
        assert (one.skipped, one.pooled) == (two.skipped, two.pooled)
        np.testing.assert_allclose(first.at(x).values, second.at(x).values, atol=1e-12)
    ours, theirs = (table.groups.crossed(("sex", "race")) for table in (device, host))
    assert (ours.values, ours.labels) == (theirs.values, theirs.labels)
    np.testing.assert_array_equal(ours.counts, theirs.counts)


def test_pairs_copy_no_rows_to_the_host(nothing_leaves):
    n = 60_000  # many more than a sketch has
    rng = np.random.default_rng(0)
    X, y, groups = rng.normal(size=(n, 3)), rng.integers(0, 2, n), rng.integers(0, 2, n)
    table = DeviceTable(there(y), there(X), there(groups))
    rows, binding = sums_of(table, eq.auc_parity("inter", 0.05), objective=1.0 - eq.auc())
    x, w = np.array([0.5, -0.3, 0.1, 0.2]), np.array([1.0, 0.3, 0.2])
    problem = LearningProblem(rows, binding.combination, l2=0.1)
    problem.at(x).curvature(w)  # draws the rows of a sketch, once
    nothing_leaves["most"] = n // 2
    point = problem.sharpened(2.0).at(x)
    assert np.isfinite(point.values).all()
    for found in (point.vjp(w), point.hvp(w, x), point.curvature(w), point.gradients([0, 1, 2])):
        assert isinstance(found, np.ndarray)
        assert np.isfinite(found).all()
    assert np.isfinite(problem.thresholded(x)).all()
    assert rows.spread(x) > 0
    assert rows.spread_slope(x).shape == x.shape


def test_other_estimators_and_labels(tmp_path):
    X, y = there(CENSUS.X), there(CENSUS.y)
    model = AUCClassifier(eq.auc_parity("inter", 0.05)).fit(X, y, there(SEX))
    assert abs(model.report_.constraints[0].true) <= 0.05
    assert NeymanPearsonClassifier(0.1).fit(X, y).result_.success
    words = np.where(CENSUS.y == 1, "approve", "reject")
    named = ConstrainedClassifier(eq.demographic_parity(0.05), pos_label="approve")
    named.fit(X, words, np.where(SEX == 1, "female", "male"))
    assert named.predict(X).tolist() == named.predict(CENSUS.X).tolist()
    assert {line.group for line in named.report_.groups} == {"female", "male"}
    named.save(tmp_path / "loans.model")
    again = eq.load_model(tmp_path / "loans.model")
    np.testing.assert_array_equal(again.predict(X), named.predict(X))
    audited = named.evaluate(X, words, np.where(SEX == 1, "female", "male"))
    assert str(audited) == str(
        named.evaluate(CENSUS.X, words, np.where(SEX == 1, "female", "male"))
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_other_numbers(dtype):
    X = there(np.round(CENSUS.X * 8) / 8).to(getattr(torch, dtype))
    model = ConstrainedClassifier(eq.demographic_parity(0.05)).fit(X, there(CENSUS.y), there(SEX))
    assert abs(model.report_.constraints[0].true) <= 0.05
    positive = to_numpy(model.predict(X))
    gap = positive[SEX == 1].mean() - positive[SEX == 0].mean()
    assert abs(model.report_.constraints[0].true) == pytest.approx(abs(gap), abs=1e-12)


def test_a_solve_from_a_tensor_is_the_one_from_numpy():
    table = DeviceTable(there(CENSUS.y), there(CENSUS.X), there(SEX))
    rows, binding = sums_of(table, eq.demographic_parity(0.02))
    problem = LearningProblem(rows, binding.combination, l2=0.01)
    start = np.zeros(problem.dim)
    result = solve(problem, x0=there(start), tol=1e-6)
    twin = solve(problem, x0=start, tol=1e-6)
    assert result.success
    assert result.x.device.type == torch.device(DEVICE).type
    np.testing.assert_array_equal(to_numpy(result.x), twin.x)


X, Y = CENSUS.X, CENSUS.y
NAN = np.where(np.arange(X.size).reshape(X.shape) == 5, np.nan, X)
WRONG = {
    "X with NaN": (NAN, Y, SEX, None, "X"),
    "X of one row": (X[:1], Y[:1], SEX[:1], None, "X"),
    "X without columns": (X[:, :0], Y, SEX, None, "X"),
    "X of three axes": (X[:, :, None], Y, SEX, None, "X"),
    "too few labels": (X, Y[:-1], SEX, None, "y"),
    "one class": (X, 0 * Y, SEX, None, "y"),
    "three classes": (X, np.arange(Y.size) % 3, SEX, None, "y"),
    "too few groups": (X, Y, SEX[:-1], None, "sensitive_features"),
    "groups with NaN": (X, Y, np.where(SEX == 1, np.nan, 0.0), None, "sensitive_features"),
    "negative weights": (X, Y, SEX, -np.ones(Y.size), "sample_weight"),
    "no weight": (X, Y, SEX, np.zeros(Y.size), "sample_weight"),
    "weights with NaN": (X, Y, SEX, np.full(Y.size, np.nan), "sample_weight"),
    "too few weights": (X, Y, SEX, np.ones(3), "sample_weight"),
    "one class with weight": (X, Y, SEX, (Y == 1).astype(float), "y"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_named(case):
    features, y, groups, weight, parameter = WRONG[case]
    model = ConstrainedClassifier(eq.demographic_parity(0.05))
    own = None if weight is None else there(weight)
    with pytest.raises(ValueError, match=f"ConstrainedClassifier: `{parameter}`"):
        model.fit(there(features), there(y), there(groups), own)


def test_other_columns_are_refused():
    X, y, groups = there(CENSUS.X), there(CENSUS.y), there(SEX)
    model = ConstrainedClassifier(eq.demographic_parity(0.1)).fit(X, y, groups)
    with pytest.raises(ValueError, match="ConstrainedClassifier: `X`"):
        model.predict(X[:, 1:])
