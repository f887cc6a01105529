"""The official COCO bbob-noisy suite, logged by COCO's own observer and read by cocopp.

    python -m noisewise_bench.official --method rb-pem --dimensions 2,5 --instances 1-3 \
        --budget 20d --out coco-data --post

`--pack NAME` writes the data as COCO's archive takes them: NAME.tgz with the one folder NAME.

Its noise is COCO's own: one counter per suite, which no seed can change. The same command
therefore gives the same data, but for replicated studies use the seeded problems instead.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from .names import Budget, numbers
from .problem import Method, Oracle
from .problems._optional import optional, require
from .problems.landscapes import NOISY
from .problems.official import DIMENSIONS, OfficialProblem


def run_official(
    method: Method,
    name: str,
    out: str | Path,
    *,
    dimensions: Iterable[int] = (2, 3, 5, 10, 20),
    instances: Iterable[int] = range(1, 16),
    functions: Iterable[int] = NOISY,
    budget: str | int = "20d",
    seed: int = 0,
) -> Path:
    """Run ``method`` once per problem and return the folder of COCO's data under ``out``.

    Every problem gets its own seed: ``seed`` plus its place in the whole suite. COCO logs the
    best noise-free value among the points evaluated; what the method recommends is not logged.
    """
    cocoex = optional("cocoex")
    wanted = {
        "dimensions": _known("dimensions", dimensions, DIMENSIONS),
        "function_indices": [f - 100 for f in _known("functions", functions, NOISY)],
        "instance_indices": list(instances),
    }
    options = " ".join(f"{key}:{','.join(map(str, values))}" for key, values in wanted.items())
    where = f'outer_folder: "{Path(out).resolve()}" result_folder: {_plain(name)}'
    observer = cocoex.Observer("bbob-noisy", f'{where} algorithm_name: "{name}"')
    per_problem = Budget.parse(budget)
    for theirs in cocoex.Suite("bbob-noisy", "", options):
        theirs.observe_with(observer)
        problem = OfficialProblem(theirs)
        evaluations = per_problem.evaluations(problem)
        rng = np.random.default_rng(seed)  # asked for by the interface; COCO draws its own noise
        method(Oracle(problem, evaluations, rng), evaluations, seed + theirs.index)
        theirs.free()
    return Path(observer.result_folder)


def pack(data: str | Path, name: str) -> Path:
    """Write the file ``name``.tgz beside a data folder, with that folder alone, under that name.

    cocopp and COCO's archive take such files and show ``name`` as that of the algorithm.
    """
    if not list(Path(data).glob("*.info")):
        raise ValueError(f"{data} has no data of COCO: no file there ends with .info")
    packed = Path(data).parent / f"{_plain(name)}.tgz"
    with tarfile.open(packed, "w:gz") as file:
        file.add(data, arcname=packed.stem, filter=_anonymous)
    return packed


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """An entry that does not name the user of this machine."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def _plain(name: str) -> str:
    """A name that is fit for files and folders."""
    return re.sub(r"[^\w.-]+", "_", name)


def post_process(data: str | Path, out: str | Path) -> Path:
    """Let cocopp make its figures and tables from data, packed or not; returns its start page."""
    require("cocopp")
    command = [sys.executable, "-m", "cocopp", "-o", str(out), str(data)]
    # A process of its own, because cocopp changes matplotlib's settings and its own for good.
    done = subprocess.run(
        command, env={**os.environ, "MPLBACKEND": "Agg"}, capture_output=True, text=True
    )
    page = Path(out) / "index.html"
    if done.returncode or not page.exists():
        raise RuntimeError(f"cocopp could not process {data}: {done.stderr.strip()[-500:]}")
    return page


def _known(what: str, given: Iterable[int], known: tuple[int, ...]) -> list[int]:
    values = list(given)
    for value in values:
        if value not in known:
            raise ValueError(f"{what} has {value}, the suite takes {', '.join(map(str, known))}")
    return values


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    from .methods import get

    parser = argparse.ArgumentParser(
        prog="python -m noisewise_bench.official", description="Run the official bbob-noisy suite."
    )
    parser.add_argument("--method", required=True, help="name of a method, or module:function")
    parser.add_argument("--dimensions", default="2,3,5,10,20", help="among 2, 3, 5, 10, 20, 40")
    parser.add_argument("--instances", default="1-15")
    parser.add_argument("--functions", default="101-130")
    parser.add_argument("--budget", default="20d", help="evaluations: 800, or 20d per dimension")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="coco-data", help="folder of COCO's data")
    parser.add_argument("--post", action="store_true", help="post-process the data with cocopp")
    parser.add_argument(
        "--pack", metavar="NAME", help="name it so, and write NAME.tgz for COCO's archive"
    )
    options = parser.parse_args(arguments)
    data = run_official(
        get(options.method),
        options.pack or options.method,
        options.out,
        dimensions=numbers(options.dimensions, "--dimensions"),
        instances=numbers(options.instances, "--instances"),
        functions=numbers(options.functions, "--functions"),
        budget=options.budget,
        seed=options.seed,
    )
    print(f"data: {data}")
    if options.pack:
        data = pack(data, options.pack)
        print(f"packed: {data}")
    if options.post:
        print(f"figures and tables: {post_process(data, Path(options.out) / 'ppdata')}")


if __name__ == "__main__":
    main()
