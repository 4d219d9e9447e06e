"""LendingClub loans: extracts that stand in for the paper's file, which is no longer public."""

from __future__ import annotations

import numpy as np

from equipoise import _check
from equipoise.datasets._columns import TextColumns, design, read_columns
from equipoise.datasets._dataset import Dataset
from equipoise.datasets._fetch import read

NOTE = (
    "SUBSTITUTE: the paper's LoanStats_2018Q4 (128,375 loans x 250) is no longer public. This is "
    "another LendingClub extract; results on it are not results on the paper's data."
)

# Only columns that are known when the loan is made: what is paid or settled later would give the label
# away.
NUMERIC = {
    "old": (
        "loan_amnt funded_amnt funded_amnt_inv term int_rate installment annual_inc dti "
        "delinq_2yrs inq_last_6mths mths_since_last_delinq mths_since_last_record open_acc "
        "pub_rec revol_bal revol_util total_acc pub_rec_bankruptcies"
    ),
    "young": (
        "loan_amnt int_rate installment annual_inc dti delinq_2yrs inq_last_6mths open_acc "
        "pub_rec revol_bal total_acc collections_12_mths_ex_med acc_now_delinq tot_coll_amt "
        "tot_cur_bal open_acc_6m open_act_il open_il_12m open_il_24m mths_since_rcnt_il "
        "total_bal_il il_util open_rv_12m open_rv_24m max_bal_bc all_util total_rev_hi_lim "
        "inq_fi total_cu_tl inq_last_12m acc_open_past_24mths avg_cur_bal bc_open_to_buy "
        "bc_util chargeoff_within_12_mths delinq_amnt mo_sin_old_il_acct mo_sin_old_rev_tl_op "
        "mo_sin_rcnt_rev_tl_op mo_sin_rcnt_tl mort_acc mths_since_recent_bc "
        "mths_since_recent_inq num_accts_ever_120_pd num_actv_bc_tl num_actv_rev_tl "
        "num_bc_sats num_bc_tl num_il_tl num_op_rev_tl num_rev_accts num_rev_tl_bal_gt_0 "
        "num_sats num_tl_30dpd num_tl_90g_dpd_24m num_tl_op_past_12m pct_tl_nvr_dlq "
        "percent_bc_gt_75 pub_rec_bankruptcies tot_hi_cred_lim total_bal_ex_mort "
        "total_bc_limit total_il_high_credit_limit"
    ),
}
CATEGORICAL = {
    "old": "grade sub_grade emp_length home_ownership verification_status purpose addr_state",
    "young": "home_ownership verification_status initial_list_status application_type",
}
DATES = ("issue_d", "earliest_cr_line")

FILES = {
    "2007-2011": "LoanStats_2007_2011.csv",
    "2019": "2019loans.csv",
    "2020Q1": "2020Q1loans.csv",
}


def load_loans(variant: str = "2007-2011") -> Dataset:
    """Load LendingClub loans: whether a loan is charged off.

    Parameters
    ----------
    variant : {"2007-2011", "2019", "2020Q1"}
        ``"2007-2011"``: 42,535 loans that have all ended; the best stand-in. ``"2019"`` and
        ``"2020Q1"``: 12,180 and 4,702 young loans, `high_risk` against `low_risk`, balanced 1:1 by
        those who made the extract.

    Returns
    -------
    Dataset
        Features: what was known when the loan was made, numbers as they are (0 for missing values,
        with a mark ``<name>_is_missing``), categories one-hot. Groups: home ownership
        ``"mortgage"`` against ``"other"``; attribute: ``"home_ownership"``. No split. **A
        substitute**: see `note`.
    """
    _check.choice("load_loans", "variant", variant, FILES)
    data = read("loans", FILES[variant])
    age = "old" if variant == "2007-2011" else "young"
    numeric, categorical = NUMERIC[age].split(), CATEGORICAL[age].split()
    if age == "old":
        table = read_columns(data, [*numeric, *categorical, *DATES, "loan_status"])
        table["credit_history_months"] = _history(table)
        numeric.append("credit_history_months")
        bad, targets = (
            np.char.endswith(table["loan_status"], "Charged Off"),
            ("repaid", "charged off"),
        )
    else:
        table = read_columns(data, [*numeric, *categorical, "target"])
        bad, targets = table["target"] == "high_risk", ("low risk", "high risk")
    X, names = design(table, numeric, categorical)
    X, names = _fill(X, names)
    return Dataset(
        name="loans",
        X=X,
        y=bad.astype(np.int64),
        groups=np.where(table["home_ownership"] == "MORTGAGE", "mortgage", "other"),
        attributes={"home_ownership": table["home_ownership"]},
        feature_names=names,
        target_names=targets,
        note=NOTE if age == "old" else f"{NOTE} Its two classes were balanced 1:1.",
    )


def _history(table: TextColumns) -> np.ndarray:
    """Months from the first credit line to the loan, from dates written YYYY-MM."""
    issued, opened = (np.where(table[name] == "", "NaT", table[name]) for name in DATES)
    months = issued.astype("datetime64[M]") - opened.astype("datetime64[M]")
    return np.where(np.isnat(months), "nan", months.astype(np.int64).astype(str))


def _fill(X: np.ndarray, names: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Put 0 for missing values, and mark them in a further column."""
    missing = np.isnan(X)
    gaps = np.flatnonzero(missing.any(axis=0))
    marks = tuple(f"{names[j]}_is_missing" for j in gaps)
    return np.column_stack([np.where(missing, 0.0, X), missing[:, gaps]]), (*names, *marks)
