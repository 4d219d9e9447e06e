"""ConstrainedOptimizer: constraints in a training loop of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise.auditing import Audit, audit
from equipoise.constraints import Constraint
from equipoise.constraints._rules import listed
from equipoise.torch._cells import TrainingCells
from equipoise.torch._dual import LossSlope, Multipliers
from equipoise.torch._running_rates import RunningRates

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
        batches may be drawn by groups.
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
    as they were, so they lag behind the network; `evaluate` counts again on any rows. Between two calls
    of `step` any number of batches may go through `lagrangian` (gradient accumulation: divide what it
    returns as you would the loss). It has what `torch.amp.GradScaler` needs: write
    ``scaler.step(constrained)``. Where `torch.distributed` is initialised, sums over rows are added
    up over all processes, whose gradients `DistributedDataParallel` averages: all have the same multipliers.

    Examples
    --------
    >>> import torch
    >>> from equipoise import demographic_parity
    >>> from equipoise.datasets import make_census
    >>> from equipoise.torch import ConstrainedOptimizer
    >>> data = make_census(2000)
    >>> X = torch.tensor((data.X - data.X.mean(axis=0)) / data.X.std(axis=0))
    >>> y, group = torch.tensor(data.y > 0).double(), data.groups
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
        self._cells = TrainingCells(OWNER, self._rules, y, sensitive_features, sharpness)
        self._rates = RunningRates(self._cells)
        self.names = self._cells.names
        self._multipliers = Multipliers(len(self.names))
        self._own: dict[str, Multipliers] = {}  # of tensors that the user gave
        self._pending: dict[str, list[Any]] = {}  # their values since the last step
        self._slope = LossSlope()

    def lagrangian(
        self,
        loss: Any,
        scores: Any = None,
        y: Any = None,
        sensitive_features: Any = None,
        *,
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
        constraints : dict of tensors of shape (), optional
            Functions of your own by name, which are to be at most 0, in units like those of a rate.
        """
        import torch

        where = f"{OWNER}.lagrangian"
        _check.kind(where, "loss", loss, torch.Tensor)
        if loss.numel() != 1:
            _check.fail(where, "loss", "must be one number", tuple(loss.shape))
        total = loss
        if self.names:
            total = total + self._of_rates(where, loss, scores, y, sensitive_features)
        given = _check.kind(
            where, "constraints", {} if constraints is None else constraints, Mapping
        )
        for name, value in given.items():
            _check.kind(where, f"constraints[{name!r}]", value, torch.Tensor)
            if value.numel() != 1:
                _check.fail(where, f"constraints[{name!r}]", "must be one number", value.shape)
            own = self._own.setdefault(_check.text(where, "constraints", name), Multipliers(1))
            self._pending.setdefault(name, []).append(_averaged(value.detach().double()).reshape(1))
            total = total + own.now.to(value.device, value.dtype)[0] * value.reshape(())
        return total

    def _of_rates(self, where: str, loss: Any, scores: Any, y: Any, groups: Any) -> Any:
        """Return a tensor with the gradient of the constraints times multipliers, and their value."""
        import torch

        _check.kind(where, "scores", scores, torch.Tensor)
        flat = scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
        cell = torch.tensor(self._cells.of(y, groups), device=scores.device)
        if flat.shape != cell.shape or not flat.is_floating_point():
            rule = f"must hold one number for each of the {cell.numel()} rows of `y`"
            _check.fail(where, "scores", rule, tuple(scores.shape))
        rows = (
            flat.detach().float()
            if flat.dtype in (torch.float16, torch.bfloat16)
            else flat.detach()
        )
        with torch.no_grad():
            found, slopes = self._rates.batch(rows, cell)
            slope = _slope(loss, flat)
            packed = _added(torch.cat([found.reshape(-1), slope.reshape(1)]))
            self._slope.add(float(packed[-1]) / _processes())
            self._rates.add(packed[:-1].reshape(found.shape))
            weights = self._multipliers.now.to(scores.device)
            g = _processes() * self._rates.gradient(weights, slopes, cell)
            value = (weights @ self._rates.values()).to(rows.dtype)
        return value + (g * (flat.to(g.dtype) - rows)).sum()

    def step(
        self,
        loss: Any = None,
        scores: Any = None,
        y: Any = None,
        sensitive_features: Any = None,
        *,
        constraints: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a step of the optimiser and of the multipliers.

        With a loss, gradients are set to 0 and computed before it, of what `lagrangian` returns for the same
        arguments; without one they are there already.
        """
        import torch

        if loss is not None:
            self.optimizer.zero_grad()
            self.lagrangian(loss, scores, y, sensitive_features, constraints=constraints).backward()
        self.optimizer.step()
        self._rates.step()
        self._multipliers.step(self._rates.values(), self._slope.unit)
        for name, values in self._pending.items():
            self._own[name].step(torch.stack(values).mean(dim=0), self._slope.unit)
        self._pending = {}

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
        found = dict(zip(self.names, self._multipliers.now.tolist()))
        return {**found, **{name: float(own.now[0]) for name, own in self._own.items()}}

    @property
    def values(self) -> dict[str, float]:
        """The running estimate of every constraint function, counted: at most 0 where the rule holds."""
        return dict(zip(self.names, self._rates.values().tolist()))

    def evaluate(
        self, scores: Any, y: Any, sensitive_features: Any = None, *, confidence: float = 0.95
    ) -> Audit:
        """Count the rules on all rows that are given, with confidence intervals, by `audit`.

        The intervals are for the population where the rows had no part in the training.
        """
        values = scores.detach().cpu().numpy() if hasattr(scores, "detach") else scores
        values = _check.numbers(f"{OWNER}.evaluate", "scores", values).reshape(-1)
        classes = np.asarray(self._cells.classes)
        labels, groups = (
            given.detach().cpu().numpy() if hasattr(given, "detach") else given
            for given in (y, sensitive_features)
        )
        return audit(
            labels,
            classes[(values > 0).astype(int)],
            self._rules,
            sensitive_features=groups,
            confidence=confidence,
            pos_label=classes[1].item(),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return all that goes on from step to step, the optimiser's included."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "names": list(self.names),
            "rates": self._rates.state_dict(),
            "multipliers": self._multipliers.state_dict(),
            "own": {name: own.state_dict() for name, own in self._own.items()},
            "pending": {name: list(values) for name, values in self._pending.items()},
            "slope": [self._slope.total, self._slope.weight],
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where another one with the same rules and training rows was."""
        where = f"{OWNER}.load_state_dict"
        _check.kind(where, "state_dict", state_dict, Mapping)
        if list(state_dict.get("names", [])) != list(self.names):
            rule = f"must be of the constraints {list(self.names)}"
            _check.fail(where, "state_dict", rule, state_dict.get("names"))
        if state_dict["rates"]["sums"].shape != self._rates.sums.shape:
            rule = "must be of training rows with the same classes and groups"
            _check.fail(where, "state_dict", rule, tuple(state_dict["rates"]["sums"].shape))
        self.optimizer.load_state_dict(state_dict["optimizer"])
        self._rates.load_state_dict(state_dict["rates"])
        self._multipliers.load_state_dict(state_dict["multipliers"])
        self._own = {name: Multipliers(1) for name in state_dict["own"]}
        for name, own in self._own.items():
            own.load_state_dict(state_dict["own"][name])
        self._pending = {name: list(values) for name, values in state_dict["pending"].items()}
        self._slope.total, self._slope.weight = state_dict["slope"]


def _slope(loss: Any, scores: Any) -> Any:
    """Return the sum of the loss's absolute derivatives with respect to scores; 0 where it has none."""
    import torch

    if not (loss.requires_grad and scores.requires_grad):
        return torch.zeros((), dtype=torch.float64, device=scores.device)
    (found,) = torch.autograd.grad(loss, scores, retain_graph=True, allow_unused=True)
    if found is None:
        return torch.zeros((), dtype=torch.float64, device=scores.device)
    return found.double().abs().sum()


def _processes() -> int:
    import torch.distributed as distributed

    ready = distributed.is_available() and distributed.is_initialized()
    return int(distributed.get_world_size()) if ready else 1


def _added(values: Any) -> Any:
    """Return the sum over all processes."""
    import torch.distributed as distributed

    if _processes() > 1:
        distributed.all_reduce(values)
    return values


def _averaged(value: Any) -> Any:
    """Return the mean over all processes."""
    return _added(value.clone()) / _processes()
