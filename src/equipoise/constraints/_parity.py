"""Parity: a rate that may differ little from group to group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple, final

from equipoise import _check
from equipoise.constraints._constraint import Constraint, Inequality
from equipoise.constraints._expression import Expression
from equipoise.constraints._rate import KINDS, Each, Rate

if TYPE_CHECKING:
    from equipoise.constraints._sample import Sample

COMPARED_WITH = ("pairs", "mean", "overall")

# Differences of two groups' rates in one constraint, at the most: a hundred groups have about as many.
# Chosen.
MAX_PAIRS = 10_000


class Gap(NamedTuple):
    """A difference of rates, in one direction."""

    name: str
    groups: tuple[str, ...]
    expression: Expression


@final
@dataclass(frozen=True)
class Parity(Constraint):
    """Each rate of every group within `bound` of a reference.

    Attributes
    ----------
    name : str
    kinds : tuple of str
        The rates that must agree.
    bound : float
        The largest difference, between 0 and 1.
    reference : {"pairs", "mean", "overall"}
        Compare every two groups; or each group with the mean of all groups' rates; or with the
        rate of everyone.
    each : Each
        Which groups.
    """

    name: str
    kinds: tuple[str, ...]
    bound: float
    reference: str = "pairs"
    each: Each = Each()

    def __post_init__(self) -> None:
        owner = _check.text("Parity", "name", self.name).replace(" ", "_")
        if not _check.sequence(owner, "kinds", self.kinds, str):
            _check.fail(owner, "kinds", "must name at least one rate", self.kinds)
        for kind in self.kinds:
            _check.choice(owner, "kinds", kind, KINDS)
        _check.kind(owner, "each", self.each, Each)
        bound = _check.between(owner, "bound", self.bound, 0.0, 1.0)
        object.__setattr__(self, "bound", bound)
        _check.choice(owner, "reference", self.reference, COMPARED_WITH)

    @property
    def needs(self) -> frozenset[str]:
        """Groups."""
        return frozenset({"groups"})

    def expand(self, sample: Sample) -> list[Inequality]:
        """Return one inequality for each kind and each difference, in both directions."""
        return [
            Inequality(gap.name, self.name, gap.groups, gap.expression, "<=", self.bound, self)
            for gap in self.gaps(sample)
        ]

    def gaps(self, sample: Sample) -> Iterator[Gap]:
        """Yield every difference that is bounded, in both directions, one after the other."""
        for column in sample.columns(self.name, self.each):
            labels = [label for _, label in column]
            if len(column) < 2:
                rule = "needs at least two groups to compare"
                _check.missing(self.name, "sensitive_features", rule, labels)
            if self.reference == "pairs" and len(column) * (len(column) - 1) > MAX_PAIRS:
                reason = (
                    f"{len(column)} groups are too many to compare each two of them; use "
                    "reference='mean' or 'overall', or merge groups."
                )
                raise _check.InputError(self.name, reason, "sensitive_features")
            for kind in self.kinds:
                rates = [_rate(kind, cell) for cell, _ in column]
                for minuend, subtrahend in self._comparisons(kind, labels, rates):
                    yield self._gap(kind, labels, minuend, subtrahend)

    def _comparisons(self, kind: str, labels: list[str], rates: list[Expression]) -> Iterator[Any]:
        """Yield ordered pairs of (label, rate); both directions of a pair together."""
        own = list(zip(labels, rates))
        if self.reference == "pairs":
            for i, first in enumerate(own):
                for second in own[i + 1 :]:
                    yield from permutations((first, second))
            return
        if self.reference == "mean":
            share = 1.0 / len(rates)
            common = Expression(tuple((share, rate.parts[0][1]) for rate in rates))
        else:
            common = _rate(kind, None)
        for first in own:
            yield from permutations((first, (self.reference, common)))

    def _gap(self, kind: str, labels: list[str], minuend: Any, subtrahend: Any) -> Gap:
        title = self.name if len(self.kinds) == 1 else f"{self.name}, {kind.replace('_', ' ')}"
        (a, left), (b, right) = minuend, subtrahend
        groups = (a, b) if self.reference == "pairs" else (a if b == self.reference else b,)
        return Gap(f"{title}: {a} - {b}", groups, left - right)


@_check.owned
def demographic_parity(
    bound: float,
    reference: str = "pairs",
    *,
    column: Any = None,
    groups: Any = None,
    intersections: bool = False,
) -> Parity:
    """Return: the groups' positive rates differ by at most `bound`.

    Parameters
    ----------
    bound : float
        Between 0 and 1.
    reference : {"pairs", "mean", "overall"}
        Compare every two groups (the default), or each group with the mean of the groups' rates,
        or with the rate of everyone.
    column, groups, intersections : optional
        Which groups; see `Each`. By default all groups of every sensitive column, one column after the
        other.

    Examples
    --------
    >>> from equipoise.constraints import bind, demographic_parity
    >>> bind(demographic_parity(0.02), y=[0, 1, 0, 1], sensitive_features=list("FFMM")).names
    ('demographic parity: F - M', 'demographic parity: M - F')
    """
    each = Each(column, groups, intersections)
    return Parity("demographic parity", ("positive",), bound, reference, each)


@_check.owned
def equal_opportunity(
    bound: float,
    reference: str = "pairs",
    *,
    column: Any = None,
    groups: Any = None,
    intersections: bool = False,
) -> Parity:
    """Return: the groups' true positive rates differ by at most `bound`; as `demographic_parity`."""
    each = Each(column, groups, intersections)
    return Parity("equal opportunity", ("true_positive",), bound, reference, each)


@_check.owned
def equalized_odds(
    bound: float,
    reference: str = "pairs",
    *,
    column: Any = None,
    groups: Any = None,
    intersections: bool = False,
) -> Parity:
    """Return: true and false positive rates differ by at most `bound`; as `demographic_parity`."""
    each = Each(column, groups, intersections)
    return Parity("equalized odds", ("true_positive", "false_positive"), bound, reference, each)


@_check.owned
def false_positive_parity(
    bound: float,
    reference: str = "pairs",
    *,
    column: Any = None,
    groups: Any = None,
    intersections: bool = False,
) -> Parity:
    """Return: the groups' false positive rates differ by at most `bound`; as `demographic_parity`."""
    each = Each(column, groups, intersections)
    return Parity("false positive parity", ("false_positive",), bound, reference, each)


@_check.owned
def false_negative_parity(
    bound: float,
    reference: str = "pairs",
    *,
    column: Any = None,
    groups: Any = None,
    intersections: bool = False,
) -> Parity:
    """Return: the groups' false negative rates differ by at most `bound`; as `demographic_parity`."""
    each = Each(column, groups, intersections)
    return Parity("false negative parity", ("false_negative",), bound, reference, each)


def _rate(kind: str, cell: Any) -> Expression:
    return Expression(((1.0, Rate(kind, cell)),))
