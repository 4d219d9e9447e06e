"""A fitted network in a model file: as arrays, which the default network or the user's is filled with."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.estimators import ModelFileError
from equipoise.torch._default_network import arrays_of, network_of
from equipoise.torch._net_features import Body


def packed(owner: str, attributes: dict[str, Any], module: Any) -> dict[str, Any]:
    """Return the attributes of an estimator with the arrays of its network instead of the network.

    A module of the user's is code, which a model file does not hold: it is given again at loading.
    """
    found = {name: value for name, value in attributes.items() if name != "module_"}
    network: Any = attributes["module_"]
    if module is None:
        stored: Any = arrays_of(network)
    else:
        stored = {"last": attributes["_body"].last or "", "state": _state_of(owner, network)}
    epochs = np.array([[epoch.loss, epoch.violation] for epoch in attributes["epochs_"]])
    return {**found, "network_": stored, "epochs_": epochs}


def unpacked(owner: str, stored: dict[str, Any], module: Any) -> dict[str, Any]:
    """Return the attributes of an estimator with its network of arrays; raise where they do not fit."""
    from equipoise.torch._net_judge import Epoch

    found = dict(stored)
    arrays, columns = found.pop("network_"), found["n_features_in_"]
    units = (found["center_"], found["scale_"])
    own = isinstance(arrays, dict)
    fitting = all(unit.shape == (columns,) for unit in units) and bool((units[1] > 0).all())
    numbers = [*units, *([] if own else arrays)]
    if not fitting or not all(np.isfinite(a).all() and a.dtype == float for a in numbers):
        raise ValueError("its network_ is not that of a model")
    if own != (module is not None):
        raise ModelFileError(
            "load_model: the file holds a network of your own; give it as `module`."
            if own
            else "load_model: the file holds the default network; leave out `module`."
        )
    if own:
        network = _filled(module, arrays["state"])
        body = Body(owner, network, arrays["last"] or None)
        width = network.get_submodule(body.last).in_features if body.last else 1
    else:
        network = network_of(arrays, columns)
        body = Body(owner, network, str(len(network) - 1))
        width = network[-1].in_features
    if found["coef_"].shape != (1, width):
        raise ValueError("its coef_ is not that of a model")
    epochs = tuple(Epoch(float(loss), float(violation)) for loss, violation in found["epochs_"])
    return {**found, "module_": network, "_body": body, "epochs_": epochs}


def _state_of(owner: str, network: Any) -> dict[str, np.ndarray]:
    """Return the state of a module as arrays; raise where there is anything else in it."""
    import torch

    found = {}
    for name, value in network.state_dict().items():
        if not isinstance(value, torch.Tensor) or value.dtype in (torch.bfloat16, torch.complex64):
            raise ModelFileError(
                f"{owner}: {name!r} of the state of `module_` is not an array of NumPy's kinds. Store "
                "`module_.state_dict()` with torch."
            )
        found[name] = value.detach().cpu().numpy()
    return found


def _filled(module: Any, state: dict[str, np.ndarray]) -> Any:
    """Return a copy of the user's module with a stored state; raise where that is of another module."""
    import torch

    made = module if isinstance(module, torch.nn.Module) else module()
    network = deepcopy(_check.kind("load_model", "module", made, torch.nn.Module)).cpu()
    own = {name: (tuple(v.shape), v.numpy().dtype.str) for name, v in network.state_dict().items()}
    stored = {name: (value.shape, value.dtype.str) for name, value in state.items()}
    if own != stored:
        names = sorted(name for name in {*own, *stored} if own.get(name) != stored.get(name))
        reason = f"`module` is not the one that was stored: it differs in {names[:3]}."
        raise ModelFileError(f"load_model: {reason}")
    tensors = {name: torch.tensor(value) for name, value in state.items()}
    if not all(bool(torch.isfinite(t).all()) for t in tensors.values()):
        raise ValueError("its network_ is not that of a model")
    network.load_state_dict(tensors)
    return network.eval()
