"""Replacing a directory or a file: whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from triplecheck.kg import _atomic
from triplecheck.kg._atomic import recover, replaced_directory, write_text
from triplecheck.kg.errors import StorageError


def replace(target: Path, content: str) -> None:
    with replaced_directory(target) as folder:
        for name in ("a", "b"):
            (folder / name).write_text(content)


def test_a_directory_appears_only_when_complete(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "kb"
    with replaced_directory(target) as folder:
        (folder / "a").write_text("new")
        assert not target.exists()
    assert (target / "a").read_text() == "new"


def test_what_stood_there_goes_with_all_its_files(tmp_path: Path) -> None:
    target = tmp_path / "kb"
    replace(target, "old")
    (target / "c").write_text("old")
    replace(target, "new")
    assert {p.name: p.read_text() for p in target.iterdir()} == {"a": "new", "b": "new"}
    assert list(tmp_path.iterdir()) == [target]


def test_the_old_one_stays_if_the_new_one_fails_or_disappears(tmp_path: Path) -> None:
    target = tmp_path / "kb"
    replace(target, "old")
    with pytest.raises(RuntimeError), replaced_directory(target) as folder:
        (folder / "a").write_text("half")
        raise RuntimeError
    with pytest.raises(FileNotFoundError), replaced_directory(target) as folder:
        folder.rmdir()
    assert (target / "a").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_of_concurrent_writes_one_remains_complete(tmp_path: Path) -> None:
    target = tmp_path / "kb"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: replace(target, str(i)), range(200)))
    assert (target / "a").read_text() == (target / "b").read_text()
    assert list(tmp_path.iterdir()) == [target]


def test_a_text_is_replaced_completely(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "one")
    write_text(tmp_path / "a", "two")
    assert (tmp_path / "a").read_text() == "two"
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "a", "\ud800")
    assert (tmp_path / "a").read_text() == "two"
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


KILLED = """
import os, sys
from pathlib import Path
from triplecheck.kg import _atomic
target, step = Path(sys.argv[1]), sys.argv[2]
if step == "between":
    _atomic._renameat2 = lambda: None
    rename = _atomic._rename
    _atomic._rename = lambda *args: os._exit(9)
if step == "exchanged":
    _atomic._remove = lambda path: os._exit(9)
with _atomic.replaced_directory(target) as folder:
    (folder / "a").write_text("new")
    if step == "writing":
        os._exit(9)
