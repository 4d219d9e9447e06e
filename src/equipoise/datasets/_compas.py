"""COMPAS recidivism data (Angwin, Larson, Mattu & Kirchner 2016).

Only what was known at the screening becomes a feature. The COMPAS decile scores, anything dated
later but the label, and the defendants' names and birth dates are never loaded.
"""

from __future__ import annotations

import numpy as np

from equipoise import _check
from equipoise.datasets._columns import TextColumns, one_hot, parsed, read_columns, stack
from equipoise.datasets._dataset import Dataset
from equipoise.datasets._fetch import read

COUNTS = ("priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count")
FEATURES = ("age", *COUNTS, "sex", "c_charge_degree", "age_cat", "race")
FILTER = ("days_b_screening_arrest", "is_recid", "score_text")

NOTE = "The papers do not name their features; this choice is ours. "
NOTES = {
    "two-years": NOTE,
    "all": NOTE + "`is_recid` is unknown (-1) for 719 people; unless dropped they count as 0. ",
}


def load_compas(variant: str = "two-years", *, drop_unknown: bool = False) -> Dataset:
    """Load COMPAS: whether a defendant is charged again.

    Parameters
    ----------
    variant : {"two-years", "all"}
        ``"two-years"``: compas-scores-two-years after ProPublica's filter, 6,172 rows x 16, label
        `two_year_recid`. ``"all"``: compas-scores, 11,757 rows x 14, label `is_recid`.
    drop_unknown : bool
        Leave out the 719 rows of ``"all"`` whose label is unknown; otherwise it counts as 0, which
        keeps the number of rows that the paper gives.

    Returns
    -------
    Dataset
        Groups: ``"Caucasian"``, ``"other"``. Attributes: ``"race"``, ``"sex"``. Features: age;
        counts of priors and of juvenile felonies, misdemeanours and other offences; male; felony
        charge; age class (3 levels) and race (6), all levels in ``"two-years"`` and all but the
        first in ``"all"``. No split: the papers draw one, see `Dataset.divide`.
    """
    _check.choice("load_compas", "variant", variant, NOTES)
    _check.flag("load_compas", "drop_unknown", drop_unknown)
    if variant == "two-years":
        label, filename = "two_year_recid", "compas-scores-two-years.csv"
    else:
        label, filename = "is_recid", "compas-scores.csv"
    table = read_columns(read("compas", filename), list(dict.fromkeys([*FEATURES, *FILTER, label])))
    keep = _screened(table) if variant == "two-years" else np.ones(table["age"].size, dtype=bool)
    if drop_unknown:
        keep &= table["is_recid"] != "-1"
    table = {name: column[keep] for name, column in table.items()}
    X, names = _features(table, drop_first=variant == "all")
    return Dataset(
        name="compas",
        X=X,
        y=(table[label] == "1").astype(np.int64),
        groups=np.where(table["race"] == "Caucasian", "Caucasian", "other"),
        attributes={"race": table["race"], "sex": np.char.lower(table["sex"])},
        feature_names=names,
        target_names=("no recidivism", "recidivism"),
        note=NOTES[variant].strip(),
    )


def _screened(table: TextColumns) -> np.ndarray:
    """ProPublica's filter: the charge led to the screening, the outcome and score are known."""
    days = parsed(table["days_b_screening_arrest"])
    return (
        (np.abs(days) <= 30)
        & (table["is_recid"] != "-1")
        & (table["c_charge_degree"] != "O")
        & (table["score_text"] != "N/A")
    )


def _features(table: TextColumns, *, drop_first: bool) -> tuple[np.ndarray, tuple[str, ...]]:
    blocks = {name: parsed(table[name]) for name in ("age", *COUNTS)}
    blocks["sex=Male"] = (table["sex"] == "Male").astype(float)
    blocks["c_charge_degree=F"] = (table["c_charge_degree"] == "F").astype(float)
    for name in ("age_cat", "race"):
        levels, matrix = one_hot(table[name], drop_first=drop_first)
        blocks |= {f"{name}={level}": column for level, column in zip(levels, matrix.T)}
    return stack(blocks)
