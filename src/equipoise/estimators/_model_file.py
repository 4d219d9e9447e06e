"""A fitted model as a file: what it holds, and writing it; docs/model_file.md."""

from __future__ import annotations

import platform
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from equipoise import _check
from equipoise._storage.container import Form, pack
from equipoise._storage.encoding import NotStorableError, shown_place
from equipoise._storage.files import require_file, write_whole
from equipoise._storage.storable import storable_types

MODEL = Form("model", 1, "model")  # the first version of its form

STORABLE: dict[str, Any] = {}
"""The estimators that can be stored, by name: those whose modules are imported, and no others."""

EstimatorClass = TypeVar("EstimatorClass", bound=type)

# What is a part of `result_`, and is not stored twice.
OF_RESULT = {"certificate_": "certificate", "status_": "status", "trace_": "trace"}


class ModelFileError(ValueError):
    """A model cannot be stored, or a file holds none that can be used."""


class ModelFileWarning(UserWarning):
    """A parameter that changes no prediction is not stored."""


def storable(kind: EstimatorClass) -> EstimatorClass:
    """Make a class of estimators one that can be stored: a file names it, and it is found by that name."""
    STORABLE[kind.__name__] = kind
    return kind


@dataclass(frozen=True)
class StoredModel:
    """What a model file holds."""

    estimator: str  # the name of its class
    versions: dict[str, str]  # of the library and what it was fitted with
    parameters: dict[str, Any]  # as given to the constructor
    attributes: dict[str, Any]  # what `fit` has found, by the names of the attributes


def save_model(estimator: Any, path: Any) -> None:
    """Write a fitted estimator to a file, in one step: the whole file, or none."""
    target, owner = target_of(estimator, path), type(estimator).__name__
    contents = StoredModel(
        owner,
        versions(),
        _parameters(owner, estimator.get_params(deep=False)),
        _attributes(estimator._packed()),
    )
    try:
        pieces = list(pack(contents, storable_types(), MODEL))
    except NotStorableError as error:
        raise ModelFileError(
            f"{owner}: {_located(error)} {error.reason}. A function cannot be stored without running "
            "code when it is read; see docs/model_file.md."
        ) from None
    write_whole(target, pieces)


def target_of(estimator: Any, path: Any) -> Path:
    """Return where a model is to be written; raise unless it can be, and the model can be stored."""
    kind = type(estimator)
    owner = kind.__name__
    target = Path(_check.path(owner, "path", path))
    require_file(owner, target)
    check_is_fitted(estimator, "coef_")
    if STORABLE.get(owner) is not kind:
        raise ModelFileError(
            f"{owner}: only the estimators of the library are stored, not classes made of them."
        )
    return target


def versions() -> dict[str, str]:
    """Return the versions of the library and of what it needs to fit."""
    import equipoise

    return {
        "equipoise": equipoise.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _parameters(owner: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters, without what changes no prediction and is no data."""
    kept = dict(given)
    if "module" in kept:
        kept["module"] = None  # code, which is given again where the model is loaded
    dropped = [name for name in ("callback",) if kept.get(name) is not None]
    if isinstance(kept.get("random_state"), np.random.RandomState):
        dropped.append("random_state")
    for name in dropped:
        kept[name] = None
    if dropped:
        listed = " and ".join(f"`{name}`" for name in dropped)
        message = f"{owner}: {listed} is not stored; the model that is loaded has None instead."
        warnings.warn(message, ModelFileWarning, stacklevel=4)
    return kept


def _attributes(given: dict[str, Any]) -> dict[str, Any]:
    """Return what was fitted: all attributes whose names end with an underscore."""
    found: dict[str, Any] = {
        name: value.str if isinstance(value, np.dtype) else value
        for name, value in given.items()
        if name.endswith("_") and not name.startswith("_") and name not in OF_RESULT
    }
    if "result_" in found:
        found["result_"] = replace(found["result_"], error=None)
    return found


def _located(error: NotStorableError) -> str:
    """Return which parameter or attribute of an estimator holds what cannot be stored."""
    (_, part), (_, name), *inside = error.place
    kind = {"parameters": "parameter", "attributes": "attribute"}[part]
    return f"the {kind} `{name}{shown_place(tuple(inside))}`"
