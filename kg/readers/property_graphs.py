"""Property graphs: GraphML, GEXF, JSON lines, node-link JSON, Cytoscape's JSON, and the CSV exports of Neo4j.

A node has an id, labels and attributes, an edge a type and attributes. They become triples as networkx graphs do
(`frames.read_network`): names, types and descriptions describe a node, its other attributes are literals, the
attributes of an edge are edge properties.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

from triplecheck.kg.errors import ReadError, extra
from triplecheck.kg.readers.columns import DAMAGED, first_fields, plain, reading
from triplecheck.kg.readers.frames import LINKED, read_network, relation_of
from triplecheck.kg.readers.raw import BadLine, RawGraph, bad_line, open_packed
from triplecheck.kg.types import TRUTHS, Literal
from triplecheck.kg.values import parse_record

NETWORK_SUFFIXES = (".graphml", ".gexf")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json", ".cyjs")
_HEADS, _TAILS = ("source", "start", "from", "head", "src", "subject"), ("target", "end", "to", "tail", "dst", "object")
_OF_XML = (ValueError, LookupError, TypeError, AttributeError, RuntimeError, SyntaxError)
"""What the readers of networkx raise at odd files."""
_OF_CYTOSCAPE = ("SUID", "selected", "shared_name", "shared_interaction")
"""What Cytoscape keeps for itself; networkx, writing its format, repeats the id of a node as `value`."""
_IDS = ("id", "key", "name")
_IN_SPACE = "\0"
"""Between the space of an id and the id, while files are read."""
_KIND = "\0kind"
"""The key of a row that says what it is, where its place in the file does: `node` or `edge`."""
_KINDS = {"node": "node", "relationship": "edge"}
"""What a line of APOC's export is, by its `type`."""
_OF_NEO4J = {"id": "id", "label": "labels", "labels": "labels", "type": "relation"}
_OF_NEO4J |= {"startid": "source", "start": "source", "endid": "target", "end": "target"}
_TYPES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("int", "long", "short", "byte"), int),
    **dict.fromkeys(("float", "double"), float),
    "boolean": lambda text: TRUTHS.get(text) == "true",
}


def is_neo4j_csv(path: Path) -> bool:
    """Whether a CSV file is an export of Neo4j: of nodes (`:ID`), relationships (`:START_ID`), or both (`_id`)."""
    names = first_fields(path)
    return any(name.split("(")[0].endswith((":ID", ":START_ID")) for name in names) or {"_labels", "_start"} <= set(
        names
    )


def read_property_graph(paths: Sequence[Path], *, skip_bad: bool = False) -> RawGraph:
    """Read files of one property graph; nodes and edges may be in different files.

    JSON lines have one object each: an edge has `source` and `target` (or `start` and `end`, `from` and `to`, ...) and
    perhaps a type, everything else is a node with an `id`; `properties` may hold the attributes, as in the export of
    Neo4j's APOC.

    Raises:
        ReadError: a file is missing, damaged or malformed.
    """
    with extra("frames", "A property graph"):
        import networkx as nx

    network = nx.MultiDiGraph()
    skipped: list[BadLine] | None = [] if skip_bad else None
    for path in paths:
        if not path.is_file():
            raise ReadError(path, None, "no such file")
        form = next((one for one in NETWORK_SUFFIXES if one in path.name.lower()), None)
        if form is not None:
            _add_network(network, path, form)
        else:
            for number, row in _csv_rows(path) if ".csv" in path.name.lower() else _json_rows(path, skipped):
                if (reason := _add(network, row)) is not None:
                    bad_line(skipped, path, number, reason)
    raw = read_network(_without_spaces(network))
    raw.skipped = skipped or []
    return raw


def _without_spaces(network: Any) -> Any:
    """The network with ids as they were exported. An id that several spaces have gets its space: `Person/1`."""
    import networkx as nx

    bare = {node: str(node).rpartition(_IN_SPACE)[2] for node in network}
    times = Counter(id for node, id in bare.items() if id != node)
    named = {
        node: id if times[id] == 1 else node.replace(_IN_SPACE, "/")
        for node, id in bare.items()
        if isinstance(node, str) and id != node
    }
    return nx.relabel_nodes(network, named) if named else network


