"""Additions to a knowledge base, removals and updates.

The changed knowledge base is written beside the old one and takes its place when it is complete: a reader sees the old
one or the new one. What did not change is kept: documents, their index and vectors are linked, and no text is encoded
again. A trained part stays if it still fits, and says that it is stale.
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
from triplecheck.kg._atomic import link_tree, only_writer, replaced_directory, sweep
from triplecheck.kg.changed_graph import Edit, GraphChange, first_blank, with_known_datatypes
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document, DocumentStore
from triplecheck.kg.embedding.embeddings import ABOUT, PART, read_about
from triplecheck.kg.encode import KnownTexts
from triplecheck.kg.errors import KnowledgeBaseError, KnowledgeBaseReplacedError, UserError
from triplecheck.kg.inference import inferred_rows, with_inferred, without_inferred
from triplecheck.kg.manifest import Generation, Manifest
from triplecheck.kg.names import NameIndex, extend_names, normalize
from triplecheck.kg.numbering import concat
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers import RawGraph, graphs_of
from triplecheck.kg.readers.raw import warn_of
from triplecheck.kg.relation_vectors import relation_texts, stored
from triplecheck.kg.skb import NodeDocuments, node_documents
from triplecheck.kg.skb.search import FIELDS, NODE_VECTORS, LazyVectors
from triplecheck.kg.vectors import VectorIndex

STALE = "the graph has changed since it was trained"
"""Why a trained part is stale."""
_GRAPH_PARTS = ("graph", "names", "vectors", "name_vectors")
_DOCUMENT_PARTS = ("documents", "node_documents")
# In folders of a knowledge base, but not in its manifest: vectors that are computed later.
_BUNDLED = re.compile("bundled-[0-9a-f]{16}")
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


def add(
    base: Base,
    triples: object = (),
    *,
    entities: object = None,
    relations: object = None,
    mapping: Mapping[str, str] | None = None,
    edge_properties: Sequence[str] = (),
    axioms: bool | None = None,
    language: str | None = None,
    documents: Iterable[Document] = (),
    sources: Iterable[str] = (),
    progress: ProgressCallback = no_progress,
) -> Changed:
    """Add triples, descriptions and documents.

    What is there wins: a further label of an entity becomes an alias. A tail that may be an entity or a literal is what
    the tails of its relation already are.

    Args:
        triples: whatever `build` takes, as the next four.
        entities, relations: tables that describe them.
        mapping: columns of tables and data frames.
        edge_properties: further columns to keep as properties of the edges.
        axioms, language: of RDF files, see `kg.readers.read_graph`. None: as the knowledge base was built.
        sources: file names to note in the manifest.
        progress: called at each step.

    Raises:
        UserError: a document has the id of one that is there, or as `build`.
        KnowledgeBaseReplacedError: another process replaced the knowledge base meanwhile; nothing is written.
        KnowledgeBaseError: another process is changing it.
    """
    with _writing(base, progress) as writing:
        options = {"edge_properties": edge_properties, "axioms": axioms, "language": language}
        new = _read(base, triples, entities, relations, mapping, options, progress)
        more = list(documents)
        known = set() if base.documents is None else set(base.documents.ids())
        for document in more:
            if document.id in known:
                raise UserError(
                    f"{base.path}: there is a document with the id {document.id!r} already; give the new one another "
                    "id, or replace the old one with `triplecheck kb update`"
                )
        edit = GraphChange(base.columnar).added(new) if _holds(new) else None
        found = Changed(base.manifest, documents_added=len(more), left_out=building.left_out(new))
        return writing.done(edit, more or None, [new], sources, found, following=True)


def remove(
    base: Base,
    triples: object = (),
    *,
    entities: Iterable[str] = (),
    documents: Iterable[str] = (),
    mapping: Mapping[str, str] | None = None,
    axioms: bool | None = None,
    progress: ProgressCallback = no_progress,
) -> Changed:
    """Remove triples, entities and documents.

    Entities that are left without any triple, description and document go, too, and so do relations without triples,
    and types that came from removed edges. What is not there is counted.

    Args:
        triples: whatever `build` takes. A text is the entity of this id or a literal of this form, of any datatype.
        entities: ids or names of entities to remove with all their triples.
        mapping: columns of tables and data frames.
        axioms: whether axioms of RDF files are edges, see `kg.readers.read_graph`. None: as in the knowledge base.
        progress: called at each step.

    Raises:
        UserError: nothing was found, or a name has several entities.
        KnowledgeBaseReplacedError: another process replaced the knowledge base meanwhile; nothing is written.
        KnowledgeBaseError: another process is changing it.
    """
    with _writing(base, progress) as writing:
        read = reading(base, axioms)
        wanted = _given(
            graphs_of(triples, mapping=mapping, **read, first_blank=first_blank(base.columnar), progress=progress)
        )
        gone, lost = _entities(base, dict.fromkeys(entities))
        ids, old = dict.fromkeys(documents), _documents(base)
        left = [document for document in old if document.id not in ids]
        edit = GraphChange(base.columnar, [d.node for d in left if d.node is not None]).removed(wanted, gone)
        found = Changed(
            base.manifest,
            entities_not_found=len(lost),
            documents_removed=len(old) - len(left),
            documents_not_found=len(ids) - len(old) + len(left),
        )
        if not edit.edges_removed and not gone and not found.documents_removed:
            sweep(base.path)  # of a process that was killed after its change
            raise UserError(f"{base.path}: nothing to remove was found; compare the names with `triplecheck kb search`")
        notes = []
        about = {base.columnar.node_id(node) for node in gone}
        if orphans := sum(document.node in about for document in left):
            notes.append(f"{orphans:,} documents are about removed entities; remove them with --documents")
        if wanted.described:
            notes.append(f"{wanted.described:,} labels and other descriptions in the file were not removed")
        after = left if found.documents_removed else None
        needed = edit if edit.edges_removed or gone else None
        return writing.done(needed, after, [], (), replace(found, notes=tuple(notes)))


def update(
    base: Base,
    triples: object = (),
    *,
    entities: object = None,
    relations: object = None,
    mapping: Mapping[str, str] | None = None,
    edge_properties: Sequence[str] = (),
    axioms: bool | None = None,
    language: str | None = None,
    documents: Iterable[Document] = (),
    sources: Iterable[str] = (),
    progress: ProgressCallback = no_progress,
) -> Changed:
    """Replace tails, descriptions and documents.

    For each head and relation of the triples, the tails that are there are replaced by the given ones. Of an entity or
    relation that is described, each given column (label, aliases, description, types ...) replaces the old value. A
    document replaces the one of the same id. What is not there yet is added.

    Args:
        triples, entities, relations, mapping, edge_properties, axioms, language, documents, sources, progress: as
            `add`.

    Raises:
        UserError: as `build`.
        KnowledgeBaseReplacedError: another process replaced the knowledge base meanwhile; nothing is written.
        KnowledgeBaseError: another process is changing it.
    """
    with _writing(base, progress) as writing:
        options = {"edge_properties": edge_properties, "axioms": axioms, "language": language}
        new = _read(base, triples, entities, relations, mapping, options, progress)
        old, more = _documents(base), list(documents)
        given = {document.id: document for document in more}
        if len(given) < len(more):
            raise UserError("two of the documents have the same id; ids must be unique")
        after = [given.pop(document.id, document) for document in old] + list(given.values())
        replaced = sum(a != b for a, b in zip(old, after, strict=False))
        owners = [document.node for document in after if document.node is not None]
        edit = GraphChange(base.columnar, owners).updated(new) if _holds(new) else None
        out = building.left_out(new)
        found = Changed(base.manifest, documents_added=len(given), documents_replaced=replaced, left_out=out)
        return writing.done(edit, after if replaced or given else None, [new], sources, found)


def _holds(new: RawGraph) -> bool:
    return bool(len(new) or new.entities.num_rows or new.relation_rows.num_rows or new.type_labels or new.superclasses)


def reading(base: Base, axioms: bool | None = None, language: str | None = None) -> dict[str, Any]:
    """The options with which files that change a base are read: those given, else those that it was built with."""
    known = base.manifest.report.get("reading", {})
    return {
        "axioms": known.get("axioms") if axioms is None else axioms,
        "language": language or known.get("language", base.manifest.language),
    }


def _documents(base: Base) -> list[Document]:
    return [] if base.documents is None else list(base.documents)


def _read(
    base: Base,
    triples: object,
    entities: object,
    relations: object,
    mapping: Mapping[str, str] | None,
    options: Mapping[str, Any],
    progress: ProgressCallback,
) -> RawGraph:
    graphs = graphs_of(
        triples,
        entities=entities,
        relations=relations,
        mapping=mapping,
        edge_properties=options["edge_properties"],
        **reading(base, options["axioms"], options["language"]),
        first_blank=first_blank(base.columnar),
        progress=progress,
    )
    warn_of(new := _given(graphs))
    return with_known_datatypes(new, base.columnar)


def _given(graphs: Sequence[RawGraph]) -> RawGraph:
    """Graphs as one, without what their ontology implies: that follows from the whole graph."""
    new = concat(graphs)
    return without_inferred(new) if new.inferred else new


def _entities(base: Base, names: Iterable[str]) -> tuple[list[int], list[str]]:
    """The entities of ids or names, and the names of none.

    Raises:
        UserError: a name has several entities.
    """
    graph, found, lost = base.columnar, [], []
    for name in names:
        node = graph.find(name)
        if node is not None and node < graph.num_entities:
            found.append(node)
            continue
        named = sorted({one.node for one in base.names.nodes(normalize(name)) if one.node < graph.num_entities})
        if len(named) > 1:
            ids = ", ".join(repr(graph.node_id(node)) for node in named[:10])
            raise UserError(f"{base.path}: {len(named)} entities are called {name!r}; give the id: {ids}")
        found += named
        lost += [] if named else [name]
    return sorted(set(found)), lost


def _with_reading(report: Mapping[str, Any], read: Sequence[RawGraph]) -> dict[str, Any]:
    """A report with what later additions must be read with; the knowledge base may have had no RDF before."""
    known = report.get("reading", {})
    for graph in read:
        inverses = {**known.get("inverses", {}), **graph.reading.get("inverses", {})}
        known = {**graph.reading, **{name: value for name, value in known.items() if value is not None}}
        known |= {"inverses": inverses} if inverses else {}
    return {**report, "reading": known} if known else dict(report)


# --- writing -------------------------------------------------------------------------------------
class _UnchangedError(Exception):
    """Nothing changed, so nothing is replaced."""


@contextlib.contextmanager
def _writing(base: Base, progress: ProgressCallback) -> Iterator[_Writing]:
    """The only process that changes the base."""
    if _BUNDLED.fullmatch(base.path.name):
        raise UserError("the bundled knowledge base is not changed; copy it with `triplecheck kb merge OUT bundled`")
    _check_same(base)
    with only_writer(base.path) as alone:
        if not alone:
            raise KnowledgeBaseError(f"{base.path}: another process is changing it; try again when it has ended")
        _check_same(base)
        yield _Writing(base, progress)


def _check_same(base: Base) -> None:
    opened = base.manifest.files  # of a graph on a server, this says what to do
    if manifest.read(base.path).files != opened:
        raise KnowledgeBaseReplacedError(
            f"{base.path}: the knowledge base was replaced or changed while it was open; open it again"
        )


class _Writing:
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
            language = "english" if store is None else store.language
            after = store if following else None
            count = len(DocumentStore.build(documents, new / "documents", language=language, after=after))
        else:
            return 0
        if documents is None and not graph_changed:
            self._copy(new, "node_documents")
        elif store is not None or documents:
            building.write_node_documents(new, self._progress)
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
                node_documents.build(graph, None, place, self._progress, content=content)
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
    known = known or KnownTexts(encoder["name"], encoder["fingerprint"], vectors.shape[1])
    relations = (graph.relation(number) for number in range(graph.num_relations))
    known.add((text for relation in relations for text in relation_texts(relation)), vectors)
    if base.name_vectors is not None:
        labels = graph.node_columns().labels.slice(0, graph.num_entities)
        known.add(labels.to_pylist(), base.name_vectors.vectors)
    return known
