"""From a table in text to columns, and from columns to a feature matrix; without pandas."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import numpy as np

TextColumns = dict[str, np.ndarray]


def read_columns(
    data: bytes,
    columns: Sequence[str],
    *,
    header: Sequence[str] | None = None,
    delimiter: str = ",",
) -> TextColumns:
    """Return the wanted columns of a CSV file as arrays of text.

    Parameters
    ----------
    data : bytes
        UTF-8 text. Empty lines are passed over.
    columns : sequence of str
        The only columns that are kept. Of two columns with one name the first is meant.
    header : sequence of str, optional
        Names of the columns where the file does not start with them.
    delimiter : str
    """
    rows = csv.reader(
        io.StringIO(data.decode("utf-8-sig")), delimiter=delimiter, skipinitialspace=True
    )
    names = list(header) if header is not None else next(rows)
    where = [names.index(column) for column in columns]
    kept = [[row[j] for j in where] for row in rows if row]
    return {name: np.array(column) for name, column in zip(columns, zip(*kept))}


def parsed(text: np.ndarray) -> np.ndarray:
    """Return text as float64; an empty field or ``?`` becomes NaN."""
    missing = (text == "") | (text == "?")
    return np.where(missing, "nan", text).astype(np.float64)


def one_hot(text: np.ndarray, *, drop_first: bool = False) -> tuple[list[str], np.ndarray]:
    """Return the sorted levels of a column and its 0/1 matrix, one column per level."""
    levels, code = np.unique(text, return_inverse=True)
    matrix = np.zeros((text.size, levels.size))
    matrix[np.arange(text.size), code] = 1.0
    first = 1 if drop_first else 0
    return [str(level) for level in levels[first:]], matrix[:, first:]


def design(
    table: TextColumns,
    numeric: Sequence[str],
    categorical: Sequence[str],
    *,
    drop_first: bool = False,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the feature matrix and its names: numbers as they are, then one-hot columns.

    Parameters
    ----------
    table : dict of str to ndarray
    numeric, categorical : sequence of str
        Columns, in the order they are to have.
    drop_first : bool
        Leave out the first level of each categorical column.
    """
    blocks: dict[str, np.ndarray] = {name: parsed(table[name]) for name in numeric}
    for name in categorical:
        levels, matrix = one_hot(table[name], drop_first=drop_first)
        blocks |= {f"{name}={level}": column for level, column in zip(levels, matrix.T)}
    return stack(blocks)


def stack(blocks: Mapping[str, np.ndarray]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return named columns as one C-ordered matrix and the names."""
    return np.ascontiguousarray(np.column_stack(list(blocks.values()))), tuple(blocks)


def indices(*sizes: int) -> list[np.ndarray]:
    """Return the row numbers of parts that follow each other: ``indices(2, 3)`` is 0 1 | 2 3 4."""
    ends = np.cumsum(sizes)
    return [np.arange(end - size, end) for size, end in zip(sizes, ends)]
