"""ModuleModel: a PyTorch module as a model."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise.models import Model, ModelPoint
from equipoise.torch._flat import FlatParameters
from equipoise.torch._net_rows import TRIED_ROWS, tensor_of_rows
from equipoise.torch._score_graph import ScoreGraph

OWNER = "ModuleModel"


@final
class ModuleModel(Model):
    """The scores that a PyTorch module gives to rows, as a function of its trainable parameters.

    Every term, constraint and solver takes it as it takes a linear model. The module is copied and
    evaluated in its `eval` mode: dropout is off, and batch normalisation uses its running statistics, so
    that a score depends on its own row alone. Frozen parameters and buffers keep their values.

    Parameters
    ----------
    module : torch.nn.Module
        Rows (n, ...) to one score each, (n,) or (n, 1), in any precision and on any device.
    X : array or tensor of shape (n, d) or (n, ...)
        The rows. They are taken to the module's device. An array and a tensor of floating-point numbers
        get the precision of its parameters; a tensor of integers stays one.
    smooth : bool, optional
        Whether the scores have no kinks. By default only where every operation of the module is known to
        have none; a module with ReLU has some. Without it there are no second derivatives.

    Attributes
    ----------
    start : ndarray of shape (dim,)
        The parameters of the module that was given, where `solve` starts by default.

    Notes
    -----
    `x` is a NumPy array or a tensor of any precision, on any device; it is taken to that of the module,
    and what comes back is of the kind of `x`. Parameters with ``bias`` in their name are not penalised.
    A point holds what autograd recorded, so it needs the memory of a forward pass.

    Examples
    --------
    >>> import torch
    >>> from equipoise import demographic_parity, solve
    >>> from equipoise.constraints import bind
    >>> from equipoise.datasets import make_census
    >>> from equipoise.problems import LearningProblem
    >>> from equipoise.torch import ModuleModel
    >>> data = make_census(1000)
    >>> X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    >>> _ = torch.manual_seed(0)
    >>> net = torch.nn.Sequential(torch.nn.Linear(14, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
    >>> model = ModuleModel(net, X)
    >>> terms = bind(demographic_parity(0.05), data.y, data.groups).terms
    >>> result = solve(LearningProblem.of(model, terms, l2=0.01), tol=1e-6)
    >>> result.success
    True
    >>> trained = model.module_at(result.x)
    """

    def __init__(self, module: Any, X: Any, *, smooth: bool | None = None) -> None:
        torch = _torch()
        _check.kind(OWNER, "module", module, torch.nn.Module)
        self._flat = FlatParameters(OWNER, module)
        self._module = deepcopy(module).eval()
        start = self._flat.joined(module)
        _check.finite(OWNER, "module", start)
        self.start = start.double().cpu().numpy()
        self._X = tensor_of_rows(OWNER, X, self._flat)
        self.n_rows, self.dim = len(self._X), self._flat.dim
        self.penalised, self.rounding = self._flat.penalised, self._flat.rounding
        graph = self._tried(start)
        self.smooth = graph.without_kinks()
        if smooth is not None:
            self.smooth = _check.flag(OWNER, "smooth", smooth)

    def at(self, x: Array) -> ModelPoint:
        """Evaluate the scores: one forward pass, which autograd records."""
        graph = self._graph(self._parameters(x), self._X)

        def back(found: Any) -> Array:
            return _in_kind_of(x, found.detach())

        def pull(g: Array) -> Array:
            return back(graph.pull(_like(g, graph.scores)))

        def push(v: Array) -> Array:
            return back(graph.push(_like(v, graph.theta)))

        def bend(g: Array, v: Array) -> Array:
            return back(graph.bend(_like(g, graph.scores), _like(v, graph.theta)))

        return ModelPoint(back(graph.scores), pull, push, bend if self.smooth else None)

    def rows(self, index: np.ndarray) -> ModuleModel:
        """Return the model of some rows."""
        import torch

        part = copy(self)
        part._X = self._X[torch.tensor(index, device=self._X.device)]
        part.n_rows = len(index)
        return part

    def predicted(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of the rows as the module computes them; autograd records nothing."""
        import torch

        with torch.no_grad():
            found = self._scores(self._parameters(x), self._X)
        return found.double().cpu().numpy()

    def module_at(self, x: Array) -> Any:
        """Return a copy of the module with the parameters `x`, in its `eval` mode."""
        import torch

        x = _check.point(OWNER, "x", x, self.dim)
        module = deepcopy(self._module)
        named = dict(module.named_parameters())
        with torch.no_grad():
            for name, value in self._flat.apart(self._parameters(x)).items():
                named[name].copy_(value)
        return module

    def _parameters(self, x: Array) -> Any:
        """Return `x` as a tensor of its own, where the module's parameters are."""
        if tuple(x.shape) != (self.dim,):
            _check.fail(OWNER, "x", f"must have shape ({self.dim},)", tuple(x.shape))
        return _like(x, self._flat).clone()

    def _graph(self, theta: Any, X: Any) -> ScoreGraph:
        import torch

        with torch.enable_grad():
            theta = theta.requires_grad_(True)
            return ScoreGraph(theta, self._scores(theta, X))

    def _scores(self, theta: Any, X: Any) -> Any:
        from torch.func import functional_call

        scores, n = functional_call(self._module, self._flat.apart(theta), (X,)), len(X)
        if tuple(getattr(scores, "shape", ())) not in ((n,), (n, 1)):
            got = getattr(scores, "shape", None)
            rule = f"must give {n} rows scores of shape ({n},) or ({n}, 1)"
            _check.fail(OWNER, "module", rule, type(scores) if got is None else tuple(got))
        return scores.reshape(n)

    def _tried(self, theta: Any) -> ScoreGraph:
        """Return the scores of a few rows; refuse a module whose scores are of no use."""
        some = self._X[:TRIED_ROWS]
        try:
            graph = self._graph(theta.clone(), some)
            again = self._scores(theta, some).detach()
            fewer = self._scores(theta, some[: (len(some) + 1) // 2]).detach()
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            if isinstance(error, _check.InputError | _check.WrongKindError):
                raise
            reason = (
                f"the `module` must take rows of `X` of shape {tuple(some.shape)}; it says: {error}"
            )
            raise _check.InputError(OWNER, reason, "module") from error
        scores = graph.scores.detach()
        if not (scores.is_floating_point() and graph.scores.requires_grad):
            rule = "must give scores that depend on its parameters, with gradients"
            _check.fail(OWNER, "module", rule, str(scores.dtype))
        _check.finite(OWNER, "module", scores)
        if not bool((scores == again).all()):
            _check.fail(
                OWNER, "module", "must give the same scores again in `eval` mode", self._module
            )
        within = self.rounding**0.5 * (1.0 + float(scores.abs().max()))  # sums in another order
        if float((scores[: len(fewer)] - fewer).abs().max()) > within:
            rule = "must give each row a score that does not depend on other rows"
            _check.fail(OWNER, "module", rule, self._module)
        return graph


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"{OWNER} needs PyTorch: pip install 'equipoise[torch]'.") from error
    return torch


def _like(values: Array, other: Any) -> Any:
    """Return an array or tensor as a tensor with the precision and the device of another."""
    import torch

    if isinstance(values, torch.Tensor):
        return values.detach().to(dtype=other.dtype, device=other.device)
    return torch.tensor(values, dtype=other.dtype, device=other.device)


def _in_kind_of(x: Array, found: Any) -> Array:
    """Return a tensor as an array or tensor with the precision and on the device of `x`."""
    import torch

    if isinstance(x, np.ndarray):
        return found.to(dtype=getattr(torch, x.dtype.name), device="cpu").numpy()
    return found.to(dtype=x.dtype, device=x.device)
