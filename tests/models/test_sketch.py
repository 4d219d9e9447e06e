"""Sketches: a few rows that stand for all of them in second derivatives."""

import numpy as np
import pytest
from scipy import sparse

from equipoise.models import LinearModel, Sketch
from equipoise.models._sketch_plan import (
    DIAGONAL_FROM,
    KINKED_MATRIX_UP_TO,
    LOOKED_AT,
    MATRIX_UP_TO,
    MAX_SKETCH_ROWS,
    MIN_SKETCH_ROWS,
)


def dense(model):
    """The derivative of the scores, as a matrix."""
    return np.column_stack([model.scores(e) for e in np.eye(model.dim)])


def whole(lower):
    """The symmetric matrix of a lower triangle."""
    return np.tril(lower) + np.tril(lower, -1).T


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_few_rows_are_all_taken_and_the_gram_matrix_is_that_of_all(kind, intercept):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.5)
    model = LinearModel(kind(A), intercept, scale=[1.0, 2.0, 3.0, 4.0], center=A.mean(0))
    J, w = dense(model), rng.random(50)
    np.testing.assert_array_equal(model.sketch().index, np.arange(50))
    gram = whole(model.sketch().gram(w))  # in single precision
    np.testing.assert_allclose(gram, J.T @ (w[:, None] * J), atol=1e-6 * gram.max())
    np.testing.assert_allclose(model.sketch().scores(np.ones(model.dim)), J.sum(axis=1))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_columns_far_from_0_are_centred_before_they_are_rounded(kind):
    rng = np.random.default_rng(0)
    A = 1e8 + rng.normal(size=(50, 3))
    model = LinearModel(kind(A), center=A.mean(0))
    J = np.column_stack((A - A.mean(0), np.ones(50)))
    np.testing.assert_allclose(whole(model.sketch().gram(np.ones(50))), J.T @ J, atol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("far", [0.0, 1e8])
def test_very_sparse_rows_stay_sparse_and_a_column_far_from_0_is_centred_first(intercept, far):
    rng = np.random.default_rng(6)
    A = sparse.random_array((400, 100), density=0.01, rng=rng, format="lil")
    A[:, [0]] = far + rng.normal(size=(400, 1))
    A = sparse.csr_array(A)
    center, scale = A.mean(0), rng.uniform(0.5, 2.0, 100)
    model, w = LinearModel(A, intercept, scale, center), rng.random(400)
    J = np.column_stack(((A.toarray() - center) / scale, np.ones(400)))[:, : model.dim]
    exact, gram = J.T @ (w[:, None] * J), whole(Sketch(model, diagonal=False).gram(w))
    np.testing.assert_allclose(gram, exact, atol=1e-6 * exact.max())
    assert gram.dtype == (np.float64 if far == 0.0 else np.float32)


def rare_columns(n=20_000, d=30):
    """Indicators of very different frequency; the rarest is on in ten rows."""
    rng = np.random.default_rng(1)
    share = np.geomspace(0.5, 5e-4, d)
    A = (rng.random((n, d)) < share).astype(float)
    A[:, -1] = 0.0
    A[:10, -1] = 1.0
    return A


def condition(F, H):
    values = np.linalg.eigvals(np.linalg.solve(F, H)).real
    return values.max() / values.min()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_many_rows_are_sampled_so_that_rare_columns_are_seen(kind):
    A = rare_columns()
    model = LinearModel(kind(A), scale=A.std(0), center=A.mean(0))
    sketch, J = model.sketch(), dense(model)
    assert MIN_SKETCH_ROWS / 2 < len(sketch.index) < 4 * MIN_SKETCH_ROWS
    assert set(range(10)) <= set(sketch.index.tolist())  # the rare column's rows
    w = np.random.default_rng(2).random(len(A)) / len(A)
    H = J.T @ (w[:, None] * J)
    assert condition(whole(sketch.gram(w[sketch.index])), H) < 4
    index = np.arange(10, 10 + len(sketch.index))  # as many rows that miss the rare column
    missed = J[index].T @ (w[index, None] * J[index]) * (len(A) / len(index))
    assert condition(missed + 1e-6 * np.eye(len(H)), H) > 20


def test_wide_models_get_a_diagonal():
    rng = np.random.default_rng(3)
    A = sparse.random_array((300, DIAGONAL_FROM + 50), density=0.02, rng=rng, format="csr")
    scale = rng.uniform(0.5, 2.0, DIAGONAL_FROM + 50)
    model = LinearModel(A, scale=scale)
    w = rng.random(300)
    diagonal = model.sketch().gram(w)
    J = dense(model)
    np.testing.assert_allclose(diagonal, (w[:, None] * J * J).sum(axis=0), atol=1e-12)


def test_sparse_data_with_few_entries_get_a_matrix_only_where_kinks_are_rounded():
    rng = np.random.default_rng(5)
    few = sparse.random_array((300, 2 * MATRIX_UP_TO), density=0.02, rng=rng, format="csr")
    many = sparse.random_array((2000, 2 * MATRIX_UP_TO), density=0.5, rng=rng, format="csr")
    assert LinearModel(few).sketch().diagonal
    assert not LinearModel(few).sketch(True).diagonal
    assert not LinearModel(few.toarray()).sketch().diagonal
    assert not LinearModel(many).sketch().diagonal
    model = LinearModel(few)
    J, w = dense(model), rng.random(300)
    gram = whole(model.sketch(True).gram(w))
    np.testing.assert_allclose(gram, J.T @ (w[:, None] * J), atol=1e-6 * gram.max())
    np.testing.assert_allclose(model.sketch().gram(w), gram.diagonal(), rtol=1e-5)
    assert model.sketch(True) is model.sketch(True)
    beyond = LinearModel(rng.normal(size=(20, KINKED_MATRIX_UP_TO)))
    assert beyond.sketch(True) is beyond.sketch()


def test_squares_of_large_single_precision_do_not_overflow():
    A = np.random.default_rng(4).normal(size=(40, DIAGONAL_FROM + 1)).astype(np.float32)
    plain, large = (
        LinearModel(factor * A, False).sketch().gram(np.ones(40)) for factor in (1, 1e25)
    )
    np.testing.assert_allclose(large, 1e50 * plain, rtol=1e-5)


def test_the_sketch_of_some_rows_is_their_own():
    A = rare_columns(n=400)
    model = LinearModel(A)
    assert len(model.sketch().index) == 400
    assert len(model.rows(np.arange(100)).sketch().index) == 100


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_of_very_many_rows_leverages_are_computed_of_some(kind):
    rng = np.random.default_rng(0)
    n = 2 * LOOKED_AT + 5
    A = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.1]
    model = LinearModel(kind(A))
    sketch = model.sketch()
    assert sketch.index.size < 1.1 * MAX_SKETCH_ROWS
    assert np.all(np.diff(sketch.index) > 0)
    assert sketch._mass.sum() == pytest.approx(n, rel=0.05)
    J, w = np.column_stack((A, np.ones(n))), rng.random(n)
    exact = J.T @ (w[:, None] * J)
    sizes = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    found = whole(sketch.gram(w[sketch.index]))
    np.testing.assert_allclose(found / sizes, exact / sizes, atol=0.05)


def test_of_very_many_rows_in_two_places_the_same_are_drawn():
    A = np.random.default_rng(0).normal(size=(2 * LOOKED_AT + 5, 2))
    cut = 100_001
    parts = [LinearModel(A[:cut]), LinearModel(A[cut:])]
    first, second = (part.among(parts, start).sketch() for part, start in zip(parts, (0, cut)))
    together = LinearModel(A).sketch()
    np.testing.assert_array_equal(np.r_[first.index, second.index + cut], together.index)
    np.testing.assert_allclose(np.r_[first._mass, second._mass], together._mass)
