"""The stand-in server keeps its latency and its slots, whatever asks it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from model_stand_ins import STAND_IN, ChatRequest, stand_in_server

from triplecheck.lms import ModelUnavailableError, RolePredict, language_model, session


def test_a_program_reaches_it_through_the_environment_and_gets_what_the_reply_makes_of_the_request() -> None:
    def reply(asked: ChatRequest) -> str:
        assert "answer" in asked.system
        return f"[[ ## answer ## ]]\n{len(asked.prompt)} characters"

    with stand_in_server(reply) as server, server.environment(), session(STAND_IN) as ledger:
        answer = RolePredict("question -> answer")(question="Q?").answer
    assert answer == f"{len(server.asked[0].prompt)} characters"
    assert "Q?" in server.asked[0].prompt
    assert server.calls == ledger.usage().calls == 1
    assert ledger.usage().completion_tokens == 7


def test_calls_beyond_the_slots_wait_in_line() -> None:
    with stand_in_server("[[ ## answer ## ]]\nyes", latency=0.1, slots=4) as server:
        lm = language_model(STAND_IN, api_base=server.api_base, api_key="x", cache=False)
        step = RolePredict("question -> answer")
        step(question="warm?", lm=lm)
        began = time.perf_counter()
        with ThreadPoolExecutor(12) as threads:
            list(threads.map(lambda n: step(question=f"{n}?", lm=lm), range(12)))
        took = time.perf_counter() - began
    assert server.busiest == 4
    assert server.calls == 13
    assert took >= 0.3, "twelve calls of 0.1 s in four slots"
    assert server.share_used(took) == pytest.approx(13 * 0.1 / (4 * took))
    assert server.seconds >= 0.4
    assert server.share_used() == pytest.approx(13 * 0.1 / (4 * server.seconds))


def test_what_the_reply_raises_is_an_error_of_the_servers() -> None:
    def refuse(asked: ChatRequest) -> str:
        raise ValueError("not today")

    with stand_in_server(refuse) as server:
        lm = language_model(STAND_IN, api_base=server.api_base, api_key="x", num_retries=0)
        with pytest.raises(ModelUnavailableError, match="not today"):
            RolePredict("question -> answer")(question="Q?", lm=lm)
    assert server.calls == 0


def test_nothing_of_it_is_left_behind() -> None:
    before = threading.active_count()
    with stand_in_server("x", latency=5, slots=1) as server:
        lm = language_model(STAND_IN, api_base=server.api_base, api_key="x", num_retries=0, timeout=0.1)
        with pytest.raises(ModelUnavailableError):
            RolePredict("question -> answer")(question="Q?", lm=lm)
    assert threading.active_count() <= before + 1, "the client may keep a thread of its own"
    with pytest.raises(ModelUnavailableError):
        RolePredict("question -> answer")(question="Q?", lm=lm)
