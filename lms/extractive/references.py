"""Checking references, and writing them: relevance by cosine; of itself the engine knows nothing to write."""

from __future__ import annotations

from triplecheck.lms.extractive.relevance import Encode
from triplecheck.lms.extractive.sentences import name_spans
from triplecheck.lms.extractive.statements import triple_lines
from triplecheck.lms.prompt import Prompt

# A passage helps from here on; a little earlier where it has a name of the question.
_RELEVANT, _RELEVANT_NAMED = 0.4, 0.25


def select_passages(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """Numbers of the passages that are near to the question."""
    return {"useful": _useful(prompt.text("question"), prompt.items("passages"), encode)}


def check_passages(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """Numbers of the passages that are near to the question, and what they state."""
    passages = prompt.items("passages")
    useful = _useful(prompt.text("question"), passages, encode)
    return {"useful": useful, "triples": triple_lines(passages, set(useful))}


def judge_passage(prompt: Prompt, encode: Encode) -> dict[str, object]:
    """Whether the passage is near to the question."""
    return {"helps": bool(_useful(prompt.text("question"), [prompt.text("passage")], encode))}


def judge_knowledge() -> dict[str, object]:
    """It knows nothing but what stands in a prompt."""
    return {"known": False}


def write_passage() -> dict[str, object]:
    """No passage."""
    return {"passage": "none"}


def write_passages() -> dict[str, object]:
    """No passages."""
    return {"passage": "none", "passage_with_entities": "none"}


def answer_with_triples() -> dict[str, object]:
    """No facts, no answer."""
    return {
        "evidence": [],
        "explanation": "Without a language model nothing is known beyond the prompt.",
        "answer": "none",
    }


def _useful(question: str, passages: list[str], encode: Encode) -> list[int]:
    if not passages:
        return []
    vectors = encode([question, *passages])
    cosines = vectors[1:] @ vectors[0]
    names = [span.text.casefold() for span in name_spans(question)]
    least = [_RELEVANT_NAMED if any(n in p.casefold() for n in names) else _RELEVANT for p in passages]
    return [at for at, (cosine, floor) in enumerate(zip(cosines.tolist(), least, strict=True), 1) if cosine >= floor]
