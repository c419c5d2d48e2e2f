"""The engine: recognises the step of a request and calls its solver."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dspy.lm15 import InvalidRequestError, Request, Response

from triplecheck import signatures as steps
from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.kg.errors import UserError
from triplecheck.kg.ranker import GENERAL, PathRanker, load_ranker
from triplecheck.language.pipeline import ENGLISH, installed
from triplecheck.language.relevance import Encode
from triplecheck.lms.engines import code_hash, in_fields, messages_of
from triplecheck.lms.extractive import (
    answers,
    conversation,
    exploration,
    patterns,
    planning,
    queries,
    references,
    sentences,
)
from triplecheck.lms.prompt import ForeignPromptError, Prompt, read_request
from triplecheck.signatures import Step

Solver = Callable[[Prompt, Encode, PathRanker | None], dict[str, object]]


def _without_ranker(solve: Callable[[Prompt, Encode], dict[str, object]]) -> Solver:
    """A step that chooses no path."""
    return lambda prompt, encode, _: solve(prompt, encode)


def _without_vectors(solve: Callable[[Prompt], dict[str, object]]) -> Solver:
    return lambda prompt, *_: solve(prompt)


def _always(**outputs: object) -> Solver:
    """A fixed reply, for steps that need knowledge from outside the prompt."""
    return lambda *_: outputs


_SOLVERS: dict[type[Step], Solver] = {
    steps.NameTopics: _without_vectors(planning.name_topics),
    steps.WriteQuery: _without_ranker(queries.write_query),
    steps.SelectPaths: planning.select_paths,
    steps.AnswerFromFacts: answers.answer_from_facts,
    steps.ExtractKeywords: _without_vectors(exploration.extract_keywords),
    steps.ScoreRelations: exploration.score_relations,
    steps.ScoreEntities: _without_ranker(exploration.score_entities),
    steps.FilterTriples: exploration.filter_triples,
    steps.JudgeSufficiency: exploration.judge_sufficiency,
    steps.JudgeAndGoOn: exploration.judge_and_go_on,
    steps.NameSubGoals: _without_vectors(exploration.name_sub_goals),
    steps.UpdateMemory: _without_ranker(exploration.update_memory),
    steps.Reflect: exploration.reflect,
    steps.TripletsFromQuery: patterns.write_triplets,
    steps.ScoreCandidates: _without_vectors(patterns.score_candidates),
    steps.ScoreCandidate: _without_vectors(patterns.score_candidate),
    steps.AnswerDirectly: _always(answers=[]),
    steps.AnswerFromMemory: _always(
        reasoning="Without a language model nothing is known beyond the graph.", answers=[]
    ),
    steps.AnswerWithReferences: _without_ranker(references.answer_with_references),
    steps.AnswerFromReferences: _without_ranker(references.answer_from_references),
    steps.AnswerWithTriples: _always(
        evidence=[], explanation="Without a language model nothing is known beyond the prompt.", answer="none"
    ),
    steps.WritePassage: _always(passage="none"),
    steps.WritePassages: _always(passage="none", passage_with_entities="none"),
    steps.NextQuestion: _without_ranker(references.next_question),
    steps.ExtractTriples: _without_vectors(sentences.extract_triples),
    steps.SelectPassages: _without_ranker(references.select_passages),
    steps.CheckPassages: _without_ranker(references.check_passages),
    steps.JudgePassage: _without_ranker(references.judge_passage),
    steps.JudgeKnowledge: _always(known=False),
    steps.JudgeProof: _without_ranker(exploration.judge_proof),
    steps.RewriteFollowUp: _without_vectors(conversation.rewrite_follow_up),
    steps.ParaphraseQuestion: _always(paraphrases=[]),
    steps.MatchWords: _always(meanings=[]),
}


def solve(prompt: Prompt, encode: Encode, ranker: PathRanker | None) -> dict[str, object]:
    """The reply to a prompt, by output field.

    Raises:
        ForeignPromptError: the prompt is of no step of this project.
    """
    return _SOLVERS[prompt.step(tuple(_SOLVERS))](prompt, encode, ranker)


class ExtractiveEngine:
    """Answers the steps of this project, recognised by their fields.

    Args:
        encoder: for sentence vectors; by default loaded at the first call.
        ranker: file of the trained ranker of paths, read at the first call; by default the one in the package.
            None: paths are scored by the rules alone.
        language: of the texts, as `language.pipeline` names languages.
    """

    def __init__(self, encoder: Encoder | None = None, ranker: Path | None = GENERAL, language: str = ENGLISH) -> None:
        self.language = language
        self._given = encoder
        self._ranker_file = ranker

    @functools.cached_property
    def encoder(self) -> Encoder:
        """Makes the sentence vectors."""
        return self._given or load_encoder()

    @functools.cached_property
    def _ranker(self) -> PathRanker | None:
        if self._ranker_file is None:
            return None
        ranker = load_ranker(self._ranker_file)
        if ranker.encoder == self.encoder.fingerprint:
            return ranker
        if self._ranker_file == GENERAL:
            return None
        raise UserError(
            f"{self._ranker_file}: this path ranker was trained with another sentence encoder than "
            f"{self.encoder.name}; train it again"
        )

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hash of this code and of the weights of encoder and ranker, for DSPy's cache."""
        ranker = "none" if self._ranker is None else self._ranker.fingerprint
        parts = f"{self.encoder.fingerprint}:{code_hash(__file__)}:{ranker}:{self.language}:{installed(self.language)}"
        return hashlib.sha256(parts.encode()).hexdigest()[:16]

    def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            InvalidRequestError: the prompt is of no step of this project.
        """
        prompt = read_request([(message["role"], message["content"]) for message in messages_of(request)])
        prompt = replace(prompt, language=self.language)
        try:
            outputs = solve(prompt, self.encoder.encode, self._ranker)
        except ForeignPromptError as error:
            raise InvalidRequestError(
                f"the extractive engine is a rule-based baseline, not a language model: it answers only the "
                f"{len(_SOLVERS)} steps of this project ({error}); give this role a model"
            ) from error
        return in_fields(request, outputs)

    def __copy__(self) -> ExtractiveEngine:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> ExtractiveEngine:
        """Optimizers deep-copy LMs; the encoder is shared."""
        return self
