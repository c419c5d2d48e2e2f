"""OpenAI's chat protocol, so that any chat client can ask."""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from triplecheck.app.serve.types import Answer, Ask, Bases, Failure, Programs, Record, Step, Turn
from triplecheck.kg import UserError
from triplecheck.programs.outcome import NO_ANSWER, closed_world, no_answer

DEFAULT = "triplecheck"
"""The `model` that means the default program on the default base."""

_SHOWN = 12  # triples in the text of an answer


class Part(BaseModel):
    """A part of a message."""

    type: str
    text: str = ""


class Message(BaseModel):
    """A message of a conversation. Clients may send more fields."""

    role: str
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """The text of the message."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class Conversation(BaseModel):
    """A request. Settings of language models, such as `temperature`, have no effect."""

    model_config = ConfigDict(extra="ignore")

    model: str = Field(default=DEFAULT, description="A program, or base and program: `kerag`, `films/kerag`.")
    messages: list[Message] = Field(min_length=1)
    stream: bool = False


class Reply(Record):
    """The message of the assistant."""

    role: Literal["assistant"] = "assistant"
    content: str


class Choice(Record):
    """The one choice."""

    index: int = 0
    message: Reply
    finish_reason: Literal["stop"] = "stop"


class Tokens(Record):
    """Tokens of all calls to language models."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(Record):
    """The reply to a conversation."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Tokens
    triplecheck: Answer
    """The whole answer, which OpenAI's protocol has no place for."""


class ModelInfo(Record):
    """A program on a base."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "triplecheck"


class Models(Record):
    """All programs on all bases."""

    object: Literal["list"] = "list"
    data: list[ModelInfo]


def models(bases: Bases, programs: Programs) -> Models:
    """What may be the `model` of a conversation."""
    names = [f"{base.name}/{program.name}" for base in bases.bases for program in programs.programs]
    return Models(data=[ModelInfo(id=name) for name in (DEFAULT, *names)])


def question_of(asked: Conversation, bases: Sequence[str]) -> Ask:
    """The last message as a question after the others.

    Raises:
        UserError: it is not of the user.
    """
    last = asked.messages[-1]
    if last.role != "user":
        raise UserError(f"the last message is of {last.role!r}; it must be a question of the user")
    base: str | None = None
    program: str | None = asked.model.removeprefix("openai/")
    for known in bases:
        if asked.model.startswith(f"{known}/"):
            base, program = known, asked.model[len(known) + 1 :]
    return Ask(
        question=last.text,
        base=base,
        program=None if program == DEFAULT else program,
        conversation=list(_turns(asked.messages[:-1])),
    )


def _turns(messages: Sequence[Message]) -> Iterator[Turn]:
    """Questions of the user, each with the first line of the reply to it, which is the answer (see `in_words`)."""
    for message, reply in itertools.pairwise(messages):
        if (message.role, reply.role) == ("user", "assistant"):
            answer = reply.text.partition("\n")[0].strip()
            yield Turn(question=message.text, answer="" if answer.startswith(NO_ANSWER) else answer)


def completion(asked: Conversation, answer: Answer) -> Completion:
    """The answer as a completion."""
    usage = answer.usage
    return Completion(
        id=f"chatcmpl-{uuid.uuid4().hex}",
        created=int(time.time()),
        model=asked.model,
        choices=[Choice(message=Reply(content=in_words(answer)))],
        usage=Tokens(
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            total_tokens=usage.prompt_tokens + usage.completion_tokens,
        ),
        triplecheck=answer,
    )


async def chunks(
    asked: Conversation,
    items: AsyncIterator[Step | Answer | None],
    failure: Callable[[Exception], tuple[int, Failure]],
) -> AsyncIterator[str]:
    """The steps as `reasoning_content`, then the answer; an error ends the stream."""
    head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": "chat.completion.chunk", "created": int(time.time())}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({**head, "model": asked.model, "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    try:
        async for item in items:
            if isinstance(item, Step):
                yield chunk({"reasoning_content": f"{item.kind}: {item.text}\n"})
            elif isinstance(item, Answer):
                yield chunk({"content": in_words(item)})
            else:
                yield ": the program works\n\n"
        yield chunk({}, "stop")
    except Exception as error:  # noqa: BLE001 - the status has been sent: the error is an event
        yield _data(failure(error)[1].model_dump())
    yield "data: [DONE]\n\n"


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def in_words(answer: Answer) -> str:
    """The answer, its verdict and its triples as text."""
    if answer.abstained:
        lines = [f"{no_answer(answer.reason)} ({answer.reason})."]
        shown = answer.nearest
        title = "Nearest facts:"
    else:
        sure = "" if answer.confidence is None else f", confidence {answer.confidence:.2f}"
        scope = closed_world(answer.answer, answer.query)
        lines = [answer.answer + (f" ({scope})" if scope else ""), "", f"Verdict: {answer.verdict}{sure}"]
        lines += [f"Doubt: {doubt}" for doubt in answer.doubts]
        lines += [f"Query: `{answer.query}`", *answer.looked_through] if answer.query else []
        shown = answer.proof
        title = "Proof:" if answer.verdict == "proved" else "Triples:"
    if shown:
        lines += ["", title]
        lines += [f"- {one.head_label} —{one.relation_label}→ {one.tail_label}" for one in shown[:_SHOWN]]
    if len(shown) > _SHOWN:
        lines.append(f"- and {len(shown) - _SHOWN} more")
    return "\n".join(lines)
