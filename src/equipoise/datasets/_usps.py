"""USPS handwritten digits (Le Cun et al. 1990; Hull 1994), in ESL's and in LIBSVM's form."""

from __future__ import annotations

import io

import numpy as np

from equipoise import _check
from equipoise.datasets._columns import indices
from equipoise.datasets._dataset import Dataset
from equipoise.datasets._fetch import read

SIDE = 16  # pixels of an image's side


def load_usps(form: str = "libsvm") -> Dataset:
    """Load usps: which digit a 16 x 16 image shows.

    Parameters
    ----------
    form : {"libsvm", "esl"}
        ``"esl"``: the images as *The Elements of Statistical Learning* publishes them.
        ``"libsvm"``: the same images smoothed as in LIBSVM's file, see `smooth`.

    Returns
    -------
    Dataset
        9,298 rows x 256 grey values in [-1, 1], 10 classes. Split: ``"train"`` 7,291 (the rows used
        in the Neyman-Pearson experiments) and ``"test"`` 2,007.
    """
    _check.choice("load_usps", "form", form, ("libsvm", "esl"))
    parts = [
        np.loadtxt(io.BytesIO(read("usps", name)), delimiter=" ", usecols=range(SIDE**2 + 1))
        for name in ("zip.train", "zip.test")
    ]
    train, test = indices(*map(len, parts))
    rows = np.concatenate(parts)
    images = np.ascontiguousarray(rows[:, 1:])
    return Dataset(
        name="usps",
        X=smooth(images) if form == "libsvm" else images,
        y=rows[:, 0].astype(np.int64),
        groups=None,
        feature_names=tuple(f"pixel{i},{j}" for i in range(SIDE) for j in range(SIDE)),
        target_names=tuple("0123456789"),
        split={"train": train, "test": test},
        note=""
        if form == "esl"
        else "LIBSVM's form is computed from ESL's; it equals LIBSVM's test file to the 6 decimals "
        "printed there, and its training file is taken to be made alike.",
    )


def smooth(images: np.ndarray) -> np.ndarray:
    r"""Return images as LIBSVM has them: :math:`K (X + 1) K^\top - 1`.

    ``K[i, j] = g(i - j)`` with the Gaussian ``g(d) ~ exp(-d^2 / (2 * 0.75^2))`` for ``|d| <= 3``,
    divided by its sum; outside the image there is background (-1).
    """
    taps = np.exp(-(np.arange(-3, 4) ** 2) / (2 * 0.75**2))
    offset = np.arange(SIDE)[:, None] - np.arange(SIDE)
    K = np.where(np.abs(offset) <= 3, (taps / taps.sum())[np.clip(offset, -3, 3) + 3], 0.0)
    X = images.reshape(-1, SIDE, SIDE)
    return (K @ (X + 1.0) @ K.T - 1.0).reshape(images.shape)
