"""Pen-Based Recognition of Handwritten Digits (Alpaydin & Alimoglu 1998; UCI, doi 10.24432/C5MG6K)."""

from __future__ import annotations

import io

import numpy as np

from equipoise.datasets._columns import indices
from equipoise.datasets._dataset import Dataset
from equipoise.datasets._fetch import read


def load_pendigits() -> Dataset:
    """Load pendigits: which digit the pen wrote.

    Returns
    -------
    Dataset
        10,992 rows x 16 pen coordinates in 0..100, 10 classes. Split: ``"train"`` 7,494 (the rows
        used in the Neyman-Pearson experiments) and ``"test"`` 3,498. UCI's files; LIBSVM's hold the
        same values in the same order.
    """
    parts = [
        np.loadtxt(io.BytesIO(read("pendigits", name)), delimiter=",", dtype=np.int64)
        for name in ("pendigits.tra", "pendigits.tes")
    ]
    train, test = indices(*map(len, parts))
    rows = np.concatenate(parts)
    return Dataset(
        name="pendigits",
        X=rows[:, :-1].astype(np.float64),
        y=rows[:, -1].copy(),
        groups=None,
        feature_names=tuple(f"{axis}{i}" for i in range(1, 9) for axis in "xy"),
        target_names=tuple("0123456789"),
        split={"train": train, "test": test},
    )
