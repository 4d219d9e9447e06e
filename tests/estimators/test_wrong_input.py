"""Wrong input: each gives a message that names what to change."""

import numpy as np
import pandas as pd
import pytest

import equipoise as eq
from equipoise import ConstrainedClassifier, NeymanPearsonClassifier

NAME = "ConstrainedClassifier"


def fit(census, constraints=None, *, X=None, y=None, groups="own", weight=None, **options):
    constraints = eq.demographic_parity(0.05) if constraints is None else constraints
    model = ConstrainedClassifier(constraints, **options)
    return model.fit(
        census.X if X is None else X,
        census.y if y is None else y,
        sensitive_features=census.groups if isinstance(groups, str) else groups,
        sample_weight=weight,
    )


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_features_that_are_not_finite(census, value, word):
    X = census.X.copy()
    X[3, 2] = value
    with pytest.raises(ValueError, match=f"Input X contains {word}"):
        fit(census, X=X)
    model = fit(census)
    with pytest.raises(ValueError, match=f"Input X contains {word}"):
        model.predict(X)


def test_labels(census):
    with pytest.raises(ValueError, match=r"needs samples of at least 2 classes.*only one class: 1"):
        fit(census, y=np.ones(census.n, int))
    with pytest.raises(ValueError, match=r"Only binary .* got 3 classes.*NeymanPearsonClassifier"):
        fit(census, y=np.arange(census.n) % 3)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        fit(census, y=np.linspace(0, 1, census.n))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(census, y=census.y[:-1])
    missing = census.y.astype(float)
    missing[0] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN"):
        fit(census, y=missing)
    alone = (census.y == 1).astype(float)
    with pytest.raises(ValueError, match="the data contains only one class: 1"):
        fit(census, weight=alone)


def test_a_group_with_one_label_or_one_member(census):
    groups = census.groups.copy()
    groups[np.flatnonzero(census.y == 0)[:30]] = "x"
    with pytest.raises(ValueError, match=r"group 'x' has no rows with the label 1.*Merge it"):
        fit(census, eq.equal_opportunity(0.05), groups=groups)
    groups = census.groups.copy()
    groups[0] = "lonely"
    with pytest.raises(ValueError, match=r"group 'lonely' has 1 row.*Merge it with another group"):
        fit(census, groups=groups)
    with pytest.raises(ValueError, match=r"needs at least two groups to compare, got \['all'\]"):
        fit(census, groups=np.full(census.n, "all"))


def test_an_empty_group(census):
    with pytest.raises(ValueError, match=r"`group` must be one of 'female', 'male', got 'Mars'"):
        fit(census, eq.rate("positive", group="Mars") >= 0.1)
    weight = (census.groups == "male").astype(float)
    with pytest.raises(ValueError, match="group 'female' has no rows of positive weight"):
        fit(census, weight=weight)
    kinds = pd.Categorical(census.groups, categories=["female", "male", "none"])
    model = fit(census, groups=pd.Series(kinds))  # a category that does not occur is no group
    assert [line.group for line in model.report_.groups] == ["female", "male"]


def test_groups_of_the_wrong_kind(census):
    with pytest.raises(ValueError, match=rf"{NAME}: .*as many rows as `y` \(1500\).* has 1499"):
        fit(census, groups=census.groups[:-1])
    with pytest.raises(ValueError, match=rf"{NAME}: .*1500.* column 'sex' has 3"):
        fit(census, groups={"sex": ["a", "b", "a"]})
    for missing in (None, np.nan, pd.NA):
        groups = census.groups.astype(object)
        groups[[2, 5]] = missing
        with pytest.raises(ValueError, match=r"must not have missing values.*has 2.*'unknown'"):
            fit(census, groups=groups)
    ages = np.random.default_rng(0).normal(size=census.n)
    with pytest.raises(ValueError, match=r"has 1500 different values in 1500 rows.*merge"):
        fit(census, groups=ages)


def test_a_million_categories():
    n = 1_000_000
    X = np.arange(2.0 * n).reshape(n, 2)
    with pytest.raises(ValueError, match=r"1000000 different values.*merge its values into few"):
        ConstrainedClassifier(eq.demographic_parity(0.1)).fit(
            X, np.arange(n) % 2, sensitive_features=np.arange(n)
        )


def test_missing_sensitive_features(census):
    with pytest.raises(
        ValueError, match="demographic parity: groups are needed; pass `sensitive_fe"
    ):
        fit(census, groups=None)


def test_unknown_columns(census, frame):
    X = frame.drop(columns="race")
    with pytest.raises(
        ValueError, match=r"names the column 'gender', which X does not have.*'age'"
    ):
        fit(census, X=X, groups=["gender"])
    with pytest.raises(ValueError, match=r"names columns \('sex'\), but X is not a data frame"):
        ConstrainedClassifier(eq.demographic_parity(0.1)).fit(
            census.X, census.y, sensitive_features="sex"
        )
    with pytest.raises(ValueError, match=r"`column` must be one of 'sex', got 'race'"):
        fit(census, eq.demographic_parity(0.1, column="race"), groups={"sex": census.groups})
    with pytest.raises(ValueError, match=r"could not convert string to float: '(fe)?male'"):
        fit(census, X=X)


