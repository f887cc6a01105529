"""Problems like those of users: what each must do, and the study that keeps half of them back."""

import csv
import datetime
import pickle

import numpy as np
import pytest

from noisewise_bench.experiments import kinds as study
from noisewise_bench.experiments.__main__ import main
from noisewise_bench.names import BenchError
from noisewise_bench.problem import Problem
from noisewise_bench.problems import kinds, make, suite

#: Every family with the smallest number of parameters that it has.
SMALLEST = [f"kinds/{name}/i2/d{family.dimensions[0]}" for name, family in kinds.FAMILIES.items()]


@pytest.mark.parametrize("name", SMALLEST)
def test_every_family_keeps_the_contract(name):
    problem = make(name)
    assert isinstance(problem, Problem)
    assert problem.name == name
    low, high = problem.bounds
    X = np.random.default_rng(1).uniform(low, high, (4, len(low)))
    values = problem.noisy(X, np.random.default_rng(1))
    assert values.shape == (4,)
    assert np.all(np.isfinite(values))
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(again.noisy(X, np.random.default_rng(1)), values)
    np.testing.assert_array_equal(again.regret(X), problem.regret(X))


@pytest.mark.parametrize("name", SMALLEST)
def test_truth_is_the_mean_of_what_is_observed(name):
    problem = make(name)
    low, high = problem.bounds
    X = np.random.default_rng(3).uniform(low, high, (2, len(low)))
    y = problem.noisy(np.repeat(X, 4_000, axis=0), np.random.default_rng(5)).reshape(2, -1)
    seen, true = y.mean(axis=1), problem._parts.truth((X + 1.0) / 4.0)
    assert np.all(np.abs(seen - true) < 5.0 * y.std(axis=1) / np.sqrt(y.shape[1]) + 1e-9)


@pytest.mark.parametrize("name", SMALLEST)
def test_no_random_point_is_better_than_the_optimum(name):
    problem = make(name)
    low, high = problem.bounds
    regret = problem.regret(np.random.default_rng(7).uniform(low, high, (3000, len(low))))
    assert regret.min() >= 1e-5
    assert 0.3 < np.median(regret) < 3.0


def test_each_half_has_as_many_families_and_none_twice():
    assert len(kinds.TUNING) == len(kinds.HELD_OUT) == 13
    assert not kinds.TUNING.keys() & kinds.HELD_OUT.keys()
    assert set(range(1, 13)) <= {d for f in kinds.FAMILIES.values() for d in f.dimensions}


def test_names_leave_out_dimensions_that_a_family_has_not():
    found = suite("kinds", dimensions=[1, 12], instances=[1])
    assert "kinds/queue/i1/d1" in found
    assert "kinds/queue/i1/d12" not in found


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing", 1, 2), "family is 'nothing'"),
        (("queue", 1, 3), "dimension is 3"),
        (("queue", 0, 2), "instance is 0"),
    ],
)
def test_an_unknown_problem_says_what_there_is(arguments, said):
    with pytest.raises(ValueError, match=said):
        kinds.make(*arguments)


def test_the_held_out_families_are_those_that_were_fixed_before_tuning():
    assert study.digest() == study.HELD_OUT_DIGEST


def test_a_look_at_the_held_out_half_is_written_down(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "LOOKS", tmp_path / "looks.csv")
    now = datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)
    study.note_look(["auto", "gp"], 7, now)
    [row] = csv.reader((tmp_path / "looks.csv").open())
    assert row[0].startswith("2026-01-02T03:04")
    assert row[2:] == ["auto gp", "7"]
    monkeypatch.setattr(study, "HELD_OUT_DIGEST", "0")
    with pytest.raises(BenchError, match="held-out families are not those"):
        study.note_look(["auto"], 7, now)


def test_the_study_prints_its_page_and_goes_on(tmp_path, capsys):
    options = ["--method", "cma-es", "--methods", "peer/random-and-middle", "--slow"]
    where = ["--db", str(tmp_path / "rows.sqlite"), "--out", str(tmp_path), "--workers", "1"]
    command = ["kinds", *options, "--instances", "1", "--budgets", "3d", "20d", *where]
    assert main(command) == 0
    text = (tmp_path / "kinds.md").read_text(encoding="utf-8")
    assert "| peer/random-and-middle | 3-4 |" in text
    assert "- queue: Service rates" in text
    assert "--slow --slow-instances 1`" in text  # none of the slow ones, as it was asked for
    assert main(command) == 0
    assert (tmp_path / "kinds.md").read_text(encoding="utf-8") == text
