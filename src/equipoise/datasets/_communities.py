"""Communities and Crime (Redmond 2009; UCI, doi 10.24432/C53W3X) and its intersectional groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from equipoise import _check
from equipoise.datasets._columns import parsed, read_columns, stack
from equipoise.datasets._dataset import Dataset
from equipoise.datasets._fetch import read

TARGET = "ViolentCrimesPerPop"
NOT_PREDICTIVE = ("state", "county", "community", "communityname", "fold")
SHARES = ("racepctblack", "racePctAsian", "racePctHisp")
QUANTILES = tuple(round(0.05 + 0.1 * i, 2) for i in range(10))  # 0.05, 0.15, .., 0.95

NOTE = (
    "The paper gives 140 features and 535 intersectional groups without saying how; here are 145 "
    "features (122, and 23 marks of missing values), and the split and thresholds of Narasimhan et "
    "al. (2020) leave 809 groups."
)


def load_communities() -> Dataset:
    """Load Communities and Crime: whether the rate of violent crime is among the highest 30 %.

    Returns
    -------
    Dataset
        1,994 rows x 145: the 122 predictive columns with 0 for missing values, and a column
        ``<name>_is_missing`` for each of the 23 that have any. The label is 1 where the rate is at
        least its 70th percentile. Groups: none; attributes: the rate itself and the three shares
        that `intersectional_groups` uses. Split: ``"train"`` 50 %, ``"validation"`` 25 %,
        ``"test"`` 25 %, drawn as in the public code of Narasimhan et al. (2020).
    """
    text = read("communities_crime", "communities.names").decode("latin-1")
    lines = [line.split() for line in text.splitlines() if line.startswith("@attribute")]
    header = [line[1] for line in lines]
    names = [name for name in header if name not in NOT_PREDICTIVE]
    table = read_columns(read("communities_crime", "communities.data"), names, header=header)
    columns = {name: parsed(column) for name, column in table.items()}
    rate = columns.pop(TARGET)
    missing = {name: np.isnan(column) for name, column in columns.items()}
    blocks = {name: np.nan_to_num(column) for name, column in columns.items()}
    blocks |= {f"{name}_is_missing": gap * 1.0 for name, gap in missing.items() if gap.any()}
    X, feature_names = stack(blocks)
    return Dataset(
        name="communities",
        X=X,
        y=(rate >= np.quantile(rate, 0.7)).astype(np.int64),
        groups=None,
        attributes={TARGET: rate, **{name: columns[name] for name in SHARES}},
        feature_names=feature_names,
        target_names=("lower crime", "high crime"),
        split=_split(rate.size),
        note=NOTE,
    )


def _split(n: int) -> dict[str, np.ndarray]:
    from sklearn.model_selection import train_test_split

    random = np.random.RandomState(121212)  # the source's generator and seed
    rest, test = train_test_split(np.arange(n), test_size=0.25, random_state=random)
    train, validation = train_test_split(rest, test_size=1 / 3, random_state=random)
    parts = {"train": train, "validation": validation, "test": test}
    return {name: np.sort(part) for name, part in parts.items()}


def intersectional_groups(
    dataset: Dataset,
    attributes: Sequence[str] = SHARES,
    *,
    quantiles: Sequence[float] = QUANTILES,
    least_share: float = 0.01,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the groups of rows that lie above a threshold in every attribute at once.

    Group ``(t_1, .., t_k)`` is ``{a_1 > t_1 and .. and a_k > t_k}``, where ``t_j`` runs over the
    training quantiles of attribute j. With ten quantiles and three attributes there are 1,000
    candidates; those with more than `least_share` of the rows in **every** part of the split are
    kept.

    Parameters
    ----------
    dataset : Dataset
        With a split that has a part ``"train"``.
    attributes : sequence of str
        Names in ``dataset.attributes``.
    quantiles : sequence of float
    least_share : float

    Returns
    -------
    members : ndarray of bool, shape (n, groups)
        Whether row i belongs to group j; rows of all parts.
    thresholds : ndarray of shape (groups, k)

    References
    ----------
    Narasimhan, Cotter, Zhou, Wang & Guo (2020), Approximate heavily-constrained learning with
    Lagrange multiplier models.
    """
    owner = "intersectional_groups"
    least_share = _check.between(owner, "least_share", least_share, 0.0, 1.0)
    _check.kind(owner, "dataset", dataset, Dataset)
    _check.choice(owner, "dataset.split", "train", dataset.split)
    attributes = _check.sequence(owner, "attributes", attributes, str)
    for name in attributes:
        _check.choice(owner, "attributes", name, dataset.attributes)
    shares = _check.vector(owner, "quantiles", quantiles)
    if not attributes:
        _check.fail(owner, "attributes", "must name at least one", attributes)
    if shares.size == 0 or shares.min() < 0 or shares.max() > 1:
        _check.fail(owner, "quantiles", "must lie between 0 and 1, at least one", quantiles)
    values = np.column_stack([dataset.attributes[name] for name in attributes])  # (n, k)
    levels = np.quantile(values[dataset.split["train"]], shares, axis=0)  # (q, k)
    above = values[:, None, :] > levels  # (n, q, k)
    members = reduce(_cross, (above[:, :, j] for j in range(len(attributes))))
    grid = np.meshgrid(*levels.T, indexing="ij")
    thresholds = np.column_stack([axis.ravel() for axis in grid])
    kept = np.all(
        [members[rows].mean(axis=0) > least_share for rows in dataset.split.values()], axis=0
    )
    return members[:, kept], thresholds[kept]


def _cross(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """All pairwise intersections, (n, p) and (n, q) to (n, p q), the last index fastest."""
    return (left[:, :, None] & right[:, None, :]).reshape(len(left), -1)
