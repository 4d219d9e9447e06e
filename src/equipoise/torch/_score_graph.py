"""Scores as autograd recorded them: products with their first and second derivatives."""

from __future__ import annotations

from functools import cached_property
from typing import Any

# What autograd calls operations whose gradients are continuous where they are defined. Any other one, such
# as ReLU, a maximum or one that a user wrote, may have kinks.
WITHOUT_KINKS = """
AccumulateGrad T Transpose Permute View UnsafeView Reshape ReshapeAlias Squeeze Unsqueeze Expand
Slice Select Split SplitWithSizes Cat Stack Clone ToCopy Alias Index Embedding Gather
Add Sub Mul Div Neg Addmm Addmv Mm Mv Bmm Baddbmm Dot Sum Mean Convolution AvgPool2D
Tanh Sigmoid Softplus Gelu Silu Mish LogSigmoid Softmax LogSoftmax Exp Log Sin Cos Erf
NativeLayerNorm NativeBatchNorm NativeGroupNorm
"""
_KNOWN = frozenset(WITHOUT_KINKS.split())


class ScoreGraph:
    """Scores (n,) that depend on parameters (dim,): what autograd recorded, kept as long as this object.

    Every product is one or two backward passes; the forward pass is not repeated.

    Parameters
    ----------
    theta : tensor of shape (dim,)
        A leaf that requires its gradient.
    scores : tensor of shape (n,)
        Computed of `theta`.
    """

    def __init__(self, theta: Any, scores: Any) -> None:
        self.theta, self.scores = theta, scores

    def pull(self, g: Any) -> Any:
        """Return ``J' g``."""
        return self._gradient(self.scores, self.theta, g)

    def push(self, v: Any) -> Any:
        """Return ``J v``: the derivative of ``v' J' u``, which is linear in `u`, with respect to `u`."""
        u, pulled = self._transposed
        return self._gradient(pulled, u, v)

    def bend(self, g: Any, v: Any) -> Any:
        """Return ``sum_i g_i hess s_i v``: the derivative of ``J' g`` along `v`."""
        return self._gradient(self._gradient(self.scores, self.theta, g, True), self.theta, v)

    @cached_property
    def _transposed(self) -> tuple[Any, Any]:
        """Any `u` (n,), and ``J' u`` as autograd records it."""
        import torch

        u = torch.zeros_like(self.scores, requires_grad=True)
        return u, self._gradient(self.scores, self.theta, u, True)

    @staticmethod
    def _gradient(outputs: Any, inputs: Any, weights: Any, recorded: bool = False) -> Any:
        import torch

        if not outputs.requires_grad:  # constant: scores that are linear do not bend
            return torch.zeros_like(inputs)
        (found,) = torch.autograd.grad(
            outputs, inputs, weights, retain_graph=True, create_graph=recorded, allow_unused=True
        )
        return torch.zeros_like(inputs) if found is None else found

    def without_kinks(self) -> bool:
        """Whether every operation between parameters and scores is known to have no kink."""
        waiting, seen = [self.scores.grad_fn], set()
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            if node.name().split("Backward")[0].split("::")[-1] not in _KNOWN:
                return False
            waiting.extend(before for before, _ in node.next_functions)
        return True
