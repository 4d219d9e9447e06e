"""The training rows, wherever they are, and every sum over them."""

from equipoise.rows._block_sums import BlockSums
from equipoise.rows._blocks import Blocks
from equipoise.rows._cross_table import Confusion
from equipoise.rows._device_groups import DeviceGroups
from equipoise.rows._device_table import DeviceTable
from equipoise.rows._entries import (
    ClassLossSpec,
    FunctionSpec,
    RateEntry,
    RateSpec,
    ReferencePredictions,
    Subgroup,
    SumSpec,
    Tally,
)
from equipoise.rows._group_column import Cell, GroupColumn
from equipoise.rows._groups import BlockGroups, Groups, MemoryGroups
from equipoise.rows._memory_sums import MemorySums
from equipoise.rows._memory_table import MemoryTable
from equipoise.rows._row_sums import NearKinks, RowSums
from equipoise.rows._scales import column_scales
from equipoise.rows._sums import Sums
from equipoise.rows._table import ColumnMoments, Table

__all__ = [
    "Table",
    "MemoryTable",
    "DeviceTable",
    "Blocks",
    "RowSums",
    "MemorySums",
    "BlockSums",
    "Sums",
    "Groups",
    "GroupColumn",
    "Cell",
    "MemoryGroups",
    "DeviceGroups",
    "BlockGroups",
    "Subgroup",
    "Tally",
    "RateEntry",
    "SumSpec",
    "RateSpec",
    "FunctionSpec",
    "ClassLossSpec",
    "ReferencePredictions",
    "Confusion",
    "NearKinks",
    "ColumnMoments",
    "column_scales",
]
