"""`KnowledgeBase`: a directory that is built once and opened instantly.

It holds the graph, the name indices and relation vectors, and optionally name vectors, documents and embeddings.
Opening reads only the manifest; everything else is memory-mapped on first use. The bundled knowledge base is built
into a cache directory.
"""

from __future__ import annotations

import contextlib
import functools
import html
import logging
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from triplecheck.kg import bundled_files, manifest, ranker, relation_vectors
from triplecheck.kg._atomic import draft_directory, replaced_directory
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.documents import Document, Documents, DocumentStore
from triplecheck.kg.embedding.embeddings import ABOUT, PART, Embeddings
from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.kg.endpoints import EndpointOptions, is_url
from triplecheck.kg.errors import KnowledgeBaseError, UserError
from triplecheck.kg.graph import Graph
from triplecheck.kg.linking import GraphLinker, Linker
from triplecheck.kg.names import NameIndex, TrigramIndex
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.skb import NodeSearches, node_documents
from triplecheck.kg.skb.search import NODE_VECTORS
from triplecheck.kg.vectors import LazyVectors, VectorIndex

if TYPE_CHECKING:
    from triplecheck.kg.change_writing import Changed
    from triplecheck.kg.endpoints import Endpoint
    from triplecheck.kg.plans import Answers, PlanNames

BUNDLED = "bundled"
"""Name of the bundled knowledge base."""


