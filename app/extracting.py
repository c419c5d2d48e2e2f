"""`triplecheck kb extract`: a knowledge base from text."""

from __future__ import annotations

import functools
import hashlib
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.console import print_json, remark, reporting, rows_of, stderr, stdout, waiting
from triplecheck.app.opening import open_base, roles
from triplecheck.app.options import (
    KbDirectory,
    ModelOptions,
    NoVectorsOption,
    WorkersOption,
    argument,
    flagged,
    flattened,
)

if TYPE_CHECKING:
    from triplecheck.app.config import Settings
    from triplecheck.kg import KnowledgeBase
    from triplecheck.kg.documents import Document
    from triplecheck.kg.plausibility import GraphJudge, Grounder
    from triplecheck.lms import Roles
    from triplecheck.programs import Sources
    from triplecheck.programs.extract import ReadDocument, TripleExtractor
    from triplecheck.programs.steps import Trace

_ROWS = "documents.jsonl"
_KIND = "triplecheck-extraction"
_AT_ONCE = 16  # documents per worker between two notes of progress
_PROBLEMS_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class ExtractOptions:
    """How statements are linked, filtered and indexed."""

    base: str | None = flagged(
        "--base KB", "Knowledge base whose entities and relations are used where a text names them."
    )
    filtered: bool = flagged(
        "--filter",
        "Leave out statements that the base contradicts, or that its embeddings (`kb embed`) find implausible.",
        default=False,
    )
    workers: WorkersOption = None
    no_vectors: NoVectorsOption = False


@flattened("kb")
def extract(
    documents: Annotated[
        Path, argument("DOCS", "Documents as JSON lines (.jsonl, .jsonl.gz) with text; optional: id, title.")
    ],
    out: KbDirectory,
    run: ModelOptions,
    how: ExtractOptions,
) -> None:
    """Build a knowledge base from text.

    The role `extract` writes the triples that the sentences of each document state. Names that are equal but for
    spelling become one entity; with `--base`, names that it knows become its entities, so that `kb merge` joins both.
    Each edge has the sentence and the id of its document as properties, and the documents are part of the knowledge
    base. An interrupted command continues where it stopped.

    The default model `extractive` extracts by rules and finds few statements; a language model finds more.

    Examples:

        triplecheck kb extract articles.jsonl kbs/articles --lm openai/gpt-4o-mini --budget-dollars 5
        triplecheck kb extract articles.jsonl kbs/articles --base kbs/films --filter
    """
    from triplecheck.kg.errors import UserError

    if how.filtered and how.base is None:
        raise UserError("--filter compares statements with a knowledge base: name one with --base")
    settings = run.settings()
    began = time.perf_counter()
    with waiting(stderr(), "loading"):
        from triplecheck.kg.manifest import refuse_foreign
        from triplecheck.language.pipeline import ENGLISH, check_language
        from triplecheck.programs import Sources

        models = roles(settings)
        texts = _read_texts(documents)
    refuse_foreign(out)
    sources = None if how.base is None else Sources.of(open_base(how.base))
    language = check_language(settings.language or (ENGLISH if sources is None else sources.language))
    work = out.absolute().parent / f".{out.absolute().name}.extract"
    configuration = _configuration(documents, sources, models, language)
    workers = how.workers or settings.workers
    rows = _read_all(texts, work, configuration, sources, models, settings, workers, language)
    graph = _Graph(sources, how.filtered)
    for text, row in zip(texts, rows, strict=True):
        graph.add(text, row)
    if not graph.rows:
        raise UserError(f"{documents}: no statement was extracted; try another model with --lm")
    kb = _build(graph, texts, out, documents, language, with_vectors=not how.no_vectors)
    shutil.rmtree(work, ignore_errors=True)
    _report(kb, rows, graph, time.perf_counter() - began, json=run.json)


def _read_texts(path: Path) -> list[Document]:
    """The documents of a file.

    Raises:
        UserError: there are none, or two have the same id.
    """
    from triplecheck.kg.errors import UserError
    from triplecheck.kg.readers.documents import DocumentFile

    texts = list(DocumentFile(path))
    if not texts:
        raise UserError(f"{path}: has no documents")
    if twice := [id for id, count in Counter(text.id for text in texts).items() if count > 1]:
        raise UserError(f"{path}: two documents have the id {twice[0]!r}")
    return texts


