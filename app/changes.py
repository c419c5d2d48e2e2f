"""`triplecheck kb add`, `remove`, `update`, `export` and `merge`: graphs that change, and their files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from triplecheck.app.console import print_json, remark, reporting, rows_of, stderr, stdout, waiting
from triplecheck.app.opening import open_base
from triplecheck.app.options import OUTPUT, JsonOption, KbArgument, KbDirectory, argument, flag, flattened
from triplecheck.app.sources import SourceOptions, list_recognised, list_skipped

if TYPE_CHECKING:
    from triplecheck.kg.change_writing import Changed

_COUNTED = {
    "triples added": "added",
    "triples already there": "already_there",
    "triples removed": "removed",
    "triples not found": "not_found",
    "entities added": "entities_added",
    "entities removed": "entities_removed",
    "entities not found": "entities_not_found",
    "documents added": "documents_added",
    "documents replaced": "documents_replaced",
    "documents removed": "documents_removed",
    "documents not found": "documents_not_found",
}
"""The rows of the table, and the attributes of `Changed`."""


@flattened()
def add(kb: KbArgument, source: SourceOptions, json: JsonOption = False) -> None:
    """Add triples, descriptions and documents to a knowledge base.

    What is there wins: a further label becomes an alias. A plain tail is an entity or a value as the tails of its
    relation are. RDF is read as when the knowledge base was built: axioms as edges or not, in its language. The
    new state takes the place of the old one when it is complete; programs that have the old one open are told to
    open it again. Only what changed is indexed and encoded.

    Examples:

        triplecheck kb add kbs/films --triples new.tsv
        triplecheck kb add kbs/films --documents reviews.jsonl --entities people.tsv
        triplecheck kb add kbs/shop --database shop.duckdb --sql "select customer, 'bought', product from new_orders"
    """
    _change("add", kb, source, json)


@flattened()
def update(kb: KbArgument, source: SourceOptions, json: JsonOption = False) -> None:
    """Replace tails, descriptions and documents of a knowledge base.

    For each head and relation in the files, the old tails are replaced by the new ones. Of an entity in the table,
    each column that is given replaces the old value. A document replaces the one of the same id. What is not
    there yet is added.

    Examples:

        triplecheck kb update kbs/films --triples corrected.tsv
        triplecheck kb update kbs/films --documents reviews.jsonl
    """
    _change("update", kb, source, json)


@flattened("entities", "relations", "documents", "edge_properties")
def remove(
    kb: KbArgument,
    source: SourceOptions,
    entities: Annotated[
        list[str] | None,
        flag(
            "--entities FILE|NAME",
            "Entities to remove with all their triples: a file of ids, one per line, or an id or name. Repeatable.",
        ),
    ] = None,
    documents: Annotated[
        Path | None,
        flag("--documents FILE", "Documents to remove: a file of ids, one per line, or of JSON lines with id."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Remove triples, entities and documents from a knowledge base.

    A value is found by its text, of any datatype. Entities that are left without any triple, description and document
    go, too, and so do relations without triples. What is not there is counted; it is an error if nothing is.

    Examples:

        triplecheck kb remove kbs/films --triples wrong.tsv
        triplecheck kb remove kbs/films --entities "Ridley Scott" --documents old.txt
    """
    _change("remove", kb, source, json, entities or (), documents)


def _change(
    what: str, kb: str, source: SourceOptions, json: bool, entities: Sequence[str] = (), documents: Path | None = None
) -> None:
    """Add, update or remove; entities and documents by id are only removed."""
    source.check(what, entities, documents)
    opened = open_base(kb)
    header = source.asked_header()
    with reporting(stderr(), "reading") as tell:
        from triplecheck.kg import changes

        graphs = source.graphs(header, tell, changes.reading(opened, source.axioms, source.language))
        texts = None
        if what == "remove":
            names = [name for given in entities for name in _names(given)]
            ids = [] if documents is None else _lines(documents)
            done = changes.remove(opened, graphs, entities=names, documents=ids, progress=tell)
        else:
            texts = source.texts()
            change = changes.add if what == "add" else changes.update
            done = change(opened, graphs, documents=texts or (), sources=source.names, progress=tell)
    list_recognised(graphs)
    list_skipped(graphs, texts)
    _show(opened.path, done, json)


def _names(given: str) -> list[str]:
    """The lines of a file of this name, else the name."""
    path = Path(given)
    return _lines(path) if path.is_file() else [given]


