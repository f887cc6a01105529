"""``python -m noisewise``."""

import sys

from noisewise.command.main import main

sys.exit(main())
