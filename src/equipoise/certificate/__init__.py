"""The examiner: it knows no solver, and judges the point that is returned.

What ``__all__`` lists may be imported from here. Everything else is private and may change.
"""

from equipoise.certificate._curvature import curvature_at, violation_curvature
from equipoise.certificate._curvature_bounds import Curvature
from equipoise.certificate._examiner import Certificate, certify, examine, with_curvature
from equipoise.certificate._infeasibility import Infeasibility, diagnose
from equipoise.certificate._kinks import NearKKT, near_kinks
from equipoise.certificate._near_stationarity import (
    NearStationarity,
    near_stationarity,
    near_within,
)
from equipoise.certificate._proof import InfeasibilityProof
from equipoise.certificate._proving import provable, prove_infeasible
from equipoise.certificate._residuals import Residuals

__all__ = [
    "Certificate",
    "Residuals",
    "certify",
    "examine",
    "with_curvature",
    "Curvature",
    "curvature_at",
    "violation_curvature",
    "Infeasibility",
    "InfeasibilityProof",
    "diagnose",
    "provable",
    "prove_infeasible",
    "NearStationarity",
    "near_stationarity",
    "near_within",
    "NearKKT",
    "near_kinks",
]