class KnowledgeBase:
    """An opened knowledge base.

    Attributes:
        path: its directory.
        manifest: its counts, files and encoder.
        generation: what was opened. Each part is opened when it is first needed; if another knowledge base is at the
            path by then, that is a `KnowledgeBaseReplacedError`.
        language: of its labels and of questions; may be set.
        documents_elsewhere: searched instead of the documents in the directory; see `kg.document_stores`.
    """

    documents_elsewhere: Documents | None = None
    is_remote = False
    """Whether the graph is on a server: it has no name index, documents or vectors of nodes."""

    def __init__(
        self,
        path: Path,
        about: manifest.Manifest | None = None,
        temporary: tempfile.TemporaryDirectory[str] | None = None,
    ) -> None:
        if about is None:
            raise UserError("open it by KnowledgeBase.open(PATH), or make it by KnowledgeBase.from_triples(TRIPLES)")
        self.path, self.manifest, self.language = path, about, about.language
        self._temporary = temporary  # removed together with this object
        self.generation = manifest.Generation(path, about)

    @classmethod
    def open(cls, path: Path | str, progress: ProgressCallback = no_progress) -> KnowledgeBase:
        """Open a directory that `build` wrote, or the bundled knowledge base.

        Args:
            path: the directory. The string `bundled` opens the bundled knowledge base; a directory of that name is
                `./bundled`. A URL opens an endpoint, see `open_remote`.
            progress: called while the bundled one is built, if it has to be built first.

        Raises:
            KnowledgeBaseError: it is missing, damaged, of another format version, or not a knowledge base.
            GraphUnavailableError: the endpoint does not answer.
        """
        if not isinstance(path, str | Path):
            raise UserError(f"open takes a path, not {type(path).__name__}; for triples: KnowledgeBase.from_triples")
        if path == BUNDLED:
            return open_bundled(progress=progress)
        if isinstance(path, str) and is_url(path):
            return open_remote(EndpointOptions(path))
        return cls(Path(path), manifest.read(Path(path)))

    @property
    def is_temporary(self) -> bool:
        """Whether its directory is removed together with this object."""
        return self._temporary is not None

    @classmethod
    def from_triples(cls, triples: object, out: Path | str | None = None, **options: Any) -> KnowledgeBase:
        """A knowledge base of triples that Python holds.

            KnowledgeBase.from_triples([("Ada", "works in", "Billing"), ("Billing", "located in", "Oslo")])

        Args:
            triples: a list of (head, relation, tail), a data frame (pandas, polars, pyarrow), a networkx graph, or the
                path of a file; see `kg.readers.frames.read_memory`.
            out: a directory to keep it in. None: it is built in a temporary directory, which is removed when the
                object is no longer used.
            **options: of `build`, such as `entities=`, `mapping=`, `edge_properties=`, `documents=`.

        Raises:
            UserError: something else, missing columns, or an empty cell.
        """
        return build(triples, out, **options)

    @classmethod
    def from_tables(cls, tables: object, out: Path | str | None = None, **options: Any) -> KnowledgeBase:
        """A knowledge base of wide tables: a row is a thing, each column a relation.

            KnowledgeBase.from_tables({"people": people, "teams": "teams.csv"}, split="; ")

        Args:
            tables: data frames, lists of dicts and paths of files by name, or paths; see `kg.readers.read_tables`.
            out: a directory to keep it in, see `from_triples`.
            **options: `key`, `split`, `links`, `classes`, `day_first` of `kg.readers.TableOptions`; others of `build`.

        Raises:
            UserError: something else, or a column that is named does not exist.
        """
        from triplecheck.kg.readers import read_tables, table_options

        how, options = table_options(options)
        return build(read_tables(tables, how), out, **options)

    @property
    def identity(self) -> dict[str, Any]:
        """What tells this knowledge base from others, for the record of a run."""
        return {"content_hash": self.manifest.content_hash}

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.columnar

    @functools.cached_property
    def columnar(self) -> ColumnarGraph:
        """The graph in its files.

        Raises:
            UserError: it is on a server.
        """
        with self.generation.opening("graph") as folder:
            return ColumnarGraph(folder, self.generation.sums)

    @functools.cached_property
    def names(self) -> NameIndex:
        """Exact names."""
        with self.generation.opening("names") as folder:
            return NameIndex(folder, self.generation.sums)

    @functools.cached_property
    def trigrams(self) -> TrigramIndex:
        """Typo-tolerant names."""
        with self.generation.opening("names") as folder:
            return TrigramIndex(folder, self.names, self.generation.sums)

    @functools.cached_property
    def encoder(self) -> Encoder | None:
        """The sentence encoder that made the vectors, loaded; None if there are no vectors."""
        made = self.manifest.encoder
        return None if made is None else load_encoder(made["name"], made["fingerprint"], self.path)

    @functools.cached_property
    def relation_vectors(self) -> relation_vectors.RelationVectors | None:
        """Vectors of the relations, None if not built."""
        if self.encoder is None:
            return None
        with self.generation.opening("vectors") as folder:
            relations = map(self.graph.relation, range(self.graph.num_relations))
            return relation_vectors.open_vectors(folder, self.encoder, relations)

    @functools.cached_property
    def name_vectors(self) -> VectorIndex | None:
        """Vectors of the entity labels (row = node), None if not built."""
        with self.generation.opening("name_vectors") as folder:
            return VectorIndex.open(folder) if folder.is_dir() else None

    @property
    def searchable_documents(self) -> Documents | None:
        """The documents elsewhere, if they are given, else those in the directory."""
        return self.documents if self.documents_elsewhere is None else self.documents_elsewhere

    @functools.cached_property
    def documents(self) -> DocumentStore | None:
        """The documents in the directory, None if there are none."""
        with self.generation.opening("documents") as folder:
            return DocumentStore.open(folder) if folder.is_dir() else None

    @functools.cached_property
    def node_search(self) -> NodeSearches:
        """Ranks nodes by their documents; see `kg.skb.search`. If `build` was given no documents, they are made
        from the graph and indexed on first use."""
        content = self.generation.content("graph", "documents")
        with self.generation.opening("node_documents") as folder:
            if not node_documents.is_of(folder, content):
                node_documents.build(
                    self.columnar,
                    self.documents,
                    folder,
                    content=content,
                    check=self.generation.check,
                    language=self.manifest.language,
                )
            documents = node_documents.NodeDocuments(folder)
        return NodeSearches(documents, self.generation, self.encoder)

    @functools.cached_property
    def embeddings(self) -> Embeddings | None:
        """Trained embeddings of the graph (`triplecheck kb embed`), None if not trained."""
        if f"{PART}/{ABOUT}" not in self.manifest.files:
            return None
        with self.generation.opening(PART) as folder:
            return Embeddings(folder)

    @functools.cached_property
    def ranker_file(self) -> Path | None:
        """The ranker of paths that was trained on this graph (`triplecheck kb train`) or an earlier state, or None."""
        files = [name for name in self.manifest.files if name.startswith(f"{ranker.PART}/")]
        if not files:
            return None
        with self.generation.opening(ranker.PART):
            path = (self.path / files[0]).absolute()
            graphs = ranker.load_ranker(path).graph, self.generation.content("graph")
            if ranker.PART in self.manifest.stale or graphs[0] == graphs[1]:
                return path
        logging.getLogger("triplecheck").warning(
            f"{self.path}: the stored ranker of paths was trained on another graph and is not used; "
            "train it again with `triplecheck kb train`"
        )
        return None

    @functools.cached_property
    def linker(self) -> Linker:
        """Links text to this graph."""
        return GraphLinker(
            self.columnar, self.names, self.trigrams, self.relation_vectors, self.name_vectors, self.encoder
        )

    def dense_linker(self, progress: ProgressCallback = no_progress) -> Linker:
        """The linker, with candidates whose names are similar in meaning: a union of all kinds can hold them.

        Vectors of names that `build` did not make are made here, once (250 per second and core), with progress.
        """
        if (encoder := self.encoder) is None or self.name_vectors is not None:
            return self.linker
        with self.generation.opening("names"):
            folder = self.path / NODE_VECTORS / f"names-{encoder.fingerprint[:12]}"
            vectors = LazyVectors(folder, self.columnar.num_entities, self.columnar.label, encoder, "names")
        vectors.fill(progress=progress)
        index = VectorIndex(vectors.matrix)
        return GraphLinker(self.columnar, self.names, self.trigrams, self.relation_vectors, index, encoder)

    @functools.cached_property
    def plan_names(self) -> PlanNames:
        """Looks up the names of queries."""
        from triplecheck.kg.plans import PlanNames

        return PlanNames(self.graph, self.linker)

    def query(self, text: str, *, seconds: float = 10.0, rows: int = 10_000) -> Answers:
        """Answer a query exactly: SPARQL's SELECT or ASK, in which labels stand in angle brackets.

            answers = kb.query("SELECT ?x { ?x <flows into> <North Sea> ; <length in kilometres> ?n } ORDER BY ?n")
            answers.texts(), answers.edges(0), answers.looked_through

        Args:
            text: the query; see `kg.plans.notation`.
            seconds: maximum processor time; of a graph on a server: maximum time.
            rows: maximum number of rows to return; `Answers.total` counts all.

        Raises:
            PlanError: it is no query, names what the graph does not have, or needs too many seconds or rows.
            GraphUnavailableError: the graph is on a server that does not answer.
        """
        from triplecheck.kg.plans import read_plan, run_plan

        return run_plan(self.graph, read_plan(text, self.plan_names), seconds=seconds, rows=rows)

    def ask(self, question: str, **options: Any) -> Any:
        """Answer a question with the program `triplecheck.KERAG`; for more than one, make the program yourself.

        Args:
            question: in natural language.
            **options: of the program, such as `hops=3`.

        Returns:
            The program's `dspy.Prediction`: `answer`, `evidence`, `grounded` ...

        Raises:
            UserError: the question is empty, or the program has no such option.
        """
        from triplecheck import KERAG

        return KERAG(self, **options)(question=question)

    def add(self, triples: object = (), **options: Any) -> KnowledgeBase:
        """Add triples, descriptions and documents, and open what it has become; see `kg.changes.add`.

            kb = kb.add([("Ada", "works in", "Search")], documents=[Document("d1", "Ada", "", "Ada moved.")])

        This object still shows the old state; what it has not read yet is a `KnowledgeBaseReplacedError`.

        Args:
            triples: whatever `build` takes.
            **options: `entities`, `relations`, `mapping`, `edge_properties`, `documents`, `progress`.
        """
        from triplecheck.kg import changes

        return self._changed(changes.add(self, triples, **options))

    def remove(self, triples: object = (), **options: Any) -> KnowledgeBase:
        """Remove triples, entities and documents, and open what it has become; see `kg.changes.remove`.

        Args:
            triples: whatever `build` takes.
            **options: `entities` (ids or names), `documents` (ids), `mapping`, `progress`.
        """
        from triplecheck.kg import changes

        return self._changed(changes.remove(self, triples, **options))

    def update(self, triples: object = (), **options: Any) -> KnowledgeBase:
        """Replace tails, descriptions and documents, and open what it has become; see `kg.changes.update`.

        Args:
            triples: whatever `build` takes; for each head and relation, these are the tails from now on.
            **options: as `add`.
        """
        from triplecheck.kg import changes

        return self._changed(changes.update(self, triples, **options))

    def _changed(self, done: Changed) -> KnowledgeBase:
        return KnowledgeBase(self.path, done.manifest, self._temporary)

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.manifest.counts[n]:,} {n}" for n in ("entities", "relations", "triples"))
        return f"KnowledgeBase({str(self.path)!r}: {counts})"

    def to_pandas(self) -> Any:
        """All triples as a pandas frame; see `kg.export.to_pandas`."""
        from triplecheck.kg import export

        return export.to_pandas(self.columnar)

    def to_networkx(self) -> Any:
        """The graph as a `networkx.MultiDiGraph`; see `kg.export.to_networkx`."""
        from triplecheck.kg import export

        return export.to_networkx(self.columnar)

    def _repr_html_(self) -> str:
        counts = "".join(f"<tr><th>{name}</th><td>{n:,}</td></tr>" for name, n in self.manifest.counts.items() if n)
        return f"<b>KnowledgeBase</b> <code>{html.escape(str(self.path))}</code><table>{counts}</table>"

    def verify(self) -> None:
        """Check every file against its hash."""
        manifest.verify(self.generation.folder)


