"""The browser lives with the tests of the bench's page."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "bench"))
