"""What the server does, without a protocol: questions, searches, look-ups and checks over bases that stay open."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy

from triplecheck.app.catalog import EXAMPLES, summary
from triplecheck.app.config import Settings
from triplecheck.app.match import matched
from triplecheck.app.opening import open_knowledge_base, open_program, roles, with_bar
from triplecheck.app.serve.picture import picture_of
from triplecheck.app.serve.types import (
    Answer,
    BaseInfo,
    Bases,
    Candidate,
    Cost,
    Found,
    Group,
    Matched,
    Neighbours,
    Node,
    Passage,
    ProgramInfo,
    Programs,
    Step,
    VerifiedText,
)
from triplecheck.kg import KnowledgeBase, TriplecheckError, UserError
from triplecheck.kg.endpoints import EndpointOptions, is_url
from triplecheck.kg.knowledge_base import BUNDLED
from triplecheck.kg.types import Direction
from triplecheck.lms import Budget, Ledger, session
from triplecheck.lms.kinds import EXTRACTIVE
from triplecheck.lms.metering import ON_CALL
from triplecheck.lms.roles import restrict_cache
from triplecheck.programs import Program, Sources, program_names, resolve_program, to_json
from triplecheck.programs.conversation import FollowUps
from triplecheck.programs.steps import TraceEvent, in_words
from triplecheck.programs.verify import Verifier
from triplecheck.programs.verify import to_json as verified_json

if TYPE_CHECKING:
    from triplecheck.app.serve.tracing import Tracing

_MOST_GROUPS = 60  # relations of a node
_MOST_DOCUMENTS = 5

OnStep = Callable[[Step], None]


class UnknownNameError(UserError):
    """A request names a base, a program or a node that is not there."""


class Service:
    """Knowledge bases, programs and models that stay open. Thread-safe.

    Args:
        settings: the configuration; `kb` and `serve.bases` name the knowledge bases.
        tracing: gets a span of each question and of each call to a model; None: no spans.

    Raises:
        UserError: there is no such program, role or bundle.
        KnowledgeBaseError: a knowledge base is missing or damaged.
    """

    def __init__(self, settings: Settings, tracing: Tracing | None = None) -> None:
        restrict_cache()
        self.settings = settings
        self.tracing = tracing
        self.bases = _open_bases(settings)
        self.roles = roles(settings)
        self.budget = Budget(**settings.budget.model_dump())
        self._programs: dict[tuple[str, str], Program] = {}
        self._follow_ups = FollowUps()
        self._lock = threading.Lock()
        self._sources = {name: Sources.of(base) for name, base in self.bases.items()}
        self.default_base = next(iter(self.bases))
        self.default_program = self.program(self.default_base, None).name

    def base(self, name: str | None) -> tuple[str, KnowledgeBase]:
        """A knowledge base and its name; None: the first one.

        Raises:
            UnknownNameError: there is none of this name.
        """
        name = name or self.default_base
        if name not in self.bases:
            raise UnknownNameError(f"no knowledge base {name!r}; there are: {', '.join(self.bases)}")
        return name, self.bases[name]

    def program(self, base: str, name: str | None) -> Program:
        """A program on a knowledge base, made when it is first asked for; None: the one that is configured.

        Raises:
            UnknownNameError: there is no such program.
            UserError: it cannot run on this base.
        """
        configured = None if name is None else self._known_program(name)
        key = (base, configured or "")
        with self._lock:
            if key not in self._programs:
                settings = self.settings
                if configured is not None and configured != self.default_program:
                    # Bundle, cascade and options belong to the configured program.
                    own: dict[str, Any] = {"program": configured, "bundle": None, "options": {}}
                    own["cascade"] = None if settings.cascade is None else []
                    settings = settings.model_copy(update=own)
                self._programs[key] = open_program(with_bar(settings), self._sources[base])
            return self._programs[key]

    def _known_program(self, name: str) -> str:
        try:
            return resolve_program(name).name
        except UserError as error:
            raise UnknownNameError(str(error)) from None

    # --- questions -----------------------------------------------------------------------------
    def ask(
        self,
        question: str,
        base: str | None = None,
        program: str | None = None,
        *,
        conversation: Sequence[tuple[str, str]] = (),
        on_step: OnStep | None = None,
        picture: bool = False,
        payer: Ledger | None = None,
    ) -> Answer:
        """Answer a question.

        Args:
            base: name of a knowledge base; None: the first one.
            program: name of a program; None: the one that is configured.
            conversation: earlier questions with their answers; a question that refers to them is rewritten.
            on_step: gets each step as it happens; an error that it raises ends the question.
            payer: counts the calls as well and has a budget of its own.

        Raises:
            UserError: the question is empty, or a name is unknown.
            TriplecheckError: a budget is spent, or a model or a graph is not available.
        """
        name, _ = self.base(base)
        runs = self.program(name, program)
        steps = Steps()

        def note(event: TraceEvent) -> None:
            step = steps.note(event)
            if span is not None:
                span.step(step)
            if on_step is not None:
                on_step(step)

        tracing = self.tracing
        with (
            contextlib.nullcontext() if tracing is None else tracing.question(question, name, runs.name) as span,
            self._metered(payer),
            session(self.roles, budget=self.budget),
        ):
            result = runs(question=self._follow_ups.understood(question, conversation), on_step=note)
            answer = steps.answer(name, runs.sources, result, picture=picture)
            if span is not None:
                span.answered(answer)
        return answer

    def verify(self, text: str, base: str | None = None, *, payer: Ledger | None = None) -> VerifiedText:
        """Check a text, statement by statement.

        Raises:
            UserError: the text is empty or too long, or the graph is on a server.
            TriplecheckError: a budget is spent, or a model is not available.
        """
        name, _ = self.base(base)
        sources = self._sources[name]
        with self._metered(payer), session(self.roles, budget=self.budget) as ledger:
            plain, usage = verified_json(sources, Verifier(sources)(text=text)), ledger.usage()
        notes = [note["reason"] for note in plain["notes"] if note.get("reason")]
        return VerifiedText(
            base=name, claims=plain["claims"], verdicts=plain["verdicts"], notes=notes, usage=Cost(**usage.to_json())
        )

    # --- look-ups ------------------------------------------------------------------------------
    def search(self, text: str, base: str | None = None, limit: int = 10) -> Found:
        """Entities that a text may mean, and documents that have its words.

        Raises:
            UserError: the text is empty.
        """
        if not text.strip():
            raise UserError("the text to search for is empty")
        name, kb = self.base(base)
        searched = kb.searchable_documents
        documents = [] if searched is None else searched.search(text, limit)
        candidates = []
        for found in kb.linker.candidates(text, limit=limit):
            about = kb.graph.entity(found.node)
            types = [kb.graph.type_label(one) for one in about.types]
            candidates.append(
                Candidate(
                    id=found.id,
                    label=found.label,
                    types=types,
                    description=about.description,
                    source=found.source,
                    score=round(found.score, 4),
                )
            )
        return Found(base=name, candidates=candidates, documents=[_passage(hit) for hit in documents])

    def neighbours(self, id: str, base: str | None = None, limit: int = 10) -> Neighbours:
        """A node with its edges, grouped by relation, and its documents.

        Args:
            id: of an entity, or the lexical form of a value.
            base: name of a knowledge base; None: the first one.

        Raises:
            UnknownNameError: there is no such node.
        """
        name, kb = self.base(base)
        graph = kb.graph
        node = graph.find(id)
        if node is None:
            raise UnknownNameError(f"no node {id!r} in {name!r}; /v1/search finds ids by names")
        about = graph.entity(node)
        groups = []
        for count in graph.relations_of(node)[:_MOST_GROUPS]:
            ends = graph.neighbors(node, count.relation, count.direction, limit).tolist()
            labels = graph.labels(ends) if ends else []
            relation = graph.relation(count.relation)
            groups.append(
                Group(
                    relation=relation.id,
                    relation_label=relation.label,
                    direction="out" if count.direction is Direction.OUT else "in",
                    total=count.edges,
                    nodes=[Node(id=graph.node_id(end), label=label) for end, label in zip(ends, labels, strict=True)],
                )
            )
        searched = kb.searchable_documents
        documents = [] if searched is None else searched.of_node(graph.node_id(node))[:_MOST_DOCUMENTS]
        return Neighbours(
            base=name,
            id=graph.node_id(node),
            label=about.label,
            aliases=list(about.aliases),
            description=about.description,
            types=[graph.type_label(one) for one in about.types],
            groups=groups,
            documents=[_passage(one) for one in documents],
        )

    def match(self, patterns: str, base: str | None = None, **options: Any) -> Matched:
        """The nodes that satisfy triple patterns.

        Args:
            patterns: `head relation tail`, separated by `;`, with variables such as `?film`.
            base: name of a knowledge base; None: the first one.

        Raises:
            UserError: the patterns cannot be read, or name what the graph does not have.
        """
        name, kb = self.base(base)
        report = matched(kb, patterns, **options)
        return Matched(base=name, **{field: report[field] for field in Matched.model_fields if field in report})

    @contextlib.contextmanager
    def _metered(self, payer: Ledger | None) -> Iterator[None]:
        """DSPy's settings for one question: the payer's ledger, spans, and nothing that grows with the questions."""
        more: dict[str, Any] = {} if payer is None else {"ledger": payer}
        if self.tracing is not None:
            more[ON_CALL] = self.tracing.call
        with dspy.context(disable_history=True, trace=[], **more):
            yield

    # --- what there is ---------------------------------------------------------------------------
    def list_bases(self) -> Bases:
        """The knowledge bases."""
        return Bases(bases=[_about(name, base) for name, base in self.bases.items()])

    def list_programs(self) -> Programs:
        """The programs."""
        found = [resolve_program(name) for name in dict.fromkeys([self.default_program, *program_names()])]
        return Programs(
            default=self.default_program,
            programs=[ProgramInfo(name=one.name, summary=summary(one), cites_graph=one.cites_graph) for one in found],
        )

    def warm_up(self) -> None:
        """Load what the first question would wait for: each base answers one with the rule-based baseline."""
        for name, base in self.bases.items():
            base.linker.candidates("warm up", limit=1)  # a base that cannot be read is an error
            with contextlib.suppress(TriplecheckError), dspy.context(disable_history=True), session(EXTRACTIVE):
                self.program(name, None)(question=EXAMPLES[0][1])


class Steps:
    """The steps of one question as clients get them, timed from now on."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._steps: dict[int, Step] = {}

    def note(self, event: TraceEvent) -> Step:
        """A step that happens now."""
        self._steps[id(event)] = step = _step(event, time.perf_counter() - self._started)
        return step

    def answer(self, base: str, sources: Sources, result: Any, *, picture: bool = False) -> Answer:
        """A prediction, as `triplecheck ask --json` prints it, as clients get it.

        Args:
            sources: what the program ran on.
            result: its prediction, which it has just made.
        """
        seconds = time.perf_counter() - self._started
        plain = to_json(result)
        own: dict[str, Any] = {
            "base": base,
            "proof": plain["evidence"],
            "steps": [self._steps.get(id(event)) or _step(event, seconds) for event in result.steps],
            "usage": result.usage.to_json(),
            "seconds": round(seconds, 4),
            "picture": picture_of(sources.graph, sources.schema_names, result) if picture else None,
        }
        return Answer(**{name: value for name, value in plain.items() if name in Answer.model_fields} | own)


