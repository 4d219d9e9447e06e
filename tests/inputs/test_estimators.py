"""What estimators are given: features, labels, groups and weights, each named where it is wrong."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import equipoise as eq
from equipoise import ConstrainedClassifier, NeymanPearsonClassifier, frontier
from tests.inputs.examples.shared import GROUPS, PARITY, X, Y

NAME = "ConstrainedClassifier"
HOLE = np.where(np.arange(80).reshape(40, 2) == 3, np.nan, X)
WRONG_X = {
    "one column short": X[:, :1],
    "no axis": X[:, 0],
    "three axes": X[None],
    "NaN": HOLE,
    "infinity": np.where(np.isnan(HOLE), np.inf, X),
    "text": X.astype(str).tolist()[:39] + [["a", "b"]],
    "complex": X.astype(complex) + 1j,
    "sparse with NaN": sparse.csr_array(HOLE),
    "data frame with NaN": pd.DataFrame(HOLE),
    "None": None,
    "no rows": X[:0],
}


@pytest.fixture(scope="module")
def fitted():
    return ConstrainedClassifier(PARITY).fit(X, Y, sensitive_features=GROUPS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrong", WRONG_X.values(), ids=WRONG_X)
def test_wrong_features_are_named(fitted, wrong):
    for use in (
        lambda: fitted.predict(wrong),
        lambda: fitted.predict_proba(wrong),
        lambda: fitted.decision_function(wrong),
        lambda: fitted.score(wrong, Y),
    ):
        with pytest.raises((ValueError, TypeError), match=f"{NAME}: .*`X`"):
            use()
    if getattr(wrong, "shape", ()) == (40, 1):
        return  # one column is enough to learn from
    for use in (
        lambda: ConstrainedClassifier(PARITY).fit(wrong, Y, sensitive_features=GROUPS),
        lambda: NeymanPearsonClassifier().fit(wrong, Y),
        lambda: ConstrainedClassifier().partial_fit(wrong, Y, classes=[0, 1]),
        lambda: frontier(fitted, wrong, Y, [0.2], sensitive_features=GROUPS),
        lambda: frontier(fitted, wrong, Y, [0.2], sensitive_features=GROUPS, splits=2),
    ):
        with pytest.raises((ValueError, TypeError), match="`X`"):
            use()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.where(np.arange(40) == 3, np.nan, Y), "`y`.*Input y contains NaN"),
        (np.linspace(0.0, 1.0, 40), "`y`.*Unknown label type"),
        (Y[:-1], "`y`.*inconsistent numbers of samples"),
        (np.ones(40), "only one class"),
        (np.stack([Y, Y]).T, "`y`"),
        (None, "`y`"),
        ("a", "`y`"),
    ],
)
def test_wrong_labels_are_named(wrong, message):
    for model in (ConstrainedClassifier(), NeymanPearsonClassifier()):
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(X, wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        GROUPS[:-1],
        None,
        np.where(np.arange(40) == 3, None, GROUPS),
        np.where(np.arange(40) == 3, np.nan, np.arange(40) % 2),
        pd.DataFrame({"sex": GROUPS[:-1]}, index=range(5, 44)),
        pd.DataFrame(),
        {"sex": GROUPS[:-1]},
        {},
        "sex",
        3,
        [[1, 2], [3]],
        np.zeros((40, 2, 2)),
        [["a"]] * 39 + [[{}]],
    ],
    ids=lambda value: type(value).__name__,
)
def test_wrong_groups_are_named(wrong):
    for use in (
        lambda: ConstrainedClassifier(PARITY).fit(X, Y, sensitive_features=wrong),
        lambda: ConstrainedClassifier(PARITY).partial_fit(X, Y, [0, 1], sensitive_features=wrong),
    ):
        with pytest.raises(ValueError, match="`sensitive_features`"):
            use()


@pytest.mark.parametrize(
    "wrong",
    [
        np.full(40, -1.0),
        np.where(np.arange(40) == 3, np.nan, 1.0),
        np.ones(39),
        np.ones((40, 2)),
        np.full(40, np.inf),
        np.full(40, 1e300),
        ["a"] * 40,
        True,
        1j,
    ],
    ids=range(9),
)
def test_wrong_weights_are_named(wrong):
    for use in (
        lambda: ConstrainedClassifier().fit(X, Y, sample_weight=wrong),
        lambda: NeymanPearsonClassifier().fit(X, Y, sample_weight=wrong),
        lambda: ConstrainedClassifier().partial_fit(X, Y, [0, 1], sample_weight=wrong),
    ):
        with pytest.raises((ValueError, TypeError), match="`sample_weight`"):
            use()


def test_weights_that_are_all_0_leave_nothing_to_fit_to():
    for model in (ConstrainedClassifier(), NeymanPearsonClassifier()):
        with pytest.raises(ValueError, match="`sample_weight`"):
            model.fit(X, Y, sample_weight=np.zeros(40))


def test_all_columns_sensitive_leave_nothing_to_learn_from():
    frame = pd.DataFrame({"sex": GROUPS, "part": Y})
    with pytest.raises(ValueError, match=rf"{NAME}: `sensitive_features` names all columns of X"):
        ConstrainedClassifier(PARITY).fit(frame, Y, sensitive_features=["sex", "part"])


@pytest.mark.parametrize("C", [True, np.True_, "1", None, np.nan, -1, 10**400])
def test_parameters_are_named_in_fit_and_not_before(C):
    model = ConstrainedClassifier(C=C)
    with pytest.raises(ValueError, match=rf"(?s)(C.*{NAME}|{NAME}: `C`)"):
        model.fit(X, Y)


def test_weights_of_unknown_classes_are_refused():
    model = ConstrainedClassifier(class_weight={0: 1.0, "1": 2.0})
    with pytest.raises(ValueError, match=rf"{NAME}: `class_weight` names '1'; the classes are"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match=rf"{NAME}: `class_weight` names '1'; the classes are"):
        model.partial_fit(X, Y, [0, 1])


def test_a_bound_of_True_is_none():
    with pytest.raises(ValueError, match="NeymanPearsonClassifier: `bounds` must not be a truth"):
        NeymanPearsonClassifier(True).fit(X, Y)
    with pytest.raises(ValueError, match="NeymanPearsonClassifier: `minimise` must be one of"):
        NeymanPearsonClassifier(minimise=True).fit(X, Y)


def test_frontier_names_its_own_parameters():
    model = ConstrainedClassifier(PARITY)
    with pytest.raises(ValueError, match="frontier: `rule` must be callable, got 3"):
        frontier(model, X, Y, [0.2], sensitive_features=GROUPS, rule=3)
    with pytest.raises(ValueError, match=r"`rule` must be a sequence, got 0\.2"):
        frontier(model, X, Y, [0.2], sensitive_features=GROUPS, rule=float)
    with pytest.raises(ValueError, match="`X`"):
        frontier(model, None, Y, [0.2], sensitive_features=GROUPS)
    with pytest.raises(TypeError, match="`estimator` must be a ConstrainedClassifier"):
        frontier(eq.demographic_parity(0.1), X, Y, [0.2])
