"""The manifest of a knowledge base: format, version, and the size and hash of every file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from triplecheck.kg._atomic import replaced_directory, write_text
from triplecheck.kg.errors import KnowledgeBaseError

FORMAT = "triplecheck-knowledge-base"
VERSION = 1
FILE = "manifest.json"
_LOOKS, _PAUSE = 5, 0.05  # attempts to read a directory that is being replaced, seconds between them


@dataclass(frozen=True)
class Manifest:
    """The content of `manifest.json`.

    Attributes:
        counts: entities, literals, relations, triples, types, names, documents.
        files: (bytes, sha256) by path within the knowledge base.
        content_hash: one hash over all files; equal for knowledge bases of the same content.
        encoder: name and fingerprint of the sentence encoder of the vectors, or None.
        sources: file names it was built from.
        skipped: number of lines left out by the build.
    """

    counts: dict[str, int]
    files: dict[str, tuple[int, str]]
    content_hash: str
    encoder: dict[str, str] | None = None
    sources: list[str] = field(default_factory=list)
    skipped: int = 0
    format: str = FORMAT
    version: int = VERSION


def describe_files(folder: Path) -> dict[str, tuple[int, str]]:
    """Size and hash of every file below a folder, by relative path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != FILE:
            with path.open("rb") as source:
                digest = hashlib.file_digest(source, "sha256").hexdigest()
            found[path.relative_to(folder).as_posix()] = (path.stat().st_size, digest)
    return found


def write(folder: Path, counts: dict[str, int], **about: Any) -> Manifest:
    """Describe the files of a folder and write its manifest."""
    files = describe_files(folder)
    manifest = Manifest(counts, files, _content_hash(files), **about)
    write_text(folder / FILE, json.dumps(asdict(manifest), indent=1))
    return manifest


@contextlib.contextmanager
def replaced_part(folder: Path, part: str) -> Iterator[Path]:
    """A new directory that replaces one part of a knowledge base and its entries in the manifest.

    The manifest never lists missing files: a reader sees the old part, none, or the new one.

    Raises:
        KnowledgeBaseError: as `read`.
    """
    read(folder)
    with replaced_directory(folder / part) as new:
        yield new
        _record(folder, part, {})
    _record(folder, part, describe_files(folder / part))


def _record(folder: Path, part: str, files: dict[str, tuple[int, str]]) -> None:
    before = read(folder)
    kept = {name: about for name, about in before.files.items() if not name.startswith(f"{part}/")}
    after = dict(sorted((kept | {f"{part}/{name}": about for name, about in files.items()}).items()))
    manifest = replace(before, files=after, content_hash=_content_hash(after))
    write_text(folder / FILE, json.dumps(asdict(manifest), indent=1))


def _content_hash(files: dict[str, tuple[int, str]]) -> str:
    content = json.dumps([VERSION, *((name, digest) for name, (_, digest) in files.items())])
    return hashlib.sha256(content.encode()).hexdigest()


def is_one(folder: Path) -> bool:
    """Whether a folder has the manifest of a knowledge base, of any version."""
    try:
        data = json.loads((folder / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and data.get("format") == FORMAT


def read(folder: Path) -> Manifest:
    """Read a manifest and check that every file exists with its full length.

    If the knowledge base is replaced meanwhile, it is read again.

    Raises:
        KnowledgeBaseError: no knowledge base, another format or version, a missing or truncated file.
    """
    for _ in range(_LOOKS):
        before = _identity(folder)
        try:
            return _read(folder)
        except KnowledgeBaseError:
            time.sleep(_PAUSE)
            if before == _identity(folder):
                raise
    return _read(folder)


def _identity(folder: Path) -> int | None:
    """Identity of a directory, to detect that it was replaced; None if there is none."""
    try:
        return folder.stat().st_ino
    except OSError:
        return None


def _read(folder: Path) -> Manifest:
    path = folder / FILE
    if not folder.is_dir():
        raise KnowledgeBaseError(f"{folder}: no such knowledge base; build one with `triplecheck kb build`")
    if not path.is_file():
        raise KnowledgeBaseError(f"{folder}: not a knowledge base (it has no {FILE})")
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["format"] != FORMAT:
            raise KnowledgeBaseError(f"{path}: format is {data['format']!r}, not {FORMAT!r}")
        if data["version"] != VERSION:
            raise KnowledgeBaseError(
                f"{path}: format version {data['version']}, this Triplecheck reads {VERSION}; build it again"
            )
        manifest = Manifest(**{**data, "files": {k: (int(v[0]), str(v[1])) for k, v in data["files"].items()}})
    except (ValueError, KeyError, TypeError) as error:
        raise KnowledgeBaseError(f"{path}: damaged manifest ({error}); build the knowledge base again") from error
    for name, (size, _) in manifest.files.items():
        file = folder / name
        if not file.is_file():
            raise KnowledgeBaseError(f"{file}: missing; build the knowledge base again")
        if file.stat().st_size != size:
            raise KnowledgeBaseError(
                f"{file}: {file.stat().st_size} bytes instead of {size}; build the knowledge base again"
            )
    return manifest


def verify(folder: Path) -> None:
    """Check every file against its hash. Slow: reads all of them.

    Raises:
        KnowledgeBaseError: as `read`, or a file whose content has changed.
    """
    manifest = read(folder)
    for name, (_, digest) in describe_files(folder).items():
        if name in manifest.files and manifest.files[name][1] != digest:
            raise KnowledgeBaseError(f"{folder / name}: its content has changed since it was built")
