"""Learning from a stream: one primal-dual step for each mini-batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from equipoise.constraints import Binding, Groups
from equipoise.estimators.inputs import FLOATS, bind_rows, split_sensitive
from equipoise.estimators.stream import Stream, advance, average
from equipoise.models.linear import LinearModel
from equipoise.problems.learning import LearningProblem


def learn_batch(
    estimator: Any, X: Any, y: Any, classes: Any, sensitive_features: Any, sample_weight: Any
) -> None:
    """Take one step with a mini-batch, and store the averaged model on the estimator."""
    owner, first = type(estimator).__name__, not hasattr(estimator, "coef_")
    X, features, names = split_sensitive(owner, X, sensitive_features)
    X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=FLOATS, reset=first)
    known = _classes(estimator, classes, y)
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError(f"{owner}: `sample_weight` must hold a number above 0.")
    old = np.zeros(X.shape[1] + 1) if first else np.r_[estimator.coef_[0], estimator.intercept_]
    stream = getattr(estimator, "stream_", None) or Stream.start(old[:-1], float(old[-1]))
    stream = stream.seen(X, weight)
    binding, rows = _bind_batch(
        owner,
        estimator.constraints,
        y,
        features,
        weight,
        classes=known,
        loss=estimator.loss,
        objective=estimator.objective,
        objective_weight=_class_weights(estimator, known, y, weight),
        min_cell=estimator.min_cell,
        small_cells="skip",
    )
    model = LinearModel(X[rows], estimator.fit_intercept, stream.scale, stream.mean)
    problem = LearningProblem(model, binding.terms, l2=1.0 / (estimator.C * stream.weight))
    x = model.parameters(stream.coef, stream.intercept)
    stream, x = advance(stream, problem, x, estimator.true_metric)
    coef, intercept = model.coefficients(x)
    new = average(old, np.append(coef, intercept), stream.steps)
    for stale in ("report_", "result_", "certificate_", "status_", "trace_"):
        vars(estimator).pop(stale, None)  # they describe another model
    estimator.stream_ = replace(stream, coef=coef, intercept=intercept)
    estimator.classes_, estimator.sensitive_names_ = known, names
    estimator.coef_, estimator.intercept_ = new[None, :-1], new[-1:]
    estimator.n_iter_ = stream.steps


def _bind_batch(
    owner: str, constraints: Any, y: np.ndarray, features: Any, weight: np.ndarray, **options: Any
) -> tuple[Binding, np.ndarray]:
    """Bind to a mini-batch, without the rows of groups too small to have rates in it.

    A group needs two rows, and two of each class if a constraint speaks of classes.

    Returns
    -------
    binding, rows
        The rows it is bound to.
    """
    everyone = np.arange(y.size)
    if features is None:
        return bind_rows(owner, constraints, y, None, weight, **options), everyone
    groups, positive = _groups(owner, features, y.size), y == options["classes"][1]
    sizes = [(column.codes, column.counts) for column in groups.columns.values()]
    enough = np.all([counts[codes] > 1 for codes, counts in sizes], axis=0)
    both = enough.copy()
    for codes, counts in sizes:
        ones = np.bincount(codes[positive], minlength=counts.size)
        both &= ((ones > 1) & (counts - ones > 1))[codes]
    own = options.pop("objective_weight", None)

    def bound(rows: np.ndarray) -> tuple[Binding, np.ndarray]:
        columns = {name: array[rows] for name, array in groups.arrays.items()}
        options["objective_weight"] = None if own is None else own[rows]
        return bind_rows(owner, constraints, y[rows], columns, weight[rows], **options), rows

    try:
        return bound(everyone[enough])
    except ValueError:
        pass  # perhaps for want of a class in some group
    try:
        return bound(everyone[both])
    except ValueError as error:
        raise ValueError(
            f"{error} In partial_fit, every mini-batch must hold some rows of the groups and "
            f"classes that are constrained: take larger ones."
        ) from None


def _groups(owner: str, features: Any, n: int) -> Groups:
    try:
        return Groups(features, n)
    except ValueError as error:
        raise ValueError(str(error).replace("bind:", f"{owner}:", 1)) from None


def _classes(estimator: Any, classes: Any, y: np.ndarray) -> np.ndarray:
    """Return the two classes, given in the first call and the same in all others."""
    owner = type(estimator).__name__
    check_classification_targets(y)
    if classes is None and not hasattr(estimator, "classes_"):
        raise ValueError(f"{owner}: `classes` must be passed on the first call to partial_fit.")
    known = estimator.classes_ if classes is None else np.unique(classes)
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
        raise ValueError(f"{owner}: `y` must hold {known.tolist()}, got {unknown.tolist()[0]!r}.")
    return known


def _class_weights(estimator: Any, known: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
    given = estimator.class_weight
    if given is None:
        return None
    if isinstance(given, str):
        raise ValueError(
            f"{type(estimator).__name__}: class_weight='balanced' is not known before all rows are "
            f"seen; for partial_fit give a dict of weights."
        )
    own = [float(given.get(label, 1.0)) for label in known.tolist()]
    return weight * np.where(y == known[1], own[1], own[0])
