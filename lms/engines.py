"""Embedded engines: the protocol, an async wrapper, and helpers for requests and replies."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from dspy.lm15 import Message, Request, Response, TextPart, Usage

from triplecheck import signatures
from triplecheck.language import pipeline
from triplecheck.lms.prompt import COMPLETED, HEADER
from triplecheck.lms.values import SCORES, render
from triplecheck.signatures.notation import without_markup

_CHARACTERS_PER_TOKEN = 4


class EmbeddedEngine(Protocol):
    """A model that runs inside this process: DSPy's engine contract plus a fingerprint.

    `complete` is called from many threads at once.
    """

    @property
    def fingerprint(self) -> str:
        """A hash of everything that determines the reply: weights, adapter, generation configuration, code.

        It is part of the model id, because DSPy's cache key holds nothing else of the engine.
        """
        ...

    def complete(self, request: Request) -> Response:
        """Answer one request; expected failures are raised as `dspy.lm15` errors."""
        ...


class Shared:
    """Copies are the same object: optimizers deep-copy language models, and what runs them is shared."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self


class AsyncEngine(Shared):
    """Runs an embedded engine from coroutines, with one worker thread per call."""

    def __init__(self, engine: EmbeddedEngine) -> None:
        self._engine = engine

    async def complete(self, request: Request) -> Response:
        """Answer one request without blocking the event loop."""
        return await asyncio.to_thread(self._engine.complete, request)


def code_hash(
    module: str, beside: Sequence[str] = ("prompt.py", "values.py", "fact_paths.py", "conclusions.py")
) -> str:
    """A hash of an engine's code: the modules of its package, with those below it, of `language`, and the steps.

    Args:
        beside: files next to the package, by default those that read and write its texts.
    """
    here = Path(module).parent
    digest = hashlib.sha256()
    steps, reading = Path(signatures.__file__).parent, Path(pipeline.__file__).parent
    patterns = ((here, "**/*.py"), (steps, "*.py"), (reading, "*.py"), (reading, "words/*.json"))
    files = [path for folder, pattern in patterns for path in sorted(folder.glob(pattern))]
    for path in (*files, *(here.parent / name for name in beside)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def messages_of(request: Request) -> list[dict[str, str]]:
    """A request as chat messages: `role` and `content`, the system message first."""
    messages = []
    if request.system is not None:
        parts = request.system
        text = parts if isinstance(parts, str) else "".join(getattr(part, "text", "") for part in parts)
        messages.append({"role": "system", "content": text})
    for message in request.messages:
        role = "system" if message.role == "developer" else message.role
        messages.append({"role": role, "content": message.text or ""})
    return messages


def reply(
    request: Request,
    text: str,
    *,
    prompt_tokens: int,
    completion_tokens: int,
    finish_reason: str = "stop",
    reused_tokens: int | None = None,
) -> Response:
    """A response with one text part. `reused_tokens` of the prompt were evaluated by earlier calls."""
    return Response(
        id=None,
        model=request.model,
        message=Message.assistant([TextPart(text)]),
        finish_reason=finish_reason,
        usage=Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens, cache_read_tokens=reused_tokens),
    )


def in_fields(request: Request, outputs: Mapping[str, object]) -> Response:
    """A response with output fields, as an engine without tokens writes it; tokens are estimated by length."""
    text = "\n\n".join(f"{HEADER.format(name=name)}\n{_written(value)}" for name, value in outputs.items())
    text = f"{text}\n\n{COMPLETED}\n"
    size = sum(len(message["content"]) for message in messages_of(request))
    tokens = size // _CHARACTERS_PER_TOKEN, len(text) // _CHARACTERS_PER_TOKEN
    return reply(request, text, prompt_tokens=tokens[0], completion_tokens=tokens[1])


def _written(value: object) -> str:
    if isinstance(value, dict):
        return render(SCORES, value)
    if isinstance(value, list):
        kind: Any = list[int] if value and isinstance(value[0], int) else list[str]
        return render(kind, value)
    # Names from a graph must not be parsed as a header or as the end of a thought.
    return without_markup(str(value))
