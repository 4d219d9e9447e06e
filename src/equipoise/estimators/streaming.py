"""Learning from a stream: one primal-dual step for each mini-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from equipoise.constraints import Binding, Groups
from equipoise.estimators.counting import prediction_scores
from equipoise.estimators.inputs import FLOATS, bind_rows, split_sensitive
from equipoise.models.linear import LinearModel
from equipoise.problems.learning import LearningProblem

PRIMAL, DUAL = 0.3, 0.5  # step sizes, for standardised features and rates
FORGET = 8.0  # the average leaves out early iterates: weights grow like t^8
LEAST = 0.02  # the weight of a new batch in the running count of predictions


@dataclass(frozen=True)
class Stream:
    """What is remembered between mini-batches.

    Attributes
    ----------
    steps : int
    coef, intercept : the latest iterate; the estimator predicts with an average of them.
    weight : float
        The rows seen, by weight.
    mean, spread : ndarray of shape (d,)
        Running mean and sum of squared deviations of every column; about 0 if sparse.
    squares : ndarray of shape (d + 1,)
        Sums of squared gradients (Adagrad).
    multipliers : dict of str to float
        By the name of the constraint; one that a batch does not speak of stays as it is.
    shifts : dict of str to float
        Running differences of counted and smooth rates.
    """

    steps: int
    coef: np.ndarray
    intercept: float
    weight: float
    mean: np.ndarray
    spread: np.ndarray
    squares: np.ndarray
    multipliers: Mapping[str, float] = field(default_factory=dict)
    shifts: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def start(cls, coef: np.ndarray, intercept: float) -> Stream:
        """Return a stream before its first mini-batch."""
        d = coef.size
        return cls(0, coef, intercept, 0.0, np.zeros(d), np.zeros(d), np.zeros(d + 1))

    def seen(self, X: Any, weight: np.ndarray) -> Stream:
        """Return the stream with the columns' means and deviations brought up to date."""
        total = float(weight.sum())
        if sparse.issparse(X):
            mean, spread = np.zeros(X.shape[1]), np.asarray(X.multiply(X).T @ weight, np.float64)
        else:
            mean = weight @ X / total
            spread = weight @ (X - mean) ** 2
        new = self.weight + total
        apart = mean - self.mean
        spread = self.spread + spread + apart**2 * self.weight * total / new
        return replace(self, weight=new, mean=self.mean + apart * total / new, spread=spread)

    @property
    def scale(self) -> np.ndarray:
        """Running standard deviations; 1 for a column that has been constant so far."""
        scale = np.sqrt(self.spread / self.weight)
        return np.where(scale > 1e-9 * np.abs(self.mean), scale, 1.0)


def advance(
    stream: Stream, problem: LearningProblem, x: np.ndarray, true_metric: bool
) -> tuple[Stream, np.ndarray]:
    r"""Take one step on the Lagrangian of a mini-batch; return the stream and the new `x`.

    1. f <- the batch's constraints at x, plus a running count of thresholded minus smooth rates
    2. lam <- [lam + DUAL / sqrt(t) f]_+
    3. g <- grad (f_0 + lam'f)(x); x <- x - PRIMAL g / sqrt(sum of g^2 so far)     (each coordinate)
    """
    t, names = stream.steps + 1, problem.names
    point = problem.at(x)
    shifts, multipliers = dict(stream.shifts), dict(stream.multipliers)
    f = point.constraints.copy()
    if true_metric and names:
        counted = problem.terms.hard(prediction_scores(problem.model, x))[1:]
        for i, gap in enumerate(counted - f):
            old = shifts.get(names[i], gap)
            shifts[names[i]] = old + max(1 / t, LEAST) * (gap - old)
        f += [shifts[name] for name in names]  # 1
    for name, value in zip(names, f):
        multipliers[name] = max(0.0, multipliers.get(name, 0.0) + DUAL / t**0.5 * value)  # 2
    g = point.lagrangian_gradient(np.array([multipliers[name] for name in names]))
    squares = stream.squares[: g.size] + g**2
    x = x - PRIMAL * g / np.sqrt(np.maximum(squares, 1e-300))  # 3
    new = replace(stream, steps=t, multipliers=multipliers, shifts=shifts)
    return replace(new, squares=np.append(squares, stream.squares[g.size :])), x


def average(old: np.ndarray, new: np.ndarray, steps: int) -> np.ndarray:
    """Return the running average after `steps` iterates, late ones counting more."""
    return old + (1 + FORGET) / (steps + FORGET) * (new - old)


def bind_batch(
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
    for keep, last in ((enough, False), (both, True)):
        rows = everyone[keep]
        columns = {name: array[rows] for name, array in groups.arrays.items()}
        part = {name: None if v is None else v[rows] for name, v in _vectors(options).items()}
        try:
            bound = bind_rows(
                owner, constraints, y[rows], columns, weight[rows], **{**options, **part}
            )
            return bound, rows
        except ValueError as error:
            if last:
                raise ValueError(
                    f"{error} In partial_fit, every mini-batch must hold some rows of the groups and "
                    f"classes that are constrained: take larger ones."
                ) from None
    raise AssertionError("unreachable")


def _groups(owner: str, features: Any, n: int) -> Groups:
    try:
        return Groups(features, n)
    except ValueError as error:
        raise ValueError(str(error).replace("bind:", f"{owner}:", 1)) from None


def _vectors(options: dict[str, Any]) -> dict[str, Any]:
    return {"objective_weight": options.get("objective_weight")}


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
        return
    old = np.zeros(X.shape[1] + 1) if first else np.r_[estimator.coef_[0], estimator.intercept_]
    stream = getattr(estimator, "stream_", None) or Stream.start(old[:-1], float(old[-1]))
    stream = stream.seen(X, weight)
    binding, rows = bind_batch(
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
    center = None if sparse.issparse(X) else stream.mean
    model = LinearModel(X[rows], estimator.fit_intercept, stream.scale, center)
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
