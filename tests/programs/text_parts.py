"""A small knowledge base with passages and embeddings, and scripted models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dspy
from dspy.lm15 import Request
from model_stand_ins import QueueEngine, scripted_model
from program_parts import WORLD, build_turtle, fields, recall

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.documents import Document
from triplecheck.kg.embedding import TrainingOptions
from triplecheck.kg.embedding.embeddings import train_into
from triplecheck.lms import Roles, session
from triplecheck.lms.engines import messages_of
from triplecheck.lms.prompt import read_request
from triplecheck.signatures import STEPS

PASSAGES = {
    "Bernhard Heiden": "Bernhard Heiden was a composer. He studied with Paul Hindemith.",
    "Paul Hindemith": "Paul Hindemith was a German composer and violist.",
    "Frankfurt": "Frankfurt is a city in Germany.",
    "Basketball": "Basketball is a sport with a ball and two baskets.",
}
QUESTION = "What was the nationality of Bernhard Heiden's teacher?"

# Embeddings need more triples than the small world has.
PUPILS = "".join(
    f':pupil{n} rdfs:label "Pupil {n}" ; :studentOf :hindemith ; :nationality :german ; :bornIn :hanau .\n'
    for n in range(20)
)

StepReply = str | Exception | Callable[[Request], str]


def build_text_world(folder: Path, *, embedded: bool = False) -> KnowledgeBase:
    """The small knowledge base with a few passages, without text vectors; with graph embeddings on request."""
    documents = [Document(f"d{at}", None, title, text) for at, (title, text) in enumerate(PASSAGES.items())]
    base = build_turtle(WORLD + (PUPILS if embedded else ""), folder, documents=documents)
    if embedded:
        options = TrainingOptions(dimensions=8, epochs=2, loop="sampled", batch_size=64, negatives=5, evaluate_every=2)
        train_into(base.graph, base.generation, options)
    return KnowledgeBase.open(base.path)


def step_of(request: Request) -> str:
    """The output fields that a request asks for, as "reasoning answer", without optional ones."""
    prompt = read_request([(message["role"], message["content"]) for message in messages_of(request)])
    fields = prompt.step(STEPS).output_fields
    return " ".join(name for name in prompt.outputs if fields[name].is_required())


def section(request: Request, name: str) -> str:
    """One input of the prompt."""
    text = [m["content"] for m in messages_of(request) if m["role"] == "user"][-1]
    return str(text.split(f"[[ ## {name} ## ]]\n", 1)[1].split("\n\n[[ ##", 1)[0].split("\n\nReply with", 1)[0])


def knows(*answers: str, reasoning: str = "Heiden was a student of Paul Hindemith, who was German") -> str:
    return recall(*answers, reasoning=reasoning)


def _answers_from_references(request: Request) -> str:
    count = len(section(request, "references").splitlines())
    said = "Bernhard Heiden was a student of Paul Hindemith. Paul Hindemith has the nationality German."
    # Says how many there are, so that no two turns are served the same reply from a cache.
    return fields(reasoning=f"{said} So say {count} references.", answer="German")


def _writes_both(request: Request) -> str:
    about = section(request, "question")
    return fields(passage=f"On {about} Heiden studied.", passage_with_entities=f"On {about} Hindemith taught.")


DEFAULTS: dict[str, StepReply] = {
    "reasoning answers": knows("Swiss"),
    "reasoning answer": _answers_from_references,
    "answer": fields(answer="German"),
    "triples": fields(
        triples="1 | Bernhard Heiden | student of | Paul Hindemith\n1 | Paul Hindemith | nationality | German"
    ),
    "next_question": fields(next_question="Who was the teacher of Bernhard Heiden?"),
    "passage": fields(passage="Heiden studied under Hindemith."),
    "passage passage_with_entities": _writes_both,
    "useful triples": fields(useful="1-9", triples="none"),
    "useful": fields(useful="1-9"),
    "helps": fields(helps="True"),
    "known": fields(known="False"),
}


def talk(
    program: dspy.Module,
    replies: Mapping[str, StepReply] | None = None,
    question: str = QUESTION,
    *,
    writers: int = 0,
) -> tuple[Any, QueueEngine]:
    """One question with a model that replies to each step by its output fields; by default `DEFAULTS`.

    With `writers`, as many knowledge models are models of their own; all requests are the returned engine's.
    """
    table = DEFAULTS | dict(replies or {})

    def reply(request: Request) -> str:
        given = table[step_of(request)]
        if isinstance(given, Exception):
            raise given
        return given if isinstance(given, str) else given(request)

    with ExitStack() as stack:
        engine = stack.enter_context(scripted_model([reply] * 200))
        others = [stack.enter_context(scripted_model([reply] * 200, f"writer{n}")) for n in range(1, writers + 1)]
        roles = Roles(engine.name, {f"knowledge.{n}": other.name for n, other in enumerate(others, 1)})
        stack.enter_context(session(roles))
        result = program(question=question)
    for other in others:
        engine.requests += other.requests
    return result, engine


def asked(engine: QueueEngine, step: str) -> list[Request]:
    """The requests of one step."""
    return [request for request in engine.requests if step_of(request) == step]
