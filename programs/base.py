"""`Program`: the interface that all systems share."""

from __future__ import annotations

import asyncio
import functools
import json
import tempfile
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import dspy
from dspy.primitives.module import ProgramMeta
from dspy.streaming.messages import StatusMessage, sync_send_to_stream

from triplecheck.kg import Graph, KnowledgeBase, Linker, TriplecheckError, UserError
from triplecheck.kg._atomic import replaced_directory, write_bytes
from triplecheck.kg.documents import Documents
from triplecheck.kg.functions import CallLimits, Function, FunctionGraph, FunctionLinker, FunctionSource
from triplecheck.kg.functions.function import of_callable
from triplecheck.kg.names import composed
from triplecheck.kg.patterns import SchemaNames
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.ranker import GENERAL
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.language.pipeline import ENGLISH
from triplecheck.language.question import Question, read_question
from triplecheck.lms import ModelReplyError, PromptTooLongError, RolePredict, Roles, doubted_reply, session
from triplecheck.lms.metering import MeteredLM
from triplecheck.programs.assists import Assists
from triplecheck.programs.assists.shared import asked_part
from triplecheck.programs.chosen import CHOSEN, choose, chosen_of
from triplecheck.programs.judge.verdicts import NOT_IN_GRAPH, UNSURE, Judge
from triplecheck.programs.options import DEFAULT, ProgramOptions, check_options
from triplecheck.programs.outcome import Outcome, abstention, prediction
from triplecheck.programs.steps import Answered, Checked, Stopped, Trace, TraceEvent, Wrote, in_words
from triplecheck.signatures import JudgeProof
from triplecheck.signatures.notation import write_triple
from triplecheck.signatures.plain import plain

_LONGEST_QUESTION = 4_000  # characters
_HOPS = 2
_LATER = frozenset({"write_query"})  # steps that older states do not have
_WHOLE = "program.pkl"  # the file that DSPy writes a whole program to
_MOST_JUDGED = 30  # triples of a proof that a model reads


Ask = Callable[..., dspy.Prediction]
"""The type of `Program.ask`, which asks the model of a step and records in a trace what it wrote."""