def _open_bases(settings: Settings) -> dict[str, KnowledgeBase]:
    """The knowledge bases by name, the configured one first."""
    bases = {name_of(settings.kb): open_knowledge_base(settings)}
    for name, kb in settings.serve.bases.items():
        if name in bases:
            raise UserError(f"two knowledge bases have the name {name!r}; give one another name")
        bases[name] = open_knowledge_base(settings.model_copy(update={"kb": kb, "language": None}))
    return bases


def name_of(kb: str | None) -> str:
    """What clients call the configured knowledge base: its directory, its endpoint, or `bundled`."""
    if kb is None:
        return BUNDLED
    if is_url(kb):
        return EndpointOptions(kb).name  # without user and password
    return Path(kb).expanduser().resolve().name if Path(kb).expanduser().is_dir() else kb


def _about(name: str, base: KnowledgeBase) -> BaseInfo:
    counts: Mapping[str, int] = {} if base.is_remote else base.manifest.counts
    is_bundled = not base.is_remote and name == BUNDLED
    return BaseInfo(
        name=name,
        entities=counts.get("entities"),
        relations=counts.get("relations"),
        triples=counts.get("triples"),
        documents=counts.get("documents"),
        examples=[question for _, question in EXAMPLES] if is_bundled else [],
    )


def _step(event: TraceEvent, seconds: float) -> Step:
    detail = {name: value for name, value in event.to_json().items() if name != "kind"}
    return Step(kind=event.kind, text=in_words(event), seconds=round(seconds, 4), detail=detail)


def _passage(document: Any) -> Passage:
    return Passage(id=document.id, node=document.node, title=document.title, text=document.text)
