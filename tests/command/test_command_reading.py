"""Values from what programs print, and commands from templates."""

from __future__ import annotations

import contextlib
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.command.reading import NoValue, Reader
from noisewise.command.template import Template
from noisewise.problem.space import Space


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("0.5\n", 0.5),
        ("epoch 3/10\nloss: 0.125, accuracy=97.5%", 97.5),
        ("loss=-1.5e-3\ndone", -1.5e-3),
        ("loss +.5 (model_v2, v1.2.3, 12ms)", 0.5),
        ("1E5", 1e5),
        ("7.", 7.0),
        ("\x1b[32m0.25\x1b[0m\x1b[2K", 0.25),
        ("f(3) = 4;", 4.0),
        ("[1, 2]", 2.0),
        ('{"loss": 3}', 3.0),
        ("loss \u22120.5", -0.5),  # a minus sign that is no hyphen
        ("1e\u22125", 1e-5),
        ("0.5\nfinished on 2024-01-05", 0.5),
        ("0.5 at 12:34:56", 0.5),
        ("0.5 after 3/10", 0.5),
        ("0.5 model-5 5-fold 0.7\u00b10.1 10^3 \u20137", 0.5),
        ("loss:0.25", 0.25),
        ("Epoch 5: ", 5.0),
        ("the loss is 0.25.", 0.25),
        ("**0.25**", 0.25),
        ("$0.25", 0.25),
        ("loss 1, 0.25", 0.25),
        ("1,049 files, loss 0.25", 0.25),
        ("\u2502 0.25 \u2502", 0.25),
    ],
)
def test_the_last_number_that_stands_alone(output: str, value: float) -> None:
    assert Reader().read(output) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_read_as_printed(value: float) -> None:
    assert Reader().read(f"result {value!r}\n") == value
    assert Reader("regex", r"result (\S+)").read(f"result {value!r}\n") == value
    assert Reader("json", "v").read(f'{{"v": {value!r}}}') == value


@pytest.mark.parametrize(
    ("reader", "output", "why"),
    [
        (Reader(), "", "there is no number on stdout"),
        (Reader(), "v2 1.2.3 x1", "there is no number on stdout"),
        (Reader(), "loss 1.0\nloss nan", "the value is nan"),
        (Reader(), "-inf", "the value is -inf"),
        (Reader("regex", "loss (.*)"), "value 3", "nothing on stdout matches 'loss (.*)'"),
        (
            Reader("regex", "loss (.*)"),
            "loss abc",
            "'abc', matched by 'loss (.*)', is not a number",
        ),
        (Reader("regex", "(x)?y"), "y", "None, matched by '(x)?y', is not a number"),
        (Reader("json", "loss"), "loss 3", "no JSON with the key 'loss' on stdout"),
        (Reader("json", "loss"), '{"loss": "3"}', "'loss' is '3' and not a number"),
        (Reader("json", "loss"), '{"loss": true}', "'loss' is True and not a number"),
        (Reader("json", "loss"), '{"loss": NaN}', "the value is nan"),
        (Reader(), "2024-01-05", "there is no number on stdout"),
        (Reader("json", "v"), '{"v": 1' + "0" * 400 + "}", "the value is inf"),
        (Reader("json", "v"), '{"v": -1' + "0" * 5000 + "}", "the value is -inf"),
        (Reader("json", "a.b"), '{"a": 3}', "no JSON with the key 'a.b' on stdout"),
    ],
)
def test_no_value(reader: Reader, output: str, why: str) -> None:
    with pytest.raises(NoValue) as caught:
        reader.read(output)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    "number",
    ["1,049", "1,235,320.64", "0,25", "1.234,5", "1'049", "1’049", "1\u202f049", "3,0.25", "[1,2]"],
)
def test_a_part_of_a_longer_number_is_no_value(number: str) -> None:
    """Thousands, a decimal comma or a list: any guess would be wrong for somebody."""
    for output in (f"loss: {number}", f"{number}.\n", f"-{number} %\ndone"):
        with pytest.raises(NoValue, match="may be a part of a longer number") as caught:
            Reader().read(output)
        assert "--regex or --json" in str(caught.value)
    assert Reader("regex", "(.)$").read("1,2") == 2.0  # whoever says where it is means it


def test_what_stands_around_a_value() -> None:
    long = f"{'x ' * 90}loss 0.25 {'y ' * 90}"
    assert Reader().find("step 3\nloss 0.25 \ndone").around == "loss 0.25"
    assert len(Reader().find(long).around) < 120
    assert "loss 0.25 y" in Reader().find(long).around
    assert Reader("regex", r"loss (\S+)").find("a 1\nloss 0.25 b 2\nc 3").around == "loss 0.25 b 2"
    assert Reader("json", "v").find('log\n{"v": 2}\n').around == '{"v": 2}'