class Sources:
    """What a program reads from: a graph, its linker, and the rest of the knowledge base if there is one.

    Copies of a program share it: optimizers copy modules deeply, and a memory-mapped graph must not be copied.

    Args:
        graph: the graph.
        linker: finds entities in text.
        relations: vectors of the relations, if there are any.
        knowledge_base: where graph and linker come from. Without it there are no documents, no embeddings and
            no vectors of nodes.
        ranker: file of a ranker of paths that was trained on this graph; by default that of the knowledge base.
        documents: texts to search; by default those of the knowledge base.
        language: of the questions, see `language.pipeline`; by default that of the knowledge base, else "en".
    """

    def __init__(
        self,
        graph: Graph,
        linker: Linker,
        relations: RelationVectors | None = None,
        knowledge_base: KnowledgeBase | None = None,
        ranker: Path | None = None,
        documents: Documents | None = None,
        language: str | None = None,
    ) -> None:
        self.language = language or (ENGLISH if knowledge_base is None else knowledge_base.language)
        self._documents = documents
        self.graph = graph
        self.linker = linker
        self.relations = relations
        self.knowledge_base = knowledge_base
        # By scoring and aggregate (`kg.plausibility.separating_threshold`).
        self.separating_thresholds: dict[tuple[str, str], float | None] = {}
        self.given_ranker = ranker
        self._dense: Linker | None = None

    @classmethod
    def of(cls, given: Sources | KnowledgeBase | str | Path) -> Sources:
        """Sources of a knowledge base; sources are returned unchanged.

        Args:
            given: a knowledge base, its directory, or `bundled`.

        Raises:
            UserError: anything else.
            ReadError: the directory has no knowledge base.
        """
        if isinstance(given, Sources):
            return given
        if isinstance(given, str | Path):
            given = KnowledgeBase.open(given)
        if not isinstance(given, KnowledgeBase):
            raise UserError(
                f"a program needs a KnowledgeBase, the path of one, 'bundled' or Sources, not {type(given).__name__}; "
                "KnowledgeBase.from_triples makes one from a list, a data frame or a networkx graph; "
                "for a graph alone give Sources(graph, linker)"
            )
        base = None if given.is_remote else given
        documents, language = given.documents_elsewhere, given.language
        return cls(given.graph, given.linker, given.relation_vectors, base, documents=documents, language=language)

    def with_ranker(self, ranker: Path) -> Sources:
        """The same sources with another ranker of paths."""
        return self._with(self.graph, self.linker, self.relations, ranker)

    def renamed(self, graph: Graph, relations: RelationVectors | None) -> Sources:
        """The same sources, in which relations and classes have other names.

        Args:
            graph: the same nodes and edges with the other names.
            relations: vectors of the relations with these names.
        """
        other = self._with(graph, self.linker, relations, self.given_ranker)
        other._dense = self._dense
        return other

    def _with(self, graph: Graph, linker: Linker, relations: RelationVectors | None, ranker: Path | None) -> Sources:
        return Sources(graph, linker, relations, self.knowledge_base, ranker, self._documents, self.language)

    def with_functions(
        self, functions: Iterable[FunctionSource | Function], limits: CallLimits | None = None
    ) -> Sources:
        """The same with functions beside the graph: their results are facts (KERAG's retrieval by API).

            sources = Sources.of("kbs/cities").with_functions([weather, *read_openapi("league.json")])

        Args:
            functions: annotated Python functions, and those of `kg.functions.read_openapi`.
            limits: of calls.

        Raises:
            UserError: a function that cannot be described, two of one name, or a graph on a server.
        """
        if self.knowledge_base is None:
            raise UserError("functions go beside a knowledge base of `kb build`, not beside a graph on a server")
        given = [one for f in functions for one in ([f] if isinstance(f, Function) else of_callable(f))]
        if twice := [one.id for one in given if sum(other.id == one.id for other in given) > 1]:
            raise UserError(f"two functions are called {twice[0]!r}; rename one")
        graph = FunctionGraph(self.graph, self.linker, given, limits)
        relations = None if self.relations is None else self.relations.extended(graph.added)
        seen = cast(Graph, graph)  # type checkers do not see what `__getattr__` passes on
        return self._with(seen, FunctionLinker(self.linker, graph), relations, self.given_ranker)

    @property
    def documents(self) -> Documents | None:
        """The documents that were given, else those of the knowledge base, if it has any."""
        if self._documents is not None or self.knowledge_base is None:
            return self._documents
        return self.knowledge_base.documents

    @functools.cached_property
    def own_ranker(self) -> Path | None:
        """The file of the ranker of paths that was trained on this graph, if there is one."""
        if self.given_ranker is not None or self.knowledge_base is None:
            return self.given_ranker
        return self.knowledge_base.ranker_file

    @property
    def ranker(self) -> Path:
        """The file of the ranker of paths: the one that was trained on this graph, else the general one."""
        return self.own_ranker or GENERAL

    def dense_linker(self, progress: ProgressCallback = no_progress) -> Linker:
        """The linker, with candidates whose names are similar in meaning; see `KnowledgeBase.dense_linker`.

        Args:
            progress: called while names are encoded, at first use.
        """
        base = self.knowledge_base
        if self._dense is None:
            has_files = base is not None and not base.is_remote and self.linker is base.linker
            self._dense = base.dense_linker(progress) if base is not None and has_files else self.linker
        return self._dense

    @functools.cached_property
    def schema_names(self) -> SchemaNames:
        """The relations and types of the graph by their names."""
        return SchemaNames(self.graph)

    def __repr__(self) -> str:
        parts = (self.graph, self.linker) if self.knowledge_base is None else (self.knowledge_base,)
        return f"Sources({', '.join(map(repr, parts))})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """How a pickle keeps them (`dspy.load`): by the path of the knowledge base, which is opened again.

        Raises:
            UserError: there is more than a knowledge base in a directory.
        """
        base = self.knowledge_base
        if base is None or base.is_temporary or self.graph is not base.graph or self._documents is not None:
            raise UserError(
                f"{self!r}: dspy.load opens a knowledge base again by its path, and this one has none, or has "
                "functions or documents beside it. Keep the prompts, with triplecheck.save_bundle(program, DIRECTORY) "
                "or program.save('state.json'), and make the program again"
            )
        return _opened_again, (str(base.path.absolute()), self.given_ranker, self.language)


def _opened_again(path: str, ranker: Path | None, language: str) -> Sources:
    base = KnowledgeBase.open(path)
    return Sources(base.graph, base.linker, base.relation_vectors, base, ranker, language=language)


AnySources = Sources | KnowledgeBase | str | Path
"""What a program can be made of: see `Sources.of`."""


def apply_options(options: ProgramOptions, step: RolePredict) -> None:
    """Give a step the demonstrations and the signature that the options `demos` and `prompts` name."""
    if options.demos == "none":
        step.without_worked_examples()
    if options.prompts == "plain":
        step.signature = plain(step.signature)


class _ProgramType(ProgramMeta):
    """Applies the options `demos` and `prompts` to all steps of a program, once it is made."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - it is the class of programs
        program = super().__call__(*args, **kwargs)
        for _, step in program.named_sub_modules(RolePredict):
            apply_options(program.options, step)
        return program