class RemoteBase(KnowledgeBase):
    """A graph on a server, opened. What needs the files of a knowledge base is a `UserError`.

    Attributes:
        endpoint: the endpoint.
    """

    is_remote = True

    def __init__(self, endpoint: Endpoint) -> None:
        self.path = Path(endpoint.options.name)
        self.endpoint = endpoint
        self.language = endpoint.options.language or "en"
        self.name_vectors = self.documents = self.embeddings = self.ranker_file = None

    def __getattr__(self, name: str) -> NoReturn:
        """Parts in files need `manifest` or `generation`, which a remote base has not."""
        if name not in ("manifest", "generation"):
            raise AttributeError(name)
        where = "on a server" if self.endpoint.options.scheme != "ladybug" else "in a database of its own"
        raise UserError(
            f"{self.endpoint.options.name}: the graph is {where} and has no files of a knowledge base here; "
            "load it into one with `triplecheck kb build`"
        )

    @property
    def identity(self) -> dict[str, Any]:
        """The endpoint, its profile and its index."""
        return self.endpoint.identity

    @property
    def graph(self) -> Graph:
        """The graph, by queries."""
        return self.endpoint.graph

    @property
    def linker(self) -> Linker:
        """By the local index, else by the server."""
        return self.endpoint.linker

    @property
    def relation_vectors(self) -> relation_vectors.RelationVectors | None:
        """Of the local index, None without one."""
        return None if self.endpoint.index is None else self.endpoint.index.relation_vectors

    @property
    def encoder(self) -> Encoder | None:
        """Of the local index, None without one."""
        return None if self.endpoint.index is None else self.endpoint.index.encoder

    def __repr__(self) -> str:
        return f"KnowledgeBase({self.endpoint.options.name!r})"

    def _repr_html_(self) -> str:
        return f"<b>KnowledgeBase</b> <code>{html.escape(self.endpoint.options.name)}</code>"


