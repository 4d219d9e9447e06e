"""A sample of Microsoft's learning-to-rank data, MSLR (Qin & Liu 2013)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.datasets._columns import indices
from equipoise.datasets._dataset import Dataset
from equipoise.datasets._fetch import read

STREAMS = ("body", "anchor", "title", "url", "whole")
STATISTICS = ("sum", "min", "max", "mean", "variance")
PER_STREAM = (
    *("covered query terms", "covered query term ratio", "stream length", "IDF"),
    *(f"{s} of term frequency" for s in STATISTICS),
    *(f"{s} of length-normalised term frequency" for s in STATISTICS),
    *(f"{s} of tf*idf" for s in STATISTICS),
    *("boolean model", "vector space model", "BM25", "LMIR.ABS", "LMIR.DIR", "LMIR.JM"),
)
PAGE = (
    *("slashes in URL", "length of URL", "inlinks", "outlinks", "PageRank", "SiteRank"),
    *("QualityScore", "QualityScore2", "query-url clicks", "url clicks", "url dwell time"),
)
NAMES = (*(f"{kind}: {stream}" for kind in PER_STREAM for stream in STREAMS), *PAGE)

NOTE = (
    "SUBSTITUTE: 10,000 rows of MSLR (0.8 % of MSLR-WEB10K, cut at 5,000 rows per file); it serves "
    "to run the method. Results on it are not results on the paper's data."
)


def load_mslr(quality: str = "QualityScore2", *, folder: str | Path | None = None) -> Dataset:
    """Load MSLR: whether a document is relevant to the query.

    Parameters
    ----------
    quality : {"QualityScore2", "QualityScore"}
        The feature that makes the groups: ``"high quality"`` is above its 40th percentile in the
        training rows, ``"low quality"`` the rest.
    folder : path, optional
        A fold of the full MSLR-WEB10K or WEB30K (``train.txt``, ``vali.txt``, ``test.txt``) to
        read in place of the sample.

    Returns
    -------
    Dataset
        Rows x 136 features; the label is 1 where the relevance (0..4) is above 1. Attributes:
        ``"relevance"`` and the quality score; `query` numbers the queries. Split of the sample:
        ``"train"`` 5,000 and ``"test"`` 5,000 rows of 43 queries each.
    """
    _check.choice("load_mslr", "quality", quality, ("QualityScore2", "QualityScore"))
    if folder is not None:
        folder = Path(_check.path("load_mslr", "folder", folder)).expanduser()
    parts = _sample() if folder is None else _full(folder)
    X = np.concatenate([X for X, _, _ in parts.values()])
    relevance = np.concatenate([relevance for _, relevance, _ in parts.values()]).astype(np.int64)
    rows = dict(zip(parts, indices(*(X.shape[0] for X, _, _ in parts.values()))))
    score = X[:, NAMES.index(quality)].copy()
    cut = np.quantile(score[rows["train"]], 0.4)
    return Dataset(
        name="mslr",
        X=X,
        y=(relevance > 1).astype(np.int64),
        groups=np.where(score > cut, "high quality", "low quality"),
        attributes={"relevance": relevance, quality: score},
        query=np.concatenate([query for _, _, query in parts.values()]),
        feature_names=NAMES,
        target_names=("irrelevant", "relevant"),
        split=rows,
        note=NOTE if folder is None else "",
    )


def _sample() -> dict[str, Any]:
    names = {"train": "msn1.fold1.train.5k.txt", "test": "msn1.fold1.test.5k.txt"}
    return {part: _parse(io.BytesIO(read("mslr", name))) for part, name in names.items()}


def _full(folder: Path) -> dict[str, Any]:
    names = {"train": "train.txt", "validation": "vali.txt", "test": "test.txt"}
    if not all((folder / name).is_file() for name in names.values()):
        rule = f"must be a folder with the files {', '.join(names.values())}"
        _check.fail("load_mslr", "folder", rule, str(folder))
    return {part: _parse(str(folder / name)) for part, name in names.items()}


def _parse(file: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    X, relevance, query = load_svmlight_file(
        file, n_features=len(NAMES), query_id=True, zero_based=False
    )
    return X.toarray(), relevance, query