class Program(dspy.Module, metaclass=_ProgramType):
    """A question answering system over one knowledge graph.

    `program(question=...)` returns a `dspy.Prediction` with `answer`, `answers`, `evidence`, `abstained`
    and `reason`, `grounded`, `verdict`, `confidence`, `doubts`, `steps` and `usage`. The models are those of the
    surrounding `lms.session`; else `dspy.configure(lm=...)` or `program.set_lm(lm)`; else the rule-based baseline.

    Args:
        sources: a knowledge base, its directory, `bundled`, or `Sources`.
        preset: one of `presets`, or `default`.
        options: fields of `Options`; each wins over the preset.

    Raises:
        UserError: no such preset or option, a value that an option cannot have, or no knowledge base.
    """

    name: ClassVar[str]

    Options: ClassVar[type[ProgramOptions]] = ProgramOptions
    """The record of its options."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Values of options by the name of the preset, in addition to `default`."""

    options: ProgramOptions
    """The options that it was made with, all of them."""

    cites_graph: ClassVar[bool] = True
    """Whether its answers may rest on triples. False: all of them are unsupported."""

    abstain_below: float | None = None
    """Abstain if the confidence is lower or not known; see `optimize.fit`. None: never."""

    def __init__(self, sources: AnySources, *, preset: str = DEFAULT, **options: Any) -> None:
        super().__init__()
        self.sources = Sources.of(sources)
        self.options = self.Options(**check_options(type(self), {"preset": preset, **options}))
        self.assists = Assists(self.options.assist)
        if self.options.judge_proof:
            self.judge_proof = RolePredict(JudgeProof, role="judge")

    def __repr__(self) -> str:
        default = vars(self.Options())
        changed = {name: value for name, value in vars(self.options).items() if value != default[name]}
        return f"{type(self).__name__}({', '.join([repr(self.sources), *(f'{k}={v!r}' for k, v in changed.items())])})"

    @classmethod
    def made(cls, sources: Sources, options: Mapping[str, Any]) -> Self:
        """A program with these options, which `switches` of another one may have given.

        Raises:
            UserError: no such option, or a value that an option cannot have.
        """
        return cls(sources, **options)

    @property
    def title(self) -> str:
        """Its name in names of runs; of a program that is made of others, with their names."""
        return self.name

    @property
    def reach(self) -> int:
        """How many hops from a topic its answers may be: its option `hops` or `depth`, else 2."""
        return getattr(self.options, "hops", None) or getattr(self.options, "depth", None) or _HOPS

    @property
    def own_roles(self) -> tuple[Roles, ...]:
        """The models that parts of it have in place of those of the session."""
        return ()

    @property
    def thresholds(self) -> Mapping[str, float]:
        """Thresholds that it works with, given or measured on its sources, for the record of a run."""
        return {}

    @property
    def graph(self) -> Graph:
        """The graph that answers are checked against."""
        return self.sources.graph

    def read(self, question: str, shown: Sequence[str] = ()) -> Question:
        """A question, read in the language of the sources.

        Args:
            shown: its topics, as prompts show them.
        """
        return read_question(question, shown, language=self.sources.language)

    def prepare(self, progress: ProgressCallback = no_progress) -> None:
        """Make what the first question would otherwise wait for, such as vectors; nothing by default."""

    @abstractmethod
    def run(self, question: str, trace: Trace) -> Outcome:
        """The algorithm: answer one question and record each step in the trace."""

    def forward(self, question: str, on_step: Callable[[TraceEvent], None] | None = None) -> dspy.Prediction:
        """Answer one question.

        Args:
            on_step: called with each step as it happens.

        Raises:
            UserError: the question is empty or too long.
            TriplecheckError: a budget is spent or a model is not available; its `progress` holds the
                steps and the usage so far.
        """
        question = checked_question(question)
        trace = Trace(_listeners(on_step))
        with session(ranker=self.sources.own_ranker, language=self.sources.language) as ledger:
            try:
                found = self.judged(question, trace)
            except TriplecheckError as error:
                error.progress = {"steps": trace.steps, "usage": ledger.usage()}
                raise
            return prediction(self.graph, self.name, question, found, trace.steps, ledger.usage())

    def judged(self, question: str, trace: Trace) -> Outcome:
        """Answer one question and judge the answer; each step is recorded in the trace."""
        question = asked_part(self.assists, self.graph, self.sources.linker, question, self.sources.language, trace)
        found = self.sure_enough(question, self.attempt(question, trace), trace)
        if found.abstained is None:
            trace.add(Answered(found.answer, found.grounded, found.verdict))
        return found

    def attempt(self, question: str, trace: Trace) -> Outcome:
        """The outcome of `run`; an abstention if a reply cannot be read."""
        try:
            return self.run(question, trace)
        except ModelReplyError as error:
            # The step has already asked the model twice; the question ends here, the run goes on.
            return abstention("unreadable_reply", str(error), trace)

    async def aforward(self, question: str, on_step: Callable[[TraceEvent], None] | None = None) -> dspy.Prediction:
        """Like `forward`, without blocking: `await program.acall(question=...)`.

        The question is answered in a thread with the caller's settings (`dspy.asyncify`), because most of the work
        besides the calls of models is done by the processor. `dspy.settings.async_max_workers` questions run at once.
        `on_step` is called in that thread. A cancelled call ends at its next step.
        """
        cancelled = threading.Event()

        def listen(step: TraceEvent) -> None:
            if cancelled.is_set():
                raise asyncio.CancelledError
            if on_step is not None:
                on_step(step)

        try:
            return await dspy.asyncify(functools.partial(type(self).forward, self))(question, listen)
        finally:
            cancelled.set()

    def save(self, path: Path | str, save_program: bool = False, modules_to_serialize: Any = None) -> None:
        """Write the steps, the thresholds and the path of a trained ranker to a JSON file, which `load` reads.

        Args:
            path: the file; with `save_program` a directory.
            save_program: write the whole program for `dspy.load(DIRECTORY, allow_pickle=True)`. The knowledge base is
                kept by its path. A pickle runs code when it is loaded; `save_bundle` writes plain JSON instead.
            modules_to_serialize: see `dspy.Module.save`.

        Raises:
            UserError: the name of the file is not that of a JSON file, the directory holds something else, a model has
                a key of its own, or the program has more than a knowledge base on this machine.
        """
        path = Path(path)
        if save_program:
            self._save_whole(path, modules_to_serialize)
            return
        if path.suffix != ".json":
            raise UserError(
                f"{path}: DSPy would write this as a pickle, which runs code when it is loaded. Save the state to a "
                ".json file, or the whole program with triplecheck.save_bundle(program, DIRECTORY), which "
                "triplecheck.load_bundle(DIRECTORY).program(KB) reads"
            )
        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder) / "state.json"
            super().save(draft)
            state = json.loads(draft.read_bytes())
        state[CHOSEN] = {name: chosen_of(program) for name, program in self.named_sub_modules(Program)}
        write_bytes(path, f"{json.dumps(state, indent=2, ensure_ascii=False)}\n".encode())

    def _save_whole(self, path: Path, modules_to_serialize: Any) -> None:
        if path.exists() and not (path / _WHOLE).is_file():
            raise UserError(f"{path}: exists and is no saved program; choose another directory")
        models = [model for roles in self.own_roles for model in roles.lms().values()]
        for model in (*models, *(step.lm for step in self.predictors())):
            if not isinstance(model, str | MeteredLM) and getattr(model, "kwargs", {}).get("api_key"):
                raise UserError(
                    f"the model {model.model} has a key of its own, and the file would hold it: set the key in the "
                    "environment instead of giving it to dspy.LM"
                )
        self.sources.__reduce__()  # DSPy would hide the reason of an error
        with tempfile.TemporaryDirectory() as folder, replaced_directory(path) as new:
            draft = Path(folder) / "whole"  # DSPy writes to no directory with a dot in its name
            super().save(draft, save_program=True, modules_to_serialize=modules_to_serialize)
            for file in draft.iterdir():
                write_bytes(new / file.name, file.read_bytes())

    def load_state(self, state: Mapping[str, Any], *, allow_unsafe_lm_state: bool = False) -> None:
        """Take a state that `dump_state` or `save` gave. Steps in it that the options exclude are ignored.

        A state that was saved before a step was added leaves that step as it is.

        Raises:
            UserError: it lacks a step of the program, or the file of its ranker is not there.
        """
        steps = dict(self.named_parameters())
        later = {name for name in steps if name.rpartition(".")[2] in _LATER}
        if missing := sorted(steps.keys() - state.keys() - later):
            raise UserError(
                f"the saved state has no step {', '.join(missing)}: it is of another version of {self.name!r}, or of "
                "one with other options; make the program with the same options, or compile it again"
            )
        own = {name: steps[name].dump_state() for name in later - state.keys()}
        super().load_state({**own, **state}, allow_unsafe_lm_state=allow_unsafe_lm_state)
        chosen = state.get(CHOSEN, {})  # only files have it
        for name, program in self.named_sub_modules(Program):
            if name in chosen:
                choose(program, chosen[name])

    def sure_enough(self, question: str, found: Outcome, trace: Trace) -> Outcome:
        """The outcome with its verdict and confidence; an abstention if it is not sure enough."""
        judge = self._judge
        if found.abstained is not None:
            return judge.with_nearest(question, found, trace.steps)
        doubted = self._doubted(question, found, trace)
        if found.verdict == "unknown":  # else it was judged before
            found = judge.judge(question, doubted, trace.steps)
        elif doubted is not found:
            found = replace(doubted, verdict="supported" if found.verdict == "proved" else found.verdict)
        if self.abstain_below is not None:
            return self.above_threshold(question, found, trace)
        bar = self.options.verdict
        if judge.passes(found, bar):
            return found
        sure = "" if found.confidence is None else f" with a confidence of {found.confidence:.2f}"
        trace.add(Stopped(NOT_IN_GRAPH, f"the answer {found.answer!r} is {found.verdict}{sure}; the bar is {bar}"))
        return judge.withheld(question, found, NOT_IN_GRAPH, trace.steps)

    def with_verdict(self, question: str, found: Outcome, trace: Trace) -> Outcome:
        """The outcome with the verdict and the confidence of its answer, judged by the steps so far."""
        return self._judge.judge(question, found, trace.steps)

    @property
    def _judge(self) -> Judge:
        return Judge(self.graph, self.sources.ranker, self.sources.relations, self.sources.language)

    def above_threshold(self, question: str, found: Outcome, trace: Trace) -> Outcome:
        """The outcome if its confidence is `abstain_below` or more, or if that is None; else an abstention."""
        if self.abstain_below is None or (found.confidence is not None and found.confidence >= self.abstain_below):
            return found
        known = "it is not known how sure the answer is" if found.confidence is None else f"{found.confidence:.3g}"
        trace.add(Stopped(UNSURE, f"{known}, and not the fitted {self.abstain_below:.3g}"))
        return self._judge.withheld(question, found, UNSURE, trace.steps)

    def _doubted(self, question: str, found: Outcome, trace: Trace) -> Outcome:
        """The outcome with a doubt if the model of the role `judge` finds that its evidence proves nothing."""
        if not (self.options.judge_proof and found.evidence):
            return found
        edges = found.evidence[:_MOST_JUDGED]
        labels = iter(self.graph.labels([end for head, _, tail in edges for end in (head, tail)]))
        facts = [write_triple((next(labels), self.graph.relation(rel).label, next(labels))) for _, rel, _ in edges]
        inputs = {"question": question, "answer": found.answer, "triples": facts}
        reply = self.ask_or_note(trace, "proof", self.judge_proof, **inputs)
        if reply is None:
            return found
        trace.add(Checked("proof", reply.entails, reply.reasoning))
        if reply.entails:
            return found
        return replace(found, doubts=(*found.doubts, f"the model finds no proof: {reply.reasoning}".rstrip(": ")))

    def ask_or_note(self, trace: Trace, what: str, step: RolePredict, **inputs: Any) -> dspy.Prediction | None:
        """As `ask`; None, and a failed check of `what`, for a reply that cannot be read or too long a prompt."""
        try:
            return self.ask(trace, step, **inputs)
        except (ModelReplyError, PromptTooLongError) as error:
            trace.add(Checked(what, False, str(error)))
            return None

    def ask(self, trace: Trace, step: RolePredict, **inputs: Any) -> dspy.Prediction:
        """What the model of a step replies. The trace records it, and whether a doubt changed it."""
        reply, name = step(**inputs), step.signature.__name__
        trace.add(Wrote(step.role, step.model, name, dict(reply.items())))
        first = doubted_reply(reply)
        if first is not None and "doubts" in self.assists:
            before, after = ([f"{field}: {value}" for field, value in one.items()] for one in (first, reply))
            self.assists.note(trace, "doubts", name, before, after)
        return reply


