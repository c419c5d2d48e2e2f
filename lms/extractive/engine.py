"""The engine: recognises the step of a request and calls its solver."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

from dspy.lm15 import InvalidRequestError, Request, Response

from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.lms.engines import code_hash, messages_of, reply
from triplecheck.lms.extractive.answers import answer_from_facts
from triplecheck.lms.extractive.exploration import (
    extract_keywords,
    filter_triples,
    judge_and_go_on,
    judge_sufficiency,
    name_sub_goals,
    reflect,
    score_entities,
    score_relations,
    update_memory,
)
from triplecheck.lms.extractive.patterns import revise_triplets, score_candidate, score_candidates, write_triplets
from triplecheck.lms.extractive.planning import name_topics, select_paths
from triplecheck.lms.extractive.references import (
    answer_from_references,
    answer_with_references,
    check_passages,
    judge_passage,
    next_question,
    select_passages,
)
from triplecheck.lms.extractive.relevance import Encode
from triplecheck.lms.extractive.sentences import extract_triples
from triplecheck.lms.prompt import COMPLETED, HEADER, ForeignPromptError, Prompt, read_request
from triplecheck.lms.values import render
from triplecheck.signatures import (
    AnswerDirectly,
    AnswerFromFacts,
    AnswerFromMemory,
    AnswerFromReferences,
    AnswerWithReferences,
    AnswerWithTriples,
    CheckPassages,
    ExtractKeywords,
    ExtractTriples,
    FilterTriples,
    JudgeAndGoOn,
    JudgeKnowledge,
    JudgePassage,
    JudgeSufficiency,
    NameSubGoals,
    NameTopics,
    NextQuestion,
    ParaphraseQuestion,
    Reflect,
    ReviseTriplets,
    ScoreCandidate,
    ScoreCandidates,
    ScoreEntities,
    ScoreRelations,
    SelectPassages,
    SelectPaths,
    Step,
    TripletsFromQuery,
    UpdateMemory,
    WritePassage,
    WritePassages,
)
from triplecheck.signatures.notation import without_markup

_CHARACTERS_PER_TOKEN = 4

Solver = Callable[[Prompt, Encode], dict[str, object]]


def _always(**outputs: object) -> Solver:
    """A fixed reply, for steps that need knowledge from outside the prompt."""
    return lambda *_: outputs


_SOLVERS: dict[type[Step], Solver] = {
    NameTopics: lambda prompt, _: name_topics(prompt),
    SelectPaths: select_paths,
    AnswerFromFacts: answer_from_facts,
    ExtractKeywords: lambda prompt, _: extract_keywords(prompt),
    ScoreRelations: score_relations,
    ScoreEntities: score_entities,
    FilterTriples: filter_triples,
    JudgeSufficiency: judge_sufficiency,
    JudgeAndGoOn: judge_and_go_on,
    NameSubGoals: lambda prompt, _: name_sub_goals(prompt),
    UpdateMemory: update_memory,
    Reflect: reflect,
    TripletsFromQuery: write_triplets,
    ReviseTriplets: (lambda prompt, _: revise_triplets(prompt)),
    ScoreCandidates: lambda prompt, _: score_candidates(prompt),
    ScoreCandidate: lambda prompt, _: score_candidate(prompt),
    AnswerDirectly: _always(answers=[]),
    AnswerFromMemory: _always(reasoning="Without a language model nothing is known beyond the graph.", answers=[]),
    AnswerWithReferences: answer_with_references,
    AnswerFromReferences: answer_from_references,
    AnswerWithTriples: _always(
        evidence=[], explanation="Without a language model nothing is known beyond the prompt.", answer="none"
    ),
    WritePassage: _always(passage="none"),
    WritePassages: _always(passage="none", passage_with_entities="none"),
    NextQuestion: next_question,
    ExtractTriples: lambda prompt, _: extract_triples(prompt),
    SelectPassages: select_passages,
    CheckPassages: check_passages,
    JudgePassage: judge_passage,
    JudgeKnowledge: _always(known=False),
    ParaphraseQuestion: _always(paraphrases=[]),
}


class ExtractiveEngine:
    """Answers the steps of this project, recognised by their fields.

    Args:
        encoder: for sentence vectors; by default loaded at the first call.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._given = encoder

    @functools.cached_property
    def _encoder(self) -> Encoder:
        return self._given or load_encoder()

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hash of this code and of the encoder's weights, for DSPy's cache."""
        return hashlib.sha256(f"{self._encoder.fingerprint}:{code_hash(__file__)}".encode()).hexdigest()[:16]

    def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            InvalidRequestError: the prompt is of no step of this project.
        """
        messages = messages_of(request)
        prompt = read_request([(message["role"], message["content"]) for message in messages])
        try:
            solve = _SOLVERS[prompt.step(tuple(_SOLVERS))]
        except ForeignPromptError as error:
            raise InvalidRequestError(
                f"the extractive engine is a rule-based baseline, not a language model: it answers only the "
                f"{len(_SOLVERS)} steps of this project ({error}); give this role a model"
            ) from error
        outputs = solve(prompt, self._encoder.encode)
        text = "\n\n".join(f"{HEADER.format(name=name)}\n{_written(value)}" for name, value in outputs.items())
        text = f"{text}\n\n{COMPLETED}\n"
        size = sum(len(message["content"]) for message in messages)
        return reply(
            request,
            text,
            prompt_tokens=size // _CHARACTERS_PER_TOKEN,
            completion_tokens=len(text) // _CHARACTERS_PER_TOKEN,
        )

    def __copy__(self) -> ExtractiveEngine:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> ExtractiveEngine:
        """Optimizers deep-copy LMs; the encoder is shared."""
        return self


def _written(value: object) -> str:
    if isinstance(value, list):
        kind: Any = list[int] if value and isinstance(value[0], int) else list[str]
        return render(kind, value)
    # Names from a graph must not be parsed as a header or as the end of a thought.
    return without_markup(str(value))
