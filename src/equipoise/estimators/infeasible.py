"""Bounds that could not be met: the warning, the error, and the message."""

from __future__ import annotations

import warnings
from collections.abc import Sequence


class InfeasibleWarning(UserWarning):
    """The constraints could not all be met; the message says what was reached."""


class InfeasibleError(ValueError):
    """The constraints could not all be met, and ``on_infeasible="raise"`` was asked for."""


def broken_bound(name: object, sense: str, bound: float, reached: float) -> str:
    """Say what was asked and what was reached, with as many digits as it takes to see a difference."""
    shown = f"{reached:.4f}"
    if float(shown) == round(bound, 4):
        shown = f"{reached:.8g}"
    return f"{name} asked {sense} {bound:g}, reached {shown}"


def complain(
    owner: str,
    on_infeasible: str,
    broken: Sequence[str],
    blocking: Sequence[str] = (),
) -> None:
    """Warn or raise where bounds are broken, as the user chose.

    Parameters
    ----------
    owner : str
        The estimator.
    on_infeasible : {"warn", "raise", "ignore"}
    broken : sequence of str
        For each broken bound, the worst first: what was asked and what was reached.
    blocking : sequence of str
        Names of constraints that cannot fall together.
    """
    if not broken or on_infeasible == "ignore":
        return
    more = f" (and {len(broken) - 3} more)" if len(broken) > 3 else ""
    message = f"{owner}: the bounds could not all be met. {'; '.join(broken[:3])}{more}. "
    if len(blocking) > 1:
        message += f"In the way of each other: {', '.join(map(repr, blocking[:3]))}. "
    message += "Loosen these bounds to what was reached, or drop one of them."
    if on_infeasible == "raise":
        raise InfeasibleError(message)
    warnings.warn(message, InfeasibleWarning, stacklevel=4)


def warn_of_constant(owner: str, on_infeasible: str, label: object) -> None:
    """Warn that the bounds are kept by predicting the same of all rows, unless the user ignores it."""
    if on_infeasible != "ignore":
        message = (
            f"{owner}: the only model found that keeps the bounds predicts {label!r} for every row. "
            "Loosen the bounds: on counted rates, a bound of exactly 0 can rarely be met otherwise."
        )
        warnings.warn(message, InfeasibleWarning, stacklevel=4)
