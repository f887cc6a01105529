"""The command line."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import noisewise as nw
from noisewise.command.main import main

#: A bowl.
PLAIN = ["awk", "BEGIN { print ({x}-0.3)^2 + ({n}-7)^2/50 }"]
#: The same with noise: the same noise in every run of the tests, another in every evaluation.
NOISY = [
    "sh",
    "-c",
    'echo >> count; awk -v s=$(wc -l < count) "$0"',
    "BEGIN { print ({x}-0.3)^2 + ({n}-7)^2/50 + (s * 7919 % 1000) / 5000 }",
]
PARAMS = ["--param", "x=0..1", "--param", "n=1..20:int"]
#: For what does not depend on the method: the default one fits a model after every few values.
TUNE = ["tune", *PARAMS, "--seed", "1", "--method", "watchful"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tune(*options: str, program: list[str] = PLAIN, budget: int = 40) -> int:
    return main([*TUNE, "--budget", str(budget), *options, "--", *program])


def shown(capsys: pytest.CaptureFixture[str], path: str = "run.nw") -> dict[str, Any]:
    capsys.readouterr()
    assert main(["show", path, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def complaint(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The one sentence on stderr of a command that cannot be carried out."""
    assert main(argv) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("noisewise: ")
    assert said.err.count("\n") == 1
    return said.err.strip().removeprefix("noisewise: ")


def test_without_a_command_all_of_them_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    said = capsys.readouterr().err
    for command in ("tune", "probe", "show", "report", "watch", "methods", "bench"):
        assert f"\n    {command} " in said


