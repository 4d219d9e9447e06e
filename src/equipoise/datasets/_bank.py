"""Bank Marketing (Moro, Cortez & Rita 2014; UCI, doi 10.24432/C5K306)."""

from __future__ import annotations

import numpy as np

from equipoise import _check
from equipoise.datasets._columns import design, parsed, read_columns
from equipoise.datasets._dataset import Dataset
from equipoise.datasets._fetch import read

FILES = {"additional": "bank-additional-full.csv", "full": "bank-full.csv"}

NUMERIC = {
    "additional": "age duration campaign pdays previous emp.var.rate cons.price.idx cons.conf.idx "
    "euribor3m nr.employed",
    "full": "age balance duration campaign pdays previous",
}
CATEGORICAL = {
    "additional": "job marital education default housing loan contact month day_of_week poutcome",
    "full": "job marital education default housing loan contact day month poutcome",
}

DURATION = "`duration` is known only after the call; the papers keep it."
NOTES = {
    "additional": "The papers give 54 features without naming them; here one level of each "
    "category is left out (53) and a constant is added. ",
    "full": "The paper gives 45,210 rows and 81 features without naming them; here are all 45,211 "
    "rows, and `day` counts as a category. ",
}


def load_bank(variant: str = "additional") -> Dataset:
    """Load Bank Marketing: whether a client subscribes a term deposit.

    Parameters
    ----------
    variant : {"additional", "full"}
        ``"additional"``: bank-additional-full, 41,188 rows x 54 (first level of each category left
        out, a constant last), grouped by age: ``"25-60"`` against ``"other"``. ``"full"``:
        bank-full, 45,211 rows x 81 (all levels one-hot, `day` among the categories), grouped by
        marital status: ``"single"`` against ``"other"``.

    Returns
    -------
    Dataset
        Numbers are not scaled. Attributes: ``"age"``, ``"marital"``. No split: the papers draw one,
        see `Dataset.divide`.
    """
    _check.choice("load_bank", "variant", variant, FILES)
    numeric, categorical = NUMERIC[variant].split(), CATEGORICAL[variant].split()
    table = read_columns(
        read("bank_marketing", FILES[variant]), [*numeric, *categorical, "y"], delimiter=";"
    )
    age = parsed(table["age"])
    if variant == "additional":
        X, names = design(table, numeric, categorical, drop_first=True)
        X, names = np.column_stack([X, np.ones(age.size)]), (*names, "constant")
        groups = np.where((age >= 25) & (age <= 60), "25-60", "other")
    else:
        X, names = design(table, numeric, categorical)
        groups = np.where(table["marital"] == "single", "single", "other")
    return Dataset(
        name="bank",
        X=X,
        y=(table["y"] == "yes").astype(np.int64),
        groups=groups,
        attributes={"age": age, "marital": table["marital"]},
        feature_names=names,
        target_names=("no", "yes"),
        note=NOTES[variant] + DURATION,
    )
