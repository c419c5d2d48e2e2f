"""A local index of an endpoint: the names of its nodes, its relations with their vectors, its types and counts.

Names are collected page by page into a file beside the index, so an interrupted build continues where it stopped.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplecheck.kg import relation_vectors
from triplecheck.kg._arrays import FloatArray
from triplecheck.kg._atomic import replaced_directory, write_text
from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.kg.errors import KnowledgeBaseError
from triplecheck.kg.graph import RelationSchema
from triplecheck.kg.linking import Candidate, GraphLinker
from triplecheck.kg.names import NamedNode, NameIndex, TrigramIndex, write_names
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.queried import RemoteGraph
from triplecheck.kg.types import Entity, Literal, Relation
from triplecheck.kg.values import parse_json

FORMAT, VERSION, FILE = "triplecheck-endpoint-index", 1, "index.json"
_NODES = "nodes.arrow"
_ENDS = ("domain", "range")
_PAGE = 2_000
_NEW_RELATIONS = 4_096  # relations that the endpoint got after the index was built


@dataclass(frozen=True)
class IndexedEndpoint:
    """The content of `index.json`.

    Attributes:
        endpoint: `EndpointOptions.identity` of the endpoint.
        made: seconds since 1970.
        counts: entities, values, relations, triples, types, names.
        types: types of entities, most frequent first.
        relations: descriptions of all relations, in the order of their vectors.
        schemas: number of edges, and the types at both ends, of each relation.
        encoder: name and fingerprint of the encoder of the vectors, or None.
        learned: see `kg.queried.RemoteGraph`.
    """

    endpoint: dict[str, Any]
    made: float
    counts: dict[str, int]
    types: list[str]
    type_labels: dict[str, str]
    relations: list[Relation]
    schemas: list[RelationSchema]
    encoder: dict[str, str] | None
    learned: dict[str, Any] = field(default_factory=dict)
    format: str = FORMAT
    version: int = VERSION


def is_index(folder: Path) -> bool:
    """Whether the directory has an index."""
    return (folder / FILE).is_file()


def build_index(
    graph: RemoteGraph,
    endpoint: dict[str, Any],
    out: Path,
    *,
    encoder: Encoder | str | None = "all-MiniLM-L6-v2",
    progress: ProgressCallback = no_progress,
) -> IndexedEndpoint:
    """Read all names of an endpoint and write their index. The same call resumes an interrupted build.

    Args:
        endpoint: what identifies it, `EndpointOptions.identity`.
        out: the directory of the index; an older index there is replaced when the new one is complete.
        encoder: makes the vectors of the relations; None: no vectors.

    Raises:
        GraphUnavailableError: the server does not answer; what was read so far is kept.
        KnowledgeBaseError: `out` is something else than an index.
    """
    if out.exists() and not is_index(out) and any(out.iterdir()):
        raise KnowledgeBaseError(f"{out}: exists and is no index of an endpoint; choose another directory")
    part = out.with_name(out.name + ".part.jsonl")
    entities, values = _collect(graph, part, endpoint, progress)
    progress("reading relations and types", 0, None)
    relations = [graph.relation(number) for number in range(graph.num_relations)]
    schemas = []
    for number in range(len(relations)):
        progress("reading the schema", number, len(relations))
        schemas.append(graph.schema(number))
    model = load_encoder(encoder) if isinstance(encoder, str) else encoder
    with replaced_directory(out) as folder:
        progress("indexing names", 0, None)
        names = [(entity.label, at, 0) for at, entity in enumerate(entities)]
        names += [(alias, at, 1) for at, entity in enumerate(entities) for alias in entity.aliases]
        names += [(value.lexical, at, 2) for at, value in enumerate(values, len(entities))]
        (folder / "names").mkdir()
        num_names = write_names(names, len(entities) + len(values), folder / "names")
        _write_nodes(entities, values, folder / _NODES)
        if model is not None:
            progress("encoding relations", 0, len(relations))
            (folder / "vectors").mkdir()
            relation_vectors.build(relations, model, folder / "vectors")
        counts = {
            "entities": len(entities),
            "values": max(graph.num_nodes - len(entities), len(values)),
            "relations": len(relations),
            "triples": graph.num_triples,
            "types": len(graph.type_ids),
            "names": num_names,
        }
        about = IndexedEndpoint(
            endpoint,
            time.time(),
            counts,
            list(graph.type_ids),
            {id: graph.type_label(id) for id in graph.type_ids},
            relations,
            schemas,
            None if model is None else {"name": model.name, "fingerprint": model.fingerprint},
            graph.learned,
        )
        write_text(folder / FILE, json.dumps(asdict(about)))
    part.unlink(missing_ok=True)
    return about


def _collect(
    graph: RemoteGraph, part: Path, endpoint: dict[str, Any], progress: ProgressCallback
) -> tuple[list[Entity], list[Literal]]:
    """All entities and values: those of an earlier attempt from the file, the others from the server."""
    entities, values, finished = _resumed(part, endpoint)
    part.parent.mkdir(parents=True, exist_ok=True)
    with part.open("a", encoding="utf-8") as file:

        def note(page: list[Any], done: str | None = None) -> None:
            if done is not None:
                page.append({"done": done})
            file.write("".join(json.dumps(row) + "\n" for row in page))
            file.flush()

        if file.tell() == 0:
            note([{"endpoint": endpoint}])
        while "entities" not in finished:
            progress("reading names", len(entities), None)
            page = graph.entities_after(entities[-1].id if entities else None, _PAGE)
            entities += page
            rows: list[Any] = [[entity.id, entity.label, *entity.aliases] for entity in page]
            note(rows, None if page else "entities")
            if not page:
                break
        while "values" not in finished:
            progress("reading values", len(values), None)
            found = graph.values_after(values[-1].lexical if values else None, _PAGE)
            # The next page begins after a lexical form, so one that may go on there is left to it.
            whole = [v for v in found if v.lexical != found[-1].lexical] or found
            values += whole
            note([{"value": value.lexical, "type": value.datatype} for value in whole], None if found else "values")
            if not found:
                break
    return entities, values


def _resumed(part: Path, endpoint: dict[str, Any]) -> tuple[list[Entity], list[Literal], set[str]]:
    entities: list[Entity] = []
    values: list[Literal] = []
    finished: set[str] = set()
    rows = list(_rows(part))
    if not rows or rows[0] != {"endpoint": endpoint}:
        part.unlink(missing_ok=True)  # of another endpoint, or cut in its first line
        return entities, values, finished
    for row in rows[1:]:
        if isinstance(row, list):
            entities.append(Entity(row[0], row[1], tuple(row[2:])))
        elif "value" in row:
            values.append(Literal(row["value"], row["type"]))
        else:
            finished.add(row["done"])
    return entities, values, finished


def _rows(part: Path) -> Iterator[Any]:
    """The whole lines of the file; what follows a broken one is cut off."""
    if not part.exists():
        return
    with part.open("rb+") as file:
        end = 0
        for line in file:
            try:
                row = parse_json(line)
            except ValueError:
                break
            if not line.endswith(b"\n"):
                break
            end += len(line)
            yield row
        file.truncate(end)


def _write_nodes(entities: Sequence[Entity], values: Sequence[Literal], path: Path) -> None:
    ids = pa.array([e.id for e in entities] + [v.lexical for v in values], pa.large_string())
    kinds = pa.array([None] * len(entities) + [v.datatype for v in values], pa.string()).dictionary_encode()
    table = pa.table({"id": ids, "datatype": kinds})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


class EndpointIndex:
    """An index that `build_index` wrote, opened by mapping.

    Raises:
        KnowledgeBaseError: it is missing, damaged or of another version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            data = parse_json((folder / FILE).read_text("utf-8"))
            if data.get("format") != FORMAT or data.get("version") != VERSION:
                raise ValueError("another format or version")
            relations = [Relation(**{**r, "aliases": tuple(r["aliases"])}) for r in data.pop("relations")]
            schemas = [RelationSchema(**{**s, **{end: _pairs(s[end]) for end in _ENDS}}) for s in data.pop("schemas")]
            self.about = IndexedEndpoint(**data, relations=relations, schemas=schemas)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise KnowledgeBaseError(
                f"{folder}: no index of an endpoint ({error}); build one with `triplecheck kb index`"
            ) from error

    @functools.cached_property
    def encoder(self) -> Encoder | None:
        """The encoder of the vectors, loaded; None if there are none."""
        made = self.about.encoder
        return None if made is None else load_encoder(made["name"], made["fingerprint"], self.folder)

    @functools.cached_property
    def relation_vectors(self) -> relation_vectors.RelationVectors | None:
        """Vectors of the relations, None if not built."""
        if self.encoder is None:
            return None
        folder = self.folder / "vectors"
        return _OpenVectors(*relation_vectors.stored(folder), self.encoder)

    def linker(self, graph: RemoteGraph) -> EndpointLinker:
        """Links text to the endpoint's graph by the names of the index."""
        source = pa.memory_map(str(self.folder / _NODES))
        nodes = pa.ipc.open_file(source).read_all().combine_chunks()
        names = _EndpointNames(self.folder / "names", nodes, graph)
        trigrams = TrigramIndex(self.folder / "names", names)
        return EndpointLinker(graph, names, trigrams, self.relation_vectors, None, self.encoder)


