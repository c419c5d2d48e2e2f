"""Simulated models (a pupil and a writer of instructions), questions to compile with, and replies to collect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dspy.lm15 import Request, Response
from model_stand_ins import ScriptedReply
from program_parts import EX, conclude_with, keep, topics

from triplecheck.evals import Question, bundled_questions, read_questions
from triplecheck.kg import KnowledgeBase
from triplecheck.lms import register_engine, unregister_engine
from triplecheck.lms.engines import messages_of, reply
from triplecheck.lms.extractive.engine import ExtractiveEngine
from triplecheck.optimize.examples import Split
from triplecheck.optimize.preflight import CompilePlan
from triplecheck.programs import KERAG, Sources

PUPIL, WRITER = "pupil", "writer"
CAREFULLY = "Look carefully at every fact."
ANSWERING = "`[[ ## answers ## ]]`"
SILENCE = (
    "[[ ## reasoning ## ]]\nnothing\n\n[[ ## cited ## ]]\nnone\n\n[[ ## operation ## ]]\nnone\n\n"
    "[[ ## answers ## ]]\nnone\n\n[[ ## completed ## ]]\n"
)

TAUGHT = Question("taught", "Who taught Bernhard Heiden?", (EX + "hindemith",), topic=(EX + "heiden",))
WHY = "Bernhard Heiden was a student of Paul Hindemith."
GOOD: list[ScriptedReply] = [
    topics("Bernhard Heiden"),
    keep("student of"),
    keep(),
    conclude_with("Paul Hindemith", cite=["Bernhard Heiden → student of"], reasoning=WHY),
]


class Pupil:
    """Replies like the extractive engine if shown a demonstration, told to look carefully, or by chance."""

    fingerprint = "1"

    def __init__(self) -> None:
        self.engine = ExtractiveEngine()
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Response:
        self.requests.append(request)
        messages = messages_of(request)
        lucky = bool((request.config.seed or 0) % 2)
        taught = len(messages) > 2 or CAREFULLY in messages[0]["content"] or lucky
        if ANSWERING in messages[-1]["content"] and not taught:
            size = sum(len(message["content"]) for message in messages)
            return reply(request, SILENCE, prompt_tokens=size // 4, completion_tokens=len(SILENCE) // 4)
        return self.engine.complete(request)

    def __deepcopy__(self, memo: dict[int, object]) -> Pupil:
        return self


class Babbling(Pupil):
    """Writes nothing that can be read."""

    def complete(self, request: Request) -> Response:
        self.requests.append(request)
        return reply(request, "Well ...", prompt_tokens=5, completion_tokens=2)


class Writer:
    """Writes the same good advice into whatever field it is asked for; `advice` is one for each call, then the last."""

    fingerprint = "1"

    def __init__(self, advice: Sequence[str] = (CAREFULLY,)) -> None:
        self.advice = list(advice)
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Response:
        self.requests.append(request)
        asked = messages_of(request)[-1]["content"]
        fields = re.findall(r"`\[\[ ## (\w+) ## \]\]`", asked.splitlines()[-1])
        text = self.advice[min(len(self.requests), len(self.advice)) - 1]
        told = {"module_advice": json.dumps({"summarize": text, "name_topics": "", "select_paths": ""})}
        as_json = re.search(r"JSON object in the following order of fields: (.*)$", asked)
        if as_json:
            content = json.dumps(dict.fromkeys(re.findall(r"`(\w+)`", as_json[1]), text))
            return reply(request, content, prompt_tokens=50, completion_tokens=10)
        parts = [f"[[ ## {name} ## ]]\n{told.get(name, text)}" for name in fields if name != "completed"]
        return reply(request, "\n\n".join([*parts, "[[ ## completed ## ]]"]), prompt_tokens=50, completion_tokens=10)

    def __deepcopy__(self, memo: dict[int, object]) -> Writer:
        return self


@contextmanager
def engines(**named: Any) -> Iterator[None]:
    for name, engine in named.items():
        register_engine(name, engine)
    try:
        yield
    finally:
        for name in named:
            unregister_engine(name)


def questions(split: str, kinds: tuple[str, ...] = ("one_hop",)) -> list[Question]:
    return [question for question in read_questions(bundled_questions(split)) if question.kind in kinds]


Paths = Sequence[Sequence[tuple[str, str]]]


def world_question(
    text: str, topics: Sequence[str], answers: Sequence[str], paths: Paths = (), *, computed: bool = False
) -> Question:
    rows = [
        {"topic": EX + topic, "hops": [[EX + relation, way] for relation, way in path]}
        for topic, path in zip(topics, paths, strict=bool(paths))
    ]
    ids = tuple(answers) if computed else tuple(EX + answer for answer in answers)
    gold = {"gold_paths": rows} if paths else {}
    return Question(text, text, ids, topic=tuple(EX + topic for topic in topics), computed=computed, gold=gold)


def small_split(train: int = 3, validation: int = 2, held_out: int = 2) -> Split:
    asked = questions("train")
    return Split(tuple(asked[:train]), tuple(asked[train : train + validation]), tuple(questions("dev")[:held_out]))


def kerag(knowledge_base: KnowledgeBase) -> KERAG:
    return KERAG(Sources.of(knowledge_base), hops=1, assist="-plans")


def plan(knowledge_base: KnowledgeBase, optimizer: str, **given: Any) -> CompilePlan:
    from triplecheck.lms import Roles

    given.setdefault("questions", small_split())
    given.setdefault("roles", Roles(PUPIL))
    return CompilePlan(kerag(knowledge_base), optimizer=optimizer, **given)
