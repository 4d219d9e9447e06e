"""Model files: the same model again, bit for bit, or a sentence; nothing in a file is ever executed."""

import contextlib
import hashlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from equipoise import (
    AUCClassifier,
    ConstrainedClassifier,
    NeymanPearsonClassifier,
    auc_parity,
    churn,
    custom,
    demographic_parity,
    equalized_odds,
    group_loss,
    load_model,
    loss_budget,
    precision,
    rate,
    recall,
    unfairness,
)
from equipoise.constraints import Each
from equipoise.datasets import make_census
from equipoise.estimators import InfeasibleWarning, ModelFileError, ModelFileWarning
from equipoise.estimators._model_file import MODEL
from equipoise.solvers import SQP

DATA = make_census(400, seed=2)
TRUTH = np.asarray(DATA.y) == 1
GROUPS = np.asarray(DATA.groups)
FRAME = pd.DataFrame(DATA.X).rename(columns=lambda name: f"x{name}")
WORDS = np.where(TRUTH, "yes", "no")
THREE = np.where(TRUTH, 2, (DATA.X[:, 0] > np.median(DATA.X[:, 0])).astype(int))

MODELS = {
    "text labels": (ConstrainedClassifier(recall(at_least=0.9), pos_label="no"), DATA.X, WORDS),
    "object labels": (ConstrainedClassifier(), DATA.X, WORDS.astype(object)),
    "truth values": (ConstrainedClassifier(precision(at_least=0.6)), FRAME, TRUTH),
    "numbers": (ConstrainedClassifier(class_weight={3: 2.0, 7: 1}), FRAME, np.where(TRUTH, 7, 3)),
    "sparse, float32": (
        ConstrainedClassifier(solver=SQP(), max_steps=20, on_infeasible="ignore"),
        sparse.csr_array(DATA.X.astype(np.float32)),
        DATA.y,
    ),
    "two bounds": (
        ConstrainedClassifier(
            [equalized_odds(0.2), rate("positive", Each()) <= 0.5, loss_budget(0.5)],
            random_state=np.int64(3),
        ),
        DATA.X,
        DATA.y,
    ),
    "objective": (ConstrainedClassifier(group_loss(2.0), objective=unfairness()), DATA.X, DATA.y),
    "churn": (ConstrainedClassifier(churn(0.1, reference=DATA.y)), DATA.X, DATA.y),
    "churn of words": (ConstrainedClassifier(churn(0.1, reference=WORDS)), DATA.X, WORDS),
    "two classes": (NeymanPearsonClassifier({"no": 0.1, "yes": 1.0}), DATA.X, WORDS),
    "three classes": (
        NeymanPearsonClassifier(0.9, max_steps=30),
        DATA.X,
        np.array(list("abc"))[THREE],
    ),
    "ranks": (AUCClassifier(auc_parity("inter", 0.1)), DATA.X, DATA.y),
}


def fitted(name):
    model, X, y = MODELS[name]
    if isinstance(model, NeymanPearsonClassifier):
        return model.fit(X, y), X
    return model.fit(X, y, sensitive_features=GROUPS), X


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_the_same_again(name, tmp_path):
    model, X = fitted(name)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert type(again) is type(model)
    for method in ("predict", "decision_function", "predict_proba"):
        old, new = getattr(model, method)(X), getattr(again, method)(X)
        assert old.dtype == new.dtype
        np.testing.assert_array_equal(old, new)
    assert repr(again.get_params(deep=False)) == repr(model.get_params(deep=False))
    assert vars(again).keys() == vars(model).keys()
    assert str(again.result_) == str(model.result_)
    assert str(getattr(again, "report_", "")) == str(getattr(model, "report_", ""))
    assert again.certificate_.residual == model.certificate_.residual
    assert again.fingerprint_ == model.fingerprint_
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_loaded_model_is_fitted_again_from_there(tmp_path):
    model = ConstrainedClassifier(demographic_parity(0.05), warm_start=True)
    model.fit(DATA.X, DATA.y, sensitive_features=GROUPS).save(tmp_path / "m")
    again = load_model(tmp_path / "m").fit(DATA.X, DATA.y, sensitive_features=GROUPS)
    model.fit(DATA.X, DATA.y, sensitive_features=GROUPS)
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("y", [DATA.y, WORDS, WORDS.astype(object)], ids=["0, 1", "U", "O"])
def test_a_stream_goes_on_where_it_was_stored(y, tmp_path):
    stream = ConstrainedClassifier(demographic_parity(0.05), pos_label=np.unique(y)[0])
    stream.partial_fit(DATA.X, y, np.unique(y), sensitive_features=GROUPS).save(tmp_path / "s")
    again = load_model(tmp_path / "s")
    assert str(again.stream_) == str(stream.stream_)
    more = [m.partial_fit(DATA.X, y, sensitive_features=GROUPS) for m in (again, stream)]
    np.testing.assert_array_equal(more[0].coef_, more[1].coef_)