@pytest.mark.parametrize("bound", [-0.01, 1.01, np.nan, "small", True])
def test_bounds_out_of_range(bound):
    rules = (eq.demographic_parity, eq.equalized_odds, eq.recall, eq.precision, eq.error_rate)
    for rule in rules:
        with pytest.raises(ValueError, match=r"must (lie between 0 and 1|be a number), got"):
            rule(bound)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            0.05,
            rf"{NAME}: `constraints` must be rules such as demographic_parity\(0.02\).*got 0.05",
        ),
        (
            eq.rate("positive"),
            rf"{NAME}: `constraints` must be compared with a bound, .*got positive",
        ),
        ([0.05], rf"{NAME}: `constraints` must be rules such as demographic_parity"),
        (["demographic_parity"], "must be rules such as demographic_parity"),
        (eq.demographic_parity, "must be rules such as"),
    ],
)
def test_constraints_that_are_none(census, constraints, message):
    with pytest.raises(ValueError, match=message):
        fit(census, constraints)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "logit"}, rf"{NAME}: `loss` must be one of 'logistic'.*got 'logit'"),
        ({"solver": "magic"}, rf"{NAME}: `solver` must be one of 'auto', .*got 'magic'"),
        ({"C": 0.0}, "The 'C' parameter of ConstrainedClassifier must be a float in the range"),
        ({"C": -1.0}, "The 'C' parameter"),
        ({"tol": 0.0}, "The 'tol' parameter"),
        ({"max_steps": 0}, "The 'max_steps' parameter"),
        ({"on_infeasible": "shout"}, "The 'on_infeasible' parameter"),
        ({"small_cells": "drop"}, "The 'small_cells' parameter"),
        ({"class_weight": "heavy"}, "The 'class_weight' parameter"),
        ({"objective": 3}, rf"{NAME}: `objective` must be a combination of rates or unfairness"),
    ],
)
def test_wrong_parameters(census, options, message):
    with pytest.raises(ValueError, match=message):
        fit(census, **options)


def test_a_solver_class_instead_of_an_object(census):
    with pytest.raises(ValueError, match="The 'solver' parameter"):
        fit(census, solver=eq.solvers.SOLVERS["switching"])


@pytest.mark.parametrize("make", [ConstrainedClassifier, NeymanPearsonClassifier])
def test_constant_features_only(census, make):
    message = rf"{make.__name__}: every column of X is constant.*give X at least one feature"
    with pytest.raises(ValueError, match=message):
        make().fit(np.full((census.n, 3), [1.0, -7.3, 1e9]), census.y)
    from scipy import sparse

    with pytest.raises(ValueError, match=message):
        make().fit(sparse.csr_array((census.n, 3)), census.y)


@pytest.mark.parametrize("unit", [1e160, 1e-200])
def test_units_that_leave_the_range_of_numbers(census, unit):
    X = census.X.copy()
    X[:, 3] *= unit
    with pytest.raises(ValueError, match="the values in column 3 of X are too large or too small"):
        ConstrainedClassifier().fit(X, census.y)


@pytest.mark.parametrize("make", [ConstrainedClassifier, NeymanPearsonClassifier])
@pytest.mark.parametrize("C", [0.0, 1e-100, 1e100, np.inf])
def test_penalties_out_of_range(census, make, C):
    with pytest.raises(ValueError, match=r"The 'C' parameter of .* must be a float in the range"):
        make(C=C).fit(census.X, census.y)


@pytest.mark.parametrize("weights", [{0: -1, 1: 1}, {0: 0, 1: 0}, {0: np.nan, 1: 1}])
def test_class_weights(census, weights):
    with pytest.raises(ValueError, match=r"`class_weight` must hold numbers >= 0, got \{0: "):
        ConstrainedClassifier(class_weight=weights).fit(census.X, census.y)


def test_weights(census):
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        fit(census, weight=-np.ones(census.n))
    with pytest.raises(ValueError, match=r"sample_weight.shape"):
        fit(census, weight=np.ones(3))
    for size in (1e-100, 1e100):
        with pytest.raises(ValueError, match=r"`sample_weight` has the sum .* a mean near 1"):
            fit(census, weight=np.full(census.n, size))
    for size in (1e-20, 1e15):  # no warning, and certified
        assert fit(census, weight=np.full(census.n, size)).result_.success


def test_churn_with_a_reference_of_other_rows(census):
    with pytest.raises(
        ValueError, match=r"one prediction for each of the 1500 training rows, got 7"
    ):
        fit(census, eq.churn(0.1, np.ones(7, int)))


def test_a_failed_fit_is_not_a_fitted_model(census):
    from sklearn.exceptions import NotFittedError

    model = ConstrainedClassifier(eq.demographic_parity(0.1))
    with pytest.raises(ValueError, match="groups are needed"):
        model.fit(census.X, census.y)
    with pytest.raises(NotFittedError):
        model.predict(census.X)


def test_a_custom_function_that_is_nan_is_named(census):
    broken = eq.custom(lambda scores, y, groups: (np.nan, 0.0 * scores), name="mine")
    with pytest.raises(ValueError, match=r"'mine' is nan, .* must start where it is finite"):
        fit(census, broken)
    broken = eq.custom(lambda scores, y, groups: (0.0, np.nan * scores), name="mine")
    with pytest.raises(ValueError, match=r"'mine' has a slope that is not finite"):
        fit(census, broken)


def test_a_custom_function_may_be_infinite_at_the_model_without_constraints(census):
    """A barrier: no mean score beyond 0.3 of 0."""

    def barrier(scores, y, groups):
        mean, one = float(np.mean(scores)), np.full(scores.size, 1 / scores.size)
        room = 0.09 - mean**2
        if room <= 0:
            return np.inf, one
        return 1 / room - 100.0, 2 * mean / room**2 * one

    model = fit(census, eq.custom(barrier))
    assert abs(model.decision_function(census.X).mean()) < 0.3
    assert model.report_.constraints[0].holds
