"""Threads of BLAS while fitting."""

from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import ThreadpoolController, threadpool_limits

from equipoise import ConstrainedClassifier, demographic_parity
from equipoise.estimators import _threads as threads
from equipoise.estimators import frontier
from equipoise.estimators._runner import Runner
from equipoise.estimators._threads import suitable_threads


class Blas:
    """Stands for a BLAS with two threads: what tests may set depends on the machine."""

    def __init__(self):
        self.now = 2

    def select(self, user_api):
        assert user_api == "blas"
        return self

    def info(self):
        return [{"num_threads": self.now}]

    @contextmanager
    def limit(self, limits, user_api):
        assert user_api == "blas"
        before, self.now = self.now, limits
        try:
            yield
        finally:
            self.now = before


@pytest.fixture
def blas(monkeypatch):
    found = Blas()
    monkeypatch.setattr(threads, "_controller", lambda: found)
    return found


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_small_and_sparse_data_get_one_thread(blas, kind):
    with suitable_threads(kind(np.ones((50, 4)))):
        assert blas.now == 1
    assert blas.now == 2


def test_threads_are_given_back_after_an_error(blas):
    with pytest.raises(ZeroDivisionError), suitable_threads(np.ones((5, 2))):
        raise ZeroDivisionError
    assert blas.now == 2


def test_fits_that_overlap_give_threads_back_when_the_last_is_done(blas):
    """As two Python threads may do it: first in, first out."""
    first, second = (suitable_threads(np.ones((5, 2))) for _ in range(2))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas.now == 1
    second.__exit__(None, None, None)
    assert blas.now == 2


@pytest.mark.parametrize(("many", "expected"), [(0.5, 2), (0.95, 1), (3.0, 1)])
def test_large_data_get_what_is_faster(blas, monkeypatch, many, expected):
    """With times that are given: more threads only where they save a tenth."""
    monkeypatch.setattr(threads, "LARGE_ENTRIES", 10)
    monkeypatch.setattr(threads, "_seconds", lambda rows: many if blas.now == 2 else 1.0)
    with suitable_threads(np.ones((50, 4))):
        assert blas.now == expected
    assert blas.now == 2


def test_nothing_is_tried_where_there_is_one_thread(blas, monkeypatch):
    blas.now = 1
    monkeypatch.setattr(threads, "LARGE_ENTRIES", 10)
    monkeypatch.setattr(threads, "_seconds", None)
    with suitable_threads(np.ones((50, 4))):
        assert blas.now == 1


def test_fits_use_it_and_leave_no_trace(blas, census, monkeypatch):
    seen, run = [], Runner.solve

    def watched(*args, **options):
        seen.append(blas.now)
        return run(*args, **options)

    monkeypatch.setattr(Runner, "solve", watched)
    model = ConstrainedClassifier(demographic_parity(0.05))
    model.fit(census.X, census.y, sensitive_features=census.groups)
    frontier(model, census.X, census.y, [0.05, 0.1], sensitive_features=census.groups)
    assert set(seen) == {1}
    assert blas.now == 2


def test_the_real_one():
    def counts():
        return [
            library["num_threads"]
            for library in ThreadpoolController().select(user_api="blas").info()
        ]

    assert threads._seconds(np.ones((100, 4))) > 0
    before = counts()
    with suitable_threads(np.ones((50, 4))):
        assert set(counts()) == {1}
    assert counts() == before
    with threadpool_limits(limits=1, user_api="blas"):
        assert not threads._more_are_faster(np.ones((100, 4)))
