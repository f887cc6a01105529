"""The tests of the documentation share how blocks are found."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
