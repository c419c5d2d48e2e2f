"""The whole way from a step to an OpenAI-compatible server and back."""

from __future__ import annotations

import asyncio
import copy
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest
from model_stand_ins import stand_in_server
from openai_server import Behaviour, OpenAIServer, drips, fails, floods, hangs, says, says_bytes

from triplecheck.kg.errors import TriplecheckError, UserError
from triplecheck.lms import (
    Budget,
    ModelReplyError,
    ModelUnavailableError,
    RolePredict,
    check,
    language_model,
    limits,
    session,
)
from triplecheck.optimize.dspy_patches import calls_kept_in

PARIS = "[[ ## answer ## ]]\nParis\n\n[[ ## completed ## ]]"
MODEL = "openai/gpt-4o-mini"


def _ask(server_base: str, model: str = MODEL, **options: Any) -> dspy.Prediction:
    settings = {"api_base": server_base, "api_key": "secret", "num_retries": 0, **options}
    with dspy.context(lm=language_model(model, **settings), lm_roles=None):
        return RolePredict("question -> answer")(question="Q?")


@pytest.fixture(params=["native", "litellm", "environment"])
def route(request: pytest.FixtureRequest, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The ways to name a server: as a setting, by DSPy's own client or LiteLLM, and in the environment."""
    if request.param != "environment":
        options = {"api_base": server.base, "api_key": "secret"}
        return options | ({"engine": "litellm"} if request.param == "litellm" else {})
    monkeypatch.setenv("OPENAI_API_BASE", server.base)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    return {}


def test_a_good_reply_is_read_and_paid_for_once(server: OpenAIServer, route: dict[str, Any]) -> None:
    lm = language_model(MODEL, **route)
    with session(MODEL) as ledger, dspy.context(lm=lm):
        step = RolePredict("question -> answer")
        assert step(question="Q?", lm=lm).answer == "Paris"
        assert step(question="Q?", lm=lm).answer == "Paris"
    assert len(server.requests) == 1
    assert server.authorizations == ["Bearer secret"]
    assert server.requests[0]["model"] == "gpt-4o-mini"
    assert server.requests[0]["temperature"] == 0, "without it a server samples"
    usage = ledger.usage()
    assert (usage.calls, usage.cached_calls) == (2, 1)
    assert (usage.prompt_tokens, usage.completion_tokens) == (100, 10)
    assert usage.dollars == pytest.approx(100 * 0.15e-6 + 10 * 0.6e-6)
    assert usage.unpriced_calls == 0


def test_a_reply_is_found_again_by_the_next_process(
    server: OpenAIServer, route: dict[str, Any], disk_cache: Callable[[], None]
) -> None:
    lm = language_model(MODEL, **route)
    with session(MODEL) as ledger:
        RolePredict("question -> answer")(question="Q?", lm=lm)
        disk_cache()
        assert RolePredict("question -> answer")(question="Q?", lm=lm).answer == "Paris"
    assert len(server.requests) == 1
    assert (ledger.usage().cached_calls, ledger.usage().prompt_tokens) == (1, 100)


def test_a_kept_reply_counts_with_what_it_took_when_it_was_made(
    server: OpenAIServer, route: dict[str, Any], tmp_path: Path
) -> None:
    usages = []
    for _ in range(2):  # a run, and another one with the same calls
        with calls_kept_in(tmp_path / "calls"), session(MODEL) as ledger:
            assert RolePredict("question -> answer")(question="Q?", lm=language_model(MODEL, **route)).answer == "Paris"
        usages.append(ledger.usage())
    made, kept = usages
    assert len(server.requests) == 1
    assert (made.cached_calls, kept.cached_calls) == (0, 1)
    assert (kept.calls, kept.tokens, kept.dollars) == (made.calls, made.tokens, made.dollars)
    assert made.spared_seconds == 0 < made.seconds
    assert kept.spared_seconds == pytest.approx(made.seconds, abs=1e-5) and kept.seconds > kept.spared_seconds


def test_a_model_without_a_price_costs_an_unknown_amount(server: OpenAIServer) -> None:
    lm = language_model("openai/mine", api_base=server.base, api_key="x")
    server.behaviours = [says(PARIS)]
    with session("openai/mine") as ledger:
        RolePredict("question -> answer")(question="Q?", lm=lm)
    # The reply names another model than was asked for, and that one has a price.
    assert ledger.usage().unpriced_calls + (ledger.usage().dollars > 0) == 1
    with session("openai/mine", Budget(dollars=1)), pytest.raises(UserError, match="no price is known"):
        RolePredict("question -> answer")(question="other?", lm=lm)
    assert len(server.requests) == 1


def test_too_many_requests_are_repeated_after_the_time_that_the_server_names(
    server: OpenAIServer, route: dict[str, Any]
) -> None:
    server.behaviours = [fails(429, "slow down", {"Retry-After": "0"}), says(PARIS)]
    lm = language_model(MODEL, **route, num_retries=1)
    with session(MODEL) as ledger:
        assert RolePredict("question -> answer")(question="Q?", lm=lm).answer == "Paris"
    assert len(server.requests) == 2
    assert ledger.usage().calls == 1


def test_a_lasting_rate_limit_is_reported(server: OpenAIServer) -> None:
    server.behaviours = [fails(429, "slow down", {"Retry-After": "0"})]
    with pytest.raises(ModelUnavailableError, match=r"too many requests.*--workers"):
        _ask(server.base, num_retries=1)
    assert len(server.requests) == 2


def test_a_rejected_key_is_reported_with_the_variable_to_set(server: OpenAIServer, route: dict[str, Any]) -> None:
    server.behaviours = [fails(401, "bad key")]
    with (
        session(MODEL),
        pytest.raises(ModelUnavailableError, match=r"gpt-4o-mini \(role answer, at http.*no access.*OPENAI_API_KEY"),
    ):
        RolePredict("question -> answer")(question="Q?", lm=language_model(MODEL, **route, num_retries=0))


def test_a_missing_key_is_reported_with_the_variable_to_set() -> None:
    with session(MODEL), pytest.raises(ModelUnavailableError, match="OPENAI_API_KEY"):
        RolePredict("question -> answer")(question="Q?")


def test_a_server_of_ones_own_needs_no_key(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = f"{MODEL}?api_base={server.base}"
    with session(model):
        assert RolePredict("question -> answer")(question="Who needs a key?").answer == "Paris"
    assert server.authorizations == ["Bearer none"]


@pytest.mark.parametrize(
    ("status", "message"), [(404, "The model `gpt-4o-mini` does not exist"), (500, "out of order")]
)
def test_an_error_of_the_server_is_reported(server: OpenAIServer, status: int, message: str) -> None:
    server.behaviours = [fails(status, message)]
    with pytest.raises(ModelUnavailableError, match=f"gpt-4o-mini.*{message}"):
        _ask(server.base)


def test_a_server_timeout_is_reported(server: OpenAIServer, route: dict[str, Any]) -> None:
    server.behaviours = [hangs(1.0)]
    lm = language_model(MODEL, **route, num_retries=0, timeout=0.2)
    with session(MODEL), pytest.raises(ModelUnavailableError, match=r"no answer in time.*timeout=1200"):
        RolePredict("question -> answer")(question="Q?", lm=lm)


def test_a_server_of_ones_own_has_more_time_and_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def settings(model: str) -> tuple[Any, Any]:
        kwargs = language_model(model).kwargs
        return kwargs["timeout"], kwargs.get("max_tokens")

    own = f"{MODEL}?api_base=http://127.0.0.1:1/v1"
    assert settings(MODEL) == (120, None)
    assert settings(own) == (600, 4096)
    assert settings(f"{own}&timeout=7&max_tokens=9") == (7, 9)


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b'{"choices": [', b"{}", b'{"choices": []}', b"null"])
def test_a_malformed_reply_is_reported(server: OpenAIServer, route: dict[str, Any], body: bytes) -> None:
    server.behaviours = [says_bytes(body)]
    with session(MODEL), pytest.raises((ModelUnavailableError, ModelReplyError), match="gpt-4o-mini"):
        RolePredict("question -> answer")(question="Q?", lm=language_model(MODEL, **route, num_retries=0))


