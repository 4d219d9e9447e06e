"""Reading a model file: nothing in it is run, and only a model that can score is returned."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._positive import is_among
from equipoise._storage.container import unpack
from equipoise._storage.encoding import UnreadableError
from equipoise._storage.storable import storable_types
from equipoise.constraints._rules import listed
from equipoise.estimators._calibration import Calibration
from equipoise.estimators._model_file import (
    MODEL,
    OF_RESULT,
    STORABLE,
    ModelFileError,
    StoredModel,
)
from equipoise.estimators._report import Report
from equipoise.estimators._sklearn import check_parameters
from equipoise.estimators._stream.stream import Stream
from equipoise.run import Result

ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*_")
RECORDS = {"result_": Result, "report_": Report, "calibration_": Calibration, "stream_": Stream}


def load_model(path: Any, module: Any = None) -> Any:
    """Return the fitted estimator that `save` has written; no code in the file is run, whoever wrote it.

    Parameters
    ----------
    path : path
        Nothing is imported because a file asks for it: import `equipoise.torch` before a network is loaded.
    module : torch.nn.Module or callable, optional
        The network of your own that a stored `torch.ConstrainedNetClassifier` had as its `module`, or a
        function without arguments that makes it. Its numbers are those of the file, whatever it holds.

    Returns
    -------
    ConstrainedClassifier, NeymanPearsonClassifier, AUCClassifier or torch.ConstrainedNetClassifier
        Its predictions are those of the model that was saved, bit for bit.

    Raises
    ------
    ModelFileError
        Where the file is none, is damaged, or holds something else than a model.

    Examples
    --------
    >>> import tempfile
    >>> from equipoise import ConstrainedClassifier, load_model, recall
    >>> from equipoise.datasets import make_census
    >>> data = make_census(1000, seed=0)
    >>> model = ConstrainedClassifier(recall(at_least=0.9)).fit(data.X, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/loans.model")
    ...     again = load_model(f"{folder}/loans.model")
    >>> bool((again.predict(data.X) == model.predict(data.X)).all())
    True
    """
    source = Path(_check.path("load_model", "path", path))
    if module is not None:
        _check.function("load_model", "module", module)
    try:
        if not source.is_file():
            raise ModelFileError(f"load_model: `path` must be a file, {source} is none.")
        stored = unpack(source.read_bytes(), storable_types(), form=MODEL)
        if type(stored) is not StoredModel:
            raise UnreadableError("it holds something else than a model")
        return _restored(stored, module)
    except ModelFileError:
        raise
    except (OSError, MemoryError) as error:
        reason = f"it cannot be read ({error or type(error).__name__})"
    except (UnreadableError, _check.InputError) as error:
        reason = str(error)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"it holds no model ({error})"
    raise ModelFileError(f"The model file {source} cannot be used: {reason}.")


def _restored(stored: StoredModel, module: Any) -> Any:
    """Return the estimator; raise where a parameter or an attribute is not what it must be."""
    kind: Any = STORABLE.get(stored.estimator)
    if kind is None:
        raise UnreadableError(
            f"it holds a {stored.estimator[:80]}, which is not known here; a network is known once "
            "equipoise.torch is imported"
        )
    model = kind()
    known = model.get_params(deep=False)
    if not stored.parameters.keys() <= known.keys():  # those that came later have their defaults
        raise UnreadableError("its parameters are not those of this version of the library")
    vars(model).update(stored.parameters)
    check_parameters(model)
    found = dict(stored.attributes)
    for name, value in found.items():
        if not ATTRIBUTE.fullmatch(name) or hasattr(kind, name):
            raise UnreadableError(f"it holds an attribute {name[:80]!r}, which no model has")
        if not isinstance(value, RECORDS.get(name, object)):
            raise UnreadableError(f"its {name} is none")
    if (result := found.get("result_")) is not None:
        found |= {name: getattr(result, part) for name, part in OF_RESULT.items()}
    if found.get("rules_") is not None:
        listed("load_model", found["rules_"], "rules_")
    found = kind._unpacked(found, module)
    _require_scoring(found)
    if "dtype_" in found:
        found["dtype_"] = np.dtype(found["dtype_"])
    vars(model).update(found)
    if module is not None:
        model.module = module
    return model


def _require_scoring(found: dict[str, Any]) -> None:
    """Raise unless all that scoring needs is there, and fits together."""
    classes, coef, intercept = found["classes_"], found["coef_"], found["intercept_"]
    K, rows = len(classes), 1 if len(classes) == 2 else len(classes)
    columns = found["n_features_in_"]
    weights = columns if "center_" not in found else len(coef[0])  # of a network's last layer
    names = found.get("feature_names_in_")
    sensitive = found.get("sensitive_names_", ())
    calibration = found["calibration_"]
    right = {
        "classes_": classes.ndim == 1 and K >= 2 and len(set(classes.tolist())) == K,
        "n_features_in_": type(columns) is int and columns >= 1,
        "coef_": coef.shape == (rows, weights) and _are_numbers(coef),
        "intercept_": intercept.shape == (rows,) and _are_numbers(intercept),
        "calibration_": 0.0 < calibration.slope < math.inf
        and len(calibration.offsets) == K - 1
        and all(math.isfinite(offset) for offset in calibration.offsets),
        "dtype_": found.get("dtype_", "<f8") in ("<f8", "<f4", ">f8", ">f4"),
        "pos_label_": K > 2 or is_among(classes.tolist(), found["pos_label_"]),
        "feature_names_in_": names is None or _are_texts(names.tolist(), columns),
        "sensitive_names_": isinstance(sensitive, tuple) and _are_texts(sensitive, len(sensitive)),
    }
    for name, is_right in right.items():
        if not is_right:
            raise UnreadableError(f"its {name} is not that of a model")


def _are_numbers(values: np.ndarray) -> bool:
    return values.dtype.kind == "f" and bool(np.isfinite(values).all())


def _are_texts(values: Any, count: int) -> bool:
    return len(values) == count and all(isinstance(value, str) for value in values)
