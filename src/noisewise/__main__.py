"""``python -m noisewise``."""

import sys

from noisewise.cli import main

sys.exit(main())
