"""Values in commands for the shell: always one word, never run, whatever is in them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewise.command.main import main
from noisewise.command.template import Template

SHELLS = [found for found in map(shutil.which, ("dash", "bash", "sh")) if found]
#: Values that run a command where they are not quoted, or are quoted in the wrong way.
HOSTILE = (
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "'$(touch pwned)'",
    "a\ntouch pwned #",
    "\n'\ntouch pwned\n'",
    "; touch pwned",
    "& touch pwned &",
    "\\'; touch pwned #",
    "EOF\ntouch pwned",
    "'\nEOF\ntouch pwned\n",
    ")) ; touch pwned ; ((",
    "a[$(touch pwned)]",
    "}; touch pwned; {",
    "$'\\'; touch pwned #",
    "--help",
    "~",
    "*",
    "",
)


def run(shell: str, template: Template, values: dict[str, str]) -> str:
    """What the command prints in that shell."""
    [text] = template.fill(values)
    env = {**os.environ, **template.environment(values)}
    done = subprocess.run([shell, "-c", text], capture_output=True, env=env, check=False)
    return done.stdout.decode()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_stay_words(
    shell: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for text in (
        "printf %s {x} | cat",
        "f() { printf %s {x}; }; set -- a; f b",
        'v={x}; printf %s "$v"',
        "printf %s 'a '{x}\" b\"",
        "(printf %s {x}) # don't",
        "# it's {{x}}\nprintf %s {x}",
        'v=$(printf %s {x}.); printf %s "${{v%.}}"',
        "printf %s ${no:-{x}}",
    ):
        expected = f"a {value} b" if "'a '" in text else value
        assert run(shell, Template((text,), shell=True), {"x": value}) == expected, text
        shown = Template((text,), shell=True).shown({"x": value})  # what a user would paste
        done = subprocess.run([shell, "-c", shown], capture_output=True, check=False)
        assert done.stdout.decode() == expected, text
    assert os.listdir() == []


REFUSED = {
    '"{x}"': "double quotes",
    "'{x}'": "single quotes",
    "awk 'BEGIN { print {x} }'": "single quotes",
    "`echo {x}`": "backticks",
    'echo "$(echo {x})"': "double quotes",
    "echo \"$(echo '{x}')\"": "double quotes",
    'echo "${a:-{x}}"': "double quotes",
    'echo \'"\'"{x}"': "double quotes",
    "echo it\\'s '{x}'": "single quotes",
    "cat <<EOF\n{x}\nEOF": "here-document",
    "cat <<'EOF'\n{x}\nEOF": "here-document",
    "cat <<-EOF; echo {x}": "here-document",
    "echo $(({x} + 1))": "arithmetic",
    "echo $((1 + (2) + {x}))": "arithmetic",
    "((a = {x}))": "arithmetic",
    "true # {x}": "a comment",
    "true;# don't {x}": "a comment",
    "# don't\necho '{x}'": "single quotes",
    "echo $'a' {x}": "$'...'",
    "echo \\{x}": "after \\",
    "echo ${x}": "after $",
    "echo ${{HOME}} '{x}'": "single quotes",
}


@pytest.mark.parametrize("text", REFUSED)
def test_placeholders_in_quotes_are_refused(text: str) -> None:
    """Also where it is the first of two that is in the wrong place."""
    for given_text in (text, f"{text}\n{{x}}"):
        with pytest.raises(ValueError, match="with --shell a placeholder must not be") as caught:
            Template(tuple(given_text.split(" ")), shell=True)
        assert REFUSED[text] in str(caught.value)
        assert "got {x}: noisewise quotes values itself" in str(caught.value)
    Template((text,))  # without a shell, quotes are characters as all others


def test_placeholders_outside_of_quotes_are_not_refused() -> None:
    for text in (
        "echo '\"' {x} '\"'",
        'echo "it\'s" {x}',
        "echo \\' {x} \\'",
        "echo a#b{x}",
        'echo "$(echo ")") " {x}',
        "echo $((1 << (2))) {x}",
        "cat <<< {x}",
        "echo ${{#a}} ${{a#b}} {x}",
        "# don't\necho {x}",
        "echo ${{HOME}} $HOME {x} {{x}}",
        'echo "\\"" {x}',
    ):
        Template((text,), shell=True)


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])))
def test_what_is_shown_can_be_typed(value: str) -> None:
    shown = Template(("printf", "%s", "{x}", "|", "cat"), shell=True).shown({"x": value})
    assert shlex.split(shown)[2] == value


PIECES = (
    "{x}",
    "'",
    '"',
    "`",
    "$(",
    ")",
    "${a:-",
    "}",
    "\\",
    "#",
    "\n",
    " ",
    "echo ",
    "case a in a) ",
)
PIECES += (
    "; ",
    "<<E\n",
    "\nE\n",
    "$'",
    "$((",
    "))",
    "((",
    "(",
    "a",
    ";; esac",
    "$",
    "${{a}}",
    "<<<",
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from(HOSTILE))
def test_no_command_makes_a_shell_run_a_value(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], value: str
) -> None:
    """Whatever the check of quotes makes of a command that no shell would understand."""
    try:
        template = Template(("echo " + "".join(pieces) + " {x}",), shell=True)
    except ValueError:
        return
    place = tmp_path_factory.mktemp("here")
    [text] = template.fill({"x": value})
    for shell in SHELLS:
        env = {**os.environ, **template.environment({"x": value})}
        command = [shell, "-c", text]
        subprocess.run(command, capture_output=True, cwd=place, env=env, timeout=60, check=False)
    assert not (place / "pwned").exists(), text


def test_tuning_with_hostile_choices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["tune", "--param", 'x=["$(touch pwned)", "`touch pwned`", "\'; touch pwned; \'"]']
    words += ["--budget", "9", "--seed", "0", "--method", "cma-es", "--shell", "--"]
    assert main([*words, 'echo "{x}"; echo 1']) == 2
    assert "must not be inside double quotes, got {x}" in capsys.readouterr().err
    assert main([*words, "printf %s {x} | wc -c"]) == 0
    assert sorted(os.listdir()) == ["run.nw"]
