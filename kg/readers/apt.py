"""What apt knows on this machine: all packages, and the files of their long descriptions."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

from triplecheck.kg.errors import UnavailableError
from triplecheck.kg.readers.control import Stanza, parse_stanzas

_CAT_FILE = "/usr/lib/apt/apt-helper"  # opens every compression that apt keeps its lists in


def available_packages() -> Iterator[Stanza]:
    """All packages that apt knows (`apt-cache dumpavail`).

    Raises:
        UnavailableError: there is no apt here.
    """
    yield from _stanzas(["apt-cache", "dumpavail"])


def translations() -> Iterator[Stanza]:
    """The long descriptions in English that apt has fetched; none where it is configured to fetch none."""
    listed = _run(["apt-get", "indextargets", "--format", "$(FILENAME)", "Created-By: Translations", "Language: en"])
    for path in listed.decode("utf-8", "replace").split("\n"):
        if path:
            yield from _stanzas([_CAT_FILE, "cat-file", path])


def _stanzas(command: list[str]) -> Iterator[Stanza]:
    return parse_stanzas(_run(command).splitlines(), " ".join(command))


def _run(command: list[str]) -> bytes:
    if shutil.which(command[0]) is None:
        raise UnavailableError(
            f"{command[0]} is not on this machine; take a Packages file of a Debian mirror "
            "(dists/stable/main/binary-amd64/Packages.xz) and name it with --packages"
        )
    result = subprocess.run(command, capture_output=True, check=False)
    if result.returncode:
        reason = result.stderr.decode("utf-8", "replace").strip()
        raise UnavailableError(f"`{' '.join(command)}` failed with {result.returncode}: {reason}")
    return result.stdout
