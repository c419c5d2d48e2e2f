"""`KnowledgeBase`: a directory built once and opened instantly.

It holds the graph, the name indices, relation vectors, and optionally name vectors, documents and embeddings.
Everything is memory-mapped on first use; opening reads the manifest alone.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from triplecheck.kg import bundled_base, columnar_build, fuzzy, manifest, names, relation_vectors
from triplecheck.kg._atomic import replaced_directory
from triplecheck.kg._numbering import concat, number
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document, DocumentStore
from triplecheck.kg.embedding.embeddings import ABOUT, PART, Embeddings
from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.kg.errors import KnowledgeBaseError, UserError
from triplecheck.kg.linking import GraphLinker
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers import read_graph
from triplecheck.kg.readers.raw import RawGraph
from triplecheck.kg.skb import NodeSearches, node_documents
from triplecheck.kg.vectors import VectorIndex

BUNDLED = "bundled"
"""The name that opens the bundled knowledge base."""


class KnowledgeBase:
    """An opened knowledge base.

    Attributes:
        path: its directory.
        manifest: what it says of itself.
    """

    def __init__(self, path: Path, about: manifest.Manifest) -> None:
        self.path = path
        self.manifest = about

    @classmethod
    def open(cls, path: Path | str, progress: ProgressCallback | None = None) -> KnowledgeBase:
        """Open a directory that `build` wrote, or the bundled knowledge base.

        Args:
            path: the directory. The string `bundled` opens the bundled knowledge base; a directory of that name is
                `./bundled`.
            progress: told what is done where the bundled one has to be built first.

        Raises:
            KnowledgeBaseError: it is missing, foreign, damaged, or of another format version.
        """
        if path == BUNDLED:
            return open_bundled(progress=progress)
        folder = Path(path)
        return cls(folder, manifest.read(folder))

    @functools.cached_property
    def graph(self) -> ColumnarGraph:
        """The graph."""
        return ColumnarGraph(self.path / "graph")

    @functools.cached_property
    def names(self) -> names.NameIndex:
        """Exact names."""
        return names.NameIndex(self.path / "names")

    @functools.cached_property
    def trigrams(self) -> fuzzy.TrigramIndex:
        """Typo-tolerant names."""
        return fuzzy.TrigramIndex(self.path / "names", self.names)

    @functools.cached_property
    def encoder(self) -> Encoder | None:
        """The sentence encoder that made the vectors, loaded; None where there are none."""
        if self.manifest.encoder is None:
            return None
        encoder = load_encoder(self.manifest.encoder["name"])
        if encoder.fingerprint != self.manifest.encoder["fingerprint"]:
            raise KnowledgeBaseError(
                f"{self.path}: its vectors were made by other weights of {encoder.name!r} than are installed; "
                "build the knowledge base again"
            )
        return encoder

    @functools.cached_property
    def relation_vectors(self) -> relation_vectors.RelationVectors | None:
        """Vectors of the relations, None where none were built."""
        return None if self.encoder is None else relation_vectors.open_vectors(self.path / "vectors", self.encoder)

    @functools.cached_property
    def name_vectors(self) -> VectorIndex | None:
        """Vectors of the entity labels (row = node), None where none were built."""
        folder = self.path / "name_vectors"
        return VectorIndex.open(folder) if folder.is_dir() else None

    @functools.cached_property
    def documents(self) -> DocumentStore | None:
        """The documents, None where there are none."""
        folder = self.path / "documents"
        return DocumentStore.open(folder) if folder.is_dir() else None

    @functools.cached_property
    def node_search(self) -> NodeSearches:
        """Ranks nodes by their documents; see `kg.skb.search`. Documents of nodes are indexed here on first use
        where `build` was given none."""
        folder = self.path / "node_documents"
        if not folder.is_dir():
            node_documents.build(self.graph, self.documents, folder)
        return NodeSearches(node_documents.NodeDocuments(folder), self.path / "node_vectors", self.encoder)

    @functools.cached_property
    def embeddings(self) -> Embeddings | None:
        """Trained embeddings of the graph (`triplecheck kb embed`), None where none were trained."""
        return Embeddings(self.path / PART) if f"{PART}/{ABOUT}" in self.manifest.files else None

    @functools.cached_property
    def linker(self) -> GraphLinker:
        """Links text to this graph."""
        return GraphLinker(
            self.graph, self.names, self.trigrams, self.relation_vectors, self.name_vectors, self.encoder
        )

    def verify(self) -> None:
        """Check every file against its hash."""
        manifest.verify(self.path)


def build(
    raw: RawGraph | Iterable[RawGraph],
    out: Path | str,
    *,
    documents: Iterable[Document] | None = None,
    encoder: Encoder | str | None = "all-MiniLM-L6-v2",
    name_vectors: bool = False,
    sources: Iterable[str] = (),
    progress: ProgressCallback | None = None,
) -> KnowledgeBase:
    """Build a knowledge base and open it.

    Args:
        raw: what the readers gave.
        out: its directory. An older knowledge base there is replaced once the new one is whole.
        documents: texts to search, free or of a node.
        encoder: makes the vectors; None for none.
        name_vectors: also encode every entity label, for dense candidates (250 names a second and core).
        sources: file names to note in the manifest.
        progress: told what is being done.

    Raises:
        KnowledgeBaseError: `out` is something else than a knowledge base or an empty directory.
    """
    out = Path(out)
    _refuse_foreign(out)
    graphs = [raw] if isinstance(raw, RawGraph) else list(raw)
    say = progress or no_progress
    whole = concat(graphs)
    model = load_encoder(encoder) if isinstance(encoder, str) else encoder
    with replaced_directory(out) as folder:
        for name in ("graph", "names"):
            (folder / name).mkdir()
        say("numbering nodes", 0, None)
        numbered = number(whole)
        say("sorting edges", 0, None)
        columnar_build.write_graph(numbered, folder / "graph")
        graph = ColumnarGraph(folder / "graph")
        say("indexing names", 0, None)
        forms = names.build(graph, folder / "names")
        fuzzy.build(forms, folder / "names")
        if model is not None:
            (folder / "vectors").mkdir()
            say("encoding relations", 0, graph.num_relations)
            relation_vectors.build(numbered.relation_table, model, folder / "vectors")
            if name_vectors:
                labels = numbered.labels.slice(0, graph.num_entities).to_pylist()
                vectors = model.encode(labels, progress=say)
                VectorIndex(vectors).save(folder / "name_vectors", float16=True)
        count = 0
        if documents is not None:
            say("indexing documents", 0, None)
            store = DocumentStore.build(documents, folder / "documents")
            count = len(store)
            node_documents.build(graph, store, folder / "node_documents", say)
        counts = {
            "entities": graph.num_entities,
            "values": graph.num_nodes - graph.num_entities,
            "relations": graph.num_relations,
            "triples": graph.num_triples,
            "types": len(graph.type_ids),
            "names": len(forms),
            "documents": count,
        }
        graph.close()
        say("writing the manifest", 0, None)
        about = manifest.write(
            folder,
            counts,
            encoder=None if model is None else {"name": model.name, "fingerprint": model.fingerprint},
            sources=sorted(sources),
            skipped=len(whole.skipped) + len(getattr(documents, "skipped", ())),
        )
    return KnowledgeBase(out, about)


def open_bundled(cache: Path | None = None, progress: ProgressCallback | None = None) -> KnowledgeBase:
    """Open the bundled knowledge base. It is built first where the cache has none of this content and format.

    Several processes may do so at once: each builds in a place of its own, and the first to finish wins.

    Args:
        cache: see `kg.bundled_base.cache_directory`.
        progress: told what is being done.

    Raises:
        UserError: this installation has no bundled files, or the cache directory cannot be written.
    """
    target = bundled_base.bundled_path(cache)
    try:
        return KnowledgeBase.open(target)
    except KnowledgeBaseError:
        pass  # none yet, or a damaged one
    sources = bundled_base.turtle_files()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise UserError(
            f"{target.parent}: cannot be written ({error.strerror}); set TRIPLECHECK_CACHE to a directory that can"
        ) from error
    try:
        raw = read_graph(sources, progress=progress)
        build(raw, draft / "kb", sources=[path.name for path in sources], progress=progress)
        return _put(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put(draft: Path, target: Path) -> KnowledgeBase:
    """Move a finished knowledge base into the cache, unless another process has put a sound one there meanwhile."""
    try:
        return KnowledgeBase.open(target)
    except KnowledgeBaseError:
        if target.exists():
            target.rename(draft / "damaged")
    try:
        (draft / "kb").rename(target)
    except OSError:
        if not target.exists():
            raise
    return KnowledgeBase.open(target)


def _refuse_foreign(out: Path) -> None:
    seen = _identity(out)
    while seen is not None and not _may_replace(out):
        now = _identity(out)
        if now == seen:
            raise KnowledgeBaseError(f"{out}: exists and is not a knowledge base; choose another place or remove it")
        seen = now  # while it was looked at, another process put its own in its place


def _may_replace(out: Path) -> bool:
    try:
        return out.is_dir() and (not any(out.iterdir()) or manifest.is_one(out))
    except FileNotFoundError:
        return False


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file or directory stands at a path; None for none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_ctime_ns
