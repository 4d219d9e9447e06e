"""Linear models: dense, sparse, scaled, in any precision, and never made dense."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from equipoise.models import Features, LinearModel, MultiClassLinearModel
from equipoise.models import _squares as squares_module

N, D, K = 30, 6, 3


def matrix(rng, kind="dense", dtype=np.float64):
    A = (rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.4)).astype(dtype)
    return A if kind == "dense" else getattr(sparse, kind)(A)


KINDS = ["dense", "csr_array", "csr_matrix", "csc_array", "coo_matrix"]


def plain(A, scale, center):
    A = A.toarray() if sparse.issparse(A) else A
    A = A - center if center is not None else A
    return A / scale if scale is not None else A


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("centred", [True, False])
def test_scores_and_pull_agree_with_the_plain_matrix(kind, intercept, scaled, centred, rng):
    A = matrix(rng, kind)
    scale = rng.random(D) + 0.5 if scaled else None
    center = rng.normal(size=D) if centred else None
    B = plain(A, scale, center)
    B = np.column_stack((B, np.ones(N))) if intercept else B
    model = LinearModel(A, intercept, scale, center)
    x, g = rng.normal(size=model.dim), rng.normal(size=N)
    np.testing.assert_allclose(model.scores(x), B @ x, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.at(x).push(x), B @ x, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.at(x).pull(g), B.T @ g, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(model.lengths, np.linalg.norm(B, axis=1), rtol=1e-12)
    many = MultiClassLinearModel(A, K, intercept, scale, center)
    X, G = rng.normal(size=(K, model.dim)), rng.normal(size=(N, K))
    np.testing.assert_allclose(many.scores(X.ravel()), B @ X.T, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        many.at(X.ravel()).pull(G), (B.T @ G).T.ravel(), rtol=1e-11, atol=1e-13
    )
    np.testing.assert_array_equal(many.penalised, np.tile(model.penalised, K))
    np.testing.assert_array_equal(many.lengths, model.lengths)


@pytest.mark.parametrize("kind", ["dense", "csr_array"])
def test_coefficients_are_in_the_users_units_and_can_be_undone(kind, rng):
    A = matrix(rng, kind)
    scale, center = rng.random(D) + 0.5, rng.normal(size=D)
    model, x = LinearModel(A, scale=scale, center=center), rng.normal(size=D + 1)
    coef, intercept = model.coefficients(x)
    np.testing.assert_allclose(A @ coef + intercept, model.scores(x), rtol=1e-11)
    np.testing.assert_allclose(model.parameters(coef, intercept), x, rtol=1e-12)
    many, X = MultiClassLinearModel(A, K, scale=scale, center=center), rng.normal(size=K * (D + 1))
    coef, intercept = many.coefficients(X)
    np.testing.assert_allclose(A @ coef.T + intercept, many.scores(X), rtol=1e-10)
    np.testing.assert_allclose(many.parameters(coef, intercept), X, rtol=1e-12)


def test_without_intercept_or_scaling_the_coefficients_are_x(rng):
    model, x = LinearModel(matrix(rng), intercept=False), rng.normal(size=D)
    coef, intercept = model.coefficients(x)
    np.testing.assert_array_equal(coef, x)
    assert intercept == 0.0
    np.testing.assert_array_equal(model.parameters(coef), x)
    many = MultiClassLinearModel(matrix(rng), K, intercept=False)
    X = rng.normal(size=K * D)
    np.testing.assert_array_equal(many.parameters(many.coefficients(X)[0]), X)


@pytest.mark.parametrize("kind", ["dense", "csr_array"])
def test_precision_of_the_data_is_kept(kind, rng):
    A = matrix(rng, kind, np.float32)
    model = LinearModel(A, scale=np.full(D, 2.0), center=np.ones(D))
    for dtype in (np.float32, np.float64):
        scores = model.scores(np.ones(D + 1, dtype=dtype))
        assert scores.dtype == np.float32
        assert model.at(np.ones(D + 1)).pull(np.ones(N, dtype=dtype)).dtype == np.float32
    many = MultiClassLinearModel(A, K)
    assert many.scores(np.ones(many.dim)).dtype == np.float32
    assert many.at(np.ones(many.dim)).pull(np.ones((N, K))).dtype == np.float32
    assert LinearModel(matrix(rng).astype(int)).features.dtype == np.float64


@pytest.mark.parametrize("kind", ["dense", "csr_array"])
@pytest.mark.parametrize("K", [None, 3])
def test_some_rows(kind, K, rng):
    A = matrix(rng, kind)
    options = {"scale": rng.random(D) + 0.5, "center": rng.normal(size=D)}
    model = LinearModel(A, **options) if K is None else MultiClassLinearModel(A, K, **options)
    x, index = rng.normal(size=model.dim), np.array([7, 3, 3, 20])
    part = model.rows(index)
    assert part.n_rows == 4
    np.testing.assert_allclose(part.scores(x), model.scores(x)[index], rtol=1e-12)
    np.testing.assert_allclose(part.lengths, model.lengths[index], rtol=1e-12)


def test_sparse_data_is_neither_copied_nor_made_dense(monkeypatch, rng):
    A = matrix(rng, "csr_array")

    def refuse(*args, **kwargs):
        raise AssertionError("made dense")

    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    for model in (
        LinearModel(A, scale=np.ones(D), center=np.ones(D)),
        MultiClassLinearModel(A, K, scale=np.ones(D), center=np.ones(D)),
    ):
        assert np.shares_memory(model.features.A.data, A.data)
        scores = model.scores(np.ones(model.dim))
        model.at(np.ones(model.dim)).pull(scores), model.rows(np.arange(3)).lengths, model.lengths


def test_norms_are_computed_in_pieces(monkeypatch, rng):
    A = matrix(rng, "csr_array")
    monkeypatch.setattr(squares_module, "CONVERTED_ROWS", 7)
    norms = np.sqrt(Features(A, center=np.ones(D)).squared_norms)
    np.testing.assert_allclose(norms, np.linalg.norm(A.toarray() - 1, axis=1))


def test_pickle(rng):
    model = LinearModel(matrix(rng, "csr_array"), scale=np.full(D, 2.0))
    x = rng.normal(size=D + 1)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.scores(x), model.scores(x))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearModel(np.zeros(3)), r"`A` must have shape \(n, d\)"),
        (lambda: LinearModel(np.zeros((0, 3))), r"`A` must have shape \(n, d\)"),
        (lambda: LinearModel([["a", "b"]]), "`A` must be an array of numbers"),
        (lambda: LinearModel([[1.0, np.nan]]), "`A` must be finite, but entry 1 is nan"),
        (lambda: LinearModel(sparse.csr_array([[np.inf]])), "`A` must be finite"),
        (lambda: LinearModel(np.ones((2, 2)), scale=[1, 0]), "column 1 has 0.0. Give constant"),
        (lambda: LinearModel(np.ones((2, 2)), scale=[1]), r"`scale` must have shape \(2,\)"),
        (lambda: LinearModel(np.ones((2, 2)), center=[1]), r"`center` must have shape \(2,\)"),
        (lambda: MultiClassLinearModel(np.ones((2, 2)), 1), "`n_classes` must be an integer of"),
        (lambda: LinearModel(np.ones((2, 2))).parameters([1.0]), r"`coef` must have shape \(2,\)"),
        (
            lambda: MultiClassLinearModel(np.ones((2, 2)), 2).parameters([1.0]),
            r"`coef` must have shape \(2, 2\)",
        ),
    ],
)
def test_wrong_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tensors(dtype, rng):
    torch = pytest.importorskip("torch")
    A = matrix(rng, dtype=dtype)
    options = {"scale": np.full(D, 2.0), "center": np.ones(D)}
    tol = 1e-12 if dtype == "float64" else 1e-5
    for make in (LinearModel, lambda A, **kw: MultiClassLinearModel(A, K, **kw)):
        model, tensor = make(A, **options), make(torch.from_numpy(A), **options)
        x = rng.normal(size=model.dim).astype(dtype)
        scores = tensor.scores(torch.from_numpy(x))
        assert scores.dtype == getattr(torch, dtype)
        np.testing.assert_allclose(scores.numpy(), model.scores(x), rtol=tol, atol=tol)
        pulled = tensor.at(torch.from_numpy(x)).pull(scores)
        np.testing.assert_allclose(
            pulled.numpy(), model.at(x).pull(model.scores(x)), rtol=tol, atol=10 * tol
        )
        np.testing.assert_allclose(tensor.lengths, model.lengths, rtol=1e-6)


def test_scores_of_the_same_point_are_computed_once(monkeypatch, rng):
    products = []
    times = Features.times
    monkeypatch.setattr(Features, "times", lambda *args: products.append(1) or times(*args))
    model = LinearModel(rng.normal(size=(6, D)))
    x = rng.normal(size=D + 1)
    first = model.scores(x)
    model.at(x).push(rng.normal(size=D + 1))  # a direction is not a point
    assert model.scores(x.copy()) is first
    assert len(products) == 2
    x[0] += 1.0
    np.testing.assert_allclose(model.scores(x), model.features.A @ x[:-1] + x[-1])
    index = np.array([1, 4])
    np.testing.assert_array_equal(model.rows(index).scores(x), model.scores(x)[index])


@pytest.mark.parametrize("kind", ["dense", "wide", "csr", "float32"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_the_sandwich_is_its_two_products(kind, intercept, scaled, monkeypatch, rng):
    """Also in several pieces, and for weights of both signs."""
    monkeypatch.setattr("equipoise.models._features.CACHE_BYTES", 0)  # 64 rows at a time
    A = rng.normal(size=(200, D))
    A = {"csr": sparse.csr_array, "wide": np.asfortranarray}.get(kind, np.asarray)(A)
    A = A.astype(np.float32) if kind == "float32" else A
    options = {"scale": np.linspace(1, 2, D), "center": np.ones(D)} if scaled else {}
    model = LinearModel(A, intercept, **options)
    weights, v = rng.normal(size=200), rng.normal(size=D + intercept)
    point = model.at(v)
    found = point.sandwich(weights, v)
    assert found.dtype == A.dtype
    tolerance = 1e-3 if kind == "float32" else 1e-10
    np.testing.assert_allclose(found, point.pull(weights * point.push(v)), atol=tolerance)


@pytest.mark.parametrize("kind", ["dense", "csr_array"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_many_columns_are_pulled_at_once(kind, intercept, scaled, rng):
    """Sparse and dense score-gradients, against one pull each."""
    options = {"scale": np.linspace(1, 2, D), "center": np.ones(D)} if scaled else {}
    model = LinearModel(matrix(rng, kind), intercept, **options)
    G = rng.normal(size=(N, 4)) * (rng.random((N, 4)) < 0.3)
    point = model.at(np.zeros(model.dim))
    expected = np.array([point.pull(column) for column in G.T])
    for gradients in (G, sparse.csr_array(G), sparse.csc_array(G)):
        np.testing.assert_allclose(point.pull_each(gradients), expected, atol=1e-12)
