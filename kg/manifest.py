"""The manifest of a knowledge base: format, version, and the size and hash of every file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from triplecheck.kg._atomic import recover, replaced_directory, write_text
from triplecheck.kg._checked import BLOCK, changed, checksums
from triplecheck.kg.errors import KnowledgeBaseError, KnowledgeBaseReplacedError
from triplecheck.kg.values import parse_json

FORMAT = "triplecheck-knowledge-base"
VERSION = 1
FILE = "manifest.json"
CHECKED_WHOLE = 1 << 25
"""Bytes of a file up to which it is compared with its checksum when it is opened."""
LARGEST_CHECKED = 1 << 30
_LOOKS, _PAUSE = 5, 0.05  # attempts to read a directory that is being replaced, seconds between them


@dataclass(frozen=True)
class Manifest:
    """The content of `manifest.json`.

    Attributes:
        counts: entities, literals, relations, triples, types, names, documents.
        files: (bytes, sha256) by path within the knowledge base.
        content_hash: one hash over all files; equal for knowledge bases of the same content.
        encoder: name and fingerprint of the sentence encoder of the vectors, or None.
        blocks: of large files, the CRC-32 of each block of `_checked.BLOCK` bytes, 8 hexadecimal digits each.
        sources: file names it was built from.
        skipped: number of lines left out by the build.
        report: what became of what was read: `read`, `descriptions`, `duplicates`, `inferred`, and `left_out` by the
            reason.
        stale: parts that were trained on an earlier state of the knowledge base, and why they are stale.
        changes: how often it was changed since it was built.
        language: of its labels and of the questions about it, as `language.pipeline` names languages.
    """

    counts: dict[str, int]
    files: dict[str, tuple[int, str]]
    content_hash: str
    encoder: dict[str, str] | None = None
    blocks: dict[str, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    skipped: int = 0
    report: dict[str, Any] = field(default_factory=dict)
    stale: dict[str, str] = field(default_factory=dict)
    changes: int = 0
    language: str = "en"
    format: str = FORMAT
    version: int = VERSION


def describe_files(folder: Path, known: Mapping[str, tuple[int, str]] | None = None) -> dict[str, tuple[int, str]]:
    """Size and hash of every file below a folder, by relative path.

    Args:
        known: size and hash of files that are copies; they are not read.
    """
    found = dict(known or {})
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and path.name != FILE and name not in found:
            with path.open("rb") as source:
                digest = hashlib.file_digest(source, "sha256").hexdigest()
            found[name] = (path.stat().st_size, digest)
    return dict(sorted(found.items()))


def write(
    folder: Path,
    counts: dict[str, int],
    *,
    files: dict[str, tuple[int, str]] | None = None,
    blocks: dict[str, str] | None = None,
    **about: Any,
) -> Manifest:
    """Describe the files of a folder and write its manifest.

    Args:
        files: what `describe_files` returned; None: call it.
        blocks: known checksums of some files.
        **about: other fields of `Manifest`.
    """
    files = describe_files(folder) if files is None else files
    sums = dict(blocks or {})
    sums |= _blocks(folder, {name: one for name, one in files.items() if name not in sums})
    manifest = Manifest(counts, files, content_hash(files), blocks=dict(sorted(sums.items())), **about)
    write_text(folder / FILE, json.dumps(asdict(manifest), indent=1))
    return manifest


def _blocks(folder: Path, files: dict[str, tuple[int, str]]) -> dict[str, str]:
    return {
        name: "".join(f"{crc:08x}" for crc in checksums(folder / name))
        for name, (size, _) in files.items()
        if size >= BLOCK
    }


class StaleWarning(UserWarning):
    """A part of a knowledge base was trained on an earlier state of it."""


class Generation:
    """An opened knowledge base, by the content of its files. Its parts are opened later, when they are needed; another
    knowledge base may be in its place by then.
    """

    def __init__(self, folder: Path, about: Manifest) -> None:
        self.folder = folder
        self._files = about.files
        self._blocks = about.blocks
        self._stale = dict(about.stale)
        self._checked: dict[str, tuple[int, ...] | None] = {}
        self._intact: set[str] = set()

    def content(self, *parts: str) -> str:
        """One hash over the files of some parts."""
        return content_hash(_of_parts(self._files, parts))

    def check(self, part: str) -> None:
        """Check that the graph and a part are still those that were opened.

        Raises:
            KnowledgeBaseReplacedError: they are not.
            KnowledgeBaseError: as `read`.
        """
        stamp = _state(self.folder / FILE)
        if stamp is not None and self._checked.get(part) == stamp:
            return
        parts = ("graph", part)
        if _of_parts(read(self.folder).files, parts) != _of_parts(self._files, parts):
            raise replaced(self.folder)
        self._checked[part] = stamp

    def sums(self, path: Path) -> tuple[int, ...] | None:
        """The checksums of a file that is too large to be checked when it is opened, for `_checked.mapped`."""
        name = path.relative_to(self.folder).as_posix()
        found = self._blocks.get(name, "")
        if self._files.get(name, (0, ""))[0] <= CHECKED_WHOLE or not found:
            return None
        return tuple(int(found[at : at + 8], 16) for at in range(0, len(found), 8))

    def _check_bytes(self, part: str) -> None:
        """Compare the files of a part with their checksums, but for those that are checked as they are read.

        Files above `LARGEST_CHECKED` that cannot be checked by block are left to `verify`.
        """
        for name, (size, digest) in _of_parts(self._files, (part,)).items():
            path = self.folder / name
            read_by_block = part in ("graph", "names") and (path.suffix == ".npy" or path.name == "nodes.arrow")
            by_block = read_by_block and self.sums(path) is not None
            if name in self._intact or by_block or size > LARGEST_CHECKED:
                continue
            if name in self._blocks:
                same = "".join(f"{crc:08x}" for crc in checksums(path)) == self._blocks[name]
            else:
                with path.open("rb") as source:
                    same = hashlib.file_digest(source, "sha256").hexdigest() == digest
            if not same:
                raise changed(path)
            self._intact.add(name)

    @contextlib.contextmanager
    def opening(self, part: str, *, quietly: bool = False) -> Iterator[Path]:
        """Opens a part: all its files are of this generation and undamaged, or there is an error.

        A part that is stale is opened with a warning, once, unless `quietly`.

        Raises:
            KnowledgeBaseError: as `check`, or a damaged file.
        """
        listed = bool(_of_parts(self._files, (part,)))  # the others are made when they are opened
        before = _state(self.folder / part)
        try:
            self._check_bytes(part)
            if part in self._stale and not quietly:
                message = f"{self.folder}: the part `{part}` is stale: {self._stale.pop(part)}; train it again"
                warnings.warn(message, StaleWarning, stacklevel=4)
            yield self.folder / part
        except FileNotFoundError as error:
            self.check(part)
            raise KnowledgeBaseError(f"{error.filename}: missing; build the knowledge base again") from error
        except (OSError, ValueError, KeyError, TypeError, KnowledgeBaseError) as error:
            self.check(part)
            if isinstance(error, KnowledgeBaseError):
                raise
            raise KnowledgeBaseError(
                f"{self.folder / part}: damaged ({error}); build the knowledge base again"
            ) from error
        if listed and before != _state(self.folder / part):  # perhaps by the same content again, after another was read
            raise replaced(self.folder)
        self.check(part)

    @contextlib.contextmanager
    def replaced_part(self, part: str) -> Iterator[Path]:
        """A new directory that replaces one part and its entries in the manifest.

        The manifest never lists missing files: a reader sees the old part, none, or the new one. The part never
        becomes one of another knowledge base that has taken the place of this one.

        Raises:
            KnowledgeBaseError: as `check`.
        """
        with replaced_directory(self.folder / part) as new:
            self.check("graph")
            yield new
            self._record(part, {})
        self._record(part, describe_files(self.folder / part))

    def _record(self, part: str, files: dict[str, tuple[int, str]]) -> None:
        self.check("graph")
        before = read(self.folder)
        kept = {name: about for name, about in before.files.items() if not name.startswith(f"{part}/")}
        after = dict(sorted((kept | {f"{part}/{name}": about for name, about in files.items()}).items()))
        blocks = {name: sums for name, sums in before.blocks.items() if name in kept}
        blocks |= {f"{part}/{name}": sums for name, sums in _blocks(self.folder / part, files).items()}
        stale = {name: reason for name, reason in before.stale.items() if name != part}
        manifest = replace(before, files=after, content_hash=content_hash(after), blocks=blocks, stale=stale)
        write_text(self.folder / FILE, json.dumps(asdict(manifest), indent=1))


def replaced(folder: Path) -> KnowledgeBaseReplacedError:
    """The error of a knowledge base that is no longer the one that was opened."""
    return KnowledgeBaseReplacedError(
        f"{folder}: the knowledge base was replaced or changed while it was open; open it again"
    )


def _of_parts(files: dict[str, tuple[int, str]], parts: Sequence[str]) -> dict[str, tuple[int, str]]:
    return {name: about for name, about in files.items() if name.split("/", 1)[0] in parts}


def content_hash(files: Mapping[str, tuple[int, str]]) -> str:
    """One hash over files; see `Manifest`."""
    content = json.dumps([VERSION, *((name, digest) for name, (_, digest) in files.items())])
    return hashlib.sha256(content.encode()).hexdigest()


def is_one(folder: Path) -> bool:
    """Whether a folder has the manifest of a knowledge base, of any version."""
    try:
        data = parse_json((folder / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and data.get("format") == FORMAT


def refuse_foreign(out: Path) -> None:
    """Check that a knowledge base may be written to a path.

    Raises:
        KnowledgeBaseError: there is something else than a knowledge base or an empty directory.
    """
    seen = _state(out)
    while seen is not None and not _may_replace(out):
        now = _state(out)
        if now == seen:
            raise KnowledgeBaseError(
                f"{out}: exists and is not a knowledge base; choose another directory or remove it"
            )
        seen = now  # another process replaced it in the meantime


def _may_replace(out: Path) -> bool:
    try:
        return out.is_dir() and (not any(out.iterdir()) or is_one(out))
    except FileNotFoundError:
        return False


def _state(path: Path) -> tuple[int, ...] | None:
    """Identity of the file or directory at a path, to notice that it was replaced; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns, found.st_size


