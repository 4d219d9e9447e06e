"""The bounds of rules as parameters: ``set_params(constraints__bound=0.05)``, and so in a grid search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from equipoise import _check

PREFIX = "constraints__"


class BoundParameters:
    """A mixin for estimators with `constraints`: their bounds are parameters too.

    One rule has ``constraints__bound``, several have ``constraints__0__bound`` and so on. Rules are not
    changed, but replaced.
    """

    constraints: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep` also the bounds of the rules."""
        found: dict[str, Any] = super().get_params(deep=deep)  # type: ignore[misc]
        if deep:
            found |= {name: rule.bound for name, rule in _named(self.constraints).items()}
        return found

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, among them ``constraints__bound``, and return the estimator."""
        bounds = {name: params.pop(name) for name in list(params) if name.startswith(PREFIX)}
        super().set_params(**params)  # type: ignore[misc]
        for name, bound in bounds.items():
            self.constraints = _rebounded(type(self).__name__, self.constraints, name, bound)
        return self


def _named(constraints: Any) -> dict[str, Any]:
    """Return the rules that have one bound, by the name of their parameter."""
    several = isinstance(constraints, list | tuple)
    rules = list(constraints) if several else [constraints]
    names = [f"{PREFIX}{i}__bound" for i in range(len(rules))]
    if len(rules) == 1:
        names = [f"{PREFIX}bound"]
    return {name: rule for name, rule in zip(names, rules) if hasattr(rule, "bound")}


def _rebounded(owner: str, constraints: Any, name: str, bound: Any) -> Any:
    """Return the rules with another bound for one of them."""
    named = _named(constraints)
    if name not in named:
        known = ", ".join(named) or "none"
        reason = f"`{name}` is not a parameter; the bounds of these constraints are: {known}."
        raise _check.InputError(owner, reason, name)
    old = named[name]
    new = replace(old, bound=_check.real(owner, name, bound))
    if not isinstance(constraints, list | tuple):
        return new
    return type(constraints)(new if rule is old else rule for rule in constraints)
