"""The data of the papers, as the papers use them, and a generator.

``load("adult")`` or ``load_adult()`` returns a `Dataset`. Files are taken from the folder that the
environment variable ``EQUIPOISE_DATA`` names, or downloaded once from their publisher and checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from equipoise import _check
from equipoise.datasets._adult import load_adult
from equipoise.datasets._bank import load_bank
from equipoise.datasets._census import make_census
from equipoise.datasets._communities import intersectional_groups, load_communities
from equipoise.datasets._compas import load_compas
from equipoise.datasets._dataset import Dataset
from equipoise.datasets._loans import load_loans
from equipoise.datasets._mslr import load_mslr
from equipoise.datasets._pendigits import load_pendigits
from equipoise.datasets._segment import load_segment
from equipoise.datasets._usps import load_usps

DATASETS: dict[str, Callable[..., Dataset]] = {
    "adult": load_adult,
    "bank": load_bank,
    "census": make_census,
    "communities": load_communities,
    "compas": load_compas,
    "loans": load_loans,
    "mslr": load_mslr,
    "pendigits": load_pendigits,
    "segment": load_segment,
    "usps": load_usps,
}
"""Every data set's loader, by name."""


def load(name: str, **options: Any) -> Dataset:
    """Load a data set by name; `options` are those of its own loader.

    Examples
    --------
    >>> from equipoise.datasets import load
    >>> load("census", n=1000, seed=1).X.shape
    (1000, 14)
    """
    return DATASETS[_check.choice("load", "name", name, DATASETS)](**options)


__all__ = [
    "DATASETS",
    "Dataset",
    "load",
    "load_adult",
    "load_bank",
    "load_communities",
    "load_compas",
    "load_loans",
    "load_mslr",
    "load_pendigits",
    "load_segment",
    "load_usps",
    "make_census",
    "intersectional_groups",
]