def read(folder: Path) -> Manifest:
    """Read a manifest and check that every file exists with its full length.

    If the knowledge base is replaced meanwhile, it is read again.

    Raises:
        KnowledgeBaseError: no knowledge base, another format or version, a missing or truncated file.
    """
    for _ in range(_LOOKS):
        if not folder.exists():
            recover(folder)
        before = _state(folder)
        try:
            return _read(folder)
        except KnowledgeBaseError:
            time.sleep(_PAUSE)
            if before == _state(folder):
                raise
    return _read(folder)


def _read(folder: Path) -> Manifest:
    path = folder / FILE
    if folder.is_file():
        raise KnowledgeBaseError(
            f"{folder}: a file, not a knowledge base; build one of it: triplecheck kb build OUT --triples {folder}, or "
            "KnowledgeBase.from_triples(PATH)"
        )
    if not folder.is_dir():
        raise KnowledgeBaseError(f"{folder}: no such knowledge base; build one with `triplecheck kb build`")
    if not path.is_file():
        raise KnowledgeBaseError(f"{folder}: not a knowledge base (it has no {FILE})")
    try:
        data = parse_json(path.read_text("utf-8"))
        if data["format"] != FORMAT:
            raise KnowledgeBaseError(f"{path}: format is {data['format']!r}, not {FORMAT!r}")
        if data["version"] != VERSION:
            raise KnowledgeBaseError(
                f"{path}: format version {data['version']}, this Triplecheck reads {VERSION}; build it again"
            )
        manifest = Manifest(**{**data, "files": {k: (int(v[0]), str(v[1])) for k, v in data["files"].items()}})
        _check_types(manifest)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
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


def _check_types(manifest: Manifest) -> None:
    encoder = manifest.encoder
    texts = [*manifest.sources, *manifest.blocks, *manifest.blocks.values(), manifest.content_hash, manifest.language]
    texts += manifest.stale.values()
    if encoder is not None:
        texts += [encoder["name"], encoder["fingerprint"]]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is of another type")
    if not all(isinstance(count, int) for count in (*manifest.counts.values(), manifest.skipped, manifest.changes)):
        raise TypeError("a count is of another type")
    for name in manifest.files:
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"the file {name!r} is outside of the knowledge base")


def verify(folder: Path) -> None:
    """Check every file against its hash. Slow: reads all of them.

    Raises:
        KnowledgeBaseError: as `read`, or a file whose content has changed.
    """
    manifest = read(folder)
    for name, (_, digest) in describe_files(folder).items():
        if name in manifest.files and manifest.files[name][1] != digest:
            raise changed(folder / name)
