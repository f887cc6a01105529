#!/usr/bin/env bash
# A newcomer's path, timed: clone, install, write an objective of one's own, tune it from the
# command line. Needs git, python3 and pip. Everything happens in a temporary folder.
#
#     bash examples/newcomer.sh [REPOSITORY]    # the clone this file is in, if not given
set -euo pipefail
repository=${1:-$(cd "$(dirname "$0")/.." && pwd)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
SECONDS=0

step() {
    printf '%4d s  %s\n' "$SECONDS" "$1" >&2
}

git clone --quiet "$repository" noisewise
step "cloned"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check ./noisewise
export PATH="$folder/env/bin:$PATH"
step "installed"
cat > darts.py <<'PROGRAM'
import random
import sys

aim, force = (float(word) for word in sys.argv[1:])
miss = abs(aim - 12.0 + random.gauss(0, 2)) + abs(force - 3.0 + random.gauss(0, 0.5))
print("distance", miss)
PROGRAM
step "wrote an objective (as fast as a script can)"
noisewise tune --param aim=0..30 --param force=0..10 --budget 200 --confirm 20 --workers 2 \
    --quiet -- python darts.py {aim} {force}
step "tuned it with 200 runs"
noisewise report run.nw
step "made its page"
