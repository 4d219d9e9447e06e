"""A fitted network in a model file: as arrays, from which the default network is made again."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.estimators import ModelFileError
from equipoise.torch._default_network import arrays_of, network_of
from equipoise.torch._net_features import Body


def packed(owner: str, attributes: dict[str, Any], module: Any) -> dict[str, Any]:
    """Return the attributes of an estimator with the arrays of its network instead of the network."""
    if module is not None:
        raise ModelFileError(
            f"{owner}: a `module` of your own is code, which a model file does not hold. Store "
            "`module_.state_dict()` with torch, or leave out `module`."
        )
    found = {name: value for name, value in attributes.items() if name != "module_"}
    epochs = np.array([[epoch.loss, epoch.violation] for epoch in attributes["epochs_"]])
    return {**found, "network_": arrays_of(attributes["module_"]), "epochs_": epochs}


def unpacked(owner: str, stored: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of an estimator with its network made of arrays; raise where they do not fit."""
    from equipoise.torch._net_training import Epoch

    found = dict(stored)
    arrays, columns = found.pop("network_"), found["n_features_in_"]
    units = (found["center_"], found["scale_"])
    fitting = all(unit.shape == (columns,) for unit in units) and bool((units[1] > 0).all())
    if not fitting or not all(np.isfinite(a).all() and a.dtype == float for a in (*arrays, *units)):
        raise ValueError("its network_ is not that of a model")
    network = network_of(arrays, columns)
    body = Body(owner, network, str(len(network) - 1))
    if found["coef_"].shape != (1, network[-1].in_features):
        raise ValueError("its coef_ is not that of a model")
    epochs = tuple(Epoch(float(loss), float(violation)) for loss, violation in found["epochs_"])
    return {**found, "module_": network, "_body": body, "epochs_": epochs}