def _add_network(network: Any, path: Path, form: str) -> None:
    import networkx as nx

    try:
        with open_packed(path) as source:
            read = nx.read_graphml(_as_directed(source)) if form == ".graphml" else nx.read_gexf(source)
    except (nx.NetworkXException, *_OF_XML, *DAMAGED) as error:
        raise ReadError(path, None, f"not a readable {form[1:]} file: {error}") from error
    for _, about in read.nodes(data=True):
        about.update({**read.graph.get("node_default", {}), **about})
    for *_, about in read.edges(data=True):
        about.update({**read.graph.get("edge_default", {}), **about})
    values = {
        node: Literal(str(about["value"]), about["datatype"])
        for node, about in read.nodes(data=True)
        if about.keys() == {"value", "datatype"} and "://" in str(about["datatype"])  # as `kg.export_files` writes it
    }
    read = nx.relabel_nodes(read, values)
    for _, about in read.nodes(data=True):
        if isinstance(labels := about.get("labels"), str) and labels.startswith(":"):  # as APOC writes them
            about["types"] = [label for label in about.pop("labels").split(":") if label]
    network.add_nodes_from(read.nodes(data=True))
    for head, tail, about in read.edges(data=True):
        _add_edge(network, head, tail, about)


def _as_directed(source: IO[bytes]) -> io.BytesIO:
    """GraphML whose edges all lead from source to target: networkx refuses directions of single edges, and forgets
    which end of an undirected edge is the source; here each edge is a triple."""
    text = source.read()
    if text.count(b"directed=") == 0 and b"undirected" not in text:
        return io.BytesIO(text)
    root = ElementTree.fromstring(text)  # nosec B314: as networkx does
    for part in root.iter():
        kind = part.tag.rpartition("}")[2]
        if kind == "edge":
            part.attrib.pop("directed", None)
        elif kind == "graph":
            part.attrib["edgedefault"] = "directed"
    return io.BytesIO(ElementTree.tostring(root, encoding="utf-8"))


def _add(network: Any, row: Mapping[str, Any]) -> str | None:
    """Add a node or an edge; why that is not possible, or None.

    What is in `properties` are attributes, whatever their names: only the row itself says what is connected.
    """
    own, inside = dict(row), row.get("properties")
    if isinstance(inside, dict):
        del own["properties"]
    inside = dict(inside) if isinstance(inside, dict) else {}
    kind = own.pop(_KIND, None) or _KINDS.get(str(row.get("type")))
    if row.get("type") in _KINDS:
        del own["type"]  # of the line, not of what it is about
    head, tail = (None, None) if kind == "node" else (_end(own, _HEADS), _end(own, _TAILS))
    if head is not None and tail is not None:
        own.pop("id", None)
        relation = relation_of(own, own.pop("key", None))
        if relation == LINKED:  # the row does not name it
            relation = relation_of(inside, None)
        _add_edge(network, head, tail, {**own, **inside, "relation": relation})
        return None
    if kind == "edge" or head is not None or tail is not None:
        return "an edge needs both ends, such as source and target"
    id = next((about[name] for about in (own, inside) for name in _IDS if about.get(name) not in (None, "")), None)
    if id is None:
        return "neither a node with an id nor an edge with source and target"
    if own.pop("id", None) in (None, ""):
        inside.pop("id", None)  # it is the node's own
    labels = own.pop("labels", None) or inside.pop("labels", None)
    if labels:
        own["types"] = labels if isinstance(labels, list) else [str(labels)]
    network.add_node(str(id))
    network.nodes[str(id)].update({str(name): value for name, value in {**own, **inside}.items()})
    return None


def _add_edge(network: Any, head: object, tail: object, about: Mapping[str, Any]) -> None:
    """Add an edge beside those that are there; its attributes may have any names."""
    network.edges[head, tail, network.add_edge(head, tail)].update(about)


def _end(about: dict[str, Any], names: Iterable[str]) -> str | None:
    """The node at one end of an edge, taken out of its attributes."""
    name = next((name for name in names if about.get(name) not in (None, "")), None)
    if name is None:
        return None
    value = about.pop(name)
    if isinstance(value, dict):
        value = value.get("id")
    return None if value is None or isinstance(value, list) else str(value)


def _json_rows(path: Path, skipped: list[BadLine] | None) -> Iterator[tuple[int | None, Mapping[str, Any]]]:
    with reading(path), open_packed(path) as source:
        if {".json", ".cyjs"} & {*path.suffixes}:
            yield from ((None, row) for row in _document(path, source.read()))
            return
        for number, line in enumerate(source, 1):
            if not line.strip():
                continue
            try:
                row = parse_record(line)
            except ValueError as error:
                bad_line(skipped, path, number, f"not JSON: {error}", error)
            else:
                yield number, row if isinstance(row, dict) else {}


