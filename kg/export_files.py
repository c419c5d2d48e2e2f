"""Files of a graph: N-Triples, TSV, CSV, Parquet and GraphML. Built again, they give the same graph."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pyoxigraph as ox

from triplecheck.kg._arrays import used
from triplecheck.kg._atomic import replaced_file
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document
from triplecheck.kg.errors import UserError, extra
from triplecheck.kg.export import to_raw
from triplecheck.kg.readable import entity_label, relation_label
from triplecheck.kg.readers.columns import TRIPLE_COLUMNS
from triplecheck.kg.readers.raw import RawGraph
from triplecheck.kg.readers.rdf import PLAIN_ID
from triplecheck.kg.readers.tables import suffix
from triplecheck.kg.vocabulary import RDF, RDFS, SKOS, Vocabulary

TABLES = (".tsv", ".csv", ".parquet")
_LADYBUG = ".lbug"
EXPORTED = (".nt", *TABLES, ".graphml", _LADYBUG)
"""Extensions of files that `export_graph` writes; all but Parquet and databases of Ladybug also with `.gz`."""
_SEPARATOR = "|"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Row = tuple[str, str, str, str | None]
Properties = list[tuple[str, str, str | None]]


def export_graph(graph: ColumnarGraph, out: Path) -> int:
    """Write all triples, with what is said about them, into a file; its extension determines the format.

    N-Triples hold everything: labels, aliases, descriptions, types and edge properties (as RDF 1.2 reified statements);
    an id that is no IRI is percent-encoded behind `urn:triplecheck:`, which the reader decodes. TSV, CSV and Parquet
    have a row per statement with a column per edge property; `export_entities` and `export_relations` write the rest.
    In GraphML literals are nodes with `value` and `datatype`; names of relations other than their ids are left out.
    `.lbug` is a database of Ladybug, see `kg.cypher.export`.

    Returns:
        The number of statements: edges, and further statements about the same edge.

    Raises:
        UserError: an unknown extension, or a text that the format cannot hold.
        StorageError: the disk is full or cannot be written.
    """
    writers: dict[str, Callable[[RawGraph, ColumnarGraph, Path], None]] = {
        ".nt": _n_triples,
        ".graphml": _graphml,
        **dict.fromkeys(TABLES, _triples_table),
    }
    kind = suffix(out)
    if kind == _LADYBUG:
        from triplecheck.kg.cypher.export import export_ladybug

        return export_ladybug(graph, out)
    if kind not in writers:
        raise UserError(f"{out}: no writer for {kind or 'a file without extension'!r}; known: {' '.join(EXPORTED)}")
    raw = to_raw(graph)
    writers[kind](raw, graph, out)
    return len(raw)


def export_entities(graph: ColumnarGraph, out: Path) -> int:
    """Write a table of all entities, for `kb build --entities`: id, label, description, aliases, type.

    Raises:
        UserError: as `export_graph`.
    """
    rows = [row | {"type": row["types"]} for row in to_raw(graph).entities.to_pylist()]
    return _write_rows(rows, ("id", "label", "description", "aliases", "type"), out)


def export_relations(graph: ColumnarGraph, out: Path) -> int:
    """Write a table of all relations, for `kb build --relations`: id, label, description, aliases, domain, range.

    Raises:
        UserError: as `export_graph`.
    """
    rows = to_raw(graph).relation_rows.to_pylist()
    return _write_rows(rows, ("id", "label", "description", "aliases", "domain", "range"), out)


def _write_rows(rows: list[dict[str, Any]], columns: tuple[str, ...], out: Path) -> int:
    for row in rows:
        row |= {name: _joined(row[name], row["id"], out) for name in ("aliases", "type") if name in row}
    _write_table(rows, columns, out)
    return len(rows)


def export_documents(documents: Iterable[Document], out: Path) -> int:
    """Write documents as JSON lines, for `kb build --documents`."""
    count = 0
    with replaced_file(out) as draft, _opened(draft, out) as sink:
        for document in documents:
            sink.write((json.dumps(asdict(document), ensure_ascii=False) + "\n").encode())
            count += 1
    return count


@contextlib.contextmanager
def _opened(draft: Path, out: Path) -> Iterator[IO[bytes]]:
    """A draft for writing, packed if the file that it becomes ends with `.gz`."""
    with draft.open("wb") as sink:
        if out.suffix.lower() != ".gz":
            yield sink
            return
        # Without a name and a time in it, the same content gives the same file.
        with gzip.GzipFile("", "wb", fileobj=sink, mtime=0) as packed:
            yield cast(IO[bytes], packed)


def _statements(raw: RawGraph) -> Iterator[tuple[Row, Properties]]:
    about: dict[int, Properties] = {}
    for row in raw.edge_properties.to_pylist():
        about.setdefault(row["edge"], []).append((row["name"], row["value"], row["datatype"]))
    assert raw.datatypes is not None
    columns = (column.to_pylist() for column in (raw.heads, raw.relations, raw.tails, raw.datatypes))
    for number, row in enumerate(zip(*columns, strict=True)):
        yield row, about.get(number, [])


# --- tables --------------------------------------------------------------------------------------
def _triples_table(raw: RawGraph, _graph: ColumnarGraph, out: Path) -> None:
    names = (*TRIPLE_COLUMNS, "datatype")
    properties = sorted(set(raw.edge_properties["name"].to_pylist()))
    if wrong := [name for name in properties if name in names]:
        raise UserError(f"{out}: an edge property is called {wrong[0]!r}, as a column of the table; export to .nt")
    rows = []
    for row, about in _statements(raw):
        cells = dict(zip(names, row, strict=True))
        for name, value, _ in about:
            if name in cells:
                raise UserError(
                    f"{out}: the edge {' '.join(row[:3])} has the property {name!r} twice, which a table cannot hold; "
                    "export to .nt"
                )
            cells[name] = value
        rows.append(cells)
    _write_table(rows, (*names, *properties), out)


def _joined(values: Iterable[str] | None, id: str, out: Path) -> str:
    """Names as one cell."""
    listed = list(values or ())
    if wrong := [value for value in listed if _SEPARATOR in value or value != value.strip()]:
        raise UserError(f"{out}: {wrong[0]!r} of {id!r} cannot be listed in a cell; export to .nt")
    return _SEPARATOR.join(listed)


def _write_table(rows: list[dict[str, Any]], columns: tuple[str, ...], out: Path) -> None:
    kind = suffix(out)
    if kind not in TABLES:
        raise UserError(f"{out}: a table is a file of {', '.join(TABLES)}, not {kind or 'without extension'!r}")
    with replaced_file(out) as draft:
        if kind == ".parquet":
            schema = pa.schema([(name, pa.string()) for name in columns])
            pq.write_table(pa.Table.from_pylist(rows, schema), draft)
            return
        below = ([row.get(name) or "" for name in columns] for row in rows)
        lines = itertools.chain([list(columns)], below)
        with _opened(draft, out) as sink, io.TextIOWrapper(sink, "utf-8", newline="") as text:
            if kind == ".csv":
                csv.writer(text, lineterminator="\n").writerows(lines)
                return
            for cells in lines:
                if bad := next((cell for cell in cells if not {"\t", "\n", "\r"}.isdisjoint(cell)), None):
                    raise UserError(f"{out}: {bad[:60]!r} has a tab or a line break; export to .csv, .parquet or .nt")
                text.write("\t".join(cells) + "\n")


# --- N-Triples -----------------------------------------------------------------------------------
def _n_triples(raw: RawGraph, graph: ColumnarGraph, out: Path) -> None:
    with replaced_file(out) as draft, _opened(draft, out) as sink:
        ox.serialize(_rdf(raw, graph), sink, ox.RdfFormat.N_TRIPLES)


def _rdf(raw: RawGraph, graph: ColumnarGraph) -> Iterator[ox.Triple]:
    words = Vocabulary()
    described, as_they_are = frozenset(words.not_edges), frozenset(words.types + words.axioms)
    reified = 0
    named: dict[str, None] = {}
    for (head, relation, tail, datatype), about in _statements(raw):
        # A predicate that describes would not be an edge again. Types and axioms are also written as others read them.
        target = _node(tail) if datatype is None else ox.Literal(tail, datatype=_iri(datatype))
        subject, predicate = _node(head), _iri(relation, plain=relation in described)
        yield ox.Triple(subject, predicate, target)
        if relation in as_they_are:
            yield ox.Triple(subject, _iri(relation), target)
        if about:
            statement = ox.BlankNode(f"s{reified}")
            reified += 1
            yield ox.Triple(statement, ox.NamedNode(RDF + "reifies"), ox.Triple(subject, predicate, target))
        for name, value, kind in about:
            named |= {name: None} if relation_label(name) != name else {}
            if kind is None and entity_label(value) == value:
                yield ox.Triple(statement, _iri(name), _node(value))
            else:
                text = ox.Literal(value) if kind is None else ox.Literal(value, datatype=_iri(kind))
                yield ox.Triple(statement, _iri(name), text)
    yield from (_text(name, RDFS + "label", name) for name in named)
    heads, tails = (used(column.indices.to_numpy(), graph.num_nodes) for column in (raw.heads, raw.tails))
    with_edges = heads | tails
    for node, row in enumerate(raw.entities.to_pylist()):
        bare = not (with_edges[node] or any(row[name] for name in ("label", "description", "aliases", "types")))
        yield from _described(row | ({"label": graph.label(node)} if bare else {}))
        for kind in row["types"]:
            yield ox.Triple(_node(row["id"]), ox.NamedNode(RDF + "type"), _node(kind))
    for row in raw.relation_rows.to_pylist():
        yield from _described(row)
        for name in ("domain", "range"):
            if row[name]:
                yield ox.Triple(_iri(row["id"]), ox.NamedNode(RDFS + name), _node(row[name]))
    entities = set(raw.heads.dictionary.to_pylist())
    for kind, label in raw.type_labels.items():
        if kind not in entities:
            yield _text(kind, RDFS + "label", label)
    subclass = words.axioms[0]
    if subclass not in raw.relations.dictionary.to_pylist():  # no edges, but types are inherited by them
        for kind, above in raw.superclasses.items():
            yield from (ox.Triple(_node(kind), _iri(subclass), _node(parent)) for parent in above)


def _described(row: dict[str, Any]) -> Iterator[ox.Triple]:
    """Label, aliases and description."""
    texts = [("label", row["label"]), ("comment", row["description"])]
    yield from (_text(row["id"], RDFS + name, text) for name, text in texts if text)
    yield from (_text(row["id"], SKOS + "altLabel", alias) for alias in row["aliases"])


def _text(id: str, predicate: str, text: str) -> ox.Triple:
    return ox.Triple(_node(id), ox.NamedNode(predicate), ox.Literal(text))


def _node(id: str) -> ox.NamedNode | ox.BlankNode:
    if id.startswith("_:"):
        try:
            return ox.BlankNode(id.removeprefix("_:"))
        except ValueError:
            return _iri(id, plain=True)
    return _iri(id)


def _iri(id: str, *, plain: bool = False) -> ox.NamedNode:
    if not plain and not id.startswith(PLAIN_ID):
        try:
            return ox.NamedNode(id)
        except ValueError:
            pass
    return ox.NamedNode(PLAIN_ID + quote(id, safe=""))


def iri_of(id: str) -> str:
    """The IRI of a node, a type or a datatype in N-Triples; a blank node has one, too."""
    return _iri(id).value


def relation_iri(id: str) -> str:
    """The IRI of a relation in N-Triples."""
    return _iri(id, plain=id in Vocabulary().not_edges).value


# --- GraphML -------------------------------------------------------------------------------------
def _graphml(raw: RawGraph, graph: ColumnarGraph, out: Path) -> None:
    with extra("frames", "GraphML"):
        import networkx as nx

    network = nx.MultiDiGraph()
    for node, row in enumerate(raw.entities.to_pylist()):
        about = {"label": graph.label(node), "description": row["description"]}
        about |= {name: _joined(row[name], row["id"], out) for name in ("aliases", "types")}
        network.add_node(row["id"], **{name: text for name, text in about.items() if text})
    labels = {row["id"]: row["label"] or relation_label(row["id"]) for row in raw.relation_rows.to_pylist()}
    values: dict[tuple[str, str], str] = {}
    for (head, relation, tail, datatype), properties in _statements(raw):
        if datatype is not None:
            key = (tail, datatype)
            if key not in values:
                values[key] = _unused(network, f"value {len(values)}")
                network.add_node(values[key], value=tail, datatype=datatype)
            tail = values[key]
        if wrong := [name for name, *_ in properties if name in ("relation", "label", "id", "key")]:
            raise UserError(f"{out}: an edge property is called {wrong[0]!r}, which names the edge in GraphML; use .nt")
        said = {name: value for name, value, _ in properties}
        network.add_edge(head, tail, relation=relation, label=labels[relation], **said)
    cells = (str(cell) for _, about in network.nodes(data=True) for cell in about.values())
    if bad := next((cell for cell in cells if _NOT_XML.search(cell)), None):
        raise UserError(f"{out}: {bad[:60]!r} has a character that XML cannot hold; export to .nt")
    with replaced_file(out) as draft, _opened(draft, out) as sink:
        nx.write_graphml_xml(network, sink)


def _unused(network: Any, name: str) -> str:
    while name in network:
        name += "'"
    return name