def _configuration(documents: Path, sources: Sources | None, models: Roles, language: str) -> dict[str, Any]:
    """What the statements depend on: the texts, their language, the base, the model of the role, and the prompt."""
    from triplecheck.signatures import ExtractTriples

    base = None if sources is None else sources.knowledge_base
    return {
        "documents": hashlib.sha256(documents.read_bytes()).hexdigest(),
        "base": None if base is None else dict(base.identity),
        "language": language,
        "model": models.model("extract"),
        "prompt": ExtractTriples.instructions,
    }


def _build(
    graph: _Graph, texts: Sequence[Document], out: Path, documents: Path, language: str, *, with_vectors: bool
) -> KnowledgeBase:
    with reporting(stderr(), "building") as tell:
        from triplecheck.kg import build
        from triplecheck.kg.encode import DEFAULT_ENCODER

        return build(
            _table(("head", "relation", "tail", "sentence", "document"), graph.rows),
            out,
            entities=_table(("id", "label"), graph.labels.items()),
            relations=_table(("id", "label"), graph.relation_labels.items()),
            edge_properties=("sentence", "document"),
            documents=[graph.linked(text) for text in texts],
            encoder=DEFAULT_ENCODER if with_vectors else None,
            sources=[str(documents)],
            language=language,
            progress=tell,
        )


def _read_all(
    texts: Sequence[Document],
    work: Path,
    configuration: dict[str, Any],
    sources: Sources | None,
    models: Roles,
    settings: Settings,
    workers: int,
    language: str,
) -> list[dict[str, Any]]:
    """What was read in each document, in order; what is in `work` already is not read again."""
    from triplecheck.evals.run_directory import JsonLines, RunDirectory, repair_lines
    from triplecheck.kg import TriplecheckError
    from triplecheck.lms import Budget, session
    from triplecheck.programs.concurrently import concurrently
    from triplecheck.programs.extract import TripleExtractor
    from triplecheck.programs.steps import Trace

    extractor, limits = TripleExtractor(sources, language), Budget(**settings.budget.model_dump())
    done: dict[str, dict[str, Any]] = {}

    def keep(row: dict[str, Any]) -> bool:
        known = _is_read(row)
        if known:
            done[row["id"]] = row
        return known

    with RunDirectory(work, _KIND, configuration, "an extraction"), reporting(stderr(), "reading") as tell:
        repair_lines(work / _ROWS, keep)
        left = [text for text in texts if text.id not in done]
        with JsonLines(work / _ROWS) as lines, session(models, budget=limits, language=language):
            for start in range(0, len(left), _AT_ONCE * workers):
                tell("reading", len(done), len(texts))
                part = left[start : start + _AT_ONCE * workers]
                tasks = [functools.partial(_read, extractor, text) for text in part]
                failed: TriplecheckError | None = None
                for text, read in zip(part, concurrently(tasks, Trace(), at_once=workers), strict=True):
                    if isinstance(read, TriplecheckError):
                        failed = failed or read
                        continue
                    stated = [[*one.triple, one.sentence] for one in read.stated]
                    row = {"id": text.id, "stated": stated, "sentences": read.sentences, "problems": read.problems}
                    lines.append(row)
                    done[text.id] = row
                if failed is not None:
                    raise failed
    return [done[text.id] for text in texts]


def _is_read(row: dict[str, Any]) -> bool:
    """Whether a line has what was read in a document."""
    stated, problems = row.get("stated"), row.get("problems")
    return (
        isinstance(row.get("id"), str)
        and isinstance(row.get("sentences"), int)
        and isinstance(stated, list)
        and all(
            isinstance(one, list) and len(one) == 4 and all(isinstance(part, str) for part in one) for one in stated
        )
        and isinstance(problems, list)
        and all(isinstance(problem, str) for problem in problems)
    )


def _read(extractor: TripleExtractor, text: Document, _: Trace) -> ReadDocument:
    return extractor.read(text)


