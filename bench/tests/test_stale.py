"""No committed table outlives the code that made it without saying so."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import support
from noisewise_bench import as_run, behaviour, campaign, headline, problems, stale, stamps
from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import Scope, Study, collect, versus, write
from noisewise_bench.names import BenchError
from noisewise_bench.peers import environment
from noisewise_bench.problems.bbob_noisy import BBOBNoisy
from noisewise_bench.stamps import Stamp
from noisewise_bench.store import Store
from noisewise_bench.task import Row

ROOT = Path(__file__).parents[2]
#: In one process, so that no digest is computed twice.
pytestmark = pytest.mark.xdist_group("digests")
METHOD, PROBLEM = "as-run/rb-pem", "bbob-noisy/f110/i1/d10"


@pytest.fixture
def fresh() -> Iterator[None]:
    """Digests of code that a test changes are not remembered."""
    caches = (behaviour.of_method, behaviour.of_problems, stamps.of_computed)
    yield
    for cache in caches:
        cache.cache_clear()


@support.same_arithmetic
@pytest.mark.untraced
@pytest.mark.parametrize("page", stale.pages(ROOT))
def test_a_page_is_of_this_code_or_says_that_it_is_not(page: str) -> None:
    assert (said := stale.complaint(ROOT, page)) is None, said


@pytest.mark.parametrize("page", stale.pages(ROOT))
def test_every_name_of_a_stamp_has_a_digest(page: str) -> None:
    """Else a change of that method or problem would go unnoticed."""
    stamp = stamps.read((ROOT / page).read_text())
    assert stamp is not None
    assert [name for name, digest in (stamp.methods | stamp.problems).items() if not digest] == []


@pytest.mark.parametrize("suite", problems.SUITES)
def test_every_problem_of_a_suite_has_a_digest(suite: str) -> None:
    for kind in behaviour.families(problems.suite(suite, instances=(1,))):
        assert behaviour.of_problems(kind), f"{kind} has none"


def test_every_table_and_figure_belongs_to_a_page() -> None:
    for path in (ROOT / stale.FINDINGS).rglob("*"):
        if path.suffix in (".csv", ".svg"):
            page = path.with_name(re.sub(r"-(\d+|cells)$", "", path.stem) + ".md")
            assert page.exists(), f"{path} belongs to no page"


def _study() -> Study:
    def grids(scope: Scope) -> list[Grid]:
        return [Grid.of([PROBLEM], [METHOD, "sep-cma-es"], ["10d"], scope.seeds)]

    return Study(
        "small", "A small study", Scope((1,), (10,), (1,)), grids,
        lambda rows: [versus(rows, METHOD, "recommended", "one against the other")],
    )  # fmt: skip


def _make(root: Path) -> str:
    """Run what is missing or stale of the study, write its page; its name."""
    study, folder = _study(), root / stale.FINDINGS
    rows = collect(study.grids(study.scope), root / "rows.sqlite", 1)
    return write(study, study.scope, rows, folder).relative_to(root).as_posix()


def test_red_on_a_changed_constant_and_green_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    """A constant of a method changes: its page is stale until it is marked or made again."""
    page = _make(tmp_path)
    assert stale.complaint(tmp_path, page) is None
    before = behaviour.of_method(METHOD)
    monkeypatch.setattr(as_run, "STALL", 7)
    behaviour.of_method.cache_clear()
    said = stale.complaint(tmp_path, page)
    assert said is not None
    assert page in said
    assert f"`{METHOD}` (digest {before})" in said
    assert "sep-cma-es" not in said
    assert "`python -m noisewise_bench.experiments small --instances 1" in said

    assert stale.mark(tmp_path) == [page]
    assert stale.complaint(tmp_path, page) is None
    text = (tmp_path / page).read_text()
    sentence = f"This table was made by an earlier version of `{METHOD}` (digest {before}); run"
    assert f"# A small study\n\n<!-- stale -->\n> **Stale.** {sentence}" in text

    assert _make(tmp_path) == page  # the stale rows are computed again, the others are kept
    text = (tmp_path / page).read_text()
    assert "Stale" not in text
    assert behaviour.of_method(METHOD) in text
    assert stale.complaint(tmp_path, page) is None


def test_red_on_a_changed_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    page = _make(tmp_path)
    regret = BBOBNoisy.regret
    monkeypatch.setattr(BBOBNoisy, "regret", lambda self, X: 1.001 * regret(self, X))
    behaviour.of_problems.cache_clear()
    said = stale.complaint(tmp_path, page)
    assert said is not None
    assert "an earlier version of `bbob-noisy`" in said
    stale.mark(tmp_path)
    monkeypatch.undo()
    behaviour.of_problems.cache_clear()
    said = stale.complaint(tmp_path, page)
    assert said is not None
    assert "says that it is stale and is not" in said


def test_a_method_that_is_gone_is_stale() -> None:
    stamp = Stamp(methods={"no-such-method": "12345678", "cma-es": behaviour.of_method("cma-es")})
    assert stamp.outdated() == {"no-such-method": "12345678"}


def test_what_a_mark_names() -> None:
    one, two, many = ({f"m{i}": f"{i}" * 8 for i in range(n)} for n in (1, 2, 5))
    assert stamps.sentence(one) == "`m0` (digest 00000000)"
    assert stamps.sentence(two) == "`m0` (digest 00000000) and `m1` (digest 11111111)"
    assert stamps.sentence(many).endswith("`m2` (digest 22222222) and 2 more")
    assert stamps.sentence({"a": "", "b": stamps.MIXED}) == (
        "`a` (digest not known) and `b` (several digests)"
    )


def test_rows_of_several_versions_make_a_mixed_stamp() -> None:
    row = Row(PROBLEM, "auto", "9", 1, suite="s", method_digest="a", problem_digest="b")
    other = dataclasses.replace(row, method_digest="c")
    assert stamps.of_rows([row, row]) == Stamp({"auto": "a"}, {"bbob-noisy": "b"})
    assert stamps.of_rows([row, other]).methods == {"auto": stamps.MIXED}


def test_stamps_come_back_as_they_were() -> None:
    stamp = Stamp({"a(b='c')": "1"}, {"p": "2"}, {"x": "3"}, ("docs/a.md", "docs/b.md"), ("m",))
    text = stamps.stamped("# Title\n\ntext\n", stamp)
    assert stamps.read(text) == stamp
    other = Stamp({"d": "4"})
    assert stamps.stamped(text, other) == stamps.stamped("# Title\n\ntext\n", other)
    assert stamps.read("# Title\n") is None


def test_a_page_that_quotes_others_follows_them(tmp_path: Path) -> None:
    folder = tmp_path / stale.FINDINGS
    folder.mkdir(parents=True)
    now = behaviour.of_method("cma-es")
    source, page = "docs/findings/a.md", "docs/findings/words.md"
    (tmp_path / source).write_text(
        stamps.stamped("# A\n\nPrinted by `make a`.\n", Stamp({"cma-es": now}))
    )
    (tmp_path / page).write_text(
        stamps.stamped("# Words\n\nIt is 7.\n", Stamp({"cma-es": "old"}, sources=(source,)))
    )
    said = stale.complaint(tmp_path, page)
    assert said is not None
    assert f"--adopt {page}" in said
    assert stale.mark(tmp_path) == [page]
    assert "This page quotes tables made by an earlier version" in (tmp_path / page).read_text()
    assert stale.main(["--root", str(tmp_path), "--adopt", page]) == 0
    assert (tmp_path / page).read_text() == stamps.stamped(
        "# Words\n\nIt is 7.\n", Stamp({"cma-es": now}, sources=(source,))
    )


def test_a_page_does_not_follow_what_it_does_not_quote(tmp_path: Path) -> None:
    folder = tmp_path / stale.FINDINGS
    folder.mkdir(parents=True)
    now = behaviour.of_method("cma-es")
    source, page = "docs/findings/a.md", "docs/findings/words.md"
    both = Stamp({"cma-es": now, "sep-cma-es": "old"})
    (tmp_path / source).write_text(stamps.stamped("# A\n\nPrinted by `make a`.\n", both))
    for unquoted in ((), ("sep-cma-es",)):
        own = Stamp(sources=(source,), unquoted=unquoted)
        (tmp_path / page).write_text(stamps.stamped("# Words\n\nIt is 7.\n", own))
        stale.adopt(tmp_path, page)
        text = (tmp_path / page).read_text()
        assert ("Stale" in text) == (not unquoted)
        read = stamps.read(text)
        assert read is not None
        assert (read.unquoted, "cma-es" in read.methods) == (unquoted, True)
        assert stale.complaint(tmp_path, page) is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / stale.FINDINGS
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("# A\n\nPrinted by `make a`.\n")
    assert stale.main(["--root", str(tmp_path)]) == 1
    assert "a.md does not say which methods and problems made it: run `make a`" in (
        capsys.readouterr().out
    )
    text = stamps.stamped("# A\n\nPrinted by `make a`.\n", Stamp({"cma-es": "old"}))
    (folder / "a.md").write_text(text)
    assert stale.main(["--root", str(tmp_path), "--mark"]) == 0
    assert capsys.readouterr().out.strip() == "docs/findings/a.md changed"
    assert stale.main(["--root", str(tmp_path)]) == 0
    assert capsys.readouterr().out.strip() == "docs/findings/a.md is stale and says so: `make a`"
    assert stale.main(["--root", str(tmp_path), "--adopt", "docs/findings/a.md"]) == 2
    assert "names no sources" in capsys.readouterr().err


def test_the_front_pages_say_what_made_their_numbers() -> None:
    sources = [stamps.read((ROOT / stale.FINDINGS / name).read_text()) for name in headline.SOURCES]
    for page in headline.PAGES:
        stamp = stamps.read((ROOT / page).read_text())
        assert stamp == stamps.union(one for one in sources if one is not None)


@pytest.mark.untraced
@pytest.mark.parametrize("name", ["auto", "as-run/probe-switch", "peer/pycma", "pem(n_draws=32)"])
def test_a_method_digest_repeats_itself_whatever_the_global_generators_are(name: str) -> None:
    first = behaviour.of_method(name)
    behaviour.of_method.cache_clear()
    np.random.seed(5)  # noqa: NPY002 - as a user's script may have
    assert behaviour.of_method(name) == first


def test_what_has_no_digest() -> None:
    assert behaviour.of_method("bench_toys:stay") == ""
    assert behaviour.of_problems("bench_toys:Sphere(dimension=2)") == ""
    with pytest.raises(BenchError, match="there is no method"):
        behaviour.of_method("no-such-method")


def test_rows_carry_digests_and_old_files_lack_them(tmp_path: Path) -> None:
    """Rows of a file made before there were digests are stale."""
    db = tmp_path / "rows.sqlite"
    grid = Grid.of([PROBLEM], ["sep-cma-es"], ["5d"], [1])
    campaign.run(grid, db, workers=1, progress=False)
    with Store(db) as store:
        (row,) = store.rows()
        assert campaign.stale_keys(store) == set()
    assert row.method_digest == behaviour.of_method("sep-cma-es")
    assert row.problem_digest == behaviour.of_problems("bbob-noisy")
    with sqlite3.connect(db) as connection:
        for column in ("method_digest", "problem_digest"):
            connection.execute(f"ALTER TABLE rows DROP COLUMN {column}")
        connection.execute("PRAGMA user_version = 1")
    with Store(db) as store:
        (row,) = store.rows()
        assert (row.method_digest, row.problem_digest) == ("", "")
        assert campaign.stale_keys(store) == {row.key}


@pytest.mark.parametrize("peer", ["botorch", "smac"])
def test_slow_peers_are_known_by_their_version_and_not_run(
    peer: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fresh: None
) -> None:
    behaviour.of_method.cache_clear()

    def never(*_: object) -> None:
        raise AssertionError("a digest must not run it: that takes hours")

    monkeypatch.setattr(behaviour, "_asked", never)
    monkeypatch.setenv("NOISEWISE_PEERS", str(tmp_path))
    unknown = importlib.metadata.PackageNotFoundError
    monkeypatch.setattr(importlib.metadata, "version", Mock(side_effect=unknown))
    assert behaviour.of_method(f"peer/{peer}") == ""
    behaviour.of_method.cache_clear()
    site = environment.directory(peer) / "lib" / "python3" / "site-packages"
    info = site / f"{peer}-1.2.3.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {peer}\nVersion: 1.2.3\n")
    assert behaviour.of_method(f"peer/{peer}") == f"{peer} 1.2.3"
