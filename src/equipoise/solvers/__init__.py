"""Methods for constrained problems, and their registry `SOLVERS`.

What ``__all__`` lists may be imported from here. Everything else is private and may change.
"""

# ruff: noqa: F403
import typing as _typing

from equipoise.solvers._auto import choose as choose
from equipoise.solvers._guarantees import GUARANTEE_COLUMNS as GUARANTEE_COLUMNS
from equipoise.solvers._guarantees import guarantee_page as guarantee_page
from equipoise.solvers._guarantees import guarantee_rows as guarantee_rows
from equipoise.solvers._oracle import Oracle as Oracle
from equipoise.solvers._parts.steps import *
from equipoise.solvers._registry import *
from equipoise.solvers._sequence import Sequence as Sequence
from equipoise.solvers._solver import Claim as Claim
from equipoise.solvers._solver import Finished as Finished
from equipoise.solvers._solver import Guarantee as Guarantee
from equipoise.solvers._solver import Need as Need
from equipoise.solvers._solver import Solver as Solver
from equipoise.solvers._solver import UnsuitableSolverError as UnsuitableSolverError
from equipoise.solvers._solver import check_needs as check_needs
from equipoise.solvers._staged import Staged as Staged
from equipoise.solvers._theory import *
from equipoise.solvers._wrappers import Averaged as Averaged
from equipoise.solvers._wrappers import BestCertified as BestCertified
from equipoise.solvers._wrappers import Restarted as Restarted

if not _typing.TYPE_CHECKING:  # type checkers read the lines above: `X as X` and `*` export
    __all__ = sorted(name for name in globals() if not name.startswith("_"))
