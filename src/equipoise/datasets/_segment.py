"""Statlog Image Segmentation (Vision Group, University of Massachusetts, 1990; UCI 147)."""

from __future__ import annotations

import io

import numpy as np

from equipoise import _check
from equipoise.datasets._dataset import Dataset
from equipoise.datasets._fetch import read

NAMES = (
    "region-centroid-col",
    "region-centroid-row",
    "region-pixel-count",
    "short-line-density-5",
    "short-line-density-2",
    "vedge-mean",
    "vedge-sd",
    "hedge-mean",
    "hedge-sd",
    "intensity-mean",
    "rawred-mean",
    "rawblue-mean",
    "rawgreen-mean",
    "exred-mean",
    "exblue-mean",
    "exgreen-mean",
    "value-mean",
    "saturation-mean",
    "hue-mean",
)
CLASSES = ("brickface", "sky", "foliage", "cement", "window", "path", "grass")


def load_segment(form: str = "scaled") -> Dataset:
    """Load segment: what a 3 x 3 region of an outdoor photograph shows.

    Parameters
    ----------
    form : {"scaled", "raw"}
        ``"scaled"``: each feature mapped linearly to [-1, 1], the one that never varies left out
        (18 features), as in LIBSVM's segment.scale. ``"raw"``: the 19 features as published.

    Returns
    -------
    Dataset
        2,310 rows, 7 classes of 330; class i is the file's i + 1. No split.
    """
    _check.choice("load_segment", "form", form, ("scaled", "raw"))
    rows = np.loadtxt(io.BytesIO(read("segment", "segment.dat")))
    X = rows[:, :-1].copy()
    names: tuple[str, ...] = NAMES
    if form == "scaled":
        low, high = X.min(axis=0), X.max(axis=0)
        varies = high > low
        X = -1.0 + 2.0 * (X - low)[:, varies] / (high - low)[varies]
        names = tuple(name for name, keep in zip(NAMES, varies) if keep)
    return Dataset(
        name="segment",
        X=X,
        y=rows[:, -1].astype(np.int64) - 1,
        groups=None,
        feature_names=names,
        target_names=CLASSES,
        note='The paper gives "dimension 7", which is the number of classes.',
    )
