"""An engine that knows the answers: it answers the steps of a program, so the right replies can be recorded.

It is not a model: each reply is computed from the graph and the known answer of the question. Its traces are
verified like those of a model.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.lm15 import InvalidRequestError, Request, Response

from triplecheck import signatures as steps
from triplecheck.evals.configuration import digest
from triplecheck.evals.gold import Names, linker_names, resolve_gold
from triplecheck.evals.questions import Question, question_row
from triplecheck.kg import Graph, UserError
from triplecheck.language.rewording import asking_for_things
from triplecheck.language.talk import asked_and_talk
from triplecheck.lms import TolerantAdapter, register_engine, unregister_engine
from triplecheck.lms.engines import code_hash, messages_of, reply
from triplecheck.lms.kinds import is_no_language_model
from triplecheck.lms.prompt import ForeignPromptError, Prompt, read_request
from triplecheck.optimize.traces.derivations import Asked
from triplecheck.optimize.traces.derive import derive
from triplecheck.optimize.traces.gold import exploration, patterns, references
from triplecheck.optimize.traces.gold.answering import answer_from_facts, judge_proof
from triplecheck.optimize.traces.gold.known import GoldReply, KnownGold, NoRightReplyError, Solver
from triplecheck.optimize.traces.queries import right_query
from triplecheck.optimize.traces.recorder import StepRecord
from triplecheck.programs import Program, Sources
from triplecheck.signatures import Step, step_of
from triplecheck.signatures.step import Numbers, hint_of

_SOLVERS: Mapping[type[Step], Solver] = {
    steps.NameTopics: exploration.name_topics,
    steps.WriteQuery: exploration.write_query,
    steps.SelectPaths: exploration.select_paths,
    steps.AnswerFromFacts: answer_from_facts,
    steps.JudgeProof: judge_proof,
    steps.ExtractKeywords: exploration.extract_keywords,
    steps.ScoreRelations: exploration.score_relations,
    steps.ScoreEntities: exploration.score_entities,
    steps.FilterTriples: exploration.filter_triples,
    steps.JudgeSufficiency: exploration.judge_sufficiency,
    steps.JudgeAndGoOn: exploration.judge_and_go_on,
    steps.NameSubGoals: exploration.name_sub_goals,
    steps.UpdateMemory: exploration.update_memory,
    steps.Reflect: exploration.reflect,
    steps.TripletsFromQuery: patterns.write_triplets,
    steps.ScoreCandidates: patterns.score_candidates,
    steps.ScoreCandidate: patterns.score_candidate,
    steps.AnswerFromMemory: references.answer_from_memory,
    steps.JudgeKnowledge: references.judge_knowledge,
    steps.AnswerWithReferences: references.answer_with_references,
    steps.AnswerFromReferences: references.answer_from_references,
    steps.NextQuestion: references.next_question,
    steps.WritePassage: references.write_passage,
    steps.WritePassages: references.write_passages,
    steps.JudgePassage: references.judge_passage,
    steps.SelectPassages: references.select_passages,
    steps.CheckPassages: references.check_passages,
}
"""Steps about a question with a known answer."""
_WITHOUT_PATHS = frozenset(
    (
        *(steps.NameTopics, steps.ExtractKeywords, steps.WriteQuery, steps.AnswerFromMemory, steps.JudgeKnowledge),
        *(steps.ScoreCandidates, steps.ScoreCandidate, steps.JudgeProof),
    )
)
"""Steps whose right reply does not depend on how the answer follows from the graph."""


def _passage(graph: Graph, prompt: Prompt, names: Names) -> GoldReply:
    return GoldReply({"passage": references.passage_for(graph, prompt, names)}, taught=False)


def _passages(graph: Graph, prompt: Prompt, names: Names) -> GoldReply:
    passage = references.passage_for(graph, prompt, names)
    return GoldReply({"passage": passage, "passage_with_entities": "none"}, taught=False)


_BY_GRAPH: Mapping[type[Step], Callable[[Graph, Prompt, Names], GoldReply]] = {
    steps.ExtractTriples: references.extract_triples,
    steps.WritePassage: _passage,
    steps.WritePassages: _passages,
}
"""Steps about other texts and questions, such as those that `NextQuestion` writes."""

_FROM_MEMORY = "the graph does not show what a model knows without it"
_NO_RIGHT_ONE = "there is no single correct reply"
_REASONS: Mapping[type[Step], str] = {
    steps.AnswerDirectly: _FROM_MEMORY,
    steps.AnswerWithTriples: _FROM_MEMORY,
    steps.ParaphraseQuestion: _NO_RIGHT_ONE,
    steps.MatchWords: "the graph does not show what words mean that are no names of it",
    steps.RewriteFollowUp: "a question with a known answer stands alone, without a conversation before it",
}

_DISTRACTED: Mapping[type[Step], tuple[str, ...]] = {
    steps.SelectPaths: ("keep",),
    steps.ScoreRelations: ("relations",),
    steps.FilterTriples: ("relevant",),
    steps.JudgeAndGoOn: ("relevant", "follow"),
}
"""The fields of numbers that distractors are added to."""
_SCORE = 0.05  # of a distractor

KNOWN: tuple[type[Step], ...] = tuple(dict.fromkeys((*_SOLVERS, *_BY_GRAPH)))
"""The steps whose right reply can be computed."""


def why_not(signature: type[dspy.Signature]) -> str | None:
    """Why the right reply to a step cannot be computed; None: it can."""
    step = step_of(signature)
    if step in KNOWN:
        return None
    return _REASONS.get(step, "it is none of the known steps") if step else "it is none of the known steps"


NAME = "gold"
_KEPT = 256  # questions whose paths are cached, far more than run at once
_CHARACTERS_PER_TOKEN = 4


class GoldEngine:
    """Answers the steps of known questions.

    Args:
        questions: with their answers; of two with the same text, the first counts.
        hops: maximum distance of answers from the topics.
        distractors: paths and facts that are kept besides the right ones, see `_with_distractors`.
    """

    def __init__(self, sources: Sources, questions: Sequence[Question], hops: int, distractors: int = 0) -> None:
        self._sources, self._hops, self._distractors = sources, hops, distractors
        self._names: Names = linker_names(sources.linker)
        self._questions = {_words(question.question): question for question in reversed(questions)}
        self._known = functools.lru_cache(_KEPT)(self._known_of)
        self.fingerprint = digest([type(self).__name__, _fingerprint(sources, questions, hops, distractors)])[:16]
        """Hash of this code and of the questions, for DSPy's cache."""

    def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            NoRightReplyError: the reply cannot be computed.
            InvalidRequestError: it is the prompt of no step.
        """
        messages = messages_of(request)
        prompt = read_request([(message["role"], message["content"]) for message in messages])
        try:
            step = prompt.step((*KNOWN, steps.MatchWords))
        except ForeignPromptError as error:
            raise InvalidRequestError(f"the gold engine cannot answer this prompt: {error}") from error
        # The rules of a cascade ask it what words mean. It names no meaning, and they go on.
        right = GoldReply({"meanings": []}, taught=False) if step is steps.MatchWords else self.reply(step, prompt)
        if right is None:
            asked = prompt.text("question")
            raise NoRightReplyError(f"no right reply of {step.__name__} to {asked!r} can be computed from the graph")
        text = self._said(step, right, prompt).text
        size = sum(len(message["content"]) for message in messages)
        tokens = size // _CHARACTERS_PER_TOKEN, len(text) // _CHARACTERS_PER_TOKEN
        return reply(request, text, prompt_tokens=tokens[0], completion_tokens=tokens[1])

    def _said(self, step: type[Step], right: GoldReply, prompt: Prompt) -> GoldReply:
        return _with_distractors(step, right, prompt, self._distractors)

    def reply_to(self, call: StepRecord) -> GoldReply | None:
        """The right reply to a recorded call."""
        step = step_of(call.signature)
        if step is None:
            return None
        content = TolerantAdapter().format(call.signature, [], call.inputs)[-1]["content"]
        return self.reply(step, read_request([("user", str(content))]))

    def reply(self, step: type[Step], prompt: Prompt) -> GoldReply | None:
        """The right reply to a prompt of a step; None if it cannot be computed."""
        words = _words(prompt.text("question"))
        solve = _SOLVERS.get(step) if self._question(words) is not None else None
        if solve is not None:
            known = self._known(words)
            return solve(known, prompt) if known.is_solved or step in _WITHOUT_PATHS else None
        passing = _BY_GRAPH.get(step)
        return None if passing is None else passing(self._sources.graph, prompt, self._names)

    def has_paths(self, question: Question) -> bool:
        """Whether it is known how its answers follow from the graph, or that there are none."""
        return self._known(_words(question.question)).is_solved

    def _known_of(self, words: str) -> KnownGold:
        sources, question = self._sources, self._question(words)
        assert question is not None  # looked up before
        gold = resolve_gold(question, sources.graph, self._names)
        asked = Asked(sources, question, gold, self._hops)
        derivation = derive(asked)
        # A question may start from fewer nodes than have the names of its topics.
        topics = tuple(sorted(frozenset[int]().union(*gold.topics))) if derivation is None else derivation.topics
        return KnownGold(
            sources.graph,
            words,
            topics,
            derivation,
            asked.answers,
            question.answers[0] if question.computed and question.answers else None,
            documents=tuple(question.documents),
            mended=self._mended(question, question.question),
            query=right_query(asked, derivation),
            asked=asked,
        )

    def _question(self, words: str) -> Question | None:
        """The question with this text, or whose text a program writes so."""
        return self._questions.get(words) or (self._by_other_text.get(words) if words else None)

    @functools.cached_property
    def _by_other_text(self) -> dict[str, Question]:
        listed = reversed(self._questions.values())
        return {_words(text): question for question in listed for text in self._other_texts(question)}

    def _other_texts(self, question: Question) -> Iterator[str]:
        """The texts that programs may write for a question: without talk, in plain form, with corrected spelling."""
        language = self._sources.language
        for text in dict.fromkeys((question.question, asked_and_talk(question.question, language)[0])):
            mended = self._mended(question, text)
            yield from (text, mended, asking_for_things(text, language), asking_for_things(mended, language))

    def _mended(self, question: Question, text: str) -> str:
        graph = self._sources.graph
        topics = [node for id in question.topic if (node := graph.find(id)) is not None]
        return exploration.mended(graph, _words(text), topics)

    def __copy__(self) -> GoldEngine:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> GoldEngine:
        """Optimizers deep-copy LMs; the engine is shared."""
        return self


class WorstEngine(GoldEngine):
    """Replies the opposite of what is right, where the right reply can be computed (`_worst_reply`)."""

    def _said(self, step: type[Step], right: GoldReply, prompt: Prompt) -> GoldReply:
        return _worst_reply(step, right, prompt)


def _with_distractors(step: type[Step], right: GoldReply, prompt: Prompt, count: int) -> GoldReply:
    """The right reply with distractors: random items of each list, so that later steps see what they do not need.

    With right replies only, every step would see only the facts that answer the question, and a student would learn
    to copy everything. Distractors are followed but never labelled: training rows hold the right reply. If the facts
    suffice, no paths are added.

    Args:
        count: maximum number of distractors per list.
    """
    outputs = dict(right.outputs)
    for field in _DISTRACTED.get(step, ()):
        if field == "follow" and outputs["sufficient"]:
            continue
        numbers = hint_of(step, field)
        assert isinstance(numbers, Numbers)
        others = [n for n in range(1, len(prompt.items(numbers.of)) + 1) if n not in outputs[field]]
        most = int(prompt.text("most") or len(others)) - len(outputs[field]) if numbers.of == "paths" else len(others)
        rng = random.Random(digest([prompt.inputs, field]))
        more = rng.sample(others, max(0, min(count, len(others), most)))
        right_ones = outputs[field]
        scored = isinstance(right_ones, dict)
        outputs[field] = right_ones | dict.fromkeys(more, _SCORE) if scored else [*right_ones, *more]
    return GoldReply(outputs, right.taught)


def _worst_reply(step: type[Step], right: GoldReply, prompt: Prompt) -> GoldReply:
    """The opposite of a right reply, field by field."""
    outputs = {name: _opposite(step, name, value, prompt) for name, value in right.outputs.items()}
    return GoldReply(outputs, taught=False)


def _opposite(step: type[Step], name: str, value: Any, prompt: Prompt) -> Any:
    """Of numbers, the last item that is not right; no texts; the other truth; `none` for a text."""
    hint = hint_of(step, name)
    if isinstance(hint, Numbers):
        wrong = [number for number in range(1, len(prompt.items(hint.of)) + 1) if number not in value][-1:]
        return dict.fromkeys(wrong, 1.0) if isinstance(value, dict) else wrong
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return 1 - value
    return [] if isinstance(value, list) else "none"


def is_template(model: str) -> bool:
    """Whether a model writes its reasoning from templates: the rule-based baseline, or gold replies."""
    return is_no_language_model(model) or model.startswith(f"{NAME}-")


def uncomputable(program: Program) -> dict[str, str]:
    """The steps of a program whose right replies cannot be computed, by signature name, with the reason."""
    steps = {step.signature.__name__: why_not(step.signature) for step in program.predictors()}
    return {name: reason for name, reason in steps.items() if reason is not None}


def check_computable(program: Program) -> None:
    """Check that the right replies to all steps of a program can be computed.

    Raises:
        UserError: they cannot; the message names the steps.
    """
    others = "; ".join(f"{name}: {reason}" for name, reason in uncomputable(program).items())
    if others:
        raise UserError(f"the right replies to some steps of {program.name!r} cannot be computed: {others}")


@contextmanager
def gold_engine(
    program: Program, questions: Sequence[Question], distractors: int = 0, kind: type[GoldEngine] = GoldEngine
) -> Iterator[tuple[str, GoldEngine]]:
    """Register the engine for a program's questions; yields its model string and the engine."""
    engine = kind(program.sources, questions, program.reach, distractors)
    name = f"{NAME}-{engine.fingerprint}"
    register_engine(name, engine)
    try:
        yield name, engine
    finally:
        unregister_engine(name)


def _fingerprint(sources: Sources, questions: Sequence[Question], hops: int, distractors: int) -> str:
    base, graph = sources.knowledge_base, sources.graph
    about = base.manifest.content_hash if base else [graph.num_nodes, graph.num_relations, graph.num_triples]
    code = code_hash(__file__, ["gold_paths.py", "derivations.py", "derive.py", "queries.py"])
    return digest([code, about, hops, distractors, [question_row(question) for question in questions]])


def _words(question: str) -> str:
    return " ".join(question.split())
