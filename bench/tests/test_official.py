"""The official suite, its data, and cocopp's pages from them."""

import tarfile

import numpy as np
import pytest

from noisewise_bench import official
from noisewise_bench.problems import BBOBNoisy, make


def random_search(oracle, budget, seed):
    low, high = oracle.bounds
    X = np.random.default_rng(seed).uniform(low, high, (budget, oracle.dimension))
    return X[np.argmin(oracle(X))]


def test_command_runs_the_suite_and_cocopp(tmp_path, capsys):
    """One function, so that cocopp is done soon; paths may contain spaces."""
    out = tmp_path / "coco data"
    arguments = (
        f"--method {__name__}:random_search --dimensions 2 --instances 1-3 --functions 110 "
        "--budget 20d --post --pack random-noisewise --out"
    )
    official.main([*arguments.split(), str(out)])
    data = out / "random-noisewise"
    info = (data / "bbobexp_f110.info").read_text()
    assert "suite = 'bbob-noisy', funcId = 110, DIM = 2" in info
    assert [part.split("|")[0] for part in info.split(", ")[-3:]] == ["1:40", "2:40", "3:40"]
    with tarfile.open(out / "random-noisewise.tgz") as packed:
        entries = packed.getmembers()
    files = {f"{data.name}/{p.relative_to(data)}" for p in data.rglob("*") if p.is_file()}
    assert {entry.name for entry in entries if entry.isfile()} == files
    assert {entry.uname for entry in entries} == {""}
    page = out / "ppdata" / "index.html"  # made from the packed data
    assert page.exists()
    assert list((out / "ppdata").glob("*/ppfigdim_f110.svg"))
    assert str(page) in capsys.readouterr().out


def test_data_depend_on_the_method_and_its_seed_only(tmp_path):
    logged = []
    for run, seed in enumerate([0, 0, 1]):
        folder = official.run_official(
            random_search,
            "random",
            tmp_path / str(run),
            dimensions=[3],
            instances=[1],
            functions=[101, 129],
            budget="10d",
            seed=seed,
        )
        logged.append((folder / "data_f129" / "bbobexp_f129_DIM3.dat").read_text())
    assert logged[0] == logged[1] != logged[2]


def test_logged_values_are_the_truth_of_the_seeded_twin(tmp_path):
    seen = []

    def watched(oracle, budget, seed):
        X = np.random.default_rng(seed).uniform(-5, 5, (budget, oracle.dimension))
        seen.append((oracle._problem, X))
        oracle(X)
        return X[0]

    folder = official.run_official(
        watched, "w", tmp_path, dimensions=[2], instances=[4], functions=[122], budget=30
    )
    (problem, X), data = seen[0], (folder / "data_f122" / "bbobexp_f122_DIM2.dat").read_text()
    assert problem.name == "official-bbob-noisy/f122/i4/d2"
    rows = [line.split() for line in data.splitlines() if not line.startswith("%")]
    best = np.minimum.accumulate(problem.regret(X))
    for row in rows:
        assert float(row[2]) == pytest.approx(best[int(row[0]) - 1], rel=1e-6)


def test_a_lone_problem_repeats_its_noise_in_every_run_and_other_instances_have_other_noise():
    problem, other = make("official-bbob-noisy/f107/i1/d5"), make("official-bbob-noisy/f107/i2/d5")
    X = np.tile(problem.x0, (50, 1))
    runs = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        runs.append(np.concatenate([problem.noisy(X[:20], rng), problem.noisy(X[20:], rng)]))
    assert np.array_equal(*runs)
    assert len(np.unique(runs[0])) == 50
    # Gaussian noise is a factor, so equal factors would be equal noise.
    twins = [BBOBNoisy(107, instance, 5) for instance in (1, 2)]
    values = [runs[0], other.noisy(X, np.random.default_rng(1))]
    factors = [(v - t.fopt) / t.regret(X) for v, t in zip(values, twins, strict=True)]
    assert not np.any(np.isclose(*factors))


def test_says_what_is_wrong(tmp_path):
    with pytest.raises(ValueError, match="dimensions has 4, the suite takes 2, 3, 5, 10, 20, 40"):
        official.run_official(random_search, "r", tmp_path, dimensions=[4])
    with pytest.raises(ValueError, match="dimension is 4, the suite takes 2, 3, 5, 10, 20, 40"):
        make("official-bbob-noisy/f101/i1/d4")
    with pytest.raises(ValueError, match=r"has no data of COCO: no file there ends with \.info"):
        official.pack(tmp_path, "auto")
    with pytest.raises(RuntimeError, match="cocopp could not process"):
        official.post_process(tmp_path / "nothing", tmp_path / "pages")
