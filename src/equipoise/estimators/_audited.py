"""Audited fits: groups in which a rate is found to differ become constraints, until none is found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from equipoise import _check
from equipoise.constraints import Each, Parity
from equipoise.metrics import GroupFinding, worst_groups

# Groups that become constraints after one audit, at the most: constraining the worst ones often mends others,
# which overlap them. Chosen.
FOUND_AT_ONCE = 5

AUDITED = ("positive", "true_positive", "false_positive")  # the rates that a rule may bound here


@dataclass(frozen=True)
class Audited:
    """A model with the history of its audits.

    Attributes
    ----------
    model : estimator
        The last one fitted.
    rounds : tuple of tuples of GroupFinding
        What each audit found, the first one of the model without constraints on groups. Empty at last,
        unless the rounds were used up or a bound could not be kept.
    """

    model: Any
    rounds: tuple[tuple[GroupFinding, ...], ...]

    @property
    def clean(self) -> bool:
        """Whether the last audit found nothing."""
        return not self.rounds[-1]

    def __str__(self) -> str:
        lines = []
        for number, found in enumerate(self.rounds):
            count = f"{len(found) or 'no'} groups"
            lines.append(f"audit {number + 1}: {count} beyond the bound on the training rows")
            lines += [f"  {finding}" for finding in found]
        return "\n".join(lines)


@_check.owned
def fit_until_audited(
    estimator: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    *,
    rule: Parity,
    depth: int = 2,
    min_rows: int = 30,
    confidence: float = 0.95,
    max_rounds: int = 10,
) -> Audited:
    """Fit, search the groups nobody named, constrain those found, and fit again, until none is found.

    Each group found is compared with all other rows, by the bound of the rule. Both the search and the
    bounds are of the training rows.

    Parameters
    ----------
    estimator : ConstrainedClassifier
        A copy is fitted. Its own constraints are kept too; they must not be about groups, which are what is
        looked for. It must have no `confidence`: all rows are searched.
    X, y : as in its `fit`
    sensitive_features : data frame, dict of columns, or array
        The columns that groups are made of; see `metrics.worst_groups`.
    rule : Parity
        What must hold for every group, such as ``demographic_parity(0.05)``; only its rates and its bound
        count.
    depth, min_rows, confidence : as in `metrics.worst_groups`
    max_rounds : int
        Audits at the most.

    Returns
    -------
    Audited

    Examples
    --------
    >>> from equipoise import ConstrainedClassifier, demographic_parity, fit_until_audited
    >>> from equipoise.datasets import make_census
    >>> data = make_census(4000)
    >>> who = {name: data.attributes[name] for name in ("sex", "race")}
    >>> done = fit_until_audited(ConstrainedClassifier(), data.X, data.y, who, rule=demographic_parity(0.1))
    >>> done.rounds[0][0].name, done.clean
    ('sex=male & race=white', True)
    """
    owner = "fit_until_audited"
    _check.kind(owner, "rule", rule, Parity)
    max_rounds = _check.count(owner, "max_rounds", max_rounds, least=1)
    own = _own_constraints(owner, estimator)
    kinds = [_check.choice(owner, "rule", kind, AUDITED) for kind in rule.kinds]
    options: dict[str, Any] = {"depth": depth, "min_rows": min_rows, "bound": rule.bound}
    options |= {"confidence": confidence, "most": FOUND_AT_ONCE}
    columns: dict[str, np.ndarray] = {}
    rounds: list[tuple[GroupFinding, ...]] = []
    while True:
        rules = [replace(rule, each=Each(column=name)) for name in columns]
        model = clone(estimator).set_params(constraints=[*own, *rules])
        model.fit(X, y, sensitive_features=columns or None)
        truth, predicted = np.asarray(y) == model.pos_label_, model.predict(X) == model.pos_label_
        found = [
            finding
            for kind in kinds
            for finding in worst_groups(truth, predicted, sensitive_features, kind=kind, **options)
        ]
        rounds.append(tuple(found))
        new = [finding for finding in found if finding.name not in columns]
        if not new or len(rounds) == max_rounds:
            return Audited(model, tuple(rounds))
        for finding in new:
            columns[finding.name] = np.where(finding.members, "yes", "no")


def _own_constraints(owner: str, estimator: Any) -> list[Any]:
    """Return the estimator's constraints, if none of them is about groups."""
    if not hasattr(estimator, "fit") or "constraints" not in estimator.get_params():
        _check.fail(owner, "estimator", "must be a ConstrainedClassifier", estimator)
    if getattr(estimator, "confidence", None) is not None:
        rule = (
            "must have no `confidence`: groups are looked for on all rows, so that none are left to test a "
            "promise for them; `evaluate` the model on fresh rows"
        )
        _check.fail(owner, "estimator", rule, estimator.confidence)
    given = estimator.constraints
    listed = list(given) if isinstance(given, list | tuple) else [given]
    for constraint in listed:
        if "groups" in getattr(constraint, "needs", ()):
            rule = "must have no constraints on groups; these are what is looked for"
            _check.fail(owner, "estimator", rule, constraint)
    return listed
