"""Private names of scikit-learn: used in one place, and replaced alike where they are missing."""

import ast
import importlib.util
import re
import sys
from numbers import Integral, Real
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight

from equipoise.estimators import _sklearn

SOURCE = Path(_sklearn.__file__).parents[1]
STILL: set[str] = set()


def private_imports(path):
    """The private names of scikit-learn that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("sklearn")]
        else:
            continue
        yield from (name for name in names if "._" in name)


def load():
    """The module once more, as it is where names are missing."""
    spec = importlib.util.spec_from_file_location("equipoise.estimators._again", _sklearn.__file__)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


@pytest.fixture(scope="module")
def bare():
    """The module where scikit-learn has none of the private names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "sklearn.utils._param_validation", None)
        patch.delattr(BaseEstimator, "_validate_params")
        patch.delattr(sklearn.utils, "_safe_indexing")
        return load()


def test_only_one_file_imports_private_names():
    found = {path.name for path in SOURCE.rglob("*.py") if list(private_imports(path))}
    assert "_sklearn.py" in found
    assert found - {"_sklearn.py"} <= STILL


def test_scikit_learns_own_are_taken_where_they_are(bare):
    assert _sklearn.Interval.__module__ == "sklearn.utils._param_validation"
    assert _sklearn.take_rows is _safe_indexing
    assert bare.Interval.__name__ == "_Interval"
    assert bare.check_parameters.__module__ == bare.__name__


def test_rules_without_the_method_that_reads_them_are_not_taken():
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(BaseEstimator, "_validate_params")
        assert load().Interval.__name__ == "_Interval"


def estimator(module, rules, value):
    class Sample(BaseEstimator):
        _parameter_constraints = {"value": rules(module)}  # noqa: RUF012

        def __init__(self, value=None, free=None):
            self.value = value
            self.free = free

    return Sample(value)


def message(module, rules, value):
    """What is said of a value; empty where it is accepted."""
    try:
        module.check_parameters(estimator(module, rules, value))
    except ValueError as error:
        return re.sub(r"among \{.*?\}", "among {...}", str(error))  # a set has no order
    return ""


RULES = {
    f"{kind.__name__} {left} {right} {closed}": lambda m, k=kind, a=left, b=right, c=closed: [
        m.Interval(k, a, b, closed=c)
    ]
    for kind, left, right, closed in [
        (Real, 0, None, "left"),
        (Real, 0, None, "neither"),
        (Real, 1e-20, 1e20, "both"),
        (Real, None, 1, "right"),
        (Real, 0, 1, "left"),
        (Integral, 1, None, "left"),
        (Integral, 2, 5, "right"),
        (Integral, None, 3, "neither"),
    ]
} | {
    "boolean": lambda m: ["boolean"],
    "seed": lambda m: ["random_state"],
    "words": lambda m: [m.StrOptions({"warn", "raise"})],
    "mixed": lambda m: [dict, m.StrOptions({"balanced"}), None],
    "number or dict": lambda m: [m.Interval(Real, 0, None, closed="left"), dict],
    "boolean or none": lambda m: ["boolean", None],
    "type": lambda m: [Path],
}

VALUES = [
    *(-1, 0, 1, 2, 3, 5, 6, 2**32 - 1, 2**32, True, False, None, "warn", "balanced", "", {}, []),
    *(0.0, 1.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-20, 1e20, 1e-21, 1j),
    *(np.int64(2), np.float32(0.5), np.float64("nan"), np.bool_(True), np.random.RandomState(0)),
]


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_parameters_are_judged_alike(bare, rules):
    said = [(message(_sklearn, rules, v), message(bare, rules, v)) for v in VALUES]
    for value, (theirs, ours) in zip(VALUES, said):
        assert theirs == ours, value
    assert any(theirs for theirs, _ in said)


@given(
    kind=st.sampled_from([Real, Integral]),
    bounds=st.tuples(st.integers(-5, 0), st.integers(1, 5)),
    closed=st.sampled_from(["left", "right", "both", "neither"]),
    value=st.one_of(st.integers(-7, 7), st.floats(), st.booleans()),
)
def test_intervals_hold_the_same_numbers(kind, bounds, closed, value):
    theirs = _sklearn.Interval(kind, *bounds, closed=closed)
    ours = _sklearn._Interval(kind, *bounds, closed=closed)
    assert ours.is_satisfied_by(value) == theirs.is_satisfied_by(value)
    assert str(ours) == str(theirs)


X = np.zeros((3, 2))
WEIGHTS = {
    "list": [1, 2, 0],
    "float32": np.ones(3, np.float32),
    "series": pd.Series([1.0, 2.0, 3.0], index=[5, 6, 7]),
    "scalar": 2,
    "strided": np.arange(1.0, 7.0)[::2],
    "two columns": np.ones((3, 2)),
    "short": [1.0, 2.0],
    "negative": [1.0, -1.0, 1.0],
    "nan": [1.0, np.nan, 1.0],
    "infinite": [1.0, np.inf, 1.0],
    "words": ["a", "b", "c"],
    "sparse": sparse.csr_array(np.ones((3, 1))),
}


def outcome(function, *arguments, **options):
    try:
        return function(*arguments, **options)
    except (ValueError, TypeError) as error:
        return type(error), str(error).splitlines()[0]


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_weights_are_judged_as_scikit_learn_does(weight):
    theirs = outcome(_check_sample_weight, weight, X, dtype=np.float64, ensure_non_negative=True)
    ours = outcome(_sklearn.check_sample_weight, weight, X)
    if isinstance(theirs, tuple):
        assert ours[0] is theirs[0]
        assert ours[1].startswith(theirs[1])  # 1.6 says less of what it expected
    else:
        np.testing.assert_array_equal(ours, theirs, strict=True)
        assert ours.flags.c_contiguous


def test_weights_that_are_all_0_are_refused_by_every_version():
    with pytest.raises(ValueError, match="at least one non-zero number"):
        _sklearn.check_sample_weight([0, 0, 0], X)


TABLES = {
    "array": np.arange(12.0).reshape(4, 3),
    "labels": np.array(["a", "b", "c", "d"]),
    "csr": sparse.csr_array(np.eye(4)),
    "csc": sparse.csc_matrix(np.eye(4)),
    "frame": pd.DataFrame({"x": [1, 2, 3, 4], "y": list("abcd")}, index=[9, 8, 7, 6]),
    "series": pd.Series([1, 2, 3, 4], index=list("wxyz")),
    "list": ["a", "b", "c", "d"],
    "rows": [[1, 2], [3, 4], [5, 6], [7, 8]],
}


@pytest.mark.parametrize("values", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("index", [[2, 0], [], [3, 3, 1]], ids=str)
def test_rows_are_taken_alike(bare, values, index):
    index = np.array(index, dtype=int)
    theirs, ours = _sklearn.take_rows(values, index), bare.take_rows(values, index)
    assert type(ours) is type(theirs)
    if isinstance(theirs, list):
        assert ours == theirs
    elif isinstance(theirs, pd.DataFrame | pd.Series):
        assert ours.equals(theirs)
        assert ours.index.equals(theirs.index)
    else:
        dense = [t.toarray() if sparse.issparse(t) else t for t in (ours, theirs)]
        np.testing.assert_array_equal(*dense)