"""


@pytest.mark.parametrize(("step", "content"), [("writing", "old"), ("exchanged", "new"), ("between", "old")])
def test_a_kill_leaves_the_old_or_the_new_one_and_the_next_write_no_drafts(
    tmp_path: Path, step: str, content: str
) -> None:
    target = tmp_path / "a [good] kb"
    replace(target, "old")
    assert subprocess.run([sys.executable, "-c", KILLED, target, step], check=False).returncode == 9
    assert len(list(tmp_path.iterdir())) == 2
    recover(target)
    assert (target / "a").read_text() == content
    replace(target, "newer")
    assert list(tmp_path.iterdir()) == [target]


def test_the_draft_of_a_file_goes_with_the_next_write(tmp_path: Path) -> None:
    target = tmp_path / "a [good] file"
    target.write_text("old")
    killed = (
        "import os, sys, pathlib; from triplecheck.kg import _atomic\n"
        "pathlib.Path.replace = lambda *_: os._exit(9)\n"
        "_atomic.write_text(pathlib.Path(sys.argv[1]), 'new')"
    )
    assert subprocess.run([sys.executable, "-c", killed, target], check=False).returncode == 9
    assert len(list(tmp_path.iterdir())) == 2 and target.read_text() == "old"
    write_text(target, "newer")
    assert list(tmp_path.iterdir()) == [target] and target.read_text() == "newer"


def test_a_file_that_many_write_at_once_is_one_of_theirs(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: write_text(tmp_path / "a", str(number) * 1000), range(80)))
    assert len(set((tmp_path / "a").read_text())) <= 2 and list(tmp_path.iterdir()) == [tmp_path / "a"]


@pytest.mark.parametrize(
    "message",
    [
        "MARISA_IO_ERROR: size_written <= 0",
        "I/O error: Disk quota exceeded (os error 122)",
        "disk I/O error",
        "failed (io::Error most likely)",
    ],
)
def test_a_library_that_says_in_words_that_the_disk_is_full_is_understood(tmp_path: Path, message: str) -> None:
    class OddError(Exception):
        pass

    with pytest.raises(StorageError, match="the disk is full"), _atomic.stored(tmp_path / "a"):
        raise OddError(message)


def test_a_draft_that_is_still_written_stays(tmp_path: Path) -> None:
    target = tmp_path / "kb"
    with replaced_directory(target) as folder:
        replace(target, "faster")
        assert folder.is_dir()
        (folder / "a").write_text("slower")
    assert (target / "a").read_text() == "slower"


@pytest.mark.skipif(_atomic._renameat2() is None, reason="this system cannot exchange two names")
def test_there_is_always_something_at_the_place(tmp_path: Path) -> None:
    target = tmp_path / "kb"
    replace(target, "old")
    missing = []
    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(lambda: [replace(target, str(i)) for i in range(300)])
        while not writing.done():
            missing.append(not target.exists())
    assert not any(missing)


def test_without_exchange_a_directory_is_replaced_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_atomic, "_renameat2", lambda: None)
    test_of_concurrent_writes_one_remains_complete(tmp_path)
    test_the_old_one_stays_if_the_new_one_fails_or_disappears(tmp_path / "deep")


def test_a_part_of_a_directory_that_was_replaced_stays_out_of_the_new_one(tmp_path: Path) -> None:
    base, other = tmp_path / "kb", tmp_path / "other"
    replace(base, "old")
    replace(other, "new")
    with pytest.raises(FileNotFoundError), replaced_directory(base / "part") as folder:
        (folder / "a").write_text("of the old one")
        base.rename(tmp_path / "aside")
        other.rename(base)
    assert sorted(p.name for p in base.iterdir()) == ["a", "b"]


LIMITED = """
import json, resource, sys
from pathlib import Path
import numpy, pyarrow
from kg_parts import raw_graph
from triplecheck.kg import build
from triplecheck.kg.documents import Document
from triplecheck.kg.errors import StorageError
from triplecheck.evals.run_directory import JsonLines
edges = [(f"a{i}", f"r{i % 9}", f"b{i}") for i in range(2000)]
documents = [Document(f"d{i}", f"a{i}", f"a{i}", "some text " * 20) for i in range(500)]
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
said = {}
for place in Path(sys.argv[1]).iterdir():
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(place.name), most))
    said[place.name] = ["built", "written"]
    try:
        build(raw_graph(edges), place / "kb", encoder=None, documents=documents)
    except StorageError as error:
        said[place.name][0] = str(error)
    try:
        with JsonLines(place / "rows.jsonl") as rows:
            for i in range(100_000):
                rows.append({"i": i})
    except StorageError as error:
        said[place.name][1] = str(error)
print(json.dumps(said))
"""
LIMITS = (0, 100, 5_000, 20_000, 60_000, 200_000)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[str]]]:
    """A folder for each limit of the size of a file, and what building and appending say there."""
    folder = tmp_path_factory.mktemp("limited")
    for limit in LIMITS:
        replace(folder / str(limit) / "kb", "old")
        (folder / str(limit) / "kb" / "manifest.json").write_text('{"format": "triplecheck-knowledge-base"}')
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), *sys.path])
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, folder],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert ended.returncode == 0, ended.stderr
    return folder, json.loads(ended.stdout)


@pytest.mark.parametrize("limit", LIMITS)
def test_a_full_disk_is_a_typed_error_and_what_was_there_stays(
    limited: tuple[Path, dict[str, list[str]]], limit: int
) -> None:
    folder, (built, appended) = limited[0] / str(limit), limited[1][str(limit)]
    assert f"{folder / 'kb'}: cannot be written (" in built
    assert f"{folder / 'rows.jsonl'}: cannot be written (File too large); free some space" in appended
    assert (folder / "kb" / "a").read_text() == "old"
    assert sorted(p.name for p in folder.iterdir()) == ["kb", "rows.jsonl"]
