"""Names of the command line, taken apart."""

from __future__ import annotations

import pytest
from bench_toys import Sphere
from hypothesis import given
from hypothesis import strategies as st

from noisewise_bench.names import BenchError, Budget, Spec, load, numbers, one_of, parse, split


def test_a_name_with_options_is_taken_apart() -> None:
    assert parse("rb-pem") == Spec("rb-pem", {})
    assert parse("cma-es()") == Spec("cma-es", {})
    assert parse("cma-es(population=60, c_mean=0.3, kind='a,b')") == Spec(
        "cma-es", {"population": 60, "c_mean": 0.3, "kind": "a,b"}
    )
    assert parse("x(pair=(1, -2), on=True)").options == {"pair": (1, -2), "on": True}


@pytest.mark.parametrize(
    "name", ["", "(a=1)", "x(1)", "x(a=open('f'))", "x(a=1", "x)a(", "x(a=b)", "x(**{'a': 1})"]
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(BenchError, match="look"):
        parse(name)


def test_names_are_split_outside_parentheses() -> None:
    assert split("a, b(c=1,d=(2,3)),e") == ["a", "b(c=1,d=(2,3))", "e"]
    assert split(["a,b", " c "]) == ["a", "b", "c"]
    assert split([]) == split(",") == []


def test_numbers_and_ranges() -> None:
    assert numbers("1-3,7,3", "--seeds") == [1, 2, 3, 7]
    for text in ("x", "1-", "-3", "1.5"):
        with pytest.raises(BenchError, match="--seeds takes whole numbers"):
            numbers(text, "--seeds")
    with pytest.raises(BenchError, match="runs backwards: '5-2'"):
        numbers("5-2", "--seeds")


@given(st.integers(1, 10**9), st.booleans(), st.integers(1, 300))
def test_budgets_mean_what_they_say(amount: int, per_dimension: bool, dimension: int) -> None:
    budget = Budget.parse(f"{amount}{'d' if per_dimension else ''}")
    assert budget.evaluations(Sphere(dimension)) == amount * (dimension if per_dimension else 1)
    assert Budget.parse(budget.label) == budget


def test_a_budget_may_be_the_problems_own() -> None:
    problem = Sphere()
    with pytest.raises(BenchError, match="needs problems with the attribute budget"):
        Budget.parse("own").evaluations(problem)
    problem.budget = 77  # type: ignore[attr-defined]
    assert Budget.parse("own").evaluations(problem) == 77


def test_spellings_of_one_budget_share_a_label() -> None:
    assert {Budget.parse(text).label for text in ("200d", " 0200D ")} == {"200d"}
    assert Budget.parse(800).label == "800"
    for text in ("0", "d", "1.5d", "-3", ""):
        with pytest.raises(BenchError, match="a budget is a number"):
            Budget.parse(text)


def test_import_paths() -> None:
    assert load("bench_toys:Sphere") is Sphere
    with pytest.raises(BenchError, match="cannot be imported"):
        load("no_such_module:x")
    with pytest.raises(BenchError, match="has no attribute 'nothing'"):
        load("bench_toys:nothing")


def test_long_lists_are_cut() -> None:
    assert one_of(["a", "b"]) == "a, b"
    assert one_of(["a", "b", "c"], limit=2) == "a, b, ... (3 in all)"
