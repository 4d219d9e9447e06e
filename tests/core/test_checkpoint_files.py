"""Whatever is in a checkpoint file: it is the run, or a sentence; nothing in it is ever executed."""

import contextlib
import hashlib
import json
import os
import pickle
import sys

import numpy as np
import pytest

from equipoise import solve
from equipoise._storage.container import LENGTH, MAGIC, Form, pack, unpack
from equipoise._storage.encoding import NotStorableError, UnreadableError
from equipoise._storage.storable import name_of, storable_types
from equipoise.problems import REFERENCES
from equipoise.run import CheckpointError

REFERENCE = REFERENCES["active"]()
HEAD = len(MAGIC) + 32


def go(path, steps=20):
    return solve(
        REFERENCE.problem, "augmented_lagrangian", REFERENCE.start, max_steps=steps, checkpoint=path
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a checkpoint after ten steps, and the run they continue to."""
    path = tmp_path_factory.mktemp("whole") / "run"
    go(path, 10)
    return path.read_bytes(), go(path)


def sealed(body):
    """A file with a right checksum around any bytes."""
    return MAGIC + hashlib.sha256(body).digest() + body


def parts(data):
    """The text of a file, and the bytes of its arrays."""
    end = HEAD + LENGTH + int.from_bytes(data[HEAD : HEAD + LENGTH], "little")
    return json.loads(data[HEAD + LENGTH : end]), data[end:]


def joined(text, arrays):
    """A sealed file."""
    raw = json.dumps(text).encode() if not isinstance(text, bytes) else text
    return sealed(len(raw).to_bytes(LENGTH, "little") + raw + arrays)


def is_refused_or_the_same(data, path, result):
    """Read a file as a run would; anything but a `CheckpointError` or the very same run fails."""
    path.write_bytes(data)
    try:
        again = go(path)
    except CheckpointError as error:
        return str(path) in str(error)
    np.testing.assert_array_equal(again.x, result.x)
    assert again.nit == result.nit
    return False


def test_every_single_byte_counts(whole):
    data, types = whole[0], storable_types()
    unpack(data, types)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1 + place % 255
        with pytest.raises(UnreadableError):
            unpack(bytes(changed), types)


def test_files_that_are_cut_short_or_longer(whole):
    data, types = whole[0], storable_types()
    for length in range(len(data)):
        with pytest.raises(UnreadableError):
            unpack(data[:length], types)
    for more in (b"x", data):
        with pytest.raises(UnreadableError):
            unpack(data + more, types)
        with pytest.raises(UnreadableError, match="longer than its arrays"):
            unpack(sealed(data[HEAD:] + more), types)


def test_random_changes_under_a_right_seal(whole):
    """Rubbish, sealed: an error of ours, or a value; never anything else."""
    data, types, rng = whole[0], storable_types(), np.random.default_rng(0)
    refused = 0
    for _ in range(3000):
        body = bytearray(data[HEAD:])
        for place in rng.integers(0, len(body), size=rng.integers(1, 6)):
            kind = rng.integers(3)
            if kind == 0:
                body[place : place + 1] = bytes([rng.integers(256)])
            elif kind == 1:
                del body[place : place + int(rng.integers(1, 40))]
            else:
                body[place:place] = rng.bytes(int(rng.integers(1, 40)))
        try:
            unpack(sealed(bytes(body)), types)
        except UnreadableError:
            refused += 1
    assert refused > 2500


def leaves(tree, path=()):
    """Every place in a tree."""
    yield path
    items = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, value in items:
        yield from leaves(value, (*path, key))


def replaced(tree, path, value):
    if not path:
        return value
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = replaced(tree[path[0]], path[1:], value)
    return copy


RUBBISH = (None, -1, "rubbish", {"list": []}, {"array": 0}, {"array": 999}, {"dict": [[1]]})


def test_sealed_rubbish_anywhere_in_the_run(whole, tmp_path):
    """Every part of a stored run in turn is replaced by something else."""
    data, result = whole
    (text, arrays), rng = parts(data), np.random.default_rng(1)
    fields = text["contents"]["fields"]
    for name in fields:
        if name == "identity":
            continue
        places = list(leaves(fields[name]))
        chosen = [places[i] for i in rng.permutation(len(places))[:4]] + [()]
        for path in chosen:
            for rubbish in RUBBISH:
                changed = replaced(fields, (name, *path), rubbish)
                crafted = dict(text, contents=dict(text["contents"], fields=changed))
                path_here = tmp_path / "run"
                path_here.write_bytes(joined(crafted, arrays))
                with contextlib.suppress(CheckpointError):
                    go(path_here)  # harmless, such as another time that the run took
    lam = fields["best"]["fields"]["multipliers"]  # one entry fewer than weights have
    crafted = dict(
        text, contents=dict(text["contents"], fields=fields | {"pulled": {"list": [lam]}})
    )
    path_here.write_bytes(joined(crafted, arrays))
    with pytest.raises(CheckpointError, match="weights of another number of functions"):
        go(path_here)
    missing = {key: value for key, value in fields.items() if key != "t"}
    crafted = dict(text, contents=dict(text["contents"], fields=missing))
    assert is_refused_or_the_same(joined(crafted, arrays), tmp_path / "run", result)


@pytest.mark.parametrize(
    "crafted",
    [
        b"",
        b"null",
        b"{}",
        b"[]",
        b"\xff\xfe",
        b'{"arrays": [], "contents": NaN}',
        b'{"arrays": [["<f8", [1000000000000], "C"]], "contents": null}',
        b'{"arrays": [["<f8", [0, 1e99], "C"]], "contents": null}',
        b'{"arrays": [["<f8", [0, 4611686018427387904, 16], "C"]], "contents": null}',
        b'{"arrays": [["<f8", [-1], "C"]], "contents": null}',
        b'{"arrays": [["|O", [1], "C"]], "contents": {"array": 0}}',
        b'{"arrays": [["<f77", [0], "C"]], "contents": {"array": 0}}',
        b'{"arrays": [], "contents": ' + b'{"list": [' * 100_000 + b"]}" * 100_000 + b"}",
        b'{"arrays": [], "contents": ' + b"9" * 10_000 + b"}",
        b'{"arrays": [], "contents": {"object": "os.system", "fields": {"command": "x"}}}',
        b'{"arrays": [], "contents": {"object": "subprocess.Popen", "fields": {}}}',
        b'{"arrays": [], "contents": {"object": "equipoise.run._run.Run", "fields": {}}}',
        b'{"arrays": [], "contents": {"enum": "equipoise._status.Status", "name": "mro"}}',
        b'{"arrays": [], "contents": {"tensor": 0}}',
    ],
)
def test_crafted_texts_are_refused(crafted, tmp_path, whole):
    assert is_refused_or_the_same(joined(crafted, b""), tmp_path / "run", whole[1])


class Bomb:
    def __reduce__(self):
        return (os.mkdir, (os.path.join(os.environ["BOMB"], "ran"),))


def test_pickles_are_refused_and_not_run(tmp_path, monkeypatch, whole):
    monkeypatch.setenv("BOMB", str(tmp_path))
    payload = pickle.dumps({"identity": {}, "state": Bomb()})
    old = b"equipoise checkpoint 1\n" + hashlib.sha256(payload).digest() + payload
    assert is_refused_or_the_same(old, tmp_path / "run", whole[1])
    assert is_refused_or_the_same(payload, tmp_path / "run", whole[1])
    assert is_refused_or_the_same(sealed(payload), tmp_path / "run", whole[1])
    assert not (tmp_path / "ran").exists()


def test_reading_runs_no_constructor_and_imports_nothing(whole, monkeypatch):
    """A stored type is filled, not called; a module that only a file names is not loaded."""
    kinds, called = storable_types(), []
    named = [kind for name, kind in kinds.items() if name.encode() in whole[0]]
    assert len(named) > 5
    for kind in named:
        for method in {"__init__", "__post_init__"} & vars(kind).keys():
            monkeypatch.setattr(kind, method, lambda *_, **__: called.append(1))
    assert unpack(whole[0], kinds).t == 10
    assert not called
    crafted = {"object": "antigravity.Anything", "fields": {}}
    with pytest.raises(UnreadableError, match="which is not known here"):
        unpack(joined({"arrays": [], "contents": crafted}, b""), kinds)
    assert "antigravity" not in sys.modules


def test_what_cannot_be_stored_is_named():
    for value, place, reason in (
        ([1, print], (("item", 1),), r"contents\[1\] is a builtin_function_or_method"),
        ({"a": np.array([["x"]])}, (("item", "a"),), r"contents\['a'\] has the dtype <U1"),
        (np.array([object()]), (), "contents holds objects that are no labels"),
        ({"a": Form("x", 1, print)}, (("item", "a"), ("field", "holds")), r"\['a'\]\.holds is a"),
    ):
        with pytest.raises(NotStorableError, match=reason) as caught:
            list(pack(value, {**storable_types(), name_of(Form): Form}))
        assert caught.value.place == place
        assert str(caught.value).endswith(f" {caught.value.reason}")


@pytest.mark.parametrize(
    "value",
    [
        (1, 2.5, -0.0, float("inf"), None, True, "text", 2**200),
        {"a": [1, (2,)], 3: {}, None: []},
        np.arange(6.0).reshape(2, 3).T,
        np.zeros((0, 3)),
        np.array(3),
        np.float32(0.1),
        np.arange(5)[::2],
        np.array([1 + 2j, np.nan]),
        np.array([True, False]),
        np.arange(3, dtype=">i2"),
    ],
)
def test_values_come_back_as_they_were(value):
    again = unpack(b"".join(pack(value, {})), {})
    assert type(again) is type(value)
    if isinstance(value, np.ndarray):
        np.testing.assert_array_equal(again, value)
        assert again.dtype == value.dtype
        assert again.flags.f_contiguous == np.copy(value, order="K").flags.f_contiguous
        assert again.flags.writeable
    else:
        assert again == value
    assert b"".join(pack(again, {})) == b"".join(pack(value, {}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"arrays":[],"contents":1,"contents":2}', "the same name twice"),
        (b'{"arrays":[],"contents":1,"more":2}', "something beside its arrays and contents"),
        (b'{"arrays":[]}', "something beside its arrays and contents"),
        (b'{"arrays":[],"contents":1e999}', "it holds 1e999"),
        (b'{"arrays":[],"contents":NaN}', "it holds NaN"),
    ],
)
def test_texts_that_readers_understand_differently_are_refused(text, message):
    body = len(text).to_bytes(8, "little") + text
    sealed = MAGIC + hashlib.sha256(body).digest() + body
    with pytest.raises(UnreadableError, match=message):
        unpack(sealed, storable_types())