def _lines(path: Path) -> list[str]:
    """The ids in a file: a line each, or the `id` of a JSON object."""
    from triplecheck.kg.errors import ReadError
    from triplecheck.kg.readers.raw import open_packed
    from triplecheck.kg.values import parse_json

    found = []
    try:
        with open_packed(path) as source:
            for number, line in enumerate(source.read().decode("utf-8-sig").splitlines(), 1):
                text = line.strip()
                try:
                    row = parse_json(text) if text.startswith("{") else text
                except ValueError:
                    row = text
                id = row.get("id") if isinstance(row, dict) else row
                if text and not isinstance(id, str | int):
                    raise ReadError(path, number, "a JSON object without an id")
                found += [str(id)] if text else []
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ReadError(path, None, getattr(error, "strerror", None) or str(error)) from error
    return found


def _show(path: Path, done: Changed, as_json: bool) -> None:
    """What a change did, as a table."""
    for note in done.notes:
        remark(f"note: {note}")
    after = done.manifest
    if as_json:
        about = {name: value for name, value in asdict(done).items() if name != "manifest"}
        print_json({"path": str(path)} | about | {"counts": after.counts, "stale": after.stale})
        return
    counted = {name: getattr(done, attribute) for name, attribute in _COUNTED.items()}
    shown = (
        {"knowledge base": path}
        | {name: f"{count:,}" for name, count in counted.items() if count or name == "triples added"}
        | {f"{name} now": f"{after.counts[name]:,}" for name in ("entities", "triples", "documents")}
        | {f"left out: {reason}": f"{count:,}" for reason, count in done.left_out.items()}
        | {f"stale: {part}": reason for part, reason in after.stale.items()}
        | {"time": f"{done.seconds:.1f} s"}
    )
    stdout().print(rows_of(shown))


def export(
    kb: KbArgument,
    out: Annotated[
        Path, argument("OUT", "File to write: .nt, .tsv, .csv, .parquet, .graphml (also with .gz) or .lbug.")
    ],
    entities: Annotated[
        Path | None, flag("--entities FILE", "Also write a table of entities: .tsv, .csv or .parquet.", OUTPUT)
    ] = None,
    relations: Annotated[
        Path | None, flag("--relations FILE", "Also write a table of relations: .tsv, .csv or .parquet.", OUTPUT)
    ] = None,
    documents: Annotated[
        Path | None, flag("--documents FILE", "Also write the documents as JSON lines.", OUTPUT)
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write the graph of a knowledge base into a file.

    `kb build` makes the same graph of it: N-Triples hold everything; tables hold the triples, with a column per
    edge property (`--edge-properties "*"` reads them), and need the tables of entities and relations for labels,
    aliases and types. A `.lbug` file is a database of Ladybug for `--kb ladybug:FILE`.

    Examples:

        triplecheck kb export kbs/films films.nt.gz
        triplecheck kb export kbs/films films.tsv --entities entities.tsv --relations relations.tsv
    """
    began = time.perf_counter()
    opened = open_base(kb)
    with waiting(stderr(), "writing"):
        from triplecheck.kg.export_files import export_documents, export_entities, export_graph, export_relations

        graph = opened.columnar
        written: dict[str, tuple[Path, int]] = {"statements": (out, export_graph(graph, out))}
        if entities is not None:
            written["entities"] = entities, export_entities(graph, entities)
        if relations is not None:
            written["relations"] = relations, export_relations(graph, relations)
        if documents is not None:
            written["documents"] = documents, export_documents(opened.documents or (), documents)
    seconds = time.perf_counter() - began
    if json:
        about = {name: {"path": str(path), "rows": count} for name, (path, count) in written.items()}
        print_json(about | {"seconds": seconds})
        return
    rows = {name: f"{count:,} in {path}" for name, (path, count) in written.items()}
    stdout().print(rows_of(rows | {"time": f"{seconds:.1f} s"}))


def merge(
    out: KbDirectory,
    kb: Annotated[list[str], argument("KB...", "Knowledge bases to merge.")],
    json: JsonOption = False,
) -> None:
    """Write one knowledge base that has the triples, descriptions and documents of several.

    Nodes of the same id become one. Labels of the first knowledge base win, those of others become aliases. A
    document whose id another one uses gets the name of its knowledge base before its id. Embeddings and other
    trained parts are left out.

    Examples:

        triplecheck kb merge kbs/all kbs/films kbs/people
    """
    began = time.perf_counter()
    opened = [open_base(name) for name in kb]
    with reporting(stderr(), "reading") as tell:
        from triplecheck.kg.merging import merge as merge_bases

        merged = merge_bases(out, opened, tell)
    seconds = time.perf_counter() - began
    counts = {name: sum(base.manifest.counts[name] for base in opened) for name in merged.manifest.counts}
    if json:
        print_json({"path": str(out), "read": counts, "counts": merged.manifest.counts, "seconds": seconds})
        return
    shown = {
        name: f"{merged.manifest.counts[name]:,} of {counts[name]:,}"
        for name in ("entities", "relations", "triples", "documents")
    }
    stdout().print(rows_of({"knowledge base": out} | shown | {"time": f"{seconds:.1f} s"}))
