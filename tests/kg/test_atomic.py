"""Replacing a directory or a file: whole or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from triplecheck.kg._atomic import replaced_directory, write_text


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


def test_the_old_one_stays_if_the_new_one_fails(tmp_path: Path) -> None:
    target = tmp_path / "kb"
    replace(target, "old")
    with pytest.raises(RuntimeError), replaced_directory(target) as folder:
        (folder / "a").write_text("half")
        raise RuntimeError
    assert (target / "a").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_old_one_stays_if_the_new_one_disappears(tmp_path: Path) -> None:
    target = tmp_path / "kb"
    replace(target, "old")
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
