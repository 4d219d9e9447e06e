"""ONNX files: other programs predict what the model predicts, and are told what it is."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import equipoise
from equipoise import (
    AUCClassifier,
    ConstrainedClassifier,
    NeymanPearsonClassifier,
    auc_parity,
    custom,
    demographic_parity,
    precision,
    recall,
)
from equipoise.datasets import make_census
from equipoise.estimators import ModelFileError
from equipoise.estimators._calibration import Calibration

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")

DATA = make_census(400, seed=2)
TRUTH = np.asarray(DATA.y) == 1
GROUPS = np.asarray(DATA.groups)
SINGLE = DATA.X.astype(np.float32)
WORDS = np.where(TRUTH, "yes", "no")
THREE = np.array(list("abc"))[
    np.where(TRUTH, 2, (DATA.X[:, 0] > np.median(DATA.X[:, 0])).astype(int))
]

MODELS = {
    "numbers": (ConstrainedClassifier(demographic_parity(0.05)), DATA.X, np.where(TRUTH, 7, 3)),
    "real numbers": (ConstrainedClassifier(), DATA.X, np.where(TRUTH, 2.0, -1.0)),
    "small numbers": (ConstrainedClassifier(), DATA.X, TRUTH.astype(np.uint8)),
    "texts": (ConstrainedClassifier(recall(at_least=0.9), pos_label="no"), DATA.X, WORDS),
    "objects": (ConstrainedClassifier(), DATA.X, WORDS.astype(object)),
    "truth values": (ConstrainedClassifier(precision(at_least=0.6)), DATA.X, TRUTH),
    "float32": (ConstrainedClassifier(recall(at_least=0.9), tol=1e-4), SINGLE, WORDS),
    "sparse": (ConstrainedClassifier(), sparse.csr_array(DATA.X), DATA.y),
    "ranks": (AUCClassifier(auc_parity("inter", 0.1), pos_label=0), DATA.X, DATA.y),
    "errors": (NeymanPearsonClassifier({"no": 0.1}), DATA.X, WORDS),
    "three classes": (NeymanPearsonClassifier(0.9, max_steps=30), DATA.X, THREE),
    "three, float32": (NeymanPearsonClassifier(0.9, tol=1e-3, max_steps=30), SINGLE, THREE),
}


def fitted(name):
    model, X, y = MODELS[name]
    if isinstance(model, NeymanPearsonClassifier):
        return model.fit(X, y), X
    return model.fit(X, y, sensitive_features=GROUPS), X


def by_reference(path, X):
    session = reference.ReferenceEvaluator(str(path))
    return dict(zip(session.output_names, session.run(None, {"X": X})))


def by_runtime(path, X):
    session = pytest.importorskip("onnxruntime").InferenceSession(str(path))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X})))


RUNTIMES = pytest.mark.parametrize("run", [by_reference, by_runtime])


def properties(path):
    return {prop.key: prop.value for prop in onnx.load(path).metadata_props}


@RUNTIMES
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::equipoise.estimators.InfeasibleWarning")
@pytest.mark.parametrize("name", MODELS)
def test_other_programs_predict_the_same(name, run, tmp_path):
    model, X = fitted(name)
    model.to_onnx(tmp_path / "m.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "m.onnx"), full_check=True)
    dense = X.toarray() if sparse.issparse(X) else X
    found = run(tmp_path / "m.onnx", dense)
    expected = model.predict(dense)
    assert len(set(expected.tolist())) > 1
    assert np.asarray(found["label"]).tolist() == expected.tolist()
    near = 1e-4 if dense.dtype == np.float32 else 1e-10  # products are summed in another order
    for output, method in (("scores", "decision_function"), ("probabilities", "predict_proba")):
        own = getattr(model, method)(dense)
        assert found[output].shape == own.shape
        np.testing.assert_allclose(found[output], own, rtol=near, atol=near)


@RUNTIMES
@pytest.mark.parametrize("pos_label", ["no", "yes"])
def test_a_score_of_zero_is_not_of_the_positive_class(pos_label, run, tmp_path):
    model = ConstrainedClassifier(pos_label=pos_label).fit(DATA.X[:, :2], WORDS)
    model.coef_, model.intercept_ = np.array([[1.0, -2.0]]), np.array([0.5])
    model.to_onnx(tmp_path / "m")
    X = np.array([[1.5, 1.0], [1.5, 0.75], [1.5, 1.25]])
    other = {"no": "yes", "yes": "no"}[pos_label]
    assert model.predict(X).tolist() == [other, "yes", "no"]
    assert np.asarray(run(tmp_path / "m", X)["label"]).tolist() == [other, "yes", "no"]


@RUNTIMES
def test_of_equal_classes_it_is_the_first(run, tmp_path):
    model = NeymanPearsonClassifier(1.9, max_steps=30).fit(DATA.X[:, :2], THREE)
    model.coef_, model.intercept_ = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.zeros(3)
    model.to_onnx(tmp_path / "m")
    X = np.array([[0.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [0.0, 2.0]])
    assert model.predict(X).tolist() == ["a", "b", "a", "c"]
    assert np.asarray(run(tmp_path / "m", X)["label"]).tolist() == ["a", "b", "a", "c"]


@RUNTIMES
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the reference overflows, and mends it
def test_probabilities_of_large_scores_are_finite(run, tmp_path):
    model = ConstrainedClassifier().fit(DATA.X[:, :2], DATA.y)
    model.coef_, model.intercept_ = np.array([[1.0, 0.0]]), np.zeros(1)
    model.calibration_ = Calibration(2.0, (0.25,))
    model.to_onnx(tmp_path / "m")
    X = np.array([[-900.0, 0.0], [0.0, 0.0], [900.0, 0.0]])
    found = run(tmp_path / "m", X)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-12, atol=1e-300)


@RUNTIMES
def test_sensitive_columns_are_no_input_and_names_are_told(run, tmp_path):
    frame = pd.DataFrame(DATA.X[:, :3], columns=["age", "hours", "gain"])
    model = ConstrainedClassifier(demographic_parity(0.05))
    model.fit(frame.assign(sex=GROUPS), DATA.y, sensitive_features=["sex"])
    model.to_onnx(tmp_path / "m")
    found = run(tmp_path / "m", frame.to_numpy())
    assert found["label"].tolist() == model.predict(frame.assign(sex=GROUPS)).tolist()
    assert json.loads(properties(tmp_path / "m")["feature_names_in_"]) == list(frame.columns)


def test_the_file_tells_rules_versions_and_data(tmp_path):
    model, _ = fitted("texts")
    model.to_onnx(tmp_path / "m")
    told = properties(tmp_path / "m")
    assert told["estimator"] == "ConstrainedClassifier"
    assert json.loads(told["versions"])["equipoise"] == equipoise.__version__
    assert told["fingerprint_"] == model.fingerprint_
    assert "recall: true positive >= 0.9" in json.loads(told["parameters"])["constraints"]
    assert json.loads(told["report_"]) == model.report_.to_dict()
    before = (tmp_path / "m").read_bytes()
    model.to_onnx(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before


def test_streams_and_rules_that_are_functions_are_written(tmp_path):
    stream = ConstrainedClassifier(demographic_parity(0.05))
    stream.partial_fit(DATA.X, DATA.y, np.unique(DATA.y), sensitive_features=GROUPS)
    stream.to_onnx(tmp_path / "s")
    assert properties(tmp_path / "s").keys() == {"estimator", "versions", "parameters"}
    assert by_reference(tmp_path / "s", DATA.X)["label"].tolist() == stream.predict(DATA.X).tolist()

    def mine(scores, y, groups):
        return -1.0, np.zeros_like(scores)

    ConstrainedClassifier(custom(mine, name="mine")).fit(DATA.X, DATA.y).to_onnx(tmp_path / "m")
    assert "mine" in json.loads(properties(tmp_path / "m")["parameters"])["constraints"]


def test_what_cannot_be_written_is_refused_as_by_save(tmp_path):
    plain = ConstrainedClassifier().fit(DATA.X, DATA.y)
    own = type("Mine", (ConstrainedClassifier,), {"__module__": "mine"})().fit(DATA.X, DATA.y)
    cases = [
        (ConstrainedClassifier(), tmp_path / "m", NotFittedError),
        (plain, 3, ValueError),
        (plain, "", ValueError),
        (plain, tmp_path, ValueError),
        (plain, tmp_path / "nowhere" / "m", ValueError),
        (own, tmp_path / "m", ModelFileError),
    ]
    for model, path, kind in cases:
        messages = []
        for method in (model.save, model.to_onnx):
            with pytest.raises(kind) as caught:
                method(path)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
    plain.classes_ = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    with pytest.raises(ModelFileError, match="ONNX has no labels of the type of"):
        plain.to_onnx(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    model = ConstrainedClassifier().fit(DATA.X, DATA.y)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"ConstrainedClassifier: .* 'equipoise\[onnx\]'"):
        model.to_onnx(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_networks_say_who_exports_them():
    networks = pytest.importorskip("equipoise.torch")
    model = networks.ConstrainedNetClassifier()
    assert not hasattr(model, "to_onnx")
    with pytest.raises(AttributeError, match=r"ConstrainedNetClassifier: .*`torch\.onnx` exports"):
        model.to_onnx("m")
