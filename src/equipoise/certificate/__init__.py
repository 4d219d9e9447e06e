"""The examiner: it knows no solver, and judges the point that is returned.

What ``__all__`` lists may be imported from here. Everything else is private and may change.
"""

from equipoise.certificate._curvature_bounds import Curvature
from equipoise.certificate._examiner import Certificate, certify, examine
from equipoise.certificate._infeasibility import Infeasibility, diagnose
from equipoise.certificate._kinks import NearKKT, near_kinks
from equipoise.certificate._near_stationarity import (
    NearStationarity,
    near_stationarity,
    near_within,
)
from equipoise.certificate._plane_search import near_planes
from equipoise.certificate._planes import NearOptimality
from equipoise.certificate._proof import InfeasibilityProof
from equipoise.certificate._residuals import Residuals

__all__ = [
    "Certificate",
    "Residuals",
    "certify",
    "examine",
    "Curvature",
    "Infeasibility",
    "InfeasibilityProof",
    "diagnose",
    "NearStationarity",
    "near_stationarity",
    "near_within",
    "NearKKT",
    "near_kinks",
    "NearOptimality",
    "near_planes",
]
