"""The trainable parameters of a module as one vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise import _check


class FlatParameters:
    """Where each trainable parameter of a module lies in the vector of all of them.

    Parameters that do not require a gradient are frozen: they keep their values.

    Parameters
    ----------
    owner : str
        Whom messages name.
    module : torch.nn.Module
    """

    def __init__(self, owner: str, module: Any) -> None:
        import torch

        trainable = {name: p for name, p in module.named_parameters() if p.requires_grad}
        if not trainable:
            _check.fail(owner, "module", "must have parameters that require gradients", module)
        for name, p in trainable.items():
            if not p.is_floating_point():
                _check.fail(owner, f"module.{name}", "must hold real numbers", str(p.dtype))
        first = next(iter(trainable.values()))
        self.dtype, self.device = first.dtype, first.device
        self.rounding = max(float(torch.finfo(p.dtype).eps) for p in trainable.values())
        self._like = {name: (p.shape, p.dtype, p.device) for name, p in trainable.items()}
        self._sizes = [p.numel() for p in trainable.values()]
        self.dim = sum(self._sizes)
        self.penalised = np.concatenate(
            [np.full(p.numel(), 0.0 if _is_bias(name) else 1.0) for name, p in trainable.items()]
        )

    def joined(self, module: Any) -> Any:
        """Return the vector (dim,) of a module's parameters."""
        import torch

        named = dict(module.named_parameters())
        parts = [named[name].detach().reshape(-1) for name in self._like]
        return torch.cat([part.to(dtype=self.dtype, device=self.device) for part in parts])

    def apart(self, theta: Any) -> dict[str, Any]:
        """Return the parameters by name of a vector (dim,); what depends on them has its gradient."""
        parts = theta.split(self._sizes)
        return {
            name: part.reshape(shape).to(dtype=dtype, device=device)
            for part, (name, (shape, dtype, device)) in zip(parts, self._like.items())
        }


def _is_bias(name: str) -> bool:
    """Whether a parameter is named as PyTorch names biases: ``bias``, ``bias_ih_l0``, ``in_proj_bias``."""
    return "bias" in name.rsplit(".", 1)[-1]
