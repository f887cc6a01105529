"""The tests of the bench use the helpers of those of the library."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests"))