def test_a_program_is_tuned(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--confirm", "6", "--method", "auto", program=NOISY, budget=120) == 0
    out, err = capsys.readouterr()
    assert max(map(len, out.split("Use it")[0].splitlines())) <= 80
    said = " ".join(out.split())
    assert out.startswith("Recommended:\n  x  0.")
    assert "Estimate: 0." in said
    assert "the mean of 6 evaluations of this point" in said
    assert "Do not trust it" in said
    assert "120 of 120 evaluations" in said
    assert re.search(r"Use it:\n  sh -c 'echo .* 'BEGIN \{ print \(0\.\d+-0.3\)", out)
    assert "noisewise report run.nw" in out
    first, *lines = err.splitlines()
    assert re.fullmatch(r"the first value is (0\.\d+), read from: \1\d*", first)
    assert len(lines) == 10  # one line per tenth, no animation
    assert "\r" not in err
    assert "\x1b" not in out + err
    assert re.search(r"120/120  f ≈ 0\.\d+ ± 0\.\d+  population 1  00:00 left", err)
    found = shown(capsys)
    assert abs(found["recommended"]["x"] - 0.3) < 0.2
    assert abs(found["recommended"]["n"] - 7) <= 3
    assert found["confirmed"] is True
    assert found["interval"][0] < found["estimate"] < found["interval"][1]
    assert found["spent_on"]["confirming the answer"] == 6
    assert sum(found["spent_on"].values()) == found["spent"] == 120


def test_the_bar_says_how_noisy_ranks_are(capsys: pytest.CaptureFixture[str]) -> None:
    """A strategy re-evaluates candidates; a model, which keeps so short a run, does not."""
    assert tune("--confirm", "6", "--method", "watchful", program=NOISY, budget=120) == 0
    assert re.search(
        r"120/120  f ≈ 0\.\d+ ± 0\.\d+  population \d+  .*(n=|re-evaluations).*  00:00 left",
        capsys.readouterr().err,
    )


def test_json_for_scripts_and_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--format", "json", "--quiet", "--log", "log.jsonl", "--workers", "3") == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(out)
    assert found["success"] is True
    assert found == shown(capsys)
    log = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    assert len(log) == 40
    assert min(line["value"] for line in log) == found["luckiest"]["value"]
    assert {type(line["parameters"]["n"]) for line in log} == {int}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_the_log_and_not_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--log", "/dev/full") == 0
    assert capsys.readouterr().err.count("the log ends here: [Errno 28]") == 1
    assert shown(capsys)["failures"] == 0


def test_a_limit_of_another_number(capsys: pytest.CaptureFixture[str]) -> None:
    """The lowest value, at x = 0.9, is beyond the limit."""
    program = ["awk", r'BEGIN { printf "{\"f\": %g, \"heat\": %g}", ({x}-0.9)^2, 100*{x} + {n}/9 }']
    limited = ["--json", "f", "--limit", "heat<=60", "--log", "log.jsonl", "--quiet"]
    assert tune(*limited, program=program, budget=60) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Constraints: heat \S+ ± \S+ \(at most 60\), met with probability", said)
    found = shown(capsys)
    assert found["recommended"]["x"] < 0.61
    assert found["constraints"]["feasible"] is True
    assert found["constraints"]["estimates"][0] <= 0.0
    assert json.loads(Path("log.jsonl").read_text().splitlines()[0])["limited"]["heat"] > 0.0
    assert main(["report", "run.nw"]) == 0
    assert "Constraints: heat " in Path("run.html").read_text()
    capsys.readouterr()
    words = [*TUNE, "--budget", "60", *limited, "--limit", "f>=1", "--", *program]
    assert "there --limit is ['heat<=60.0'], here" in complaint(capsys, *words)


def test_more_is_better(capsys: pytest.CaptureFixture[str]) -> None:
    program = ["awk", "BEGIN { print 5 - ({x}-0.3)^2 - ({n}-7)^2/50 }"]
    assert tune("--maximize", program=program, budget=150) == 0
    found = shown(capsys)
    assert found["recommended"]["x"] == pytest.approx(0.3, abs=0.05)
    assert found["estimate"] == pytest.approx(5.0, abs=0.05)
    assert found["misranking"] == 0.0
    assert found["luckiest"]["value"] <= 5.0
    assert main(["show", "run.nw"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "is the largest of 150 values. Repeated evaluations agreed exactly" in said


def test_an_interrupted_run_goes_on_as_if_nothing_happened(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert tune("--out", "whole.nw") == 0
    whole = shown(capsys, "whole.nw")
    for number, code in ((2, 130), (15, 143), (1, 129)):
        path = f"{number}.nw"
        # The pause lets the driver write down the value before.
        stop = f"[ $(wc -l < log) -ge 17 ] && sleep 0.5 && kill -{number} $PPID && sleep 20"
        script = f"echo >> log; {stop}; " + 'awk "$0"'
        program = ["sh", "-c", script, PLAIN[1]]
        Path("log").write_text("")
        assert tune("--out", path, program=program) == code
        said = capsys.readouterr().err.splitlines()[-1]
        assert said == (
            f"noisewise: interrupted after 16 of 40 evaluations; the same command goes on from "
            f"{path}"
        )
        assert shown(capsys, path)["done"] is False
        Path("log").write_text("")
        stopped_again = tune("--out", path, program=program)
        assert stopped_again == code  # after 16 more
        Path("log").write_text("")
        assert tune("--out", path, program=program) == 0
        found = shown(capsys, path)
        same = {"title": "", "command": ""}
        assert found | same == whole | same


def test_more_budget_after_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--quiet", "--log", "log") == 0
    assert tune("--quiet", "--log", "log", budget=60) == 0
    assert len(Path("log").read_text().splitlines()) == 60
    capsys.readouterr()
    found = shown(capsys, "run.nw")
    assert (found["budget"], found["spent"], found["done"]) == (60, 60, True)


def test_batches(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--quiet", "--batch", "12", budget=40) == 0
    capsys.readouterr()
    assert nw.Optimizer.load("run.nw")._run.setup.batch == 12
    assert "holds a run with batch 12, not None" in complaint(
        capsys, *TUNE, "--budget", "40", "--", *PLAIN
    )


def test_a_run_that_has_ended_is_only_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--log", "log") == 0
    first = capsys.readouterr().out
    assert tune("--log", "log") == 0
    assert capsys.readouterr().out == first
    assert len(Path("log").read_text().splitlines()) == 40


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--maximize"], "there --maximize is False, here True"),
        (["--param", "y=0..1", "{y}"], "there --param y is 'not given', here '0.0..1.0'"),
        (["--seed", "2"], "there --seed is 1, here 2"),
        (["--start", "n=3"], "there --start is {}, here {'n': 3.0}"),
        (["--regex", "."], "there --regex or --json is ['last', ''], here ['regex', '.']"),
        (["--budget", "39"], "budget must be at least 40, which the run in"),
        (["--confirm", "2"], "holds a run with confirm 'auto', not 2"),
        (["--method", "cma-es"], "holds a run with method Watchful("),
        (["{x}"], "there the command is ['awk', 'BEGIN"),
    ],
)
def test_another_command_on_the_same_file(
    change: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune("--quiet") == 0
    capsys.readouterr()
    more = [word for word in change if word.startswith("{")]
    options = [word for word in change if not word.startswith("{")]
    command = [*TUNE, "--budget", "40", *options, "--", *PLAIN, *more]
    complained = complaint(capsys, *command)
    assert said in complained
    assert "run.nw" in complained


def test_the_order_of_parameters_is_that_of_the_coordinates(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert tune("--quiet") == 0
    capsys.readouterr()
    turned = ["tune", *PARAMS[2:], *PARAMS[:2], *TUNE[5:], "--budget", "40", "--", *PLAIN]
    assert "there the order of --param is ['x', 'n']" in complaint(capsys, *turned)


def test_a_file_of_the_library_is_not_taken_over(capsys: pytest.CaptureFixture[str]) -> None:
    nw.Optimizer(budget=40, bounds=[(0, 1)] * 2).save("run.nw")
    command = ["tune", *PARAMS, "--budget", "40", "--", *PLAIN]
    assert "run.nw holds a run of another command: there --param is None" in complaint(
        capsys, *command
    )


def test_failures_are_told_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    script = "[ {n} -lt 12 ] || { echo 'too \x1b[31mlarge' >&2; exit 3; }; echo {x}"
    assert tune(program=["sh", "-c", script]) == 0
    err = capsys.readouterr().err
    assert len(re.findall(r"an evaluation failed \(x=0\.\d+, n=\d+\): exit code 3: too", err)) == 1
    assert "\x1b" not in err
    found = shown(capsys)
    assert 0 < found["failures"] < 40
    assert f"{found['failures']} failed  00:00 left" in err
    assert main(["show", "run.nw"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"{found['failures']} evaluations failed" in said


def test_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(program=["sh", "-c", "echo {x}{n} >&2; exit 1"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("Nothing to recommend: no evaluation has succeeded.")
    assert "Use it" not in out
    assert "Estimate: unknown" in out
    assert "there is none: no evaluation has succeeded" in out
    assert "further kinds of failures are counted" in err
    assert re.search(r"^noisewise: no answer: .+; remove run.nw to begin again$", err, re.M)


def test_no_answer_says_why_even_if_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--quiet", program=["sh", "-c", "echo no licence >&2; exit 3 # {x} {n}"]) == 1
    err = capsys.readouterr().err
    assert re.search(
        r"^an evaluation failed \(x=0\.\d+, n=\d+\): exit code 3: no licence$", err, re.M
    )
    assert "noisewise: no answer: " in err.splitlines()[-1]


@pytest.mark.parametrize("printed", ["1,049", "cost 1,235,320.64"])
def test_numbers_with_commas_are_no_values(
    printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = ["sh", "-c", f"# {{x}} {{n}}\necho loss: {printed}"]
    assert tune(program=program) == 1
    assert "print the value without commas" in capsys.readouterr().err


def test_a_counter_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    program = ["sh", "-c", "# {x} {n}\necho step 10 time 1.0ms"]
    assert tune("--quiet", program=program) == 0
    err = capsys.readouterr().err
    assert "two evaluations in a row gave 10, read from: step 10 time 1.0ms - if that counts" in err


def test_timeout_retries_shell_and_readers(capsys: pytest.CaptureFixture[str]) -> None:
    text = """echo '{"eval": {"loss": '{x}'}}' | cat; echo {n} >> seen; [ {x} != 2 ] || sleep 9"""
    options = ("--shell", "--timeout", "5", "--retries", "1", "--json", "eval.loss", "--quiet")
    assert tune(*options, program=[text], budget=20) == 0
    found = shown(capsys)
    assert len(Path("seen").read_text().split()) == 20
    assert 0.0 <= found["luckiest"]["value"] == found["luckiest"]["parameters"]["x"] <= 1.0
    assert found["command"].startswith("""echo '{"eval": {"loss": '0.""")
    script = "echo value: {x} of {n}"
    again = tune("--out", "b.nw", "--regex", r"value: (\S+)", program=["sh", "-c", script])
    assert again == 0
    found = shown(capsys, "b.nw")
    assert found["luckiest"]["value"] == found["luckiest"]["parameters"]["x"]


def test_choices_and_a_place_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["tune", "--param", "rate=1e-4..1e-1:log", "--param", "kind=good,bad,ugly"]
    argv += ["--budget", "60", "--seed", "0", "--start", "rate=1e-3", "--start", "kind=good"]
    script = '[ {kind} = good ] && k=0 || k=1; awk "BEGIN { print $k + (log({rate})+7)^2 }"'
    assert main([*argv, "--log", "log", "--", "sh", "-c", script]) == 0
    found = shown(capsys)
    assert found["recommended"]["kind"] == "good"
    assert found["recommended"]["rate"] == pytest.approx(9.1e-4, rel=0.3)
    first = [json.loads(line)["parameters"] for line in Path("log").read_text().splitlines()[:6]]
    assert {p["kind"] for p in first} <= {"good", "bad", "ugly"}


def test_wrong_commands(capsys: pytest.CaptureFixture[str]) -> None:
    x = ["--param", "x=0..1", "--budget", "10"]
    Path("plain.txt").write_text("hello")
    for words, said in (
        (["tune", *x], "the program to run must be given after --"),
        (["tune", "--budget", "10", "--", "a"], "--param must be given at least once"),
        (["tune", *x, "--", "./missing", "{x}"], "./missing cannot be run: there is no such"),
        (["tune", *x, "--", "./plain.txt", "{x}"], "it is not executable (chmod +x)"),
        (["tune", *x, "--", "plain.txt", "{x}"], "it is not on the PATH: write ./plain.txt"),
        (["tune", *x, "--", "echo", "{x}", "{y}"], "placeholder {y}, but there is no --param y="),
        (["tune", *x, "--", "echo"], "does not use the parameter x"),
        (["tune", *x, "--start", "y=1", "--", "echo", "{x}"], "--start must be NAME=VALUE"),
        (["tune", *x, "--start", "x=a", "--", "echo", "{x}"], "--start x must be a number"),
        (["tune", *x, "--start", "x=7", "--", "echo", "{x}"], "--start x must be a number in 0.0"),
        (["tune", *x, "--json", "a", "--regex", "b", "--", "echo", "{x}"], "exclude each other"),
        (["tune", *x, "--limit", "a<=1", "--", "echo", "{x}"], "--limit needs --json"),
        (["tune", *x, "--json", "a", "--limit", "b<1", "--", "echo", "{x}"], "KEY<=NUMBER"),
        (["tune", *x, "--json", "a", "--limit", "b<=nan", "--", "echo", "{x}"], "KEY<=NUMBER"),
        (
            ["tune", *x, "--json", "a", "--limit", "b>=1", "--method", "racing", "--", "sh", "{x}"],
            "--limit needs --method auto, gp, watchful, select or cma-es, got racing",
        ),
        (["tune", *x, "--workers", "0", "--", "echo", "{x}"], "--workers must be a whole number"),
        (["tune", *x, "--confirm", "10", "--", "echo", "{x}"], "confirm must be smaller than"),
        (["tune", *x, "--seed", "-1", "--", "echo", "{x}"], "--seed must be a whole number"),
        (["tune", *x, "--out", "no/run.nw", "--", "echo", "{x}"], "No such file or directory"),
        (["tune", *x, "--out", "plain.txt", "--", "echo", "{x}"], "not a noisewise checkpoint"),
        (["tune", *x, "--log", "no/log", "--", "echo", "{x}"], "No such file or directory"),
        (["show", "missing.nw"], "checkpoint missing.nw cannot be used: No such file"),
        (["report", "plain.txt"], "plain.txt is not a noisewise checkpoint"),
        (["report", "run.html"], "--out must differ from the run's file"),
        (["probe", "--param", "x=0..1", "--n", "1", "--", "echo", "{x}"], "--n must be"),
        (["probe", "--param", "x=0..1", "--workers", "0", "--", "true", "{x}"], "--workers must"),
    ):
        assert said in complaint(capsys, *words), words
    assert sorted(os.listdir()) == ["plain.txt"]


@pytest.mark.parametrize("words", [["tune"], ["unknown"], ["tune", "--budget", "x"]])
def test_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "usage: noisewise" in capsys.readouterr().err


def test_a_program_without_dashes_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["tune", "--param", "x=0..1", "--budget", "10", "echo", "{x}"])
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert "unrecognized arguments: echo {x} (the program to run belongs after --)" in err


def test_probe(capsys: pytest.CaptureFixture[str]) -> None:
    probe = ["probe", *PARAMS, "--seed", "0", "--format", "json", "--"]
    assert main([*probe, *PLAIN]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["misranking"], found["evaluations"], found["failures"]) == (0.0, 12, 0)
    assert "12/12" in err
    ask = ["probe", *PARAMS, "--seed", "0", "--n", "8", "--budget", "60", "--", *NOISY]
    assert main(ask) == 0
    said = capsys.readouterr().out
    assert "A run with 60 evaluations would measure its answer with 6 of them" in said
    assert said.startswith("Ranks of repeated evaluations disagree by ")
    assert "16 evaluations, 0 failed" in said
    together = [*probe[:-1], "--workers", "3", "--"]
    assert main([*together, *PLAIN]) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert main([*probe, "sh", "-c", "exit 1 # {x} {n}"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["misranking"], found["failures"]) == (None, 12)
    assert main(["probe", *PARAMS, "--quiet", "--", "sh", "-c", "exit 1 # {x} {n}"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("No evaluation succeeded: nothing is known about the noise.\n12 eval")
    assert "nan" not in said
    seeded = ["sh", "-c", "echo {seed} # {x} {n}"]
    for mode, count in (("independent", 12), ("common", 12), ("auto", 24)):
        twice = []
        for _ in range(2):
            assert main([*probe[:-1], "--seeds", mode, "--", *seeded]) == 0
            twice.append(json.loads(capsys.readouterr().out))
        assert twice[0] == twice[1]
        assert twice[0]["evaluations"] == count
        assert mode == "auto" or twice[0]["seeds"] == mode
    assert main([*probe[:-1], "--seeds", "common", "--", *PLAIN]) == 2
    assert "needs {seed} in the command" in capsys.readouterr().err
    stop = ["sh", "-c", "kill -2 $PPID; sleep 20 # {x} {n}"]
    assert main([*probe, *stop]) == 130
    assert "a probe keeps nothing" in capsys.readouterr().err


def test_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--quiet") == 0
    capsys.readouterr()
    assert main(["report", "run.nw"]) == 0
    assert capsys.readouterr().out == "run.html\n"
    text = Path("run.html").read_text(encoding="utf-8")
    assert "<bdi>n</bdi>" in text
    assert f"noisewise {nw.__version__}" in text
    assert main(["report", "run.nw", "--out", "other.html"]) == 0
    assert Path("other.html").read_text(encoding="utf-8") == text
    assert main(["report", "run.nw", "--csv", "run.csv"]) == 0
    rows = Path("run.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0].startswith("evaluation,purpose,value,")
    assert len(rows) == 1 + nw.Optimizer.load("run.nw").spent
    assert main(["report", "run.nw", "--csv", "run.nw"]) == 2


def test_methods_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines]
    assert names == [name for name in nw.list_methods() if name != "pem"]
    assert all(len(line.split()) > 4 for line in lines)
    assert main(["methods", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == names
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"noisewise {nw.__version__}\n"


def test_every_method_can_be_tuned_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "--json"]) == 0
    for name in json.loads(capsys.readouterr().out):
        values = "0,1" if name == "select" else "0..1"
        words = ["tune", "--param", f"x={values}", "--budget", "12", "--method", name, "--quiet"]
        assert main([*words, "--out", f"{name}.nw", "--", "echo", "{x}"]) == 0, name
        assert shown(capsys, f"{name}.nw")["method"] == nw.methods.get(name).name


def test_bench_is_there_if_its_package_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["bench", "--help"])
    assert caught.value.code == 0
    assert "noisewise bench" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "noisewise_bench.cli", None)
    assert main(["bench", "run"]) == 2
    said = capsys.readouterr().err
    assert "needs the package noisewise-bench" in said
    assert "pip install './bench[all]'" in said


def test_without_a_reader_of_its_output() -> None:
    """As in ``noisewise methods | true``."""
    words = [sys.executable, "-m", "noisewise", "methods"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0
    process.stderr.close()


def test_in_a_terminal_one_line_rewrites_itself() -> None:
    """Over ssh, say: a real terminal, narrow, in which Ctrl-C is typed; then the same again."""
    script = 'sleep 0.01; awk "$0"'
    words = [*TUNE, "--budget", "60", "--", "sh", "-c", script, PLAIN[1]]
    code, text = in_terminal(words, type_at="20/60")
    assert code == 130
    assert "the same command goes on from run.nw" in text
    code, text = in_terminal(words)
    assert code == 0
    assert "60/60" in text
    lines = re.findall(r"\r([^\r\n\x1b]*\d+/60  [^\r\n\x1b]*)\x1b\[K", text)
    assert len(lines) > 20
    assert max(map(len, lines)) <= 49
    assert not re.search(r"\x1b\[[0-9;]*m", text)  # no colour
    assert "Recommended:" in text


def in_terminal(words: list[str], type_at: str = "") -> tuple[int, str]:
    """Exit code and all output of the command in a terminal of 50 columns; Ctrl-C is typed when
    ``type_at`` is seen."""
    stty = shutil.which("stty")
    assert stty
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - another process
        subprocess.run([stty, "columns", "50"], check=True)
        os.environ.pop("COLUMNS", None)
        os.execv(sys.executable, [sys.executable, "-m", "noisewise", *words])
    seen, typed = b"", not type_at
    while True:
        try:
            block = os.read(terminal, 4096)
        except OSError:  # the other side is gone
            break
        seen += block
        if not typed and type_at.encode() in seen:
            os.write(terminal, b"\x03")
            typed = True
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode()


def test_earlier_measurements_from_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        f"{x / 10},{n},{(x / 10 - 0.3) ** 2 + (n - 7) ** 2 / 50}" for x in range(10) for n in (3, 9)
    ]
    Path("old.csv").write_text("\n".join(["x,n,value", *rows, "0.5,7,much", "5,7,0.1"]))
    said = complaint(capsys, "tune", *PARAMS, "--budget", "30", "--data", "old.csv", "--", *PLAIN)
    assert said.startswith("--data old.csv: line 22: value must be a number, got 'much'")
    assert not Path("run.nw").exists()
    assert tune("--data", "old.csv", "--skip-rows", "--method", "auto", budget=30) == 0
    assert "left out old.csv line 23: x must be a number in 0.0..1.0" in capsys.readouterr().err
    assert "20 rows of earlier data" in nw.Optimizer.load("run.nw").result().message
    assert shown(capsys)["spent"] == 30
    assert tune("--method", "auto", budget=30) == 2
    assert "holds a run with data ['20 rows" in capsys.readouterr().err


def test_parameters_that_apply_only_with_others(capsys: pytest.CaptureFixture[str]) -> None:
    """The program gets an argument less; what it got is in the log, the report's table, the run."""
    params = ["--param", "opt=adam,sgd", "--param", "m=0..1 when opt=sgd"]
    script = """if [ $1 = sgd ]; then awk "BEGIN { print (${2#m=} - 0.3)^2 }"; else echo 0.$#; fi"""
    program = ["--", "sh", "-c", script, "sh", "{opt}"]
    options = ["--seed", "1", "--budget", "30", "--log", "log"]
    assert "an argument of its own" in complaint(capsys, "tune", *params, *options, *program, "{m}")
    assert main(["tune", *params, *options, *program, "m={m}"]) == 0
    best = shown(capsys)["recommended"]
    assert best["opt"] == "sgd"
    assert abs(best["m"] - 0.3) < 0.2
    logged = [json.loads(line)["parameters"] for line in Path("log").read_text().splitlines()]
    assert {tuple(one) for one in logged} == {("opt",), ("opt", "m")}
    assert main(["report", "run.nw", "--csv", "run.csv"]) == 0
    rows = list(csv.DictReader(Path("run.csv").read_text().splitlines()))
    assert len(rows) == 30
    assert all((row["m"] != "") == (row["opt"] == "sgd") for row in rows)
    again = ["--seed", "2", "--budget", "9", "--out", "b.nw", "--data", "run.csv"]
    assert main(["tune", *params, *again, *program, "m={m}"]) == 0


def test_a_time_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """The same command goes on, and has new time."""
    said = complaint(capsys, *TUNE, "--budget", "9", "--max-time", "0", "--", *PLAIN)
    assert said == "--max-time must be a positive finite number, got 0.0"
    assert tune("--quiet", "--max-time", "0.2", budget=100_000) == 0
    assert "the time is up" in capsys.readouterr().out
    spent = shown(capsys)["spent"]
    assert spent < 100_000
    assert tune("--quiet", "--max-time", "0.2", budget=100_000) == 0
    assert shown(capsys)["spent"] > spent