def test_bounds_that_are_not_met_and_proofs_are_kept(tmp_path):
    rules = [rate("positive") >= 0.9, rate("positive") <= 0.1]
    with pytest.warns(InfeasibleWarning):
        model = ConstrainedClassifier(rules).fit(DATA.X, DATA.y)
    model.save(tmp_path / "m")
    assert str(load_model(tmp_path / "m").report_) == str(model.report_)


def test_what_cannot_be_stored_is_named(tmp_path):
    def mine(scores, y, groups):
        return -1.0, np.zeros_like(scores)

    model = ConstrainedClassifier([recall(at_least=0.5), custom(mine)]).fit(DATA.X, DATA.y)
    with pytest.raises(
        ModelFileError, match=r"parameter `constraints\[1\]\.function` is a function"
    ):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    model = ConstrainedClassifier(callback=print, random_state=np.random.RandomState(0))
    model.set_params(callback=lambda iteration: None).fit(DATA.X, DATA.y)
    with pytest.warns(ModelFileWarning, match="`callback` and `random_state` is not stored"):
        model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").callback is None
    own = type("Mine", (ConstrainedClassifier,), {"__module__": "mine"})().fit(DATA.X, DATA.y)
    with pytest.raises(ModelFileError, match="Mine: only the estimators of the library"):
        own.save(tmp_path / "m")
    plain, there = fitted("object labels")[0], tmp_path / "m"
    with pytest.raises(
        ValueError, match=f"folder of `path` does not exist: {tmp_path / 'nowhere'}$"
    ):
        plain.save(tmp_path / "nowhere" / "m")
    with pytest.raises(ValueError, match=f"`path` must be a file, {tmp_path} is a folder"):
        plain.save(tmp_path)
    assert list(tmp_path.iterdir()) == [there]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_fingerprint_tells_data_apart():
    def of(X=DATA.X, y=DATA.y, groups=GROUPS, weight=None):
        model = ConstrainedClassifier(max_steps=1, on_infeasible="ignore")
        return model.fit(X, y, sensitive_features=groups, sample_weight=weight).fingerprint_

    changed, other, swapped = DATA.X.copy(), DATA.y.copy(), GROUPS.copy()
    changed[7, 3] = np.nextafter(changed[7, 3], 9.0)
    other[5] = 1 - other[5]
    swapped[5] = "male" if swapped[5] == "female" else "female"
    same = of()
    assert of(np.asfortranarray(DATA.X)) == same == of(DATA.X.tolist())
    others = [of(changed), of(y=other), of(groups=swapped), of(weight=np.ones(400))]
    others.append(of(sparse.csr_array(DATA.X)))
    assert len({same, *others}) == 6


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "m"
    model = ConstrainedClassifier(demographic_parity(0.1), max_steps=50)
    model.fit(DATA.X[:, :3], WORDS, sensitive_features=GROUPS).save(path)
    return path.read_bytes()


HEAD = len(MODEL.line) + 32


def opened(data):
    length = int.from_bytes(data[HEAD : HEAD + 8], "little")
    return json.loads(data[HEAD + 8 : HEAD + 8 + length]), data[HEAD + 8 + length :]


def sealed(text, arrays=b""):
    """A file with a right checksum around any text."""
    raw = text if isinstance(text, bytes) else json.dumps(text).encode()
    body = len(raw).to_bytes(8, "little") + raw + arrays
    return MODEL.line + hashlib.sha256(body).digest() + body


def refused(data, path, match="cannot be used"):
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    with pytest.raises(ModelFileError):
        load_model(tmp_path / ("x" * 10_000))


def test_damage_rubbish_and_other_versions_are_refused(whole, tmp_path):
    path = tmp_path / "m"
    for place in range(0, len(whole), 97):
        refused(whole[:place], path)
        refused(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :], path)
    refused(whole + b"x", path, "checksum")
    refused(b"", path, "not an Equipoise model")
    refused(b"equipoise checkpoint 2\n" + whole[18:], path, "not an Equipoise model")
    refused(whole.replace(MODEL.line, b"equipoise model 9\n"), path, "another version")
    refused(pickle.dumps(print), path, "not an Equipoise model")
    rng = np.random.default_rng(0)
    for size in (0, 1, 8, 100, 5000):
        refused(sealed(rng.bytes(size)), path)
    with pytest.raises(ModelFileError, match="`path` must be a file"):
        load_model(tmp_path)
    with pytest.raises(ModelFileError, match="`path` must be a file"):
        load_model("/dev/zero")