def test_what_may_be_a_counter() -> None:
    for output in ("10", "step 10 time 1.0ms", "Epoch: 1.5", "iterations=1e3", "Epoch:5"):
        assert Reader().find(output).counter, output
    for output in ("loss 0.25", "epoch 3 loss 2.5", "1e-3"):
        assert not Reader().find(output).counter, output
    assert not Reader("regex", r"\d+").find("step 10").counter


def test_regex_and_json_find_the_last_one() -> None:
    text = "loss 3\nloss 2\nepoch 9\n"
    assert Reader("regex", r"^loss (\d+)").read(text) == 2.0
    assert Reader("regex", r"\d").read(text) == 9.0
    lines = '{"loss": 3}\nstep\n{"loss": 2, "eval": {"f1": [0.1, 0.2], "a.b": 7}}\n'
    assert Reader("json", "loss").read(lines) == 2.0
    assert Reader("json", "eval.f1.1").read(lines) == 0.2
    assert Reader("json", "a.b").read('{"a.b": 7}') == 7.0
    assert Reader("json", "loss").read('{\n  "loss": 5\n}\n') == 5.0
    assert math.isclose(Reader("json", "0").read("[1.5]"), 1.5)


def test_bad_readers() -> None:
    with pytest.raises(ValueError, match=r"--regex must be a regular expression, got '\('"):
        Reader("regex", "(")
    with pytest.raises(ValueError, match="--json must be the key"):
        Reader("json", "")


def test_placeholders() -> None:
    command = Template(("./train", "--lr={lr}", "{n}", '{"rate": {lr}}', "{{lr}}", "{ x }", "{}"))
    assert command.placeholders == {"lr", "n"}
    command.check(Space.parse(["lr=0..1", "n=0..1"]))
    assert command.fill({"lr": 1e-05, "n": 3}) == [
        "./train", "--lr=1e-05", "3", '{"rate": 1e-05}', "{lr}", "{ x }", "{}",
    ]  # fmt: skip
    assert command.shown({"lr": 0.5, "n": 3}).startswith("./train --lr=0.5 3 '{")
    with pytest.raises(ValueError, match=r"placeholder \{n\}, but there is no --param n="):
        command.check(Space.parse(["lr=0..1"]))
    with pytest.raises(ValueError, match=r"does not use the parameter m: put \{m\} where"):
        command.check(Space.parse(["lr=0..1", "n=0..1", "m=0..1"]))
    with pytest.raises(ValueError, match="after --, got nothing"):
        Template(())


CONDITIONAL = Space.parse(["opt=adam,sgd", "m=0..1 when opt=sgd"])


def test_arguments_of_what_does_not_apply_are_left_out() -> None:
    command = Template(("./train", "--opt={opt}", "--m={m}", "--m={{m}}"))
    command.check(CONDITIONAL)
    assert command.fill({"opt": "sgd", "m": 0.5}) == ["./train", "--opt=sgd", "--m=0.5", "--m={m}"]
    assert command.fill({"opt": "adam"}) == ["./train", "--opt=adam", "--m={m}"]
    assert command.shown({"opt": "adam"}) == "./train --opt=adam '--m={m}'"


@pytest.mark.parametrize(
    ("argv", "shell"),
    [
        (("p", "{opt}", "--m", "{m}"), False),
        (("p", "{opt},{m}"), False),
        (("p {opt} --m={m}",), True),
        (("p", "{opt}", "--m={m}"), True),
    ],
)
def test_what_may_not_apply_has_an_argument_of_its_own(argv: tuple[str, ...], shell: bool) -> None:
    with pytest.raises(ValueError, match=r"^the parameter m does not always apply, so it must"):
        Template(argv, shell).check(CONDITIONAL)


def test_a_seed_is_there_without_being_a_parameter() -> None:
    command = Template(("p", "{x}", "{seed}"))
    command.check(Space.parse(["x=0..1"]))
    assert command.shown({"x": 1}) == "p 1 1"
    assert Template(("p", "{seed}")).fill({"seed": 4}) == ["p", "4"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("reader", [Reader(), Reader("json", "v")])
def test_long_outputs_are_read_in_linear_time(reader: Reader) -> None:
    """A timeout of the program does not cover this."""
    for output in (
        "1" * 300_000,
        "1" * 300_000 + "x",
        "1." * 150_000,
        "-" * 300_000 + "x",
        ("1" * 100 + "x ") * 3_000,
        "e1" * 150_000,
        "1e" * 150_000,
        "\x1b[" + "1" * 300_000,
        "\x1b[1" * 75_000,
        '{"v": ' + "1" * 300_000 + "}",
        "[" * 300_000,
    ):
        began = time.process_time()
        with contextlib.suppress(NoValue):
            reader.read(output)
        assert time.process_time() - began < 2.0, output[:20]


def test_the_last_match_may_have_a_minus_sign() -> None:
    assert Reader("regex", r"loss (\S+)").read("loss \u22120.5") == -0.5
