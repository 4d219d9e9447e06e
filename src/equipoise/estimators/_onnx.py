"""A fitted linear model as an ONNX file, which other programs and languages can run; docs/model_file.md."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from equipoise._storage.files import write_whole
from equipoise.estimators._model_file import ModelFileError, target_of, versions

# The versions of the format and of its operators: of 2021, so that old runtimes read them. Chosen.
IR_VERSION, OPERATORS = 7, 13

LABELS = {"b": bool, "i": np.int64, "u": np.uint64, "f": np.float64, "U": object}
"""How labels are stored, by the kind of their array; texts are objects there."""


def save_onnx(estimator: Any, path: Any) -> None:
    """Write a fitted linear classifier to an ONNX file, in one step: the whole file, or none."""
    target = target_of(estimator, path)
    owner = type(estimator).__name__
    try:
        import onnx
    except ImportError as error:
        reason = "`to_onnx` needs the package onnx: pip install 'equipoise[onnx]'."
        raise ImportError(f"{owner}: {reason}") from error
    classes = _labels(owner, estimator.classes_)
    model = onnx.helper.make_model(
        _graph(estimator, classes),
        opset_imports=[onnx.helper.make_opsetid("", OPERATORS)],
        ir_version=IR_VERSION,
        producer_name="equipoise",
        producer_version=versions()["equipoise"],
    )
    onnx.helper.set_model_props(model, _properties(estimator))
    write_whole(target, [model.SerializeToString()])


def _labels(owner: str, classes: np.ndarray) -> np.ndarray:
    """Return the classes as an array of a kind that ONNX has."""
    made = np.array(classes.tolist())
    if made.dtype.kind not in LABELS:
        reason = f"ONNX has no labels of the type of {classes[0]!r}"
        raise ModelFileError(f"{owner}: {reason}; use numbers, truth values or texts.")
    return made.astype(LABELS[made.dtype.kind])


def _graph(estimator: Any, classes: np.ndarray) -> Any:
    """Return rows to scores, labels and probabilities, step by step as `predict` and `predict_proba` do."""
    from onnx import TensorProto, helper, numpy_helper

    coef, found, two = estimator.coef_, estimator.calibration_, len(classes) == 2
    single = estimator._is_single
    real = TensorProto.FLOAT if single else TensorProto.DOUBLE
    offsets = np.array([0.0, *found.offsets])
    signs = np.array([-1.0, 1.0]) if two else np.ones(len(classes))
    constants = {
        "coef": (coef[0] if two else coef.T).astype(np.float32 if single else np.float64),
        "intercept": estimator.intercept_.astype(np.float64),
        "zero": np.array(0.0),
        "last": np.array([1]),
        "slopes": signs * found.slope,
        "offsets": signs * offsets[1] if two else offsets,
        "classes": classes,
    }

    steps: list[Any] = []

    def add(kind: str, inputs: str, output: str, **options: Any) -> None:
        steps.append(helper.make_node(kind, inputs.split(), [output], **options))

    add("MatMul", "X coef", "products")  # in the precision of X, as `linear_scores` does
    add("Cast", "products", "sums", to=TensorProto.DOUBLE)
    add("Add", "sums intercept", "scores")
    if two:
        rule = "GreaterOrEqual" if estimator._positive_is_first else "Greater"
        add(rule, "scores zero", "above")
        add("Cast", "above", "places", to=TensorProto.INT64)
        add("Unsqueeze", "scores last", "columns")
    else:
        add("ArgMax", "scores", "places", axis=1, keepdims=0)
        add("Identity", "scores", "columns")
    add("Gather", "classes places", "label")
    add("Mul", "columns slopes", "sloped")
    add("Add", "sloped offsets", "logits")
    add("Sigmoid" if two else "Softmax", "logits", "probabilities", **({} if two else {"axis": 1}))

    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    kind = next(tensor.data_type for tensor in tensors if tensor.name == "classes")
    columns, table = coef.shape[1], ["n", len(classes)]
    described = helper.make_tensor_value_info
    outputs = [
        described("label", kind, ["n"]),
        described("probabilities", TensorProto.DOUBLE, table),
        described("scores", TensorProto.DOUBLE, ["n"] if two else table),
    ]
    name = type(estimator).__name__
    return helper.make_graph(steps, name, [described("X", real, ["n", columns])], outputs, tensors)


def _properties(estimator: Any) -> dict[str, str]:
    """Return what the file tells of the model: texts by name, of which most are JSON."""
    given = estimator.get_params(deep=False).items()
    names, report = (
        getattr(estimator, "feature_names_in_", None),
        getattr(estimator, "report_", None),
    )
    told = {
        "estimator": type(estimator).__name__,
        "versions": versions(),
        "parameters": {name: repr(value) for name, value in given},
        "feature_names_in_": None if names is None else names.tolist(),
        "report_": None if report is None else report.to_dict(),
        "fingerprint_": getattr(estimator, "fingerprint_", None),
    }
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in told.items()
        if value is not None  # a stream has neither report nor fingerprint
    }