def _document(path: Path, text: bytes) -> list[Mapping[str, Any]]:
    """The nodes and edges of one JSON document: a list of objects, `nodes` and `links` (or `edges`), or `elements`."""
    try:
        found = parse_record(text)
    except ValueError as error:
        raise ReadError(path, None, f"not JSON: {error}") from error
    if isinstance(found, dict) and "elements" in found:
        return _elements(path, found["elements"])
    if isinstance(found, dict):
        found = _joined(found.get("nodes"), found.get("links") or found.get("edges") or [])
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ReadError(path, None, "neither a list of nodes and edges nor an object with `nodes` and `links`")
    return found


def _elements(path: Path, found: object) -> list[Mapping[str, Any]]:
    """The nodes and edges of a document of Cytoscape: a list of elements, or lists of `nodes` and of `edges`."""
    listed = _joined(found.get("nodes"), found.get("edges") or []) if isinstance(found, dict) else found
    rows = [_element(one) for one in listed] if isinstance(listed, list) else []
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise ReadError(path, None, "an element without `data`: not a document of Cytoscape")
    return [
        {k: v for k, v in row.items() if k not in _OF_CYTOSCAPE and (k != "value" or v != row.get("id"))}
        for row in rows
        if row is not None
    ]


def _element(element: object) -> dict[str, Any] | None:
    """The data of an element of Cytoscape, with its kind if its list or its `group` tells it. None without data."""
    if not isinstance(element, dict) or not isinstance(data := element.get("data"), dict):
        return None
    kind = element.get(_KIND) or {"nodes": "node", "edges": "edge"}.get(str(element.get("group")))
    return data if kind is None else {**data, _KIND: kind}


def _joined(nodes: object, edges: object) -> list[Any] | None:
    """Nodes and edges in one list; None if one of them is no list."""
    if not isinstance(nodes, list) or not isinstance(edges, list):
        return None
    both = ((kind, row) for kind, rows in (("node", nodes), ("edge", edges)) for row in rows)
    return [{**row, _KIND: kind} if isinstance(row, dict) else row for kind, row in both]


def _csv_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows of an export of Neo4j: `name:type` as the types say, `:ID` and `_id` as ids."""
    with reading(path), open_packed(path) as source:
        rows = csv.reader(io.TextIOWrapper(source, "utf-8-sig", newline=""))
        columns = [_Column.of(name) for name in next(rows, [])]
        for row in rows:
            if len(row) != len(columns):
                raise ReadError(path, rows.line_num, f"{len(row)} fields, {len(columns)} expected")
            own: dict[str, Any] = {}
            inside: dict[str, Any] = {}
            for column, value in zip(columns, row, strict=True):
                if value and column.special:
                    own[column.special] = column.read(value)
                if value and column.name:
                    inside[column.name] = column.read(value)
            kind = "edge" if own.keys() & {"source", "target"} else "node"
            yield rows.line_num, own | {_KIND: kind, "properties": inside}


@dataclass(frozen=True)
class _Column:
    """A column of an export of Neo4j.

    Attributes:
        name: of the attribute; empty: none.
        kind: its type.
        special: what else it is: `id`, `labels`, `relation`, `source` or `target`; empty: nothing.
        space: of ids, which are unique in their space alone; empty: of the whole graph.
    """

    name: str
    kind: str = ""
    special: str = ""
    space: str = ""

    @classmethod
    def of(cls, header: str) -> _Column:
        """ "age:int" is an attribute, ":START_ID(Person)" a source."""
        name, _, kind = header.partition(":")
        kind, _, space = kind.partition("(")
        special = _OF_NEO4J.get(plain(kind) if kind else plain(name) if name.startswith("_") else "", "")
        if not special:
            return cls("" if plain(kind) == "ignore" else name, kind)
        return cls("", "", special, space.partition(")")[0])

    def read(self, value: str) -> Any:
        """The value of a cell; an id begins with its space."""
        if self.space:
            return f"{self.space}{_IN_SPACE}{value}"
        if self.special == "labels":
            return [part for part in value.replace(":", ";").split(";") if part]
        return _cell(value, self.kind)


def _cell(value: str, kind: str) -> Any:
    if kind.endswith("[]"):
        return [part for part in value.split(";") if part]
    try:
        return _TYPES.get(kind, str)(value)
    except ValueError:
        return value
