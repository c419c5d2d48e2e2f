"""Additions to a knowledge base, removals and updates.

The changed knowledge base is written beside the old one and takes its place when it is complete: a reader sees the old
one or the new one. `kg.change_writing` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from triplecheck.kg import building
from triplecheck.kg._atomic import sweep
from triplecheck.kg.change_writing import Base, Changed, changing
from triplecheck.kg.changed_graph import GraphChange, first_blank, with_known_datatypes
from triplecheck.kg.documents import Document
from triplecheck.kg.errors import UserError
from triplecheck.kg.inference import without_inferred
from triplecheck.kg.names import normalize
from triplecheck.kg.numbering import concat
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers import RawGraph, ReadOptions, read_graph
from triplecheck.kg.readers.raw import nothing, warn_of


def add(
    base: Base,
    triples: object = (),
    *,
    replacing: bool = False,
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
        triples, entities, relations, mapping, edge_properties: whatever `build` takes.
        replacing: what is new wins, see `update`.
        axioms, language: of RDF files, see `kg.readers.ReadOptions`. None: as the knowledge base was built.
        documents: texts to search.
        sources: file names to note in the manifest.

    Raises:
        UserError: a document has the id of one that is there, or as `build`.
        KnowledgeBaseReplacedError: another process replaced the knowledge base meanwhile; nothing is written.
        KnowledgeBaseError: another process is changing it.
    """
    with changing(base, progress) as writing:
        how = reading(base, axioms, language) | {"edge_properties": edge_properties, "progress": progress}
        new = _read(triples, (entities, relations), mapping, how)
        warn_of(new)
        new = with_known_datatypes(new, base.columnar)
        more, out = list(documents), building.left_out(new, len(new))
        if not replacing:
            known = set() if base.documents is None else set(base.documents.ids())
            if twice := next((document.id for document in more if document.id in known), None):
                raise UserError(
                    f"{base.path}: there is a document with the id {twice!r} already; give the new one another id, or "
                    "replace the old one with `triplecheck kb update`"
                )
            edit = GraphChange(base.columnar).added(new) if _holds(new) else None
            found = Changed(base.manifest, documents_added=len(more), left_out=out)
            return writing.done(edit, more or None, [new], sources, found, following=True)
        given = {document.id: document for document in more}
        if len(given) < len(more):
            raise UserError("two of the documents have the same id; ids must be unique")
        old = _documents(base)
        after = [given.pop(document.id, document) for document in old] + list(given.values())
        replaced = sum(a != b for a, b in zip(old, after, strict=False))
        owners = [document.node for document in after if document.node is not None]
        edit = GraphChange(base.columnar, owners).updated(new) if _holds(new) else None
        found = Changed(base.manifest, documents_added=len(given), documents_replaced=replaced, left_out=out)
        return writing.done(edit, after if replaced or given else None, [new], sources, found)


def update(base: Base, triples: object = (), **options: Any) -> Changed:
    """Replace tails, descriptions and documents; options and errors are those of `add`.

    For each head and relation of the triples, the tails that are there are replaced by the given ones. Of an entity or
    relation that is described, each given column (label, aliases, description, types ...) replaces the old value. A
    document replaces the one of the same id. What is not there yet is added.
    """
    return add(base, triples, replacing=True, **options)


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
        documents: ids of documents.
        mapping: columns of tables and data frames.
        axioms: of RDF files, see `kg.readers.ReadOptions`. None: as the knowledge base was built.

    Raises:
        UserError: nothing was found, or a name has several entities.
        KnowledgeBaseReplacedError: another process replaced the knowledge base meanwhile; nothing is written.
        KnowledgeBaseError: another process is changing it.
    """
    with changing(base, progress) as writing:
        wanted = _read(triples, (None, None), mapping, reading(base, axioms, None) | {"progress": progress})
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


def _holds(new: RawGraph) -> bool:
    return bool(len(new) or new.entities.num_rows or new.relation_rows.num_rows or new.type_labels or new.superclasses)


def reading(base: Base, axioms: bool | None, language: str | None) -> dict[str, Any]:
    """The options with which files that change a base are read: those given, else those that it was built with."""
    known = base.manifest.report.get("reading", {})
    return {
        "axioms": known.get("axioms") if axioms is None else axioms,
        "language": language or known.get("language", base.manifest.language),
        "first_blank": first_blank(base.columnar),
    }


def _documents(base: Base) -> list[Document]:
    return [] if base.documents is None else list(base.documents)


def _read(
    triples: object, described: tuple[object, object], mapping: Mapping[str, str] | None, how: Mapping[str, Any]
) -> RawGraph:
    """What is read, without what its ontology implies: that follows from the whole graph."""
    given = nothing() if isinstance(triples, list | tuple) and not triples else triples
    new = concat(read_graph(given, *described, ReadOptions(mapping=mapping or {}, **how)))
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
