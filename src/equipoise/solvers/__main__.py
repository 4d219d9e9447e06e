"""Write the guarantee table: ``python -m equipoise.solvers docs/guarantees.md``."""

import sys
from pathlib import Path

from equipoise.solvers import guarantee_page

if __name__ == "__main__":
    Path(sys.argv[1]).write_text(guarantee_page(), encoding="utf-8")
