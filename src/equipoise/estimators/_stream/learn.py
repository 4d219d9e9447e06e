"""`partial_fit`: rows are taken in, and from time to time the model is made anew."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._status import Status
from equipoise.estimators._counted import allowances
from equipoise.estimators._fitted_model import (
    constant_model,
    fitted_model,
    with_threshold_where_equal,
)
from equipoise.estimators._runner import seed_of
from equipoise.estimators._sklearn import check_parameters
from equipoise.estimators._stream.batch import read_batch
from equipoise.estimators._stream.rules import StreamRule, counted_rules
from equipoise.estimators._stream.stream import Stream
from equipoise.estimators._task import Task
from equipoise.estimators._threads import suitable_threads
from equipoise.estimators._training import Training
from equipoise.rows import MemoryTable

# What describes a model of `fit`, and no other one.
OF_A_FIT = ("report_", "result_", "certificate_", "status_", "trace_", "fingerprint_", "rules_")

AFTER_FIT = (
    "{}: the model of `fit` is given up, because the rows it was fitted to were not kept. A stream "
    "begins with the first call of `partial_fit`; pass it those rows too."
)


@dataclass(frozen=True, eq=False)
class StreamModel:
    """A model made of the rows remembered."""

    attributes: dict[str, Any]
    rules: tuple[StreamRule, ...] = ()
    waiting: tuple[tuple[str, str], ...] = ()


def learn_batch(
    estimator: Any, X: Any, y: Any, classes: Any, sensitive_features: Any, sample_weight: Any
) -> None:
    """Take in one row or many.

    1. count the rows, and keep those that the sample may need
    2. where much of the sample is new: draw it again, and fit the model to it as `fit` does
    """
    stream = getattr(estimator, "stream_", None)
    if stream is None:
        check_parameters(estimator)
        if hasattr(estimator, "coef_"):
            warnings.warn(AFTER_FIT.format(type(estimator).__name__), UserWarning, stacklevel=3)
    batch = read_batch(estimator, X, y, classes, sensitive_features, sample_weight)
    if stream is None:
        stream = Stream(batch.classes, batch.columns, seed_of(estimator.random_state))
    stream = stream.after(batch)  # 1
    changed: dict[str, Any] = {}
    if stream.is_due:  # 2
        check_parameters(estimator)
        stream = stream.sampled(estimator.memory)
        model = _model_of(estimator, stream)
        count = stream.refreshes + 1
        stream = replace(
            stream,
            known=stream.rows,
            refreshes=count,
            rules=model.rules,
            waiting=model.waiting,
        )
        changed = {**model.attributes, "n_iter_": count, "sensitive_names_": batch.taken_out}
        for stale in OF_A_FIT:
            vars(estimator).pop(stale, None)
    vars(estimator).update(stream_=stream, **changed)  # all at once: Ctrl-C comes before or after


def _model_of(estimator: Any, stream: Stream) -> StreamModel:
    """Return the model of the rows remembered; a constant one where they do not suffice."""
    task = replace(estimator._task(), small_cells="skip", undefined="skip", repair=False)
    table = stream.table(task.owner)
    try:
        return _fitted(estimator, task, table)
    except _check.MissingRowsError as error:
        known = constant_model(table)
        kept = with_threshold_where_equal(known) if task.fit_intercept else estimator._kept(known)
        kept = {**kept, "dtype_": np.dtype(table.dtype)}
        return StreamModel(kept, (), (("all rules", error.reason),))


def _fitted(estimator: Any, task: Task, table: MemoryTable) -> StreamModel:
    """Fit the task to the rows of a table, under the rules that they suffice for."""
    if not table.class_totals().all():
        found = table.classes[int(table.class_totals().argmax())]
        raise _check.MissingRowsError(task.owner, f"all rows so far are of the class {found!r}.")
    with suitable_threads(table), estimator._budget() as budget:
        given = Training(task, table, estimator._runner(budget)).bind_and_compare()
        training, binding, problem = given.training, given.binding, given.problem
        fit = given.fit()
        if budget.wish is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if budget.error is not None:
            raise budget.error
        allowed = allowances(binding, problem.facts.rounding, estimator.tol)
        rules = counted_rules(binding, problem, fit.x, allowed)
        kept = estimator._kept(fitted_model(training, problem.rows, fit.x))
    few = f"the intersection has fewer than {task.min_cell} rows."
    skipped = tuple((name, few) for name in binding.skipped)
    return StreamModel(
        {**kept, "dtype_": np.dtype(table.dtype)}, rules, binding.undefined + skipped
    )