def test_an_unreachable_server_is_reported() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(ModelUnavailableError, match=r"at http://127.*check that the server runs"):
        _ask(base)


def test_an_unreadable_reply_is_answered_once_over_the_wire(server: OpenAIServer, route: dict[str, Any]) -> None:
    server.behaviours = [says("It is Paris."), says(PARIS.replace("answer", "answers"))]
    with session(MODEL) as ledger:
        step = RolePredict("question -> answers: list[str]")
        assert step(question="Q?", lm=language_model(MODEL, **route)).answers == ["Paris"]
    first, second = (request["messages"] for request in server.requests)
    assert second[:-1] == first[:-1]
    assert second[-1]["content"].startswith(first[-1]["content"])
    assert "could not be used: Answers: is missing" in second[-1]["content"]
    assert "rollout_id" not in server.requests[1]
    assert ledger.usage().prompt_tokens == 200


def test_a_cut_reply_is_not_taken_for_a_whole_one(server: OpenAIServer, route: dict[str, Any]) -> None:
    server.behaviours = [says("[[ ## answer ## ]]\nPar", finish_reason="length"), says(PARIS)]
    lm = language_model(MODEL, **route)
    with session(MODEL):
        for _ in range(2):
            assert RolePredict("question -> answer")(question="Q?", lm=lm).answer == "Paris"
    assert len(server.requests) == 2


