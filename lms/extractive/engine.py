"""The engine: recognises the step of a request and calls its solver."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

from dspy.lm15 import InvalidRequestError, Request, Response

from triplecheck import signatures as steps
from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.lms.engines import code_hash, messages_of, reply
from triplecheck.lms.extractive import answers, exploration, patterns, planning, references, sentences
from triplecheck.lms.extractive.relevance import Encode
from triplecheck.lms.prompt import COMPLETED, HEADER, ForeignPromptError, Prompt, read_request
from triplecheck.lms.values import render
from triplecheck.signatures import Step
from triplecheck.signatures.notation import without_markup

_CHARACTERS_PER_TOKEN = 4

Solver = Callable[[Prompt, Encode], dict[str, object]]


def _always(**outputs: object) -> Solver:
    """A fixed reply, for steps that need knowledge from outside the prompt."""
    return lambda *_: outputs


_SOLVERS: dict[type[Step], Solver] = {
    steps.NameTopics: lambda prompt, _: planning.name_topics(prompt),
    steps.PickFromClass: planning.pick_from_class,
    steps.SelectPaths: planning.select_paths,
    steps.AnswerFromFacts: answers.answer_from_facts,
    steps.ExtractKeywords: lambda prompt, _: exploration.extract_keywords(prompt),
    steps.ScoreRelations: exploration.score_relations,
    steps.ScoreEntities: exploration.score_entities,
    steps.FilterTriples: exploration.filter_triples,
    steps.JudgeSufficiency: exploration.judge_sufficiency,
    steps.JudgeAndGoOn: exploration.judge_and_go_on,
    steps.NameSubGoals: lambda prompt, _: exploration.name_sub_goals(prompt),
    steps.UpdateMemory: exploration.update_memory,
    steps.Reflect: exploration.reflect,
    steps.TripletsFromQuery: patterns.write_triplets,
    steps.ReviseTriplets: lambda prompt, _: patterns.revise_triplets(prompt),
    steps.ScoreCandidates: lambda prompt, _: patterns.score_candidates(prompt),
    steps.ScoreCandidate: lambda prompt, _: patterns.score_candidate(prompt),
    steps.AnswerDirectly: _always(answers=[]),
    steps.AnswerFromMemory: _always(
        reasoning="Without a language model nothing is known beyond the graph.", answers=[]
    ),
    steps.AnswerWithReferences: references.answer_with_references,
    steps.AnswerFromReferences: references.answer_from_references,
    steps.AnswerWithTriples: _always(
        evidence=[], explanation="Without a language model nothing is known beyond the prompt.", answer="none"
    ),
    steps.WritePassage: _always(passage="none"),
    steps.WritePassages: _always(passage="none", passage_with_entities="none"),
    steps.NextQuestion: references.next_question,
    steps.ExtractTriples: lambda prompt, _: sentences.extract_triples(prompt),
    steps.SelectPassages: references.select_passages,
    steps.CheckPassages: references.check_passages,
    steps.JudgePassage: references.judge_passage,
    steps.JudgeKnowledge: _always(known=False),
    steps.SettleAnswer: _always(reasoning="The operation is exact.", right="computed"),
    steps.ParaphraseQuestion: _always(paraphrases=[]),
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
