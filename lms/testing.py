"""Language models for tests: replies written beforehand, given in order.

    with scripted_model(["[[ ## answer ## ]]\\nParis"]) as engine, session(engine.name) as ledger:
        ...
    assert engine.prompts[0].endswith(...)

The calls go the whole way through DSPy (adapter, cache, history, usage) and the ledger; only the model
is not real. `stand_in_server` (`lms.stand_in`) puts HTTP, latency and a bounded number of slots in between.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias
from uuid import uuid4

from dspy.lm15 import Request, Response

from triplecheck.lms.engines import messages_of, reply
from triplecheck.lms.resolve import register_engine, unregister_engine
from triplecheck.lms.stand_in import MODEL as STAND_IN
from triplecheck.lms.stand_in import Asked, StandInServer, stand_in_server

__all__ = ["STAND_IN", "Asked", "QueueEngine", "Reply", "StandInServer", "scripted_model", "stand_in_server"]

Reply: TypeAlias = str | Exception | Callable[[Request], str] | Response
"""A text; an exception to raise; a function from the request to a text; or a whole response."""


class QueueEngine:
    """An embedded engine that gives its replies in order, one a call, and keeps the requests."""

    def __init__(self, replies: Iterable[Reply], name: str = "scripted") -> None:
        self.name = name
        self.fingerprint = uuid4().hex[:12]
        self.requests: list[Request] = []
        self._replies = list(replies)
        self._lock = threading.Lock()

    @property
    def prompts(self) -> list[str]:
        """The last message of each request."""
        return [messages_of(request)[-1]["content"] for request in self.requests]

    @property
    def left(self) -> int:
        """How many replies were not asked for."""
        return len(self._replies)

    def complete(self, request: Request) -> Response:
        """Give the next reply; tokens are counted as words."""
        with self._lock:
            self.requests.append(request)
            if not self._replies:
                raise AssertionError(f"{self.name} was called {len(self.requests)} times and has no reply left")
            following = self._replies.pop(0)
        if isinstance(following, Exception):
            raise following
        if isinstance(following, Response):
            return following
        text = following if isinstance(following, str) else following(request)
        words = sum(len(message["content"].split()) for message in messages_of(request))
        return reply(request, text, prompt_tokens=words, completion_tokens=len(text.split()))

    def __copy__(self) -> QueueEngine:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> QueueEngine:
        """Optimizers copy LMs deeply; there is one queue."""
        return self


@contextmanager
def scripted_model(replies: Iterable[Reply], name: str = "scripted") -> Iterator[QueueEngine]:
    """A model that exists inside the block, under `name`, and gives these replies in order."""
    engine = QueueEngine(replies, name)
    register_engine(name, engine)
    try:
        yield engine
    finally:
        unregister_engine(name)
