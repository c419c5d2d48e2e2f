"""Several knowledge bases as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from triplecheck.kg.change_writing import known_texts
from triplecheck.kg.changed_graph import first_blank, with_other_blanks
from triplecheck.kg.documents import Document
from triplecheck.kg.errors import UserError
from triplecheck.kg.export import to_raw
from triplecheck.kg.knowledge_base import KnowledgeBase, build
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers.raw import RawGraph


def merge(out: Path | str, bases: Sequence[KnowledgeBase], progress: ProgressCallback = no_progress) -> KnowledgeBase:
    """Write one knowledge base that has all triples, descriptions and documents of several.

    Nodes of the same id become one, except blank nodes. Labels of the first base win, those of others become aliases.
    A document whose id another base uses for another text gets the name of its base before its id. Vectors are taken
    from the bases; a text is encoded only if none has its vector. Embeddings and other trained parts are left out.

    Args:
        out: the directory to write; a knowledge base there is replaced when the new one is complete.
        bases: at least one.

    Raises:
        UserError: no base, or one on a server.
        KnowledgeBaseError: `out` is something else than a knowledge base.
    """
    if not bases:
        raise UserError("nothing to merge: name the directories of knowledge bases")
    graphs: list[RawGraph] = []
    blanks = 0
    for base in bases:
        progress(f"reading {base.path.name}", 0, None)
        graphs.append(with_other_blanks(to_raw(base.columnar), blanks))
        blanks += first_blank(base.columnar)
    labels: dict[str, str] = {}
    for graph in reversed(graphs):
        labels |= graph.type_labels
    graphs[-1] = replace(graphs[-1], type_labels=labels)
    encoder = None
    for base in bases:
        about = base.manifest.encoder
        if about is not None and (encoder is None or encoder.fingerprint == about["fingerprint"]):
            encoder = known_texts(base, encoder)
    documents = list(_documents(bases))
    return build(
        graphs,
        out,
        documents=documents or None,
        encoder=encoder,
        name_vectors=any(base.name_vectors is not None for base in bases),
        language=bases[0].manifest.language,
        sources={source for base in bases for source in base.manifest.sources},
        progress=progress,
    )


def _documents(bases: Iterable[KnowledgeBase]) -> Iterable[Document]:
    """All documents, each id once."""
    known: dict[str, Document] = {}
    for base in bases:
        for document in base.documents or ():
            same = known.get(document.id)
            if same == document:
                continue
            number, id = 1, document.id
            while id in known:
                id = f"{base.path.name}{'' if number == 1 else f' {number}'}:{document.id}"
                number += 1
            known[id] = replace(document, id=id)
            yield known[id]
