"""Writes the changed knowledge base (see `kg.changes`) beside the old one, and puts it in the place of the old one.

What did not change is kept: documents, their index and vectors are linked, and no text is encoded again. A trained part
stays if it still fits, and says that it is stale.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from triplecheck.kg import building, manifest
from triplecheck.kg._atomic import link_tree, only_writer, replaced_directory
from triplecheck.kg.changed_graph import Edit
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document, DocumentStore
from triplecheck.kg.embedding.embeddings import ABOUT, PART, read_about
from triplecheck.kg.encode import KnownTexts
from triplecheck.kg.errors import KnowledgeBaseError, UserError
from triplecheck.kg.inference import inferred_rows, with_inferred
from triplecheck.kg.manifest import Generation, Manifest
from triplecheck.kg.names import NameIndex, extend_names
from triplecheck.kg.progress import ProgressCallback
from triplecheck.kg.readers import RawGraph
from triplecheck.kg.relation_vectors import relation_texts, stored, stored_types
from triplecheck.kg.skb import NodeDocuments, node_documents
from triplecheck.kg.skb.search import FIELDS, NODE_VECTORS
from triplecheck.kg.vectors import LazyVectors, VectorIndex

STALE = "the graph has changed since it was trained"
"""Why a trained part is stale."""
_GRAPH_PARTS = ("graph", "names", "vectors", "name_vectors")
_DOCUMENT_PARTS = ("documents", "node_documents")
_BUNDLED = re.compile("bundled-[0-9a-f]{16}")
# In folders of a knowledge base, but not in its manifest: vectors that are computed later.
_LATER, _DRAFT = "vectors", "vectors.draft"


class Base(Protocol):
    """What is read of an opened `KnowledgeBase`."""

    path: Path
    manifest: Manifest
    generation: Generation

    @property
    def columnar(self) -> ColumnarGraph:
        """The graph."""

    @property
    def names(self) -> NameIndex:
        """Exact names."""

    @property
    def documents(self) -> DocumentStore | None:
        """The documents."""

    @property
    def name_vectors(self) -> VectorIndex | None:
        """Vectors of the labels."""


@dataclass(frozen=True)
class Changed:
    """What a change did.

    Attributes:
        manifest: of the knowledge base after it.
        added, already_there, removed, not_found: numbers of triples.
        entities_added, entities_removed, entities_not_found: numbers of entities.
        documents_added, documents_replaced, documents_removed, documents_not_found: numbers of documents.
        left_out: number of statements that were read and are neither edges nor descriptions, by the reason.
        seconds: it took.
        notes: what else to know.
    """

    manifest: Manifest
    added: int = 0
    already_there: int = 0
    removed: int = 0
    not_found: int = 0
    entities_added: int = 0
    entities_removed: int = 0
    entities_not_found: int = 0
    documents_added: int = 0
    documents_replaced: int = 0
    documents_removed: int = 0
    documents_not_found: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


def _with_reading(report: Mapping[str, Any], read: Sequence[RawGraph]) -> dict[str, Any]:
    """A report with what later additions must be read with; the knowledge base may have had no RDF before."""
    known = report.get("reading", {})
    for graph in read:
        inverses = {**known.get("inverses", {}), **graph.reading.get("inverses", {})}
        known = {**graph.reading, **{name: value for name, value in known.items() if value is not None}}
        known |= {"inverses": inverses} if inverses else {}
    return {**report, "reading": known} if known else dict(report)


class _UnchangedError(Exception):
    """Nothing changed, so nothing is replaced."""


@contextlib.contextmanager
def changing(base: Base, progress: ProgressCallback) -> Iterator[Writing]:
    """The only process that changes the base."""
    if _BUNDLED.fullmatch(base.path.name):
        raise UserError("the bundled knowledge base is not changed; copy it with `triplecheck kb merge OUT bundled`")
    _check_same(base)
    with only_writer(base.path) as alone:
        if not alone:
            raise KnowledgeBaseError(f"{base.path}: another process is changing it; try again when it has ended")
        _check_same(base)
        yield Writing(base, progress)


def _check_same(base: Base) -> None:
    opened = base.manifest.files  # of a graph on a server, this says what to do
    if manifest.read(base.path).files != opened:
        raise manifest.replaced(base.path)


class Writing:
    """Writes what a knowledge base becomes."""

    def __init__(self, base: Base, progress: ProgressCallback) -> None:
        self._base = base
        self._progress = progress
        self._began = time.perf_counter()
        self._copied: set[str] = set()
        self._notes: list[str] = []

    def done(
        self,
        edit: Edit | None,
        documents: Sequence[Document] | None,
        read: Sequence[RawGraph],
        sources: Iterable[str],
        found: Changed,
        *,
        following: bool = False,
    ) -> Changed:
        """Write everything and replace the base.

        Args:
            edit: what the graph becomes; None: it stays.
            documents: what the documents become; None: they stay.
            read: what was read.
            sources: file names to note.
            found: what was counted so far.
            following: the documents follow the old ones instead of replacing them.
        """
        base, before = self._base, self._base.manifest
        after = before
        try:
            report = _with_reading(before.report, read)
            if edit is not None:
                edit = replace(edit, graph=with_inferred(edit.graph, report.get("reading", {}).get("inverses", {})))
            with replaced_directory(base.path) as new:
                counts = self._write_graph(edit, new)
                files = manifest.describe_files(new / "graph")
                graph_changed = files != {
                    name.removeprefix("graph/"): about
                    for name, about in before.files.items()
                    if name.startswith("graph/")
                }
                if not graph_changed and documents is None:
                    raise _UnchangedError
                counts["documents"] = self._write_documents(documents, following, graph_changed, new)
                stale = self._keep_trained(graph_changed, new)
                self._progress("writing the manifest", 0, None)
                known = {name: about for name, about in before.files.items() if name in self._copied}
                after = manifest.write(
                    new,
                    counts,
                    files=manifest.describe_files(new, known),
                    blocks={name: sums for name, sums in before.blocks.items() if name in known},
                    encoder=before.encoder,
                    sources=sorted({*before.sources, *sources}),
                    report=report,
                    skipped=before.skipped + sum(len(graph.skipped) for graph in read),
                    stale=stale,
                    changes=before.changes + 1,
                    language=before.language,
                )
                self._keep_vectors(after, documents is None, new)
                _check_same(base)
        except _UnchangedError:
            pass
        notes = (*found.notes, *self._notes, *(note for graph in read for note in graph.notes))
        if edit is not None:
            triples = after.counts["triples"] - before.counts["triples"]
            triples += len(inferred_rows(base.columnar)) - edit.graph.inferred
            entities = after.counts["entities"] - before.counts["entities"]
            found = replace(
                found,
                added=triples + edit.edges_removed,
                removed=edit.edges_removed,
                already_there=edit.given - triples - edit.edges_removed,
                not_found=edit.not_found,
                entities_added=entities + edit.entities_removed,
                entities_removed=edit.entities_removed,
            )
        seconds = time.perf_counter() - self._began
        return replace(found, manifest=after, seconds=seconds, notes=notes)

    def _write_graph(self, edit: Edit | None, new: Path) -> dict[str, int]:
        if edit is None:
            self._copy(new, *_GRAPH_PARTS)
            return dict(self._base.manifest.counts)

        has_vectors = self._has("name_vectors")
        return building.write_graph(
            new,
            edit.graph,
            self._known_texts(),
            has_vectors,
            self._progress,
            kept_names=lambda graph: self._keep_names(graph, new),
        )

    def _keep_names(self, graph: ColumnarGraph, new: Path) -> int | None:
        """Keep the index of names, or add to it what is new. None: an old node is gone or has other names."""
        base, size, entities = self._base.columnar, self._base.columnar.num_nodes, self._base.columnar.num_entities
        old, now = base.node_columns(), graph.node_columns()
        further, values = graph.num_entities - entities, size - entities
        if further < 0 or not now.aliases.slice(0, entities).equals(old.aliases):
            return None
        # Old values follow the new entities; new values follow them.
        stays = now.labels.slice(0, entities).equals(old.labels.slice(0, entities))
        if not stays or not now.labels.slice(graph.num_entities, values).equals(old.labels.slice(entities)):
            return None
        if graph.num_nodes == size and not further:
            self._copy(new, "names")
            return self._base.manifest.counts["names"]
        number = np.arange(size)
        number[entities:] += further
        labels = [(node, 0) for node in range(entities, graph.num_entities)]
        labels += [(node, 2) for node in range(graph.num_entities + values, graph.num_nodes)]
        names = [(graph.label(node), node, source) for node, source in labels]
        names += [(alias, node, 1) for node, _ in labels[:further] for alias in graph.entity(node).aliases]
        (new / "names").mkdir()
        with self._base.generation.opening("names") as folder:
            sums = self._base.generation.sums
            return extend_names(folder, number, names, graph.num_nodes, new / "names", sums)

    def _write_documents(
        self, documents: Sequence[Document] | None, following: bool, graph_changed: bool, new: Path
    ) -> int:
        """Write or keep the documents; return their number."""
        store = self._base.documents
        if documents is None:
            self._copy(new, "documents")
            count = 0 if store is None else len(store)
        elif documents:
            self._progress("indexing documents", 0, None)
            after, language = store if following else None, self._base.manifest.language
            count = len(DocumentStore.build(documents, new / "documents", after, language))
        else:
            return 0
        if documents is None and not graph_changed:
            self._copy(new, "node_documents")
        elif store is not None or documents:
            building.write_node_documents(new, self._base.manifest.language, self._progress)
        return count

    def _keep_trained(self, graph_changed: bool, new: Path) -> dict[str, str]:
        """Keep the parts that were trained, and return which of them are stale, and why."""
        stale = dict(self._base.manifest.stale)
        parts = {name.split("/", 1)[0] for name in self._base.manifest.files if "/" in name}
        for part in sorted(parts - {*_GRAPH_PARTS, *_DOCUMENT_PARTS}):
            if part == PART and graph_changed and not self._numbers_stay(new):
                self._notes.append(
                    "the embeddings were removed, because entities or relations have other numbers now; train them "
                    f"again with `triplecheck kb embed {self._base.path}`"
                )
                stale.pop(part, None)
                continue
            self._copy(new, part)
            if graph_changed:
                stale[part] = STALE
        return stale

    def _numbers_stay(self, new: Path) -> bool:
        """Whether all that has a vector in the embeddings has the same number as before."""
        old, graph = self._base.columnar, ColumnarGraph(new / "graph")
        with self._base.generation.opening(PART, quietly=True) as folder:
            vectors = read_about(folder / ABOUT).num_entities
        ids, later = old.node_columns().ids.slice(0, vectors), graph.node_columns().ids.slice(0, vectors)
        relations = [[g.relation(r).id for r in range(g.num_relations)] for g in (old, graph)]
        same: bool = ids.equals(later) and relations[0] == relations[1][: len(relations[0])]
        # With vectors of literals, the number of entities must be the same.
        values = vectors > old.num_entities and graph.num_entities != old.num_entities
        graph.close()
        return same and not values

    # --- what is kept --------------------------------------------------------------------------
    def _has(self, part: str) -> bool:
        return any(name.startswith(f"{part}/") for name in self._base.manifest.files)

    def _copy(self, new: Path, *parts: str) -> None:
        """Link the files of parts that the manifest lists."""
        for part in parts:
            source = self._base.path / part
            leave_out = (_LATER, _DRAFT) if part == "documents" else ()
            if self._has(part):
                self._copied |= {f"{part}/{name}" for name in link_tree(source, new / part, leave_out)}

    def _known_texts(self) -> KnownTexts | None:
        return None if self._base.manifest.encoder is None else known_texts(self._base)

    def _keep_vectors(self, after: Manifest, documents_stay: bool, new: Path) -> None:
        """Keep the vectors of documents and nodes whose texts are the same; encode the others where all were encoded.

        The manifest does not list these vectors.
        """
        base = self._base
        if base.documents is not None and base.documents.has_vectors and (new / "documents").is_dir():
            if documents_stay:
                link_tree(base.path / "documents" / _LATER, new / "documents" / _LATER)
            else:
                old = base.documents.vectors
                known = KnownTexts(old.metadata["encoder"], old.metadata["fingerprint"], old.dimensions)
                known.add(base.documents.embedded_texts(), old.vectors)
                DocumentStore.open(new / "documents").build_vectors(known, self._progress)
        source, folder = base.path / NODE_VECTORS, base.path / "node_documents"
        content = base.generation.content("graph", "documents")
        encoder = self._known_texts() if source.is_dir() else None
        if encoder is not None and folder.is_dir() and node_documents.is_of(folder, content):
            self._keep_node_vectors(NodeDocuments(folder), encoder, after, new)

    def _keep_node_vectors(self, old: NodeDocuments, encoder: KnownTexts, after: Manifest, new: Path) -> None:
        place = new / "node_documents"
        for folder in sorted((self._base.path / NODE_VECTORS).iterdir()):
            field, _, fingerprint = folder.name.rpartition("-")
            if field not in FIELDS or fingerprint != encoder.fingerprint[:12]:
                continue
            vectors = LazyVectors(folder, len(old), getattr(old, field), encoder)
            rows, matrix = vectors.filled()
            complete = len(rows) == len(old)
            if not place.is_dir():
                if not complete:
                    continue  # it would take longer to make the texts than to encode these few again
                graph, content = ColumnarGraph(new / "graph"), Generation(new, after).content("graph", "documents")
                language = self._base.manifest.language
                node_documents.build(graph, None, place, self._progress, content=content, language=language)
                graph.close()
            encoder.add(map(getattr(old, field), rows.tolist()), matrix)
            documents = NodeDocuments(place)
            text = getattr(documents, field)
            kept = [row for row in range(len(documents)) if complete or text(row) in encoder]
            LazyVectors(new / NODE_VECTORS / folder.name, len(documents), text, encoder).fill(
                np.array(kept, np.int64), self._progress
            )


def known_texts(base: Base, known: KnownTexts | None = None) -> KnownTexts:
    """The encoder of a base with vectors, which knows the vectors of relations and names that the base has.

    Args:
        known: the same encoder with the vectors of another base, to add to.
    """
    encoder, graph = base.manifest.encoder, base.columnar
    assert encoder is not None
    with base.generation.opening("vectors") as folder:
        vectors, _ = stored(folder)
        types, of_types = stored_types(folder)
    known = known or KnownTexts(encoder["name"], encoder["fingerprint"], vectors.shape[1])
    relations = (graph.relation(number) for number in range(graph.num_relations))
    known.add((text for relation in relations for text in relation_texts(relation)), vectors)
    known.add(types, of_types)
    if base.name_vectors is not None:
        labels = graph.node_columns().labels.slice(0, graph.num_entities)
        known.add(labels.to_pylist(), base.name_vectors.vectors)
    return known