def test_a_parameter_that_came_later_has_its_default(whole, tmp_path):
    text, arrays = opened(whole)
    parameters = text["contents"]["fields"]["parameters"]["dict"]
    parameters[:] = [pair for pair in parameters if pair[0] != "memory"]
    (tmp_path / "m").write_bytes(sealed(text, arrays))
    assert load_model(tmp_path / "m").memory == ConstrainedClassifier().memory


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def attacks(text, arrays):
    """Crafted files, each with what it tries."""
    fields = text["contents"]["fields"]

    def with_(part, name, value):
        made = json.loads(json.dumps(text))
        pairs = made["contents"]["fields"][part]["dict"]
        found = [pair for pair in pairs if pair[0] == name]
        pairs.remove(found[0]) if found else None
        pairs.append([name, value])
        return sealed(made, arrays)

    def array(header):
        return sealed({**text, "arrays": [header, *text["arrays"][1:]]}, arrays)

    bomb = pickle.dumps(Bomb())
    yield "a pickle as an array", sealed({**text, "arrays": [["|O", [1], "C"]]}, bomb)
    yield "a pickle as a text", sealed(bomb)
    yield "bytes of a pickle", sealed({**text, "arrays": [[f"|V{len(bomb)}", [1], "C"]]}, bomb)
    yield "a huge shape", array(["<f8", [10**12, 10**12], "C"])
    yield "a huge empty shape", array(["<f8", [0, 10**30], "C"])
    yield "a negative shape", array(["<f8", [-1], "C"])
    yield "a shape of text", array(["<f8", "12", "C"])
    yield "no order", array(["<f8", [1], "K"])
    yield (
        "NaN",
        sealed(json.dumps(text).replace('"estimator"', 'NaN, "estimator"').encode(), arrays),
    )
    yield "NaN as a value", sealed(b'{"arrays": [], "contents": NaN}')
    yield "deep nesting", sealed(b'{"arrays": [], "contents": ' + b'{"list": [' * 10**5)
    yield "a long number", sealed(b'{"arrays": [], "contents": ' + b"9" * 10**5 + b"}")
    yield "no model", sealed({"arrays": [], "contents": {"list": []}})
    yield "a module", with_("attributes", "x_", {"object": "os.system", "fields": {}})
    yield "a path", with_("attributes", "x_", {"object": "../../os.system", "fields": {}})
    yield (
        "another class",
        sealed(
            {
                **text,
                "contents": {**text["contents"], "fields": {**fields, "estimator": "Pipeline"}},
            },
            arrays,
        ),
    )
    yield "a method", with_("attributes", "predict", 1)
    yield "a dunder", with_("attributes", "__class__", 1)
    yield "a class attribute", with_("attributes", "_doc_link_module_", 1)
    yield "a path as a name", with_("attributes", "../x_", 1)
    yield "an unknown parameter", with_("parameters", "path", "/etc/passwd")
    yield "a wrong parameter", with_("parameters", "C", -1.0)
    yield "weights of a wrong shape", with_("attributes", "intercept_", {"list": []})
    yield "no columns", with_("attributes", "n_features_in_", 0)
    yield "a truth value of columns", with_("attributes", "n_features_in_", True)
    yield "no report", with_("attributes", "report_", "fine")
    yield "no type", with_("attributes", "dtype_", "O")
    yield "a class that is not there", with_("attributes", "pos_label_", "maybe")
    for values, dtype in (
        (["a", "b"], "<U999999999"),
        ([1, 2], "<U3"),
        (["a"], "<U3"),
        (["a", "a"], "O"),
    ):
        stored = {"labels": values, "dtype": dtype}
        yield f"labels {values} {dtype}", with_("attributes", "classes_", stored)
    yield "memory", with_("attributes", "x_", {"labels": [""] * 2000, "dtype": "<U10000"})
    for rules in (3, "fine", True, {"list": [1]}, {"array": 0}):
        yield f"rules {rules}", with_("attributes", "rules_", rules)
    flat = {"object": "equipoise.estimators._calibration.Calibration"}
    for slope in (0.0, -1.0, {"float": "nan"}, {"float": "inf"}, "1"):
        made = {**flat, "fields": {"slope": slope, "offsets": {"tuple": [0.0]}}}
        yield f"a slope {slope}", with_("attributes", "calibration_", made)


def test_crafted_files_are_refused_and_run_nothing(whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    modules = set(sys.modules)
    text, arrays = opened(whole)
    load_path = tmp_path / "m"
    load_path.write_bytes(sealed(text, arrays))
    load_model(load_path)  # the tools of this test write whole files
    tried, accepted = 0, []
    for name, data in attacks(text, arrays):
        load_path.write_bytes(data)
        with contextlib.suppress(ModelFileError):
            load_model(load_path)
            accepted.append(name)
        tried += 1
    assert tried > 30
    assert accepted == []
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert set(sys.modules) == modules


def test_the_page_shows_how_to_score_without_the_library(whole, tmp_path):
    """The reader in docs/model_file.md needs NumPy alone."""
    page = (Path(__file__).parents[2] / "docs" / "model_file.md").read_text(encoding="utf-8")
    code = page.split("```python\n# NumPy alone\n")[1].split("```")[0]
    (tmp_path / "m").write_bytes(whole)
    np.save(tmp_path / "X.npy", DATA.X[:, :3])
    use = "print([str(label) for label in predict('m', np.load('X.npy'))])\n"
    use += "import sys\nassert 'equipoise' not in sys.modules"
    run = subprocess.run(
        [sys.executable, "-c", code + use], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == str(load_model(tmp_path / "m").predict(DATA.X[:, :3]).tolist())
