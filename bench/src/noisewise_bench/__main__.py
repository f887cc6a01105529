"""``python -m noisewise_bench`` is ``noisewise bench``."""

from noisewise_bench.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
