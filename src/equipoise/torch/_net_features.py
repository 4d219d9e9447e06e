"""What the last layer of a network gets: its features, on which the layer is a linear model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.torch._net_judge import scores_of

# Rows that go through a network at once where nothing is recorded. Chosen: enough to be quick.
CHUNK = 8192


@dataclass(frozen=True, eq=False)
class Body:
    """A trained network up to its last layer.

    Attributes
    ----------
    owner : str
        Whom messages name.
    module : torch.nn.Module
        The whole network.
    last : str or None
        The name of its last layer, where that is linear with one output, which is the score; None: there
        is no such layer, and the score itself is the only feature.
    """

    owner: str
    module: Any
    last: str | None

    @staticmethod
    def of(owner: str, module: Any, X: Any) -> Body:
        """Find the last layer of a module, by a few rows."""
        import torch

        seen: dict[str, list[tuple[Any, Any]]] = {}
        handles = [
            layer.register_forward_hook(
                lambda _, given, found, name=name: seen.setdefault(name, []).append((given, found))
            )
            for name, layer in module.named_modules()
            if isinstance(layer, torch.nn.Linear)
            and layer.out_features == 1
            and "weight" in dict(layer.named_parameters(recurse=False))  # not made of others
        ]
        try:
            with torch.no_grad():
                scores = scores_of(owner, module.eval(), X)
        finally:
            for handle in handles:
                handle.remove()
        for name, calls in seen.items():
            given, found = calls[-1]
            once = len(calls) == 1 and given[0].ndim == 2
            if once and torch.equal(found.reshape(-1), scores):
                return Body(owner, module, name)
        return Body(owner, module, None)

    @property
    def layer(self) -> Any:
        """The last layer; None where there is none."""
        return None if self.last is None else self.module.get_submodule(self.last)

    def put(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        """Give the last layer, where there is one, other weights."""
        import torch

        if self.layer is None:
            return
        with torch.no_grad():
            self.layer.weight.copy_(torch.as_tensor(coef))
            if self.layer.bias is not None:
                self.layer.bias.copy_(torch.as_tensor(intercept))

    def features(self, X: Any, recorded: bool = False) -> Any:
        """Return the features (n, h) of rows, and whatever autograd records where it is asked to."""
        import torch

        if self.last is None:
            with torch.set_grad_enabled(recorded):
                return scores_of(self.owner, self.module, X)[:, None]
        caught: list[Any] = []
        handle = self.layer.register_forward_pre_hook(lambda _, given: caught.append(given[0]))
        try:
            with torch.set_grad_enabled(recorded):
                self.module(X)
        finally:
            handle.remove()
        return caught[0]

    def arrays(self, X: Any) -> np.ndarray:
        """Return the features as float64, part by part."""
        parts = [
            self.features(X[i : i + CHUNK]).double().cpu().numpy() for i in range(0, len(X), CHUNK)
        ]
        return np.concatenate(parts)

    def gradient_norm(self, X: Any, weights: np.ndarray, coef: np.ndarray) -> float:
        """Return the norm of a sum of the scores' gradients with respect to all parameters of the network.

        `weights` (n,) are those of the scores, which are the features times `coef` plus a number.
        """
        import torch

        tensors = [p for p in self.module.parameters() if p.requires_grad]
        total = [torch.zeros_like(p) for p in tensors]
        last = torch.zeros(coef.size, dtype=torch.float64)
        for i in range(0, len(X), CHUNK):
            found = self.features(X[i : i + CHUNK], recorded=True)
            own = torch.as_tensor(weights[i : i + CHUNK]).to(found)
            last += (own @ found.detach()).double().cpu()
            if not found.requires_grad:
                continue
            back = own[:, None] * torch.as_tensor(coef).to(found)
            for sum_, part in zip(
                total, torch.autograd.grad(found, tensors, back, allow_unused=True)
            ):
                if part is not None:
                    sum_ += part
        squares = sum(float((part.double() ** 2).sum()) for part in total)
        squares += float((last**2).sum()) + float(weights.sum()) ** 2
        return squares**0.5