def open_remote(options: EndpointOptions, cache: Path | None = None) -> RemoteBase:
    """Open an endpoint as a knowledge base.

    Args:
        options: where it is and how it is asked.
        cache: see `bundled_files.cache_directory`.

    Raises:
        UserError: an option is wrong.
        GraphUnavailableError: the server does not answer.
    """
    from triplecheck.kg.endpoints import open_endpoint

    return RemoteBase(open_endpoint(options, bundled_files.cache_directory(cache)))


def build(
    triples: object,
    out: Path | str | None = None,
    *,
    entities: object = None,
    relations: object = None,
    mapping: Mapping[str, str] | None = None,
    header: bool | None = None,
    edge_properties: Sequence[str] = (),
    skip_bad: bool = False,
    axioms: bool | None = None,
    language: str = "en",
    memory: float | None = None,
    documents: Iterable[Document] | None = None,
    encoder: Encoder | str | None = "all-MiniLM-L6-v2",
    name_vectors: bool = False,
    sources: Iterable[str] = (),
    progress: ProgressCallback = no_progress,
) -> KnowledgeBase:
    """Build a knowledge base and open it.

    Args:
        triples: graphs from the readers, a list of triples, a data frame (pandas, polars, pyarrow), a networkx graph,
            or the path of a file; see `kg.readers.read_graph`.
        out: its directory. An older knowledge base there is replaced when the new one is complete. None: a temporary
            directory that is removed with the `KnowledgeBase`.
        entities, relations: tables that describe them.
        mapping, header, edge_properties, skip_bad, axioms: how they are read, see `kg.readers.ReadOptions`.
        language: of labels and of questions, or the name of a spaCy pipeline.
        memory: gigabytes to sort files on disk by DuckDB (extra `sql`), with the same result. None: all in memory.
        documents: texts to search, each about a node or about none.
        encoder: makes the vectors; None builds no vectors.
        name_vectors: also encode every entity label, for dense candidates (250 names per second and core).
        sources: file names to note in the manifest.
        progress: called at each step.

    Raises:
        UserError: `triples` is nothing that holds triples, or a column is missing.
        KnowledgeBaseError: `out` is neither a knowledge base nor an empty directory.
    """
    from triplecheck.kg import building
    from triplecheck.kg.readers import ReadOptions

    temporary = tempfile.TemporaryDirectory(prefix="triplecheck-") if out is None else None
    out = Path(temporary.name) if temporary else Path(str(out))
    manifest.refuse_foreign(out)
    how = ReadOptions(mapping=mapping or {}, header=header, edge_properties=edge_properties, skip_bad=skip_bad)
    how = replace(how, axioms=axioms, language=language.partition("_")[0], progress=progress)
    model = load_encoder(encoder) if isinstance(encoder, str) else encoder
    parts = (triples, (entities, relations), how, memory, documents, model, name_vectors)
    with replaced_directory(out) as folder:
        about = building.write(folder, out, *parts, sources=sorted(sources), language=language)
    return KnowledgeBase(out, about, temporary)


