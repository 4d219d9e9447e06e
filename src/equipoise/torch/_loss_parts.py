"""What a training loop gives for a batch, checked, and what the constraints add to its loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise import _check
from equipoise.torch._cells import RowCells
from equipoise.torch._training_duals import TrainingDuals


class LossParts:
    """The loss of a batch with the user's own constraints, and what rates add to the gradient of its scores.

    Attributes
    ----------
    total : tensor of shape ()
    scores : tensor of shape (b,) or None
        None without rules on rates.
    gradient : tensor of shape (b,) or None
        That of the rates times their multipliers.
    value : tensor of shape () or None
        Their sum.
    """

    def __init__(
        self,
        where: str,
        cells: RowCells,
        duals: TrainingDuals,
        loss: Any,
        scores: Any,
        labelled: tuple[Any, Any, Any],
        constraints: Any,
    ) -> None:
        self.total = _one_number(where, "loss", loss)
        self._duals = duals
        self.scores: Any = None
        self.gradient: Any = None
        if duals.rates.names:
            cell, self.scores = _batch(where, cells, scores, *labelled)
            self.gradient = duals.of_rates(loss, self.scores, cell)
        if constraints is not None:
            _check.kind(where, "constraints", constraints, Mapping)
            for name, value in constraints.items():
                _check.text(where, "constraints", name)
                _one_number(where, f"constraints[{name!r}]", value)
            self.total = self.total + duals.of_own(constraints)

    def lagrangian(self) -> Any:
        """Return one number with the value and the gradient of all parts."""
        if self.scores is None:
            return self.total
        change = (self.gradient * (self.scores - self.scores.detach())).sum()
        return self.total + self._duals.value.to(change.dtype) + change

    def backward(self) -> None:
        """Compute the gradients of all parts in one pass."""
        import torch

        roots = [(self.total, None), (self.scores, self.gradient)]
        needed = [(root, g) for root, g in roots if root is not None and root.requires_grad]
        torch.autograd.backward([root for root, _ in needed], [g for _, g in needed])


def _batch(
    where: str, cells: RowCells, scores: Any, y: Any, groups: Any, rows: Any
) -> tuple[Any, Any]:
    """Return the cells of a batch, and its scores as a vector."""
    import torch

    _check.kind(where, "scores", scores, torch.Tensor)
    flat = scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
    if rows is None:
        cell = cells.of(y, groups, scores.device)
    elif y is not None or groups is not None:
        _check.fail(where, "rows", "must be given instead of `y` and `sensitive_features`", rows)
    else:
        cell = cells.at(rows, scores.device)
    if flat.shape != cell.shape or not flat.is_floating_point():
        named = "`y`" if rows is None else "`rows`"
        rule = f"must hold one number for each of the {cell.numel()} rows of {named}"
        _check.fail(where, "scores", rule, tuple(scores.shape))
    return cell, flat


def _one_number(where: str, name: str, value: Any) -> Any:
    """Return a tensor of one number, checked."""
    import torch

    _check.kind(where, name, value, torch.Tensor)
    if value.numel() != 1:
        _check.fail(where, name, "must be one number", tuple(value.shape))
    return value
