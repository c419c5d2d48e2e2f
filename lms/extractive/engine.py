"""The engine itself: from a request to a reply, by the fields that are given and those that are asked for."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

from dspy.lm15 import InvalidRequestError, Request, Response

from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.lms.engines import code_hash, messages_of, reply
from triplecheck.lms.extractive.answers import answer_from_facts
from triplecheck.lms.extractive.closed_book import answer_directly, answer_from_memory
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
from triplecheck.lms.extractive.reading import answer_from_references, answer_with_references, next_question
from triplecheck.lms.extractive.references import (
    answer_with_triples,
    check_passages,
    judge_knowledge,
    judge_passage,
    select_passages,
    write_passage,
    write_passages,
)
from triplecheck.lms.extractive.relevance import Encode
from triplecheck.lms.extractive.statements import extract_triples
from triplecheck.lms.extractive.synthesis import paraphrase
from triplecheck.lms.prompt import Prompt, read_request
from triplecheck.lms.sections import COMPLETED, HEADER
from triplecheck.lms.values import render
from triplecheck.signatures.notation import without_markup

_CHARACTERS_PER_TOKEN = 4

Solver = Callable[[Prompt, Encode], dict[str, object]]
_SOLVERS: dict[str, Solver] = {
    "types, question, known_names -> topics, domain": lambda prompt, _: name_topics(prompt),
    "question, topics, paths -> keep": select_paths,
    "question, topics, facts -> reasoning, cited, operation, answers": answer_from_facts,
    "question, known_names -> proofread, keywords": lambda prompt, _: extract_keywords(prompt),
    "question, topics, paths, most -> relations, scores": score_relations,
    "question, reached, most -> entities, scores": score_entities,
    "question, topics, facts -> relevant": filter_triples,
    "question, topics, facts -> sufficient": judge_sufficiency,
    "question, topics, facts, paths, most -> relevant, sufficient, follow": judge_and_go_on,
    "question, topics -> goals": lambda prompt, _: name_sub_goals(prompt),
    "question, goals, facts -> findings": update_memory,
    "question, findings, topics, followed, paths -> revisit": reflect,
    "types, relations, question, known_names -> triplets, answer": write_triplets,
    "types, relations, question, known_names, failed, reasons -> revised, answer": (
        lambda prompt, _: revise_triplets(prompt)
    ),
    "question, candidates -> verdicts": lambda prompt, _: score_candidates(prompt),
    "question, candidate -> score, reason": lambda prompt, _: score_candidate(prompt),
    "question -> answers": lambda *_: answer_directly(),
    "question -> reasoning, answers": lambda *_: answer_from_memory(),
    "question, references -> reasoning, answer": answer_with_references,
    "question, references -> answer": answer_from_references,
    "question -> evidence, explanation, answer": lambda *_: answer_with_triples(),
    "question, entities -> passage": lambda *_: write_passage(),
    "question, entities -> passage, passage_with_entities": lambda *_: write_passages(),
    "question, references, answer_so_far -> next_question": next_question,
    "texts, entities -> triples": lambda prompt, _: extract_triples(prompt),
    "question, entities, passages -> useful": select_passages,
    "question, entities, passages -> useful, triples": check_passages,
    "question, entities, passage -> helps": judge_passage,
    "question -> known": lambda *_: judge_knowledge(),
    "question, names, count -> paraphrases": lambda *_: paraphrase(),
}
"""By the inputs and outputs of a step, as DSPy writes a signature."""


class ExtractiveEngine:
    """Answers the project's own signatures, recognised by their fields.

    Args:
        encoder: makes the sentence vectors; the default one is loaded at the first call.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._given = encoder

    @functools.cached_property
    def _encoder(self) -> Encoder:
        return self._given or load_encoder()

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hash of this code and of the encoder's weights: another engine must not be served its replies."""
        return hashlib.sha256(f"{self._encoder.fingerprint}:{code_hash(__file__)}".encode()).hexdigest()[:16]

    def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            InvalidRequestError: it is none of the project's steps.
        """
        messages = messages_of(request)
        prompt = read_request([m["content"] for m in messages if m["role"] == "user"])
        solver = _SOLVERS.get(prompt.signature)
        if solver is None:
            raise InvalidRequestError(
                f"the extractive engine is no language model: it takes only the project's own {len(_SOLVERS)} steps, "
                f"not this one ({prompt.signature if prompt.outputs else 'none found'}); give this role a model"
            )
        outputs = solver(prompt, self._encoder.encode)
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
        """Optimizers copy LMs deeply; the encoder stays one."""
        return self


def _written(value: object) -> str:
    if isinstance(value, list):
        kind: Any = list[int] if value and isinstance(value[0], int) else list[str]
        return render(kind, value)
    # Names from a graph stand in the text: they must not pass for a header or for the end of a thought.
    return without_markup(str(value))
