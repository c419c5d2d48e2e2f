"""Judges proofs: the question must ask for every relation of the facts, as far as their names are similar to it."""

from __future__ import annotations

from triplecheck.language.question import read_question
from triplecheck.language.relevance import LEAST_SUPPORT, Encode, PathRelevance
from triplecheck.language.text import plain
from triplecheck.lms.prompt import Prompt
from triplecheck.signatures.notation import FORWARD, WrittenHop, read_triples


def judge_proof(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """Solve `JudgeProof`."""
    question = prompt.text("question")
    triples = [line.triple for line in read_triples(prompt.items("triples")) if line.triple is not None]
    named = dict.fromkeys(end for head, _, tail in triples for end in (head, tail))
    topics = [name for name in named if plain(name) in plain(question)]
    relations = list(dict.fromkeys(relation for _, relation, _ in triples))
    if not relations:
        return {"reasoning": "There are no facts.", "entails": False}
    relevance = PathRelevance(read_question(question, topics, relations, prompt.language), encode)
    unlike = [name for name in relations if relevance.support((WrittenHop(name, FORWARD),)) < LEAST_SUPPORT]
    if unlike:
        return {"reasoning": f"The question does not ask for {unlike[0]!r}.", "entails": False}
    return {"reasoning": "The question asks for what the facts say.", "entails": True}
