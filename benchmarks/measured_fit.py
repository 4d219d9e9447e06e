"""One fit of `ConstrainedClassifier` on generated sparse rows in a process of its own.

    python -m benchmarks.measured_fit ROWS COLUMNS PER_ROW REPEATS

prints one line of JSON: seconds, bytes of the data, bytes added at the peak by the first fit of these rows
(which loads code and grows the work space of BLAS), by the second, and by scikit-learn's
LogisticRegression in the same way, products with the data.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

BOUND = 0.02
LONG = 5.0  # seconds of a fit that is not repeated


def measure(n: int, d: int, per_row: int = 10, repeats: int = 1) -> dict[str, Any]:
    """Run this module in a new process."""
    command = [sys.executable, "-m", "benchmarks.measured_fit", *map(str, (n, d, per_row, repeats))]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
    )
    return json.loads(done.stdout)


def fit(n: int, d: int, per_row: int, repeats: int) -> dict[str, Any]:
    from benchmarks.generated import size, sparse_rows

    _fit(sparse_rows(500, min(d, 50), 5))  # loads what is loaded on first use
    rows = sparse_rows(n, d, per_row)
    with threadpool_limits(1):  # sparse products use one thread; more only disturb
        first = _added(_fit, rows)[0]
        with _counting() as products:
            added, (model, seconds) = _added(_fit, rows)
        while (repeats := repeats - 1) > 0 and seconds < LONG:
            seconds = min(seconds, _fit(rows)[1])
        _fit_plain(rows)
        plain = _added(_fit_plain, rows)[0]
    return {
        "seconds": seconds,
        "products": len(products),
        "data": size(rows[0]),
        "first": first,
        "added": added,
        "plain": plain,
        "gap": _gap(model, rows),
        "status": str(model.status_),
    }


def _added(fit: Callable[[tuple], Any], rows: tuple) -> tuple[int, Any]:
    """Return the bytes that a fit adds at its peak, and what it returns."""
    before = _start_peak()
    fitted = fit(rows)
    return max(0, _peak() - before), fitted


def _fit_plain(rows: tuple) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000).fit(rows[0], rows[1])


def _fit(rows: tuple) -> tuple[Any, float]:
    from equipoise import ConstrainedClassifier, demographic_parity

    X, y, groups = rows
    model = ConstrainedClassifier(demographic_parity(BOUND), on_infeasible="ignore")
    start = time.perf_counter()
    model.fit(X, y, sensitive_features=groups)
    return model, time.perf_counter() - start


@contextlib.contextmanager
def _counting() -> Iterator[list[None]]:
    """A list that grows by one with every product with the data or its transpose."""
    from equipoise.models import Features

    made: list[None] = []
    originals = Features.times, Features.transposed

    def counted(method: Any) -> Any:
        def call(self: Any, *arguments: Any) -> Any:
            made.append(None)
            return method(self, *arguments)

        return call

    Features.times, Features.transposed = map(counted, originals)
    try:
        yield made
    finally:
        Features.times, Features.transposed = originals


def _gap(model: Any, rows: tuple) -> float:
    X, _, groups = rows
    predicted = model.predict(X)
    return float(abs(predicted[groups == "a"].mean() - predicted[groups == "b"].mean()))


def _start_peak() -> int:
    """Forget the peak so far, as far as the system can; return what is held now, in bytes."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return _peak()  # then making the data may hide a part of what is added


def _peak() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise OSError(name)
    return 1024 * int(found.group(1))


if __name__ == "__main__":
    print(json.dumps(fit(*map(int, sys.argv[1:]))))
