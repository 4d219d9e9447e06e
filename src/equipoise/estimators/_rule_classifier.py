"""What classifiers of two classes under rules share: `fit`, and `partial_fit` for streams of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from equipoise.constraints import Constraint
from equipoise.estimators._bound_parameters import BoundParameters
from equipoise.estimators._fit import fit_two_classes, walk_of
from equipoise.estimators._inputs import read_table
from equipoise.estimators._predictor import LinearPredictor
from equipoise.estimators._rule_checks import require_two_classes
from equipoise.estimators._sklearn import Interval, StrOptions, check_parameters
from equipoise.estimators._stream.learn import learn_batch
from equipoise.estimators._task import Task
from equipoise.solvers import Solver

# Rows of a stream's memory, at the least: with fewer no rate means anything. Chosen.
LEAST_REMEMBERED = 10


@dataclass(eq=False, repr=False)
class RuleClassifier(BoundParameters, LinearPredictor, ClassifierMixin, BaseEstimator, ABC):
    """A base of classifiers with `constraints` and one linear score; each says what its `_task` is."""

    _parameter_constraints: ClassVar[dict] = {
        **LinearPredictor._parameter_constraints,
        "true_metric": ["boolean"],
        "min_cell": [Interval(Integral, 2, None, closed="left")],
        "small_cells": [StrOptions({"raise", "skip", "pool"})],
        "warm_start": ["boolean"],
        "memory": [Interval(Integral, LEAST_REMEMBERED, None, closed="left")],
    }

    constraints: Constraint | list[Constraint] | tuple[Constraint, ...] = ()
    _: KW_ONLY
    pos_label: Any = None
    true_metric: bool = True
    solver: str | Solver = "auto"
    min_cell: int = 10
    small_cells: str = "raise"
    warm_start: bool = False
    memory: int = 8192

    @abstractmethod
    def _task(self) -> Task:
        """Return what a fit is asked for."""

    def fit(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, tensor, data frame or sparse matrix of shape (n, d)
            A tensor of PyTorch stays where it is: all sums over its rows are computed on its device.
        y : array of shape (n,)
            Labels of two classes; `pos_label`, or else the last in sorted order, is the positive one.
        sensitive_features : array, Series, data frame, dict of columns, or names of columns of X
            The groups; needed only where a constraint speaks of groups, and never to predict.
            Columns given by name are taken out of the features.
        sample_weight : array of shape (n,), optional
            Weights of the rows, in the loss and in every rate.
        groups : array of shape (n,), optional
            With `confidence`: rows with the same value are not independent, such as those of one person.
            They are held out together, and one row of each tests.
        """
        check_parameters(self)
        table, names = read_table(self, X, y, sensitive_features, sample_weight, tensors=True)
        require_two_classes(type(self).__name__, table)
        if hasattr(self, "stream_"):
            del self.stream_
        self.sensitive_names_ = names
        task = self._task()
        walk = walk_of(self, task, table, groups)
        fit_two_classes(self, task, table if walk is None else walk.training, walk=walk)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Take in one row of a stream or many, in any order; see `Stream`.

        A sample of all rows so far is remembered (`memory`), in which every class of every group has a
        fair share, and the model is fitted to it as `fit` does whenever 5 % of the sample is new, or most
        of what it has of one group and class. So rows may come group by group or class by class, and
        groups may be new: a rule is kept as soon as what it speaks of has `min_cell` rows. Until there
        are rows of both classes, the model is a constant.

        What holds: every rate and AUC of the sample is an estimate of that of all rows seen, whatever
        their order, and the rules are kept on the sample where shifting smooth rates suffices for that.
        What does not: there is no promise for all rows, let alone for rows to come, no report and no
        certificate; the model may lack the latest rows (`stream_.known`); old rows count as much as new
        ones, whatever has changed in between. After `fit`, whose rows are not kept, a stream begins
        anew. `print(model.stream_)` shows what was seen, counted and cannot be judged yet.
        Nothing is raised or warned of where bounds are not met.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight : as in `fit`
            The features and the sensitive columns are those of the first call.
        classes : array of two labels
            Both classes; needed in the first call.

        Examples
        --------
        >>> from equipoise import ConstrainedClassifier, demographic_parity
        >>> from equipoise.datasets import make_census
        >>> data = make_census(300, seed=0)
        >>> model = ConstrainedClassifier(demographic_parity(0.05))
        >>> for x, y, sex in zip(data.X, data.y, data.groups):
        ...     model = model.partial_fit([x], [y], classes=[0, 1], sensitive_features=[sex])
        >>> model.stream_.rows, all(rule.holds for rule in model.stream_.rules)
        (300, True)
        """
        learn_batch(self, X, y, classes, sensitive_features, sample_weight)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
