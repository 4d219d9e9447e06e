"""Adult / Census Income (Kohavi 1996; UCI, doi 10.24432/C5XW20), as LIBSVM's a9a or raw."""

from __future__ import annotations

import io

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise.datasets._columns import design, indices, read_columns
from equipoise.datasets._dataset import Dataset
from equipoise.datasets._fetch import read

FEMALE = 71  # 0-based column of a9a; the next one is male

NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
CATEGORICAL = (
    *("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex"),
    "native-country",
)
HEADER = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income"),
)

TARGETS = ("<=50K", ">50K")


def load_adult(variant: str = "a9a") -> Dataset:
    """Load Adult: whether a person earns more than 50,000 dollars a year.

    Parameters
    ----------
    variant : {"a9a", "raw"}
        ``"a9a"``: LIBSVM's 123 binary features (sparse), the form all papers use. ``"raw"``: UCI's
        14 attributes, six numbers as they are and eight categories one-hot (``?`` is a level).

    Returns
    -------
    Dataset
        48,842 rows, the same in both variants and in the same order. Groups: ``"female"``,
        ``"male"``. Split: ``"train"`` 32,561 and ``"test"`` 16,281 (UCI's; Lin et al. use them as
        the sets D and S).
    """
    _check.choice("load_adult", "variant", variant, ("a9a", "raw"))
    return _a9a() if variant == "a9a" else _raw()


def _a9a() -> Dataset:
    from sklearn.datasets import load_svmlight_files

    files = [io.BytesIO(read("adult_a9a", name)) for name in ("a9a", "a9a.t")]
    X, y, X_test, y_test = load_svmlight_files(files, n_features=123)
    features = sparse.csr_array(sparse.vstack([X, X_test], format="csr"))
    female = features[:, [FEMALE]].toarray().ravel() == 1.0
    train, test = indices(y.size, y_test.size)
    sex = np.where(female, "female", "male")
    return Dataset(
        name="adult",
        X=features,
        y=(np.concatenate([y, y_test]) > 0).astype(np.int64),
        groups=sex,
        attributes={"sex": sex},
        feature_names=tuple(
            {FEMALE: "sex=Female", FEMALE + 1: "sex=Male"}.get(j, f"a9a:{j + 1}")
            for j in range(123)
        ),
        target_names=TARGETS,
        split={"train": train, "test": test},
    )


def _raw() -> Dataset:
    columns = (*NUMERIC, *CATEGORICAL, "income")
    tables = [
        read_columns(read("adult_a9a", "adult.data"), columns, header=HEADER),
        # the first line of adult.test is a comment
        read_columns(read("adult_a9a", "adult.test").split(b"\n", 1)[1], columns, header=HEADER),
    ]
    train, test = indices(*(table["income"].size for table in tables))
    table = {name: np.concatenate([part[name] for part in tables]) for name in columns}
    X, names = design(table, NUMERIC, CATEGORICAL)
    sex = np.char.lower(table["sex"])
    return Dataset(
        name="adult",
        X=X,
        y=np.char.startswith(table["income"], ">").astype(np.int64),
        groups=sex,
        attributes={"sex": sex, "race": table["race"]},
        feature_names=names,
        target_names=TARGETS,
        split={"train": train, "test": test},
    )
