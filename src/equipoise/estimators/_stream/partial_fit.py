"""Learning from a stream: one primal-dual step for each mini-batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from equipoise import _check
from equipoise.constraints import Binding, bind_table
from equipoise.estimators._calibration import Calibration
from equipoise.estimators._inputs import FLOATS, read_weight, split_sensitive
from equipoise.estimators._sklearn import naming
from equipoise.estimators._stream.stream import Stream, advance, average
from equipoise.models import LinearUnits
from equipoise.problems import LearningProblem
from equipoise.rows import MemoryGroups, MemoryTable
from equipoise.rows._positive import turned, with_positive_last


def learn_batch(
    estimator: Any, X: Any, y: Any, classes: Any, sensitive_features: Any, sample_weight: Any
) -> None:
    """Take one step with a mini-batch, and store the averaged model on the estimator."""
    owner, first = type(estimator).__name__, not hasattr(estimator, "coef_")
    X, features, names = split_sensitive(owner, X, sensitive_features)
    with naming(owner, "X", "y"):
        X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=FLOATS, reset=first)
        check_classification_targets(y)
    known = _classes(estimator, classes, y)
    labels = with_positive_last(owner, known, estimator.pos_label)
    _require_same_positive(estimator, labels[1])
    weight = np.ones(X.shape[0])
    if sample_weight is not None:
        weight = read_weight(owner, sample_weight, X)
    old = np.zeros(X.shape[1] + 1)
    if not first:
        (old,) = turned(labels, np.r_[estimator.coef_[0], estimator.intercept_])
    stream = getattr(estimator, "stream_", None) or Stream.start(old[:-1], float(old[-1]))
    stream = stream.seen(X, weight)
    binding, table = _bind_batch(estimator, X, y, features, weight, labels)
    units = LinearUnits(X.shape[1], estimator.fit_intercept, stream.scale, stream.mean)
    rows = table.row_sums(units, binding.specs)
    problem = LearningProblem(rows, binding.combination, l2=1.0 / (estimator.C * stream.weight))
    x = units.parameters(stream.coef, stream.intercept)
    stream, x = advance(stream, problem, x, estimator.true_metric)
    coef, intercept = (part[0] for part in units.coefficients(x))
    (new,) = turned(labels, average(old, np.append(coef, intercept), stream.steps))
    for stale in ("report_", "result_", "certificate_", "status_", "trace_", "fingerprint_"):
        vars(estimator).pop(stale, None)  # they describe another model
    vars(estimator).update(  # all at once: Ctrl-C comes before or after
        stream_=replace(stream, coef=coef, intercept=float(intercept)),
        classes_=known,
        pos_label_=labels.tolist()[1],
        calibration_=Calibration(),  # of rows that are not kept, nothing more is known
        sensitive_names_=names,
        coef_=new[None, :-1],
        intercept_=new[-1:],
        n_iter_=stream.steps,
    )


def _bind_batch(
    estimator: Any, X: Any, y: np.ndarray, features: Any, weight: np.ndarray, known: np.ndarray
) -> tuple[Binding, MemoryTable]:
    """Bind to a mini-batch, without the rows of groups too small to have rates in it.

    A group needs two rows, and two of each class if a constraint speaks of classes.
    """
    owner = type(estimator).__name__
    objective = _class_weights(estimator, known, y, weight)

    def bound(index: Any, columns: Any) -> tuple[Binding, MemoryTable]:
        table = MemoryTable(
            y[index],
            X[index],
            columns,
            weight=weight[index],
            objective_weight=None if objective is None else objective[index],
            classes=known,
            owner=owner,
        )
        binding = bind_table(
            estimator.constraints,
            table,
            loss=estimator.loss,
            objective=estimator.objective,
            min_cell=estimator.min_cell,
            small_cells="skip",
            owner=owner,
        )
        return binding, table

    if features is None:
        return bound(slice(None), None)
    groups = MemoryGroups(features, y.size, owner)
    reason: _check.InputError | None = None
    for enough in _large_enough(groups, y == known[1]):
        index = np.flatnonzero(enough)
        try:
            return bound(index, {name: array[index] for name, array in groups.arrays.items()})
        except _check.InputError as error:
            reason = error  # perhaps for want of a class in some group
    assert reason is not None
    more = (
        "In partial_fit, every mini-batch must hold some rows of the groups and classes that are "
        "constrained: take larger ones."
    )
    raise _check.InputError(reason.owner, f"{reason.reason} {more}") from None


def _large_enough(groups: MemoryGroups, positive: np.ndarray) -> list[np.ndarray]:
    """Return the rows of groups of at least two rows, and of two rows of each class."""
    sizes: list[Any] = [(column.codes, column.counts) for column in groups.columns.values()]
    two = np.all([counts[codes] > 1 for codes, counts in sizes], axis=0)
    both = two.copy()
    for codes, counts in sizes:
        ones = np.bincount(codes[positive], minlength=counts.size)
        both &= ((ones > 1) & (counts - ones > 1))[codes]
    return [two, both]


def _classes(estimator: Any, classes: Any, y: np.ndarray) -> np.ndarray:
    """Return the two classes, given in the first call and the same in all others."""
    owner = type(estimator).__name__
    if classes is None and not hasattr(estimator, "classes_"):
        raise ValueError(f"{owner}: `classes` must be passed on the first call to partial_fit.")
    known = (
        estimator.classes_
        if classes is None
        else np.unique(_check.labels(owner, "classes", classes))
    )
    if hasattr(estimator, "classes_") and not np.array_equal(known, estimator.classes_):
        raise ValueError(
            f"{owner}: `classes` must be those of the first call, {estimator.classes_.tolist()}, "
            f"got {known.tolist()}."
        )
    if len(known) != 2:
        raise ValueError(
            f"Only binary classification is supported. {owner}: `classes` must be two, got "
            f"{known.tolist()}."
        )
    unknown = np.setdiff1d(y, known)
    if unknown.size:
        rule = f"must hold the `classes` {known.tolist()}"
        _check.fail(owner, "y", rule, unknown.tolist()[0])
    return known


def _require_same_positive(estimator: Any, positive: Any) -> None:
    """Raise where the positive class is not that of the stream so far."""
    if hasattr(estimator, "stream_") and positive != estimator.pos_label_:
        rule = f"must be that of the first call to partial_fit, {estimator.pos_label_!r}"
        _check.fail(type(estimator).__name__, "pos_label", rule, estimator.pos_label)


def _class_weights(estimator: Any, known: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
    given = estimator.class_weight
    if given is None:
        return None
    if isinstance(given, str):
        raise ValueError(
            f"{type(estimator).__name__}: class_weight='balanced' is not known before all rows are "
            f"seen; for partial_fit give a dict of weights."
        )
    owner = type(estimator).__name__
    if not set(given) <= set(known.tolist()):
        _check.fail(owner, "class_weight", f"must be of the classes {known.tolist()}", given)
    weights = [given.get(label, 1.0) for label in known.tolist()]
    own = [_check.non_negative(owner, "class_weight", weight) for weight in weights]
    return weight * np.where(y == known[1], own[1], own[0])
