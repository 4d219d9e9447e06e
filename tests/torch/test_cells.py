"""RowCells: the numbers of rows of one class and groups, looked up by NumPy or where tensors are."""

import numpy as np
import pytest
import torch

from equipoise._check import InputError
from equipoise.rows import MemoryTable
from equipoise.torch import _tensor_cells
from equipoise.torch._cells import RowCells

RNG = np.random.default_rng(0)
Y = RNG.integers(2, size=200)
COLUMNS = {"a": RNG.integers(3, size=200) * 2, "b": RNG.integers(2, size=200) == 1}
COLUMNS["a"][(Y == 1) & COLUMNS["b"]] = 0  # so that some combinations do not occur


def table():
    return MemoryTable(Y, None, COLUMNS)


def test_a_cell_is_one_class_and_one_value_of_every_column():
    cells = RowCells("test", table())
    keys = list(zip(Y.tolist(), COLUMNS["a"].tolist(), COLUMNS["b"].tolist()))
    assert len({*zip(cells.rows.tolist(), keys)}) == len({*keys}) == cells.counts.size
    assert cells.counts.sum() == 200
    assert (cells.rows[cells.first] == np.arange(cells.counts.size)).all()


@pytest.fixture(params=["compared", "searched"])
def looked_up(request, monkeypatch):
    """Few cells are compared with; of more than that many, columns are searched."""
    monkeypatch.setattr(_tensor_cells, "FEW_CELLS", 64 if request.param == "compared" else 1)


def test_tensors_on_another_device_get_the_same_numbers(looked_up):
    """What is done there can be done here: nothing in it asks what a tensor holds."""
    cells = RowCells("test", table())
    columns = [torch.tensor(Y), *map(torch.tensor, COLUMNS.values())]
    found = cells._of_tensors(columns, torch.device("cpu"))
    assert (found.numpy() == cells.rows).all()
    assert (cells.of(Y, COLUMNS, "cpu").numpy() == cells.rows).all()
    cells.check()


@pytest.mark.parametrize(
    "wrong", [(1, 2, True), (0, 1, False), (2, 0, False), (0, 7, True), (0, 0.5, True)]
)
@pytest.mark.parametrize("batches", [1, 40])
def test_strange_rows_are_told_later(wrong, batches, looked_up):
    cells = RowCells("test", table())
    for row in [wrong, *[(0, 0, True)] * (batches - 1)]:
        columns = [torch.tensor([value, value]) for value in row]
        cells._of_tensors(columns, torch.device("cpu"))
    with pytest.raises(InputError, match="no row of the training data"):
        cells.check()
    cells.check()
