"""Fixtures shared by the data-set tests. Real data is used where EQUIPOISE_DATA names a folder."""

import functools
import os
from pathlib import Path

import pytest

from equipoise.datasets import load

FOLDERS = {
    "adult": "adult_a9a",
    "bank": "bank_marketing",
    "communities": "communities_crime",
}


@functools.cache
def _load(name, options):
    return load(name, **dict(options))


@pytest.fixture
def real():
    """Load a real data set once, or skip: tests never reach for the network."""

    def loader(name, **options):
        need(FOLDERS.get(name, name))
        return _load(name, tuple(options.items()))

    return loader


@pytest.fixture
def need_folder():
    return need


def need(folder):
    root = os.environ.get("EQUIPOISE_DATA")
    if not root:
        pytest.skip("EQUIPOISE_DATA is not set: no real data here")
    if not (Path(root) / folder).is_dir():
        pytest.skip(f"EQUIPOISE_DATA has no folder {folder}")