def _pairs(rows: list[list[Any]]) -> tuple[tuple[str, int], ...]:
    return tuple((str(id), int(count)) for id, count in rows)


class EndpointLinker(GraphLinker):
    """A `GraphLinker` that asks the server about all candidates at once."""

    def ground(
        self,
        candidates: Sequence[Candidate],
        question: str | None,
        top_k: int | None = None,
        *,
        even_alone: bool = False,
    ) -> list[Candidate]:
        """See `GraphLinker.ground`."""
        cast(RemoteGraph, self._graph).prefetch([candidate.node for candidate in candidates])
        return super().ground(candidates, question, top_k, even_alone=even_alone)


class _EndpointNames(NameIndex):
    """Names whose nodes have the numbers of the endpoint's graph."""

    def __init__(self, folder: Path, nodes: pa.Table, graph: RemoteGraph) -> None:
        super().__init__(folder)
        self._ids, self._kinds, self._graph = nodes["id"], nodes["datatype"], graph

    def nodes_of(self, number: int) -> list[NamedNode]:
        """All nodes of a name by its number."""
        return [
            NamedNode(self._graph.known(self._node(named.node)), named.source) for named in super().nodes_of(number)
        ]

    def _node(self, row: int) -> str | Literal:
        id, kind = self._ids[row].as_py(), self._kinds[row].as_py()
        return id if kind is None else Literal(id, kind)


class _OpenVectors(relation_vectors.RelationVectors):
    """Vectors of a graph that may have got further relations; those fit no text."""

    def against(self, text: str) -> FloatArray:
        """See `RelationVectors.against`."""
        return np.append(super().against(text), np.zeros(_NEW_RELATIONS, np.float32))

    def nearest_wordings(self, text: str) -> npt.NDArray[np.int64]:
        """See `RelationVectors.nearest_wordings`."""
        return np.append(super().nearest_wordings(text), np.zeros(_NEW_RELATIONS, np.int64))