def open_bundled(cache: Path | None = None, progress: ProgressCallback = no_progress) -> KnowledgeBase:
    """Open the bundled knowledge base. It is built first if the cache has none of this content and format.

    Several processes may do so at once: each builds in its own directory, and the first to finish wins.

    Args:
        cache: see `bundled_files.cache_directory`.
        progress: called at each step.

    Raises:
        UserError: this installation has no bundled files, or the cache directory cannot be written.
    """
    target = bundled_files.bundled_path(cache)
    try:
        return KnowledgeBase.open(target)
    except KnowledgeBaseError:
        pass  # none yet, or a damaged one
    from triplecheck.kg.embedding import bundled
    from triplecheck.kg.readers import ReadOptions, read_graph

    sources = bundled_files.turtle_files()
    with contextlib.ExitStack() as held:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = held.enter_context(draft_directory(target))
        except OSError as error:
            raise UserError(
                f"{target.parent}: not writable ({error.strerror}); set TRIPLECHECK_CACHE to a writable directory"
            ) from error
        raw = read_graph(sources, how=ReadOptions(axioms=False, progress=progress))
        built = build(raw, draft / "kb", sources=[path.name for path in sources], progress=progress)
        bundled.add_embeddings(built.columnar, built.generation, bundled_files.bundled_folder() / PART)
        return _put(draft, target)


def _put(draft: Path, target: Path) -> KnowledgeBase:
    """Move a finished knowledge base into the cache, unless another process has put a valid one there."""
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
