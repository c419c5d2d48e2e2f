"""An engine that knows the answers: it plays a program's roles, so that its right steps can be recorded.

It is no model and answers no question of its own: each reply is computed from the graph and the answer
that comes with the question. What it makes a program do is verified like what any model does.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dspy.lm15 import InvalidRequestError, Request, Response

from triplecheck.evals.configuration import digest
from triplecheck.evals.gold import Names, linker_names, resolve_gold
from triplecheck.evals.questions import Question, question_row
from triplecheck.kg import UserError
from triplecheck.lms import TolerantAdapter, register_engine, unregister_engine
from triplecheck.lms.engines import code_hash, messages_of, reply
from triplecheck.lms.prompt import Prompt, read_request
from triplecheck.optimize.traces.gold.detours import with_detours
from triplecheck.optimize.traces.gold.known import GoldQuestion, Known
from triplecheck.optimize.traces.gold.planning import mended
from triplecheck.optimize.traces.gold.reply import Reply
from triplecheck.optimize.traces.gold.steps import by_graph, solver, why_not
from triplecheck.optimize.traces.gold_paths import GoldPath, found_paths, given_paths
from triplecheck.optimize.traces.records import Call
from triplecheck.programs import Program, Sources

NAME = "gold"
_DEFAULT_HOPS = 2
_KEPT = 256  # questions whose paths are remembered: those under way at once, many times over
_CHARACTERS_PER_TOKEN = 4


class GoldEngine:
    """Replies to the steps of known questions.

    Args:
        sources: what the program reads from.
        questions: with their answers; of two with the same words the first counts.
        hops: how far from the topics answers are looked for.
        detours: paths and facts that are kept beside the right ones, see `optimize.traces.gold.detours`.
    """

    def __init__(self, sources: Sources, questions: Sequence[Question], hops: int, detours: int = 0) -> None:
        self._sources, self._hops, self._detours = sources, hops, detours
        self._names: Names = linker_names(sources.linker)
        self._questions = {_words(question.question): question for question in reversed(questions)}
        self._known = functools.lru_cache(_KEPT)(self._known_of)
        self.fingerprint = _fingerprint(sources, questions, hops, detours)
        """Hash of this code and of what is known: other replies must not be served from a cache."""

    def complete(self, request: Request) -> Response:
        """Reply to one step.

        Raises:
            InvalidRequestError: it belongs to no known question, or its reply cannot be computed.
        """
        messages = messages_of(request)
        prompt = read_request([m["content"] for m in messages if m["role"] == "user"])
        right = self.reply(prompt)
        if right is None:
            raise InvalidRequestError("no right reply can be computed to this step")
        text = with_detours(right, prompt, self._detours).text
        size = sum(len(message["content"]) for message in messages)
        tokens = size // _CHARACTERS_PER_TOKEN, len(text) // _CHARACTERS_PER_TOKEN
        return reply(request, text, prompt_tokens=tokens[0], completion_tokens=tokens[1])

    def reply_to(self, call: Call) -> Reply | None:
        """The right reply to a step that was taken, by whomever."""
        content = TolerantAdapter().format(call.signature, [], call.inputs)[-1]["content"]
        return self.reply(read_request([str(content)]))

    def reply(self, prompt: Prompt) -> Reply | None:
        """The right reply to a step; None where it cannot be computed."""
        words = _words(prompt.text("question"))
        solve = solver(prompt) if self._question(words) is not None else None
        if solve is None:
            return by_graph(prompt, self._sources.graph, self._names)
        return solve(self._known(words), prompt)

    def has_paths(self, question: Question) -> bool:
        """Whether paths to its answers are known, or none are needed since there is no answer."""
        return not question.answers or bool(self._known(_words(question.question)).gold.paths)

    def _known_of(self, words: str) -> Known:
        sources, question = self._sources, self._question(words)
        assert question is not None  # looked up before
        gold = resolve_gold(question, sources.graph, self._names)
        topics = tuple(sorted(frozenset[int]().union(*gold.topics)))
        answers = frozenset[int]().union(*(one.nodes for one in gold.answers))
        paths: tuple[GoldPath, ...] = given_paths(sources.graph, question.gold)
        if not paths and answers:
            paths = found_paths(sources.graph, gold.topics, answers, self._hops)
        # A question may start from fewer nodes than share the names of its topics.
        begun = tuple(dict.fromkeys(path.topic for path in paths)) or topics
        computed = question.answers[0] if question.computed and question.answers else None
        known = GoldQuestion(
            words,
            begun,
            paths,
            answers,
            computed,
            documents=tuple(question.documents),
            mended=self._mended(question),
        )
        return Known(sources.graph, sources.relations, known)

    def _question(self, words: str) -> Question | None:
        """The question of some words, as it was asked or as a program mended its spelling."""
        return self._questions.get(words) or (self._by_mended.get(words) if words else None)

    @functools.cached_property
    def _by_mended(self) -> dict[str, Question]:
        return {self._mended(question): question for question in reversed(self._questions.values())}

    def _mended(self, question: Question) -> str:
        graph = self._sources.graph
        topics = [node for id in question.topic if (node := graph.find(id)) is not None]
        return mended(graph, _words(question.question), topics)

    def __copy__(self) -> GoldEngine:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> GoldEngine:
        """Optimizers copy LMs deeply; the questions stay as they are."""
        return self


def uncomputable(program: Program) -> dict[str, str]:
    """The steps of a program to which no right reply can be computed, by the names of their signatures, and why."""
    steps = {step.signature.__name__: why_not(step.signature) for step in program.predictors()}
    return {name: reason for name, reason in steps.items() if reason is not None}


def check_computable(program: Program) -> None:
    """See that the right replies to all steps of a program can be computed.

    Raises:
        UserError: they cannot; the message names the steps.
    """
    others = "; ".join(f"{name}: {reason}" for name, reason in uncomputable(program).items())
    if others:
        raise UserError(f"the right replies to some steps of {program.name!r} cannot be computed: {others}")


@contextmanager
def gold_engine(program: Program, questions: Sequence[Question], detours: int = 0) -> Iterator[tuple[str, GoldEngine]]:
    """The engine for a program's questions, and the model string under which it is known inside."""
    hops = getattr(program, "hops", getattr(program, "depth", _DEFAULT_HOPS))
    engine = GoldEngine(program.sources, questions, hops, detours)
    name = f"{NAME}-{engine.fingerprint}"
    register_engine(name, engine)
    try:
        yield name, engine
    finally:
        unregister_engine(name)


def _fingerprint(sources: Sources, questions: Sequence[Question], hops: int, detours: int) -> str:
    base, graph = sources.knowledge_base, sources.graph
    about = base.manifest.content_hash if base else [graph.num_nodes, graph.num_relations, graph.num_triples]
    code = code_hash(__file__, ["gold_paths.py"])
    return digest([code, about, hops, detours, [question_row(question) for question in questions]])[:16]


def _words(question: str) -> str:
    return " ".join(question.split())