def test_coroutines_reach_the_server_too(server: OpenAIServer, route: dict[str, Any]) -> None:
    lm = language_model(MODEL, **route)

    async def ask() -> str:
        return str((await RolePredict("question -> answer").acall(question="Q?", lm=lm)).answer)

    with session(MODEL) as ledger:
        assert asyncio.run(ask()) == "Paris"
    assert ledger.usage().prompt_tokens == 100


def test_a_reachable_model_is_checked(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", server.base)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    server.behaviours = [
        says("[[ ## capital ## ]]\nParis"),
        says("[[ ## keep ## ]]\n1\n[[ ## relevant ## ]]\nyes"),
        says("Berlin, Prague"),
    ]
    report = check(MODEL)
    assert report.reachable and report.error == ""
    assert report.kept_format == 2
    assert report.trials[1].outputs == {"keep": [1], "relevant": "yes"}
    assert (report.trials[2].reply, report.trials[2].kept_format) == ("Berlin, Prague", False)
    assert (report.prompt_tokens, report.completion_tokens) == (100, 10)
    assert report.dollars_per_call == pytest.approx(100 * 0.15e-6 + 10 * 0.6e-6)
    assert report.seconds > 0


def test_an_unreachable_model_is_reported_not_raised(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", server.base)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    server.behaviours = [fails(401, "bad key")]
    report = check(MODEL)
    assert not report.reachable
    assert "OPENAI_API_KEY" in report.error


KEY = "prod-9f2c4e6a8b0d1f3e"


def echoes(status: int) -> Behaviour:
    """A proxy that repeats the headers of a request in its error."""

    def behave(handler: Any) -> None:
        fails(status, f"refused: {handler.headers.as_string()} and the key {KEY}")(handler)

    return behave


@pytest.mark.parametrize("status", [401, 500, 400, 429])
def test_a_key_that_a_server_repeats_is_in_no_message(
    server: OpenAIServer, route: dict[str, Any], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"api_key": KEY} if "api_key" in route else {}
    monkeypatch.setenv("OPENAI_API_KEY", "another" if given else KEY)
    monkeypatch.setattr("triplecheck.lms.resolve.RETRIES", 0)
    server.behaviours = [echoes(status)]
    with pytest.raises(TriplecheckError) as raised, dspy.context(lm_roles=None):
        RolePredict("question -> answer")(
            question="Q?", lm=language_model(MODEL, **{**route, **given, "num_retries": 0, "cache": False})
        )
    assert "[key]" in str(raised.value)
    assert KEY not in str(raised.value)
    report = check(MODEL, **route, **given) if not given else None
    assert report is None or KEY not in str(report)


def test_a_key_in_an_unreadable_reply_is_in_no_message(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.behaviours = [says(f"Authorization: Bearer {KEY}")]
    lm = language_model(MODEL, api_base=server.base, cache=False)
    with pytest.raises(ModelReplyError) as raised, dspy.context(lm_roles=None):
        RolePredict("question -> answers: list[str]")(question="Q?", lm=lm)
    assert KEY not in f"{raised.value} {raised.value.lm_response}"


def test_half_a_surrogate_pair_in_a_reply_or_a_question_is_replaced(
    server: OpenAIServer, route: dict[str, Any]
) -> None:
    server.behaviours = [says("Par\ud800is"), says("[[ ## answer ## ]]\nPar\udc80is")]
    with dspy.context(lm_roles=None):
        answered = RolePredict("question -> answer")(question="Q\ud800?", lm=language_model(MODEL, **route))
    assert answered.answer == "Par?is"
    assert "Q??" in server.requests[0]["messages"][-1]["content"]


def _seconds_until_told(lm: Any, asynchronous: bool, match: str) -> float:
    """Seconds until the second call ends in the error that says `match`; the first loads LiteLLM."""
    step = RolePredict("question -> answer")

    async def ask() -> float:
        if asynchronous:
            assert (await step.acall(question="first", lm=lm, config={"timeout": 100})).answer == "Paris"
        started = time.perf_counter()
        with pytest.raises(ModelUnavailableError, match=match):
            if asynchronous:
                await step.acall(question="Q?", lm=lm)
            else:
                step(question="Q?", lm=lm)
        return time.perf_counter() - started

    with session(MODEL):
        return asyncio.run(ask())


@pytest.mark.parametrize("asynchronous", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"], ids=["head", "body"]
)
def test_a_reply_that_drips_ends_at_the_deadline(
    server: OpenAIServer, route: dict[str, Any], head: bytes, asynchronous: bool
) -> None:
    server.behaviours = [*[says(PARIS)] * asynchronous, drips(0.05, head)]
    lm = language_model(MODEL, **route, num_retries=0, timeout=0.5)
    told = r"no (whole reply within|answer in time)"
    assert _seconds_until_told(lm, asynchronous, told) < 30  # without the deadline: for ever


def test_a_reply_that_drips_is_asked_for_once(server: OpenAIServer) -> None:
    server.behaviours = [drips(0.05)]
    with pytest.raises(ModelUnavailableError, match="no whole reply within"):
        _ask(server.base, num_retries=3, timeout=0.3)
    assert len(server.requests) == 1


@pytest.mark.parametrize("asynchronous", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("coding", ["", "gzip"])
def test_a_reply_of_any_size_is_cut_off(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, coding: str, asynchronous: bool
) -> None:
    monkeypatch.setattr(limits, "LARGEST_REPLY", 1 << 20)
    server.behaviours = [*[says(PARIS)] * asynchronous, floods(50 << 20, coding)]
    lm = language_model(MODEL, api_base=server.base, api_key="x", num_retries=3)
    _seconds_until_told(lm, asynchronous, "the reply is larger than 1 MiB")
    assert len(server.requests) == 1 + asynchronous
    server.behaviours = [says(PARIS)]
    assert _ask(server.base).answer == "Paris"  # the connections that remain are good


def test_a_copied_model_keeps_the_limits(server: OpenAIServer) -> None:
    server.behaviours = [drips(0.05)]
    lm = language_model(MODEL, api_base=server.base, api_key="x", num_retries=0, timeout=0.3)
    for copied in (copy.deepcopy(lm), lm.copy(temperature=0.5)):
        with session(MODEL), pytest.raises(ModelUnavailableError, match="no whole reply within"):
            RolePredict("question -> answer")(question="Q?", lm=copied)


@pytest.mark.parametrize("hint", ["100000", "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_a_server_cannot_make_a_call_wait_for_a_day(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, hint: str
) -> None:
    monkeypatch.setattr(limits, "LONGEST_WAIT", 0.05)
    server.behaviours = [fails(429, "slow down", {"Retry-After": hint}), says(PARIS)]
    started = time.perf_counter()
    assert _ask(server.base, num_retries=1).answer == "Paris"
    assert time.perf_counter() - started < 30


def test_requests_of_many_threads_are_in_flight_at_once() -> None:
    all_there = threading.Barrier(16)

    def reply(_: Any) -> str:
        all_there.wait(60)  # no reply before 16 requests are here
        return PARIS

    with stand_in_server(reply, slots=16) as server:
        lm = language_model("openai/stand-in", api_base=server.api_base, api_key="x", cache=False, num_retries=0)
        with ThreadPoolExecutor(16) as pool:
            assert len(list(pool.map(lm, map(str, range(16))))) == 16
        with session(lm):
            step = RolePredict("question -> answer")
            asked = [(step, {"question": str(number)}) for number in range(16)]
            found = dspy.Parallel(num_threads=16, disable_progress_bar=True)(asked)
        assert [one.answer for one in found] == ["Paris"] * 16


def test_two_servers_of_one_model_name_have_each_their_own_replies(
    server: OpenAIServer, disk_cache: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """stanfordnlp/dspy#10006."""
    with OpenAIServer() as other:
        other.behaviours = [says(PARIS.replace("Paris", "Rome"))]
        made: list[Callable[..., Any]] = [language_model, dspy.LM]
        for engine in ("auto", "litellm"):
            for make in made:
                for _ in range(2):
                    for place, answer in ((server, "Paris"), (other, "Rome")):
                        lm = make(MODEL, api_base=place.base, api_key="x", engine=engine, temperature=0.0)
                        with dspy.context(lm=lm, lm_roles=None):
                            assert RolePredict("question -> answer")(question=f"{engine} {make}").answer == answer
                    disk_cache()
        assert (len(server.requests), len(other.requests)) == (4, 4)
        assert all("rollout_id" not in request for request in server.requests)
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        for place, answer in ((server, "Paris"), (other, "Rome")):
            monkeypatch.setenv("OPENAI_API_BASE", place.base)
            with session(MODEL):
                assert RolePredict("question -> answer")(question="by the environment").answer == answer


def refuses_unless(accepts: Callable[[dict[str, Any]], bool], status: int, message: str) -> Behaviour:
    """A server that takes some requests only."""

    def behave(handler: Any) -> None:
        body = handler.server.owner.requests[-1]
        (says(PARIS) if accepts(body) else fails(status, message))(handler)

    return behave


NO_SYSTEM = [
    (400, "Only user and assistant roles are supported!"),
    (400, "System role not supported"),
    (500, "Conversation roles must alternate; got the role 'system'"),
]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize(("status", "message"), NO_SYSTEM)
def test_a_server_that_refuses_a_system_role_is_asked_without_one(
    server: OpenAIServer, status: int, message: str, asynchronous: bool
) -> None:
    server.behaviours = [
        refuses_unless(lambda body: all(m["role"] != "system" for m in body["messages"]), status, message)
    ]
    lm = language_model(MODEL, api_base=server.base, api_key="x", num_retries=0, cache=False)
    assert lm.takes_system
    step = RolePredict("question -> answer")
    with session(lm) as ledger:
        for question in ("Q1?", "Q2?"):
            asked = step.acall(question=question) if asynchronous else None
            found = asyncio.run(asked) if asked is not None else step(question=question)
            assert found.answer == "Paris"
    assert [request["messages"][0]["role"] for request in server.requests] == ["system", "user", "user"]
    refused, taken, _ = (request["messages"] for request in server.requests)
    assert taken[0]["content"] == f"{refused[0]['content']}\n\n{refused[1]['content']}"
    assert ledger.usage().calls == 2


NO_TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported."
)


@pytest.mark.parametrize("engine", ["auto", "litellm"])
def test_a_server_that_refuses_the_default_temperature_is_asked_without(server: OpenAIServer, engine: str) -> None:
    server.behaviours = [refuses_unless(lambda body: "temperature" not in body, 400, NO_TEMPERATURE)]
    with session(language_model(MODEL, api_base=server.base, api_key="x", num_retries=0, engine=engine)):
        assert RolePredict("question -> answer")(question="Q?").answer == "Paris"
    assert ["temperature" in request for request in server.requests] == [True, False]


@pytest.mark.parametrize("engine", ["auto", "litellm"])
def test_a_temperature_of_the_user_that_a_server_refuses_is_named(server: OpenAIServer, engine: str) -> None:
    server.behaviours = [fails(400, NO_TEMPERATURE)]
    with pytest.raises(ModelUnavailableError, match=r"refuses the request.*another temperature") as raised:
        _ask(server.base, temperature=0.0, engine=engine)
    assert "model's name" not in str(raised.value)
