"""Problems from one PyTorch or JAX function that returns all values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Facts, Point, Problem
from equipoise.problems._describe import set_attributes
from equipoise.sets import Set


class TorchProblem(Problem):
    """A problem from one PyTorch function ``x -> values``, differentiated by autograd.

    Parameters
    ----------
    function : callable
        A tensor ``(d,)`` to a tensor ``(m + 1,)``, the objective first.
    dim, n_constraints : int
    domain : Set, default whole space
    names, facts : optional, as in `FunctionProblem`.

    Notes
    -----
    `x` may be a NumPy array (values and gradients come back as NumPy) or a tensor on any device
    (the iterates then stay on that device).
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        dim: int,
        n_constraints: int,
        domain: Set | None = None,
        names: Sequence[str] | None = None,
        facts: Facts | None = None,
    ) -> None:
        self._function = _check.function("TorchProblem", "function", function)
        set_attributes(self, dim, n_constraints, domain, names, facts)

    def at(self, x: Array) -> Point:
        """Evaluate every function at `x`."""
        x = self._argument(x)
        import torch

        host = isinstance(x, np.ndarray)
        theta = (torch.tensor(x) if host else x.detach().clone()).requires_grad_(True)
        with torch.enable_grad():
            outputs = self._function(theta)
        if not isinstance(outputs, torch.Tensor):
            kind = type(outputs).__name__
            reason = f"the `function` must return one tensor, got a {kind}."
            raise _check.WrongKindError("TorchProblem", reason, "function")
        _check_outputs(self, outputs)
        values = outputs.detach().cpu().numpy().astype(np.float64)

        def back(gradient: Any) -> Array:
            gradient = torch.zeros_like(theta) if gradient is None else gradient.detach()
            return gradient.cpu().numpy() if host else gradient

        def weigh(weights: np.ndarray) -> Any:
            return torch.as_tensor(weights, dtype=outputs.dtype, device=outputs.device)

        def vjp(weights: np.ndarray) -> Array:
            (gradient,) = torch.autograd.grad(
                outputs, theta, weigh(weights), retain_graph=True, allow_unused=True
            )
            return back(gradient)

        def hvp(weights: np.ndarray, v: Array) -> Array:
            direction = torch.as_tensor(v, dtype=theta.dtype, device=theta.device)
            (gradient,) = torch.autograd.grad(
                outputs, theta, weigh(weights), retain_graph=True, create_graph=True
            )
            if not gradient.requires_grad:  # linear functions
                return back(None)
            (product,) = torch.autograd.grad(
                gradient, theta, direction, retain_graph=True, allow_unused=True
            )
            return back(product)

        return Point(x, values, vjp, hvp)


class JaxProblem(Problem):
    """A problem from one JAX function ``x -> values``; `x` and the gradients are NumPy arrays.

    Parameters
    ----------
    function : callable
        An array ``(d,)`` to an array ``(m + 1,)``, the objective first; compiled with `jax.jit`.
    dim, n_constraints, domain, names, facts : as in `TorchProblem`.

    Notes
    -----
    JAX computes in single precision unless ``jax_enable_x64`` is set; tolerances below 1e-6 need it.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        dim: int,
        n_constraints: int,
        domain: Set | None = None,
        names: Sequence[str] | None = None,
        facts: Facts | None = None,
    ) -> None:
        import jax

        _check.function("JaxProblem", "function", function)

        def curve(x: Any, weights: Any, v: Any) -> Any:
            return jax.jvp(lambda z: jax.vjp(function, z)[1](weights)[0], (x,), (v,))[1]

        # jax.vjp returns its backward pass as a pytree, so forward and backward compile apart
        # and the backward pass starts from what the forward pass stored.
        self._forward = jax.jit(lambda z: jax.vjp(function, z))
        self._backward = jax.jit(lambda pull, weights: pull(weights)[0])
        self._curve = jax.jit(curve)
        set_attributes(self, dim, n_constraints, domain, names, facts)

    def at(self, x: Array) -> Point:
        """Evaluate every function at `x`."""
        x = self._argument(x)
        import jax.numpy as jnp

        z = jnp.asarray(x)
        outputs, pull = self._forward(z)
        _check_outputs(self, outputs)

        def vjp(weights: np.ndarray) -> Array:
            gradient = self._backward(pull, jnp.asarray(weights, outputs.dtype))
            return np.array(gradient, dtype=np.float64)

        def hvp(weights: np.ndarray, v: Array) -> Array:
            product = self._curve(z, jnp.asarray(weights, outputs.dtype), jnp.asarray(v, z.dtype))
            return np.array(product, dtype=np.float64)

        return Point(x, np.array(outputs, dtype=np.float64), vjp, hvp)


def _check_outputs(problem: Problem, outputs: Any) -> None:
    owner = type(problem).__name__
    shape, expected = getattr(outputs, "shape", None), (problem.n_constraints + 1,)
    if "complex" in str(getattr(outputs, "dtype", "")):
        rule = "must return real numbers"
        _check.fail(owner, "function", rule, str(outputs.dtype))
    if shape is None or tuple(shape) != expected:
        got = type(outputs).__name__ if shape is None else f"shape {tuple(shape)}"
        reason = (
            f"the `function` must return {expected[0]} values (the objective, then "
            f"{problem.n_constraints} constraints) as one array, got {got}."
        )
        raise _check.InputError(owner, reason, "function")