@dataclass
class _Graph:
    """The graph in the making.

    Attributes:
        rows: head, relation, tail, sentence, document.
        labels, relation_labels: of the entities and of the relations, by id.
        known: ids that are of the base.
        left_out: statements that were filtered, by the reason.
    """

    sources: Sources | None
    filtered: bool
    rows: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    relation_labels: dict[str, str] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        from triplecheck.kg.plausibility import GraphJudge, Grounder, Plausibility
        from triplecheck.programs.know3rag.reliability import NameLinker

        self._ids: dict[str, str] = {}
        self._judge: GraphJudge | None = None
        self._grounder: Grounder | None = None
        if self.sources is None:
            return
        kb = self.sources.knowledge_base
        self._linker = NameLinker(self.sources.linker)
        if self.filtered and kb is not None:
            ranks = None if kb.embeddings is None else Plausibility.of(kb, "tail_rank")
            self._judge = GraphJudge(kb.columnar, ranks)
            self._grounder = Grounder(kb.columnar, self._linker, self.sources.relations)

    def add(self, document: Document, row: dict[str, Any]) -> None:
        """Add the statements of a document."""
        for head, relation, tail, sentence in row["stated"]:
            reason = self._refused((head, relation, tail), sentence)
            if reason is not None:
                self.left_out[reason] += 1
                continue
            ends = [self._entity(_in_full(name, document.title), sentence) for name in (head, tail)]
            self.rows.append((ends[0], self._relation(relation), ends[1], sentence, document.id))

    def _refused(self, triple: tuple[str, str, str], sentence: str) -> str | None:
        """Why a statement is left out; None if it is not."""
        from triplecheck.kg.plausibility import TripleVerdict

        if self._judge is None or self._grounder is None:
            return None
        (grounded,) = self._grounder.ground([triple], sentence)
        verdict = self._judge.judge(grounded).verdict
        return str(verdict) if verdict in (TripleVerdict.CONTRADICTED, TripleVerdict.IMPLAUSIBLE) else None

    def _entity(self, name: str, sentence: str) -> str:
        """The id of an entity: that of the base, else the first spelling of the name."""
        from triplecheck.kg import normalize

        if self.sources is not None:
            found = self._linker.candidates(name, sentence, 1)
            # A misspelt name is likelier another one: texts name what the base does not have.
            if found and found[0].is_named:
                self.known.add(found[0].id)
                self.labels[found[0].id] = found[0].label
                return found[0].id
        id = self._ids.setdefault(normalize(name) or name, name)
        self.labels.setdefault(id, name)
        return id

    def _relation(self, text: str) -> str:
        """The id of a relation: that of the base if the names are equal, else its words in lower case."""
        if self.sources is not None:
            found = self.sources.schema_names.relations(text)
            if found:
                relation = self.sources.graph.relation(found[0])
                self.relation_labels[relation.id] = relation.label
                return relation.id
        id = " ".join(text.casefold().split())
        self.relation_labels[id] = id
        return id

    def linked(self, document: Document) -> Document:
        """The document, as one about the entity that its title names."""
        from triplecheck.kg import normalize

        node = self._ids.get(normalize(document.title)) if document.title else None
        return document if document.node or node is None else replace(document, node=node)


def _in_full(name: str, title: str) -> str:
    """A name; the title of the document if the name is its last word, and the title that of a person, say."""
    words = title.split()
    is_last = 1 < len(words) <= 3 and words[-1] == name and all(word[:1].isupper() for word in words)
    return title if is_last else name


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Any:
    import pyarrow as pa

    return pa.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})


def _report(kb: KnowledgeBase, rows: Sequence[dict[str, Any]], graph: _Graph, seconds: float, *, json: bool) -> None:
    problems = [problem for row in rows for problem in row["problems"]]
    about = {
        "documents": len(rows),
        "sentences": sum(row["sentences"] for row in rows),
        "statements": sum(len(row["stated"]) for row in rows),
        "filtered": dict(graph.left_out),
        "problems": len(problems),
        "entities": len(graph.labels),
        "entities_of_base": len(graph.known),
        "triples": kb.manifest.counts["triples"],
        "seconds": round(seconds, 1),
    }
    if json:
        print_json(about)
        return
    for problem in problems[:_PROBLEMS_SHOWN]:
        remark(f"not read: {problem}")
    filtered = ", ".join(f"{count:,} {reason}" for reason, count in graph.left_out.items()) or "none"
    stdout().print(
        rows_of(
            {name.replace("_", " "): f"{value:,}" if isinstance(value, int) else value for name, value in about.items()}
            | {"filtered": filtered, "time": f"{seconds:.1f} s"}
        )
    )
