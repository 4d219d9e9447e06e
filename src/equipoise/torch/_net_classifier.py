"""A neural network that keeps its constraints on the true metric."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from equipoise.constraints import Constraint, Expression, Quotient, Unfairness
from equipoise.estimators._bound_parameters import BoundParameters
from equipoise.estimators._fit import fit_two_classes
from equipoise.estimators._inputs import read_table
from equipoise.estimators._model_file import storable
from equipoise.estimators._predictor import LinearPredictor
from equipoise.estimators._rule_checks import require_two_classes
from equipoise.estimators._sklearn import Interval, StrOptions, check_parameters
from equipoise.estimators._task import Task
from equipoise.torch._net_fit import NetFit
from equipoise.torch._net_rows import as_rows, validation_rows
from equipoise.torch._net_stored import packed, unpacked


@storable
@dataclass(eq=False, repr=False)
class ConstrainedNetClassifier(BoundParameters, LinearPredictor, ClassifierMixin, BaseEstimator):
    """A neural network for two classes under constraints on its predictions.

    The network is trained by mini-batches under the constraints. Then its last layer, a linear model of the
    features before it, is fitted as `ConstrainedClassifier` is: so the bounds hold on *counted* training
    rates. The certificate is of this layer, given the features; it says nothing of the layers before.

    Parameters
    ----------
    constraints, objective : as in `ConstrainedClassifier`
    module : torch.nn.Module or callable, optional
        The network, or a function without arguments that makes it: rows (n, d) to scores (n,) or (n, 1).
        It is copied; rows come standardised, in its own precision. Its last layer
        should be a ``torch.nn.Linear(..., 1)`` whose output is the score; of any other module only the
        scale and the threshold of the scores are fitted at the end. By default a multilayer perceptron.
    hidden_layer_sizes : sequence of int, optional
        Of the default network: by default (16,), (32, 32) or (64, 64), with fewer or more rows.
    dropout : float
        Of the default network.
    learning_rate : float
        Of AdamW at first, at most 1; it falls to 0 along a cosine.
    weight_decay : float
        Of AdamW, at most 1.
    batch_size : int, optional
        By default about a 64th of the rows, from 32 to 512. Every batch has its share of every group and
        class.
    max_epochs : int, optional
        By default 30, and more where 1,500 steps take more.
    patience : int
        Training ends after so many epochs without a better one.
    validation_fraction : float
        The share of rows that the best epoch is chosen by. The last layer is fitted on all rows.
    C : float
        Inverse strength of the penalty on the last layer, as in `ConstrainedClassifier`.
    device : str
        Where the network is trained and evaluated, such as "cuda". The last layer is fitted on the CPU.
    pos_label, class_weight, on_infeasible, tol, max_steps, max_seconds, verbose, random_state :
        As in `ConstrainedClassifier`. The network gets at most 70 % of `max_seconds`.
    min_cell, small_cells : as in `ConstrainedClassifier`
    callback : callable, optional
        Called after every step of the fit of the last layer, as in `ConstrainedClassifier`.
    confidence, held_out, ordered : as in `ConstrainedClassifier`
        The network is trained on the rows that are not held out.

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained network, in its `eval` mode, of standardised rows.
    coef_, intercept_ : ndarray
        The last layer, in double precision.
    center_, scale_ : ndarray of shape (d,)
        What is subtracted from the columns, and what they are divided by.
    epochs_ : tuple of Epoch
        Loss and largest counted violation on the validation rows, after every epoch.
    network_residual_ : float
        The norm of the Lagrangian's gradient with respect to *all* parameters of the network, without
        penalties. It is not near 0, since training ends early.
    report_ : Report
        Compared with the last layer without constraints on the same features.
    certificate_ : Certificate
        Of the last layer, given the features.
    classes_, n_features_in_, n_iter_, pos_label_, calibration_, dtype_, status_, trace_, result_ :
        As in `ConstrainedClassifier`; `n_iter_` counts mini-batches too, `trace_` is of the last layer.

    Examples
    --------
    >>> from equipoise import demographic_parity
    >>> from equipoise.datasets import make_census
    >>> from equipoise.torch import ConstrainedNetClassifier
    >>> data = make_census(2000, seed=0)
    >>> model = ConstrainedNetClassifier(demographic_parity(0.05), max_epochs=5)
    >>> model = model.fit(data.X, data.y, sensitive_features=data.groups)
    >>> all(line.holds for line in model.report_.constraints)
    True
    """

    solver = "auto"  # of the last layer

    _parameter_constraints: ClassVar[dict] = {
        **LinearPredictor._parameter_constraints,
        "hidden_layer_sizes": ["array-like", None],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "weight_decay": [Interval(Real, 0, 1, closed="both")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "max_epochs": [Interval(Integral, 1, None, closed="left"), None],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "device": [str],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "min_cell": [Interval(Integral, 2, None, closed="left")],
        "small_cells": [StrOptions({"raise", "skip", "pool"})],
    }

    constraints: Constraint | list[Constraint] | tuple[Constraint, ...] = ()
    _: KW_ONLY
    objective: Expression | Quotient | Unfairness | None = None
    module: Any = None
    hidden_layer_sizes: Any = None
    dropout: float = 0.0
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    batch_size: int | None = None
    max_epochs: int | None = None
    patience: int = 8
    validation_fraction: float = 0.1
    device: str = "cpu"
    pos_label: Any = None
    class_weight: Any = None
    min_cell: int = 10
    small_cells: str = "raise"

    def fit(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        validation: Any = None,
    ) -> ConstrainedNetClassifier:
        """Train the network, and fit its last layer.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Sparse rows are made dense.
        y, sensitive_features, sample_weight, groups : as in `ConstrainedClassifier.fit`
        validation : tuple (X, y, sensitive_features), optional
            Other rows: the best epoch is chosen by them, and bounds are tightened on the training rows until
            they hold on these too, by counting.
        """
        check_parameters(self)
        table, names = read_table(self, X, y, sensitive_features, sample_weight)
        require_two_classes(type(self).__name__, table)
        task = self._task()
        work = NetFit(self, task, table, groups, validation_rows(self, validation, table.classes))
        self.sensitive_names_ = names
        _, fit = fit_two_classes(self, task, table, learn=work.learn)
        work.finish(fit)
        return self

    def _task(self) -> Task:
        return Task(
            type(self).__name__,
            self.constraints,
            self.objective,
            C=self.C,
            class_weight=self.class_weight,
            min_cell=self.min_cell,
            small_cells=self.small_cells,
        )

    @property
    def to_onnx(self) -> Any:
        """Not there: `torch.onnx` exports networks."""
        reason = "`to_onnx` is for linear models; `torch.onnx` exports `module_`, which gets"
        raise AttributeError(f"{type(self).__name__}: {reason} (X - center_) / scale_.")

    def _features(self, X: Any) -> np.ndarray:
        """Return what the last layer gets of checked rows."""
        return self._body.arrays(as_rows(X, self.center_, self.scale_, self._body.module))

    def _packed(self) -> dict[str, Any]:
        """Return the attributes to store, with the network as arrays."""
        return packed(type(self).__name__, dict(vars(self)), self.module)

    @classmethod
    def _unpacked(cls, found: dict[str, Any], module: Any) -> dict[str, Any]:
        """Return the attributes of a stored model, with its network made anew."""
        return unpacked(cls.__name__, found, module)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.non_deterministic = False
        return tags
