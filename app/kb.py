"""`triplecheck kb`: build, inspect, search and encode knowledge bases."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app import changes, embeddings, extracting, match, query, training
from triplecheck.app.command import Commands
from triplecheck.app.console import (
    columns,
    print_json,
    printable,
    remark,
    reporting,
    rows_of,
    say,
    stderr,
    stdout,
    waiting,
)
from triplecheck.app.opening import open_base
from triplecheck.app.options import (
    LIMITS,
    DocumentsOption,
    JsonOption,
    KbArgument,
    KbDirectory,
    NoVectorsOption,
    argument,
    flag,
    flagged,
    flattened,
)
from triplecheck.app.sources import SourceOptions, list_skipped

if TYPE_CHECKING:
    from rich.table import Table

    from triplecheck.kg import KnowledgeBase
    from triplecheck.kg.documents import Document
    from triplecheck.kg.readers import TripleFiles
    from triplecheck.kg.readers.debian import Stanza

_LARGE = 2_000_000_000  # bytes of files whose triples are sorted on disk

commands = Commands(
    help="Build, change, search and query knowledge bases: directories with a graph and its indices.",
    no_args_is_help=True,
)
commands.command("query")(query.query)
commands.command("match")(match.match)
commands.command("add")(changes.add)
commands.command("remove")(changes.remove)
commands.command("update")(changes.update)
commands.command("export")(changes.export)
commands.command("merge")(changes.merge)
commands.command("extract")(extracting.extract)
commands.command("embed")(embeddings.embed)
commands.command("plausibility")(embeddings.plausibility)
commands.command("train")(training.train)


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """What is encoded, and where triples are sorted."""

    name_vectors: bool = flagged("--name-vectors", "Also encode entity names (250 per second and core).", default=False)
    node_vectors: bool = flagged(
        "--node-vectors",
        "Also encode the documents of all nodes (10 per second and core), as `kb encode`.",
        default=False,
    )
    no_vectors: NoVectorsOption = False
    memory: float | None = flagged(
        "--memory GB",
        "Sort the triples on disk, with this much memory (extra sql). Default: 2 GB if the files have more than "
        "2 GB, else all in memory.",
    )

    def check(self, out: Path, source: SourceOptions) -> None:
        """Check the options against each other.

        Raises:
            UserError: there are no triples, two options exclude each other, or `out` is a file of triples.
        """
        from triplecheck.kg.errors import UserError
        from triplecheck.kg.readers import SUFFIXES
        from triplecheck.kg.readers.tables import suffix

        source.check("build")
        if not source.files_of_triples and not source.sql:
            raise UserError("a knowledge base needs triples: name files with --triples, or a query with --sql")
        for flag_name, given in (("--name-vectors", self.name_vectors), ("--node-vectors", self.node_vectors)):
            if given and self.no_vectors:
                raise UserError(f"{flag_name} and --no-vectors exclude each other; keep one")
        if suffix(out) in SUFFIXES:
            raise UserError(f"{out}: looks like a file of triples; name the directory to write, OUT, before --triples")
        if self.memory is not None and source.has_rows:
            raise UserError("--memory is for files without edge properties; leave it out")
        if self.memory is not None and not self.memory >= 0.5:
            raise UserError(f"--memory {self.memory:g}: give at least 0.5 (GB)")

    def sorted_on_disk(self, source: SourceOptions, header: bool | None) -> TripleFiles | None:
        """The files, if their triples are sorted on disk; None: they are read into memory."""
        files = source.files(header)
        if self.memory is not None:
            return files
        large = files.size >= _LARGE and find_spec("duckdb") is not None
        return files if large and not source.has_rows else None


@commands.command()
@flattened()
def build(
    out: KbDirectory,
    source: SourceOptions,
    how: BuildOptions,
) -> None:
    """Build a knowledge base from files.

    A first line with usual names (`subject predicate object`, `source type target`, ...) is a header; without
    one the first three columns are head, relation and tail. The table at the end says what became of what
    was read. If a file is missing or malformed, nothing is written, and the error names the file and the line.

    Examples:

        triplecheck kb build kbs/films --triples films.tsv
        triplecheck kb build kbs/wiki --triples a.nt.gz b.nt.gz --documents passages.jsonl
        triplecheck kb build kbs/shop --triples orders.csv --map head=customer relation=verb tail=product
        triplecheck kb build kbs/shop --database shop.duckdb --sql "select customer, 'bought', product from orders"
    """
    with waiting(stderr(), "loading"):
        from triplecheck.kg import build as build_knowledge_base
        from triplecheck.kg.encode import DEFAULT_ENCODER

        how.check(out, source)
    header = source.asked_header()
    files = how.sorted_on_disk(source, header)
    with reporting(stderr(), "reading") as tell:
        raw = source.graphs(header, tell) if files is None else []
        texts = source.texts()
        kb = build_knowledge_base(
            raw if files is None else files,
            out,
            memory=how.memory,
            documents=texts,
            encoder=None if how.no_vectors else DEFAULT_ENCODER,
            name_vectors=how.name_vectors,
            language=source.language or "en",
            sources=source.names,
            progress=tell,
        )
        if how.node_vectors:
            kb.node_search.dense.encode_all(tell)
    list_skipped(raw if files is None else [files], texts)
    for line in kb.manifest.report.get("recognised", ()):
        remark(line)
    for note in kb.manifest.report["notes"]:
        remark(f"note: {note}")
    stdout().print(_table(kb))


@commands.command("build-debian")
def build_debian(
    out: KbDirectory,
    packages: Annotated[
        Path | None,
        flag(
            "--packages FILE",
            "A `Packages` file of a Debian mirror, or the output of `apt-cache dumpavail`, also as .xz .gz .bz2. "
            "Default: the packages that apt knows on this machine.",
        ),
    ] = None,
    translation: Annotated[
        Path | None,
        flag(
            "--translation FILE",
            "A `Translation-en` file of the same release, with the long descriptions. Default: apt's own.",
        ),
    ] = None,
) -> None:
    """Build a knowledge base of Debian's packages: descriptions, dependencies, maintainers, sections, tags.

    Every mirror has both files: dists/stable/main/binary-amd64/Packages.xz and
    dists/stable/main/i18n/Translation-en.xz. Without long descriptions, each document is one line.

    Examples:

        triplecheck kb build-debian kbs/debian
        triplecheck kb build-debian kbs/debian --packages Packages.xz --translation Translation-en.xz
    """
    with waiting(stderr(), "loading"):
        from triplecheck.kg import build
        from triplecheck.kg.readers.debian import available_packages, read_debian, read_stanzas, translations
    with reporting(stderr(), "reading") as tell:
        known: list[Stanza] = []
        if translation is not None:
            known = list(read_stanzas(translation))
        elif packages is None:
            known = list(translations())
        raw, documents = read_debian(available_packages() if packages is None else read_stanzas(packages), known)
        sources = [str(path or default) for path, default in ((packages, "apt-cache dumpavail"), (translation, "apt"))]
        kb = build(raw, out, documents=documents, sources=sources, progress=tell)
    stdout().print(_table(kb))
    if not known:
        remark("no long descriptions: apt has none on this machine; name a Translation-en file with --translation")


@commands.command("build-stark")
def build_stark(
    folder: Annotated[Path, argument("FOLDER", "Folder `processed` of a STaRK knowledge base, or its parent.")],
    out: KbDirectory,
    candidates: Annotated[
        list[str] | None, flag("--candidates TYPE", "Node type that can be an answer. Repeatable; default: all.")
    ] = None,
) -> None:
    """Build a knowledge base from one of STaRK, as the package stark-qa stores it.

    Examples:

        triplecheck kb build-stark data/prime/processed kbs/prime
        triplecheck kb build-stark data/mag kbs/mag --candidates paper
    """
    with waiting(stderr(), "loading"):
        from triplecheck.kg import build
        from triplecheck.kg.readers.stark import read_stark
    with reporting(stderr(), "reading") as tell:
        raw, documents = read_stark(folder, candidates or ())
        kb = build(raw, out, documents=documents, sources=[str(folder)], progress=tell)
    stdout().print(_table(kb))


@commands.command()
def info(
    kb: KbArgument,
    verify: Annotated[bool, flag("--verify", "Check the hash of every file (reads all of them).")] = False,
    json: JsonOption = False,
) -> None:
    """Show what a knowledge base contains.

    Examples:

        triplecheck kb info kbs/films
        triplecheck kb info kbs/films --verify --json
    """
    opened = open_base(kb)
    if opened.is_remote:
        _remote_info(opened, verify, json)
        return
    if verify:
        with waiting(stderr(), "verifying"):
            opened.verify()
    if json:
        print_json(_about(opened) | {"verified": verify})
        return
    stdout().print(_table(opened))
    if verify:
        say("all hashes match")


@commands.command()
def search(
    kb: KbArgument,
    text: Annotated[str, argument("TEXT", "A name, possibly misspelt or partial, or words of documents.")],
    limit: Annotated[int, flag("--limit N", "Maximum results of each kind.", LIMITS, min=1)] = 10,
    json: JsonOption = False,
) -> None:
    """Search names and documents.

    The column `source` says how a name was matched: label, alias, value, typo, partial or dense.

    Examples:

        triplecheck kb search kbs/films "Ridly Scott"
        triplecheck kb search bundled "Bernhard Heiden" --limit 3 --json
    """
    from triplecheck.kg.errors import UserError

    if not text.strip():
        raise UserError("the text to search for is empty")
    opened = open_base(kb, with_documents=True)
    with waiting(stderr(), "searching"):
        candidates = opened.linker.candidates(text, limit=limit)
        documents = opened.searchable_documents
        hits = [] if documents is None else documents.search(text, limit)
    if json:
        print_json(
            {
                "text": text,
                "candidates": [
                    {"id": c.id, "label": c.label, "source": c.source, "score": c.score, "lexical": c.lexical}
                    for c in candidates
                ],
                "documents": [{name: value for name, value in asdict(hit).items() if name != "row"} for hit in hits],
            }
        )
        return
    out = stdout()
    if not candidates and not hits:
        say("nothing found")
    if candidates:
        rows = [(c.label, c.id, c.source, f"{c.score:.3f}") for c in candidates]
        out.print(_scored(("name", "id", "source"), rows))
    if hits:
        out.print(_scored(("document", "node", "text"), map(_hit_row, hits)))


@commands.command()
def encode(
    kb: KbArgument,
    multi: Annotated[bool, flag("--multi", "Encode two vectors per node: of its text, of its relations.")] = False,
    documents: Annotated[
        bool, flag("--documents", "Encode the documents instead, for programs that read a corpus.")
    ] = False,
) -> None:
    """Encode the documents of all nodes, so that a dense search covers every node.

    Without this command, a program encodes the documents of up to 5,000 nodes when it first needs them; in a larger
    graph it encodes only the best lexical candidates of each question. A core encodes about 10 documents per second.
    The same command resumes an interrupted run. A dense search of the documents themselves
    (`--option corpus=dense`) needs --documents.

    Examples:

        triplecheck kb encode kbs/films
        triplecheck kb encode kbs/films --multi
        triplecheck kb encode kbs/films --documents
    """
    base = open_base(kb)
    if documents:
        say(f"{_encode_documents(base):,} documents encoded")
        return
    searches = base.node_search
    with reporting(stderr(), "encoding documents") as tell:
        (searches.multi if multi else searches.dense).encode_all(tell)
    say(f"{len(searches.documents):,} nodes encoded")


@commands.command()
def upload(
    place: Annotated[
        str,
        argument(
            "PLACE",
            "lancedb:DIRECTORY#TABLE, lancedb:s3://BUCKET/FOLDER, qdrant:http://HOST:6333#COLLECTION or "
            "qdrant:DIRECTORY.",
        ),
    ],
    kb: Annotated[str | None, flag("--kb KB", "Knowledge base whose documents are copied.")] = None,
    documents: DocumentsOption = None,
    no_vectors: Annotated[bool, flag("--no-vectors", "Encode nothing; search documents by words alone.")] = False,
) -> None:
    """Store documents and their vectors in LanceDB or Qdrant.

    Use it for more documents than one index on one machine holds. Programs search them with `--documents-at PLACE`, or
    with `documents = "PLACE"` in triplecheck.toml. The same command resumes an interrupted run. The key of a Qdrant
    server is read from QDRANT_API_KEY.

    Examples:

        triplecheck kb upload lancedb:stores/passages --documents passages.jsonl
        triplecheck kb upload "qdrant:http://localhost:6333#films" --kb kbs/films
    """
    from triplecheck.kg.document_stores import upload as store
    from triplecheck.kg.encode import load_encoder
    from triplecheck.kg.errors import UserError
    from triplecheck.kg.readers.documents import DocumentFile

    if (kb is None) == (documents is None):
        raise UserError("name the documents: either --kb KB or --documents FILE")
    with reporting(stderr(), "storing documents") as tell:
        texts: Iterable[Document] | None = None if documents is None else DocumentFile(documents)
        if kb is not None:
            texts = open_base(kb).documents
        if texts is None:
            raise UserError(f"{kb}: there are no documents; add them with `triplecheck kb build --documents`")
        stored = store(texts, place, None if no_vectors else load_encoder(), tell)
    say(f"{len(stored):,} documents stored in {stored.place}")


def _encode_documents(base: KnowledgeBase) -> int:
    from triplecheck.kg.encode import load_encoder
    from triplecheck.kg.errors import UserError

    if base.documents is None:
        raise UserError(f"{base.path}: there are no documents; add them with `triplecheck kb build --documents`")
    with reporting(stderr(), "encoding documents") as tell:
        base.documents.build_vectors(load_encoder(), tell)
    return len(base.documents)


def _about(kb: KnowledgeBase) -> dict[str, Any]:
    from triplecheck.kg.embedding.embeddings import ABOUT, PART, read_about
    from triplecheck.kg.manifest import StaleWarning
    from triplecheck.kg.ranker import load_ranker

    about, trained = kb.manifest, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleWarning)  # what is stale is told below
        ranker = kb.ranker_file
    if f"{PART}/{ABOUT}" in about.files:
        with kb.generation.opening(PART, quietly=True) as folder:
            trained = asdict(read_about(folder / ABOUT))
    return {
        "path": str(kb.path),
        "format": about.format,
        "version": about.version,
        "counts": about.counts,
        "bytes": sum(size for size, _ in about.files.values()),
        "content_hash": about.content_hash,
        "encoder": None if about.encoder is None else about.encoder["name"],
        "language": about.language,
        "embeddings": trained,
        "stale": about.stale,
        "changes": about.changes,
        "ranker": None if ranker is None else dict(load_ranker(ranker).about),
        "sources": about.sources,
        "skipped": about.skipped,
        "report": about.report,
    }


def _remote_info(kb: KnowledgeBase, verify: bool, json: bool) -> None:
    """Show what is known of an endpoint."""
    from triplecheck.kg.knowledge_base import RemoteBase

    assert isinstance(kb, RemoteBase)
    if verify:
        kb.verify()
    with waiting(stderr(), "counting"):
        about = kb.endpoint.about()
    if json:
        print_json(about)
        return
    shown = {name: value for name, value in about.items() if name != "counts"}
    counts = about["counts"]
    shown |= {name: f"{n:,}" if isinstance(n, int) else f"not counted: {n}" for name, n in counts.items()}
    stdout().print(rows_of(shown))


@commands.command()
def index(
    url: Annotated[str, argument("URL", "URL of an endpoint, or its name in `triplecheck.toml`.")],
    out: Annotated[
        Path | None,
        argument("OUT", "Directory to write. Default: a place in the cache directory where --kb URL finds it."),
    ] = None,
    no_vectors: NoVectorsOption = False,
) -> None:
    """Index the names of an endpoint, so that misspelt and partial names are found.

    Reads all labels, aliases and short values once, page by page. The same command resumes an interrupted
    build. Name another OUT as `index` of the endpoint in `triplecheck.toml`.

    Examples:

        triplecheck kb index http://localhost:8890/sparql
        triplecheck kb index neo4j://localhost:7687
        triplecheck kb index films kbs/films-index
    """
    from dataclasses import replace

    from triplecheck.app.config import load_settings
    from triplecheck.app.opening import endpoint_options
    from triplecheck.kg.errors import UserError

    settings = load_settings()
    with waiting(stderr(), "loading"):
        from triplecheck.kg.bundled_files import cache_directory
        from triplecheck.kg.encode import DEFAULT_ENCODER
        from triplecheck.kg.endpoints import build_index, index_path, open_endpoint
    options = endpoint_options(settings, url)
    if options is None:
        raise UserError(f"{url}: is neither a URL nor the name of an endpoint in triplecheck.toml")
    cache = cache_directory(settings.cache)
    place = out or index_path(options, cache)
    # Pages are read once: they need no cache, and an older index must not answer for the server.
    asked = replace(options, index=None, cache_hours=0)
    with reporting(stderr(), "reading names") as tell:
        opened = open_endpoint(asked, cache, use_index=False)
        encoder = None if no_vectors else DEFAULT_ENCODER
        about = build_index(opened.graph, options.identity, place, encoder=encoder, progress=tell)
    counts = {name: f"{count:,}" for name, count in about.counts.items()}
    stdout().print(rows_of({"endpoint": options.name, "index": place} | counts))


def _table(kb: KnowledgeBase) -> Table:
    """What a knowledge base contains, as a table."""
    return rows_of(_rows(_about(kb)))


def _rows(about: dict[str, Any]) -> Iterator[tuple[str, str]]:
    from triplecheck.language.pipeline import installed

    yield "knowledge base", about["path"]
    for name, count in about["counts"].items():
        yield name, f"{count:,}"
    yield "size", f"{about['bytes'] / 1e6:,.1f} MB"
    yield "vectors", about["encoder"] or "none"
    yield "language", f"{about['language']}, read by {installed(about['language'])}"
    if about["embeddings"]:
        trained, quality = about["embeddings"]["options"], about["embeddings"]["quality"]
        yield "embeddings", f"{trained['model']}, {trained['dimensions']} dimensions, MRR {quality['mrr']:.3f}"
    for part, reason in about["stale"].items():
        yield "stale", f"{part}: {reason}"
    if about["changes"]:
        yield "changed since built", f"{about['changes']:,} times"
    if ranker := about["ranker"]:
        yield "ranker", training.summary(ranker)
    yield from _rows_of_report(about["report"])
    yield "sources", ", ".join(about["sources"]) or "unknown"
    if about["skipped"]:
        yield "skipped lines", f"{about['skipped']:,}"
    yield "content hash", about["content_hash"]


def _rows_of_report(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What became of what was read."""
    if not report:
        return
    yield "statements read", f"{report['read']:,}"
    if report["descriptions"]:
        yield "kept as descriptions", f"{report['descriptions']:,} (labels, comments, types)"
    if report.get("properties"):
        yield "kept on edges", f"{report['properties']:,} (edge properties)"
    yield "merged as duplicates", f"{report['duplicates']:,}"
    if report.get("inferred"):
        yield "inferred", f"{report['inferred']:,} (triples that follow from symmetric and inverse relations)"
    for reason, count in report["left_out"].items():
        yield "left out", f"{count:,} {reason}"


def _scored(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Rows of texts that end with a score."""
    from rich.text import Text

    table = columns(*header, numbers=("score",))
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def _hit_row(hit: Any) -> tuple[str, ...]:
    text = hit.text if len(hit.text) <= 120 else hit.text[:119] + "…"
    return hit.title or hit.id, hit.node or "", text, f"{hit.score:.3f}"
