"""A running server: who may ask, whose turn it is, and what is counted and logged of each question."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from starlette.requests import Request

from triplecheck.app.serve.clients import Client, Clients
from triplecheck.app.serve.failures import failure_of
from triplecheck.app.serve.log import event
from triplecheck.app.serve.metrics import Metrics
from triplecheck.app.serve.service import OnStep, Service
from triplecheck.app.serve.turns import Done, Turns
from triplecheck.app.serve.types import Answer, Ask, Failure, Step
from triplecheck.kg import TriplecheckError, UserError

Result = TypeVar("Result")


class ClientGoneError(Exception):
    """Nobody waits for the reply any more."""


class Server:
    """A service with its clients and limits.

    Args:
        service: what answers; its settings have the limits.

    Raises:
        UserError: a key is missing in the environment.
    """

    def __init__(self, service: Service) -> None:
        limits = service.settings.serve
        self.service = service
        self.limits = limits
        self.clients = Clients(limits.keys)
        self.turns = Turns(limits.concurrent, limits.waiting, limits.seconds)
        self.metrics = Metrics(self.turns)

    def checked(self, text: str) -> str:
        """A question, or the text of a look-up.

        Raises:
            UserError: it is too long.
        """
        if len(text) > self.limits.question:
            raise UserError(f"the question has {len(text):,} characters; at most {self.limits.question:,} are allowed")
        return text

    def work(self, asked: Ask, client: Client) -> Callable[[OnStep], Answer]:
        """What answers a question, for `turns`.

        Raises:
            UserError: the question is too long, or there is no such base.
        """
        question, (base, _) = self.checked(asked.question), self.service.base(asked.base)

        def work(on_step: OnStep) -> Answer:
            return self.service.ask(
                question,
                base,
                asked.program,
                conversation=[(turn.question, turn.answer) for turn in asked.conversation],
                on_step=on_step,
                picture=asked.picture,
                payer=client.ledger(),
            )

        return work

    async def finished(self, request: Request, work: Callable[[OnStep], Result]) -> Result:
        """The result of some work.

        Raises:
            ClientGoneError: the client went away; the work ends at its next step.
        """
        async with contextlib.aclosing(self.turns.run(work)) as items:
            async for item in items:
                if isinstance(item, Done):
                    return item.result
                if item is None and await request.is_disconnected():
                    raise ClientGoneError
        raise AssertionError("work ended without a result")

    async def events(self, request: Request, work: Callable[[OnStep], Answer]) -> AsyncIterator[Step | Answer | None]:
        """The steps of a question as they happen, then its answer; None where nothing happens."""
        async with contextlib.aclosing(self.turns.run(work)) as items:
            async for item in items:
                if isinstance(item, Done):
                    self.record(request, item.result)
                    yield item.result
                else:
                    yield item

    def record(self, request: Request, answer: Answer) -> None:
        """Count an answer and add it to the log line of the request."""
        self.metrics.count_answer(answer)
        shown = {"question": answer.question, "answer": answer.answer} if self.limits.log_questions else {}
        request.state.log |= {
            "base": answer.base,
            "program": answer.program,
            "verdict": answer.verdict,
            "calls": answer.usage.calls,
            "tokens": answer.usage.prompt_tokens + answer.usage.completion_tokens,
            "dollars": answer.usage.dollars,
            **shown,
        }

    def failed(self, error: Exception) -> tuple[int, Failure]:
        """The status and the reply of an error, which is counted; one that nobody expects is logged."""
        status, body = failure_of(error)
        self.metrics.failures.labels(body.error.type).inc()
        if not isinstance(error, TriplecheckError):
            event("crashed", 40, error)
        return status, body
