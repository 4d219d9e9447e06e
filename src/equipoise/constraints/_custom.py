"""A constraint that is any function of the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from equipoise import _check
from equipoise.constraints._constraint import Constraint, Inequality

if TYPE_CHECKING:
    from equipoise.constraints._sample import Sample


@final
@dataclass(frozen=True)
class Custom(Constraint):
    """``function(scores, y, groups) <= 0``; made by `custom`."""

    function: Callable[..., Any]
    name: str
    smooth: bool = True

    def __post_init__(self) -> None:
        _check.function("custom", "function", self.function)
        _check.text("custom", "name", self.name)
        _check.flag("custom", "smooth", self.smooth)

    @property
    def needs(self) -> frozenset[str]:
        """All rows: the function is passed what there is of them, without their weights."""
        return frozenset({"all_rows"})

    def expand(self, sample: Sample) -> list[Inequality]:
        """Return one inequality, without rates."""
        return [
            Inequality(
                self.name,
                kind="custom",
                groups=(),
                expression=None,
                sense="<=",
                bound=0.0,
                source=self,
                function=self.function,
                smooth=self.smooth,
            )
        ]


def custom(function: Callable[..., Any], name: str | None = None, *, smooth: bool = True) -> Custom:
    """Return: your function of the scores is at most 0.

    Parameters
    ----------
    function : callable
        ``(scores, y, groups) -> (value, slope)`` with ``slope = d value / d scores``, or with a third
        entry ``curve(d)``, the second derivative applied to `d`. `groups` is the sensitive column,
        or a dict of them, or None. To keep estimators picklable, define it with ``def``.
    name : str, optional
        By default the function's.
    smooth : bool, default True
        Whether its gradient is Lipschitz.
    """
    found = getattr(function, "__name__", "custom")
    known = "custom" if found == "<lambda>" else found
    return Custom(function, known if name is None else name, smooth)
