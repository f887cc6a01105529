"""Problems by name."""

import subprocess
import sys

import numpy as np
import pytest

from noisewise_bench.problems import SUITES, TASKS, AdditiveNoise, make, suite

NAMES = [
    "bbob-noisy/f110/i3/d40",
    "official-bbob-noisy/f110/i3/d10",
    "additive/f1/i1/d10/gaussian/0.1",
    "additive/f1/i1/d10/t3/1e-05",
    "additive/f3/i2/d80/radial/0.5abs",
    "additive/f3/i2/d5/none",
    "noisysphere/d33/n1",
    "noisysphere/d14/n8.1",
    *(f"task/{task}/s1" for task in TASKS),
    "gym/CartPole-v1",
    "gym/Pendulum-v1/h8",
]


@pytest.mark.parametrize("name", NAMES)
def test_name_makes_the_problem_of_that_name(name):
    assert make(name).name == name


def test_names_with_other_spellings_make_the_same_problem():
    problem = make("additive/f1/i1/d10/gaussian/.10")
    assert problem.name == "additive/f1/i1/d10/gaussian/0.1"
    assert problem.level == 0.1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bbob/f1", "name is 'bbob/f1', it takes one such as"),
        ("task/lqr", "name is 'task/lqr'"),
        ("additive/f1/i1/d10/gaussian", "name is 'additive"),
        ("bbob-noisy/f99/i1/d5", "function is 99"),
    ],
)
def test_unknown_names_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        make(name)


class Mine:
    x0 = np.zeros(2)
    bounds = (np.full(2, -1.0), np.full(2, 1.0))


def test_own_problems_by_import_path():
    assert isinstance(make(f"{__name__}:Mine"), Mine)
    assert make(f"{__name__}:NAMES") is NAMES


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_can_be_made(name):
    names = suite(name, dimensions=[2, 3], instances=[1, 2])
    assert len(set(names)) == len(names) > 0
    for each in {n.split("/i")[0]: n for n in names}.values():
        assert make(each).name == each


def test_suites_have_the_size_they_say():
    assert len(suite("bbob-noisy")) == 30 * 15 * 3
    high, rest = suite("bbob-noisy-high", [10], [1]), suite("bbob-noisy-complement", [10], [1])
    assert sorted(high + rest) == suite("bbob-noisy", [10], [1])
    assert len(suite("late-noise", iter([10]), iter([1, 2]))) == 10 * 3 * 2
    assert len(suite("tasks", instances=range(1, 51))) == len(TASKS) * 50
    with pytest.raises(ValueError, match="name is 'bbob', it takes one of bbob-noisy"):
        suite("bbob")


def test_importing_needs_numpy_only_and_making_names_the_extra():
    code = """
import importlib.util, sys
import noisewise_bench.problems as problems
loaded = {'cma', 'sklearn', 'gymnasium', 'scipy', 'cocoex'} & set(sys.modules)
assert not loaded, loaded
real = importlib.util.find_spec
hidden = {'cma', 'sklearn', 'gymnasium'}
importlib.util.find_spec = lambda name, *a: None if name in hidden else real(name, *a)
for name in ('bbob-noisy/f101/i1/d2', 'task/hpo-digits/s1', 'gym/CartPole-v1'):
    try:
        problems.make(name)
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split("'")[1] for line in lines] == ["cma", "sklearn", "gymnasium"]
    assert all("pip install './bench[all]'" in line for line in lines)


def test_level_zero_is_the_function_itself():
    X = np.random.default_rng(0).uniform(-5, 5, (4, 6))
    rng = np.random.default_rng(1)
    silent, none = AdditiveNoise(15, 1, 6, "gaussian", 0.0), make("additive/f15/i1/d6/none")
    np.testing.assert_array_equal(silent.noisy(X, rng), none.noisy(X, rng))
