"""`triplecheck kb`: build, inspect and search knowledge bases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from triplecheck.app import embed, match, options, plausibility
from triplecheck.app.console import print_json, printable, stderr, stdout
from triplecheck.app.progress import reporting, waiting

if TYPE_CHECKING:
    from rich.table import Table

    from triplecheck.kg import KnowledgeBase
    from triplecheck.kg.readers import BadLine

_BAD_LINES_SHOWN = 10

commands = typer.Typer(
    help="Knowledge bases: directories with a graph and its indices, built once, opened instantly.",
    no_args_is_help=True,
)
KbArgument = match.KbArgument
commands.command("match")(match.match)
commands.command("embed")(embed.embed)
commands.command("plausibility")(plausibility.plausibility)


@commands.command(cls=options.SpreadingCommand)
def build(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Directory to write. A knowledge base there is replaced.")],
    triples: Annotated[
        list[Path],
        typer.Option(
            "--triples",
            metavar="FILE...",
            help="Files of triples: .tsv .txt .csv .parquet .nt .ttl .nq .trig .rdf .xml .owl .jsonld, also with .gz. "
            "Several after one flag, or the flag repeated.",
        ),
    ],
    entities: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table of entities with a header: id, label, description, aliases (by |), type (by |).",
        ),
    ] = None,
    relations: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table of relations with a header: id, label, description, aliases (by |), domain, range.",
        ),
    ] = None,
    documents: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON lines with text, and if you like id, title, node.")
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="NAME=COLUMN", help="Which column of the files holds what. Several, or repeated."
        ),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out malformed lines and list them, instead of stopping.")
    ] = False,
    name_vectors: Annotated[
        bool, typer.Option("--name-vectors", help="Encode every entity name, too (250 a second and core).")
    ] = False,
    no_vectors: Annotated[
        bool, typer.Option("--no-vectors", help="Encode nothing: no grounding of candidates by their relations.")
    ] = False,
) -> None:
    """Build a knowledge base from files.

    In a table without header the first three columns are head, relation and tail. Nothing is written
    where a file is missing or malformed; the message names the file and the line.

    Examples:

        triplecheck kb build kbs/films --triples films.tsv

        triplecheck kb build kbs/wiki --triples a.nt.gz b.nt.gz --documents passages.jsonl

        triplecheck kb build kbs/shop --triples orders.csv --map head=customer relation=verb tail=product
    """
    from triplecheck.kg.errors import UserError

    if name_vectors and no_vectors:
        raise UserError("--name-vectors and --no-vectors exclude each other; keep one")
    with waiting(stderr(), "loading"):
        from triplecheck.kg import build as build_knowledge_base
        from triplecheck.kg.encode import DEFAULT_ENCODER
        from triplecheck.kg.readers import RDF_SUFFIXES, parse_mapping, read_graph
        from triplecheck.kg.readers.documents import read_documents
        from triplecheck.kg.readers.tables import TABLE_SUFFIXES, suffix

    if suffix(out) in (*TABLE_SUFFIXES, *RDF_SUFFIXES):
        raise UserError(f"{out}: looks like a file of triples; name the directory to write, OUT, before --triples")
    columns = parse_mapping(mapping or ())
    with reporting(stderr(), "reading") as tell:
        raw = read_graph(triples, entities, relations, columns, skip_bad=skip_bad, progress=tell)
        texts = None if documents is None else read_documents(documents, columns, skip_bad=skip_bad)
        kb = build_knowledge_base(
            raw,
            out,
            documents=texts,
            encoder=None if no_vectors else DEFAULT_ENCODER,
            name_vectors=name_vectors,
            sources=[str(path) for path in (*triples, entities, relations, documents) if path is not None],
            progress=tell,
        )
    _list_skipped([line for graph in raw for line in graph.skipped] + ([] if texts is None else texts.skipped))
    stdout().print(table(kb))


@commands.command()
def info(
    kb: KbArgument,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every file against its hash (reads all of them).")
    ] = False,
    json: options.JsonOption = False,
) -> None:
    """Tell what a knowledge base holds.

    Examples:

        triplecheck kb info kbs/films

        triplecheck kb info kbs/films --verify --json
    """
    opened = open_base(kb)
    if verify:
        with waiting(stderr(), "verifying"):
            opened.verify()
    if json:
        print_json(_about(opened) | {"verified": verify})
        return
    stdout().print(table(opened))
    if verify:
        stdout().print("every file is as it was built")


@commands.command()
def search(
    kb: KbArgument,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="A name, also misspelt or in part, or words of documents.")
    ],
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many at most, of each kind.")] = 10,
    json: options.JsonOption = False,
) -> None:
    """Search names, and documents where there are any.

    The source says how a name was found: label, alias, value, typo, partial or dense.

    Examples:

        triplecheck kb search kbs/films "Ridly Scott"

        triplecheck kb search bundled "Bernhard Heiden" --limit 3 --json
    """
    from triplecheck.kg.errors import UserError

    if not text.strip():
        raise UserError("the text to search for is empty")
    opened = open_base(kb)
    with waiting(stderr(), "searching"):
        candidates = opened.linker.candidates(text, limit=limit)
        hits = [] if opened.documents is None else opened.documents.search(text, limit)
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
        out.print("nothing found")
    if candidates:
        rows = [(c.label, c.id, c.source, f"{c.score:.3f}") for c in candidates]
        out.print(_columns(("name", "id", "source", "score"), rows))
    if hits:
        out.print(_columns(("document", "node", "text", "score"), [_hit_row(hit) for hit in hits]))


@commands.command()
def encode(
    kb: KbArgument,
    multi: Annotated[
        bool, typer.Option("--multi", help="Two vectors per node, of its text and of its relations, instead of one.")
    ] = False,
    documents: Annotated[
        bool, typer.Option("--documents", help="Of the documents as they are, for programs that read a corpus.")
    ] = False,
) -> None:
    """Make the vectors of all node documents now, so that a search compares every candidate.

    Without it they are made as questions need them, for the candidates whose words fit best. About 10 a
    second and core; interrupted, the next call goes on where this one was. A dense search of the documents
    themselves (`--option corpus=dense`) needs theirs made before.

    Examples:

        triplecheck kb encode kbs/films

        triplecheck kb encode kbs/films --multi

        triplecheck kb encode kbs/films --documents
    """
    base = open_base(kb)
    if documents:
        stdout().print(f"{_encode_documents(base):,} documents can be compared with a question")
        return
    searches = base.node_search
    with reporting(stderr(), "encoding documents") as tell:
        (searches.multi if multi else searches.dense).encode_all(tell)
    stdout().print(f"{len(searches.documents):,} nodes can be compared with a question")


def _encode_documents(base: KnowledgeBase) -> int:
    from triplecheck.kg.encode import load_encoder
    from triplecheck.kg.errors import UserError

    if base.documents is None:
        raise UserError(f"{base.path}: there are no documents; `triplecheck kb build --documents` reads some")
    with reporting(stderr(), "encoding documents") as tell:
        base.documents.build_vectors(load_encoder(), tell)
    return len(base.documents)


def open_base(kb: str) -> KnowledgeBase:
    """The knowledge base of an argument, `bundled` among them."""
    with reporting(stderr(), "opening") as tell:
        from triplecheck.app.config import load_settings
        from triplecheck.app.knowledge import open_knowledge_base

        return open_knowledge_base(load_settings(kb=kb), tell)


def _about(kb: KnowledgeBase) -> dict[str, Any]:
    about = kb.manifest
    return {
        "path": str(kb.path),
        "format": about.format,
        "version": about.version,
        "counts": about.counts,
        "bytes": sum(size for size, _ in about.files.values()),
        "content_hash": about.content_hash,
        "encoder": None if about.encoder is None else about.encoder["name"],
        "embeddings": None if kb.embeddings is None else asdict(kb.embeddings.about),
        "sources": about.sources,
        "skipped": about.skipped,
    }


def table(kb: KnowledgeBase) -> Table:
    """What a knowledge base holds, to print."""
    from rich.table import Table
    from rich.text import Text

    about = _about(kb)
    rows = Table(show_header=False, box=None, pad_edge=False)
    rows.add_column(style="bold", no_wrap=True)
    rows.add_column(overflow="fold")
    rows.add_row("knowledge base", Text(printable(about["path"])))
    for name, count in about["counts"].items():
        rows.add_row(name, f"{count:,}")
    rows.add_row("size", f"{about['bytes'] / 1e6:,.1f} MB")
    rows.add_row("vectors", about["encoder"] or "none")
    if about["embeddings"]:
        trained, quality = about["embeddings"]["options"], about["embeddings"]["quality"]
        rows.add_row("embeddings", f"{trained['model']}, {trained['dimensions']} dimensions, MRR {quality['mrr']:.3f}")
    rows.add_row("sources", Text(printable(", ".join(about["sources"])) or "not noted"))
    if about["skipped"]:
        rows.add_row("lines left out", f"{about['skipped']:,}")
    rows.add_row("content hash", about["content_hash"])
    return rows


def _columns(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in header:
        table.add_column(name, overflow="fold", justify="right" if name == "score" else "left")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def _hit_row(hit: Any) -> tuple[str, ...]:
    text = hit.text if len(hit.text) <= 120 else hit.text[:119] + "…"
    return hit.title or hit.id, hit.node or "", text, f"{hit.score:.3f}"


def _list_skipped(lines: list[BadLine]) -> None:
    err = stderr()
    for line in lines[:_BAD_LINES_SHOWN]:
        place = line.path if line.line is None else f"{line.path}:{line.line}"
        err.print(f"left out {printable(place)}: {printable(line.reason)}", soft_wrap=True)
    if len(lines) > _BAD_LINES_SHOWN:
        err.print(f"left out {len(lines) - _BAD_LINES_SHOWN:,} more")
