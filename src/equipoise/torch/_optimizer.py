"""ConstrainedOptimizer: constraints in a training loop of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, final

from equipoise import _check
from equipoise.auditing import Audit, audit
from equipoise.constraints import Constraint
from equipoise.constraints._rules import listed
from equipoise.estimators import Report
from equipoise.estimators._fit import fit_two_classes
from equipoise.estimators._task import Task
from equipoise.torch._cell_rates import CellRates
from equipoise.torch._cells import arrays
from equipoise.torch._last_layer import LastLayer
from equipoise.torch._loss_parts import LossParts
from equipoise.torch._optimizer_state import check_state, load_optimizer
from equipoise.torch._training_duals import TrainingDuals

OWNER = "ConstrainedOptimizer"


@final
class ConstrainedOptimizer:
    """An optimiser of PyTorch that also keeps constraints, in a training loop of your own.

    Every constraint function gets a multiplier. `lagrangian` adds the constraints, with smooth rates and
    times their multipliers, to a batch's loss; `step` takes the optimiser's step and moves the multipliers by
    what the *counted* rates break their bounds by. All steps are chosen by it.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        Whichever; schedulers of its learning rate take it as before.
    constraints : Constraint or sequence of them
        Rules on rates, such as ``demographic_parity(0.05)``, also ratios of rates and mean losses. Anything
        else that is differentiable is given to `lagrangian` as a tensor.
    y : array or tensor of shape (n,)
        The labels of all training rows. They and the groups say how large every group and class is, so that
        batches may be drawn by groups (`GroupBatchSampler` does).
    sensitive_features : array, tensor, data frame or dict of columns, optional
        The groups of all training rows.
    sharpness : float, default 1
        Of the sigmoids whose gradients stand for those of predictions.

    Attributes
    ----------
    names : tuple of str
        Of the constraint functions.

    Notes
    -----
    Estimates are running means over about the newest 1000 rows of every class and group, of scores
    as they were, so they lag behind the network; `evaluate` counts again on any rows. Where the learning
    rate falls, multipliers come to rest with the network. Between two calls
    of `step` any number of batches may go through `lagrangian` (gradient accumulation: divide what it
    returns as you would the loss). It has what `torch.amp.GradScaler` needs: write
    ``scaler.step(constrained)``. Where `torch.distributed` is initialised, sums over rows are added
    up over all processes, whose gradients `DistributedDataParallel` averages: all have the same multipliers.

    Where labels, groups and scores are tensors on a GPU, nothing waits for it. A label or group that
    no training row has is then reported when `values`, `multipliers` or `state_dict` are read.

    Examples
    --------
    >>> import torch
    >>> from equipoise import demographic_parity
    >>> from equipoise.datasets import make_census
    >>> from equipoise.torch import ConstrainedOptimizer
    >>> data = make_census(2000)
    >>> X = torch.tensor((data.X - data.X.mean(axis=0)) / data.X.std(axis=0))
    >>> y, group = torch.tensor(data.y > 0).double(), torch.tensor(data.groups == "female")
    >>> net = torch.nn.Linear(14, 1).double()
    >>> constrained = ConstrainedOptimizer(
    ...     torch.optim.Adam(net.parameters(), 0.01), demographic_parity(0.05), y, group
    ... )
    >>> for _ in range(100):
    ...     for rows in torch.randperm(len(y)).split(500):
    ...         scores = net(X[rows])[:, 0]
    ...         loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, y[rows])
    ...         constrained.step(loss, scores, y[rows], group[rows])
    >>> gap = constrained.evaluate(net(X)[:, 0], y, group)
    """

    def __init__(
        self,
        optimizer: Any,
        constraints: Constraint | Iterable[Constraint],
        y: Any,
        sensitive_features: Any = None,
        *,
        sharpness: float = 1.0,
    ) -> None:
        import torch

        self.optimizer = _check.kind(OWNER, "optimizer", optimizer, torch.optim.Optimizer)
        self._rules = listed(OWNER, constraints)
        sharpness = _check.positive(OWNER, "sharpness", sharpness)
        rates = CellRates(OWNER, self._rules, y, sensitive_features, sharpness)
        self._cells, self._classes, self.names = rates.cells, rates.classes, rates.names
        self._table = rates.table
        self._duals = TrainingDuals(rates, self.optimizer)

    def lagrangian(
        self,
        loss: Any,
        scores: Any = None,
        y: Any = None,
        sensitive_features: Any = None,
        *,
        rows: Any = None,
        constraints: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the loss of a batch plus its constraints times their multipliers, to call `backward` of.

        Parameters
        ----------
        loss : tensor of shape ()
        scores : tensor of shape (b,) or (b, 1)
            Of the rows of the batch, as the network gave them; the prediction is positive above 0.
        y : array or tensor of shape (b,)
        sensitive_features : array, tensor or dict of columns, optional
        rows : array or tensor of int of shape (b,), optional
            Instead of `y` and `sensitive_features`: which training rows these are. Takes the least time.
        constraints : dict of tensors of shape (), optional
            Functions of your own by name, which are to be at most 0, in units like those of a rate.
        """
        return self._parts(loss, scores, (y, sensitive_features, rows), constraints).lagrangian()

    def step(
        self,
        loss: Any = None,
        scores: Any = None,
        y: Any = None,
        sensitive_features: Any = None,
        *,
        rows: Any = None,
        constraints: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a step of the optimiser and of the multipliers.

        With a loss, gradients are set to 0 and computed before it, of what `lagrangian` returns for the same
        arguments; without one they are there already.
        """
        if loss is not None:
            self.optimizer.zero_grad()
            self._parts(loss, scores, (y, sensitive_features, rows), constraints).backward()
        self.optimizer.step()
        self._duals.step()

    def _parts(self, *batch: Any) -> LossParts:
        return LossParts(f"{OWNER}.lagrangian", self._cells, self._duals, *batch)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients to 0."""
        self.optimizer.zero_grad(set_to_none=_check.flag(OWNER, "set_to_none", set_to_none))

    @property
    def param_groups(self) -> Any:
        """Those of the optimiser."""
        return self.optimizer.param_groups

    @property
    def multipliers(self) -> dict[str, float]:
        """The multiplier of every constraint function."""
        self._cells.check()
        own = {name: float(own.multipliers.now[0]) for name, own in self._duals.own.items()}
        return dict(zip(self.names, self._duals.multipliers.now.tolist())) | own

    @property
    def values(self) -> dict[str, float]:
        """The running estimate of every constraint function, counted: at most 0 where the rule holds."""
        self._cells.check()
        return dict(zip(self.names, self._duals.running.values().tolist()))

    def evaluate(
        self, scores: Any, y: Any, sensitive_features: Any = None, *, confidence: float = 0.95
    ) -> Audit:
        """Count the rules on all rows that are given, with confidence intervals, by `audit`.

        The intervals are for the population where the rows had no part in the training.
        """
        where = f"{OWNER}.evaluate"
        labels, values = _check.labels(where, "y", arrays(y)), arrays(scores)
        if getattr(values, "ndim", 1) == 2 and values.shape[1] == 1:
            values = values[:, 0]
        values = _check.vector(where, "scores", values, labels.size)
        return audit(
            labels,
            self._classes[(values > 0).astype(int)],
            self._rules,
            sensitive_features=arrays(sensitive_features),
            confidence=confidence,
            pos_label=self._classes[1].item(),
        )

    def finish(
        self,
        module: Any,
        X: Any,
        *,
        validation: Any = None,
        C: float = 1.0,
        on_infeasible: str = "warn",
    ) -> Report:
        """Fit the last layer of the trained network anew, so that the rules hold by counting.

        Given the features before it, this layer is a linear model, and is fitted as `ConstrainedClassifier`
        fits one: to the mean logistic loss, under the rules on counted rates of all training rows. What it
        predicts is counted as the network computes it, in its own precision.

        Parameters
        ----------
        module : torch.nn.Module
            The network, which ends in a ``torch.nn.Linear(..., 1)`` with a bias, whose output is the score.
            It is changed in place, and left in its `eval` mode.
        X : array or tensor of shape (n, ...)
            What the network takes of all training rows, in the order of `y`.
        validation : tuple (X, y, sensitive_features), optional
            Other rows: bounds are tightened on the training rows until they hold on these too, by counting.
        C : float, default 1.0
            Inverse strength of the penalty on the last layer, as in `ConstrainedClassifier`.
        on_infeasible : {"warn", "raise", "ignore"}, default "warn"
            Where not all bounds could be met. With "raise" the network stays as it was.

        Returns
        -------
        Report
            Every bound and every group, counted on the training rows; `print` it.
        """
        where = f"{OWNER}.finish"
        layer = LastLayer(where, module, X, self._table, validation, on_infeasible)
        task = Task(where, list(self._rules), C=_check.positive(where, "C", C))
        fit_two_classes(layer, task, layer.table, walk=layer)
        layer.put()
        return layer.report_

    def state_dict(self) -> dict[str, Any]:
        """Return all that goes on from step to step, the optimiser's included."""
        self._cells.check()
        return {"optimizer": self.optimizer.state_dict(), **self._duals.state()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where another one with the same rules and training rows was."""
        where = f"{OWNER}.load_state_dict"
        check_state(where, state_dict, self.state_dict())
        load_optimizer(where, self.optimizer, state_dict["optimizer"])
        self._duals.load(state_dict)
