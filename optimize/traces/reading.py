"""Reads what `collect` wrote: `traces.jsonl` and its manifest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from triplecheck.kg import KnowledgeBase, ReadError, UserError
from triplecheck.kg.values import parse_json
from triplecheck.optimize.traces.records import TraceRow

FORMAT, VERSION = "triplecheck-traces", 3
TRACES, MANIFEST, CARD = "traces.jsonl", "manifest.json", "README.md"


def read_traces(out: Path | str, graph: str | None = None) -> list[TraceRow]:
    """The rows that `collect` wrote into a directory.

    Args:
        graph: content hash of the graph that they must be of (`graph_of`); None: any.

    Raises:
        UserError: the directory holds no traces, or they are of another version or graph.
        ReadError: the traces do not match the manifest.
    """
    path, about = Path(out) / TRACES, read_manifest(out)
    data = path.read_bytes()
    try:
        if hashlib.sha256(data).hexdigest() != about["sha256"]:
            raise ReadError(path, None, f"does not match {MANIFEST}; collect again")
        own = about["graph"]
        rows = [TraceRow.from_json(parse_json(line)) for line in data.decode("utf-8").split("\n") if line]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReadError(path, None, f"it or {MANIFEST} is damaged ({error}); collect again") from error
    if graph is not None and own is not None and own != graph:
        raise UserError(
            f"{out}: its traces are of another graph (content {own[:12]}, not {graph[:12]}); collect on this knowledge "
            "base, or name the one that they are of"
        )
    return rows


def graph_of(base: KnowledgeBase | None) -> str | None:
    """Content hash of the graph of a knowledge base; None if it is on a server, or there is none."""
    return None if base is None or base.is_remote else base.generation.content("graph")


def read_manifest(out: Path | str) -> dict[str, Any]:
    """The manifest of a directory of traces.

    Raises:
        UserError: the directory holds no traces, or they are of another version.
        ReadError: the manifest is damaged.
    """
    path = Path(out) / MANIFEST
    if not path.is_file() or not (Path(out) / TRACES).is_file():
        raise UserError(f"{out}: holds no collected traces; `triplecheck collect` writes them")
    try:
        about = parse_json(path.read_text("utf-8"))
    except ValueError as error:
        raise ReadError(path, None, f"is damaged ({error}); collect again") from error
    if not isinstance(about, dict):
        raise ReadError(path, None, "is damaged (no object); collect again")
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        written = f"{about.get('format', 'no format')}, version {about.get('version', 'unknown')}"
        raise UserError(
            f"{out}: its traces are of {written}, and version {VERSION} of {FORMAT} is read; collect them again with "
            "`triplecheck collect`"
        )
    return about