def _listeners(on_step: Callable[[TraceEvent], None] | None) -> Callable[[TraceEvent], None] | None:
    """What gets each step: the caller's function, and the stream of `dspy.streamify`, as status messages."""
    stream = dspy.settings.send_stream
    if stream is None:
        return on_step
    started_in, waiting = threading.get_ident(), deque[str]()

    def listen(step: TraceEvent) -> None:
        waiting.append(f"{step.kind}: {in_words(step)}")
        # Steps of other threads are sent with the next step of this one: only this one reaches the event loop.
        while waiting and threading.get_ident() == started_in:
            sync_send_to_stream(stream, StatusMessage(waiting.popleft()))
        if on_step is not None:
            on_step(step)

    return listen


def make_program(program: type[Program], sources: Sources, options: Mapping[str, Any]) -> Program:
    """A program with these options; `abstain_below`, an attribute of every program, may be among them.

    Raises:
        UserError: see `check_options`.
    """
    made = program.made(sources, {name: value for name, value in options.items() if name != "abstain_below"})
    below = options.get("abstain_below")
    if below is None or below == "none":
        return made
    if isinstance(below, bool) or not isinstance(below, int | float) or not below >= 0:
        raise UserError(f"abstain_below cannot be {below!r}: give a confidence, from 0 to 1")
    made.abstain_below = float(below)
    return made


def check_positive(**numbers: int) -> None:
    """Raise `UserError` if one of the options of these names is below 1."""
    for name, number in numbers.items():
        if number < 1:
            raise UserError(f"{name} must be at least 1, not {number}")


def checked_question(question: str) -> str:
    """The question with composed characters, without control characters and surrounding whitespace.

    Raises:
        UserError: it is empty, too long or not text.
    """
    if not isinstance(question, str):
        raise UserError(f"a question is text, not {type(question).__name__}")
    text = " ".join("".join(c if c.isprintable() else " " for c in composed(question)).split())
    if not text:
        raise UserError("the question is empty")
    if len(text) > _LONGEST_QUESTION:
        raise UserError(f"the question has {len(text)} characters; at most {_LONGEST_QUESTION} are read")
    return text
