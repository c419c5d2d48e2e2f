from __future__ import annotations

import contextvars
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dspy
import pytest
from model_stand_ins import scripted_model

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.errors import UserError
from triplecheck.lms import ModelUnavailableError, RolePredict, Roles, TolerantAdapter, session
from triplecheck.lms.roles import restrict_cache


def test_a_session_sets_roles_ledger_adapter_and_model_and_takes_them_back() -> None:
    with scripted_model([], "a"), session(Roles(default="a")) as ledger:
        assert dspy.settings.lm_roles == Roles(default="a")
        assert dspy.settings.ledger is ledger
        assert dspy.settings.lm.name == "a"
        assert isinstance(dspy.settings.adapter, TolerantAdapter)
    assert dspy.settings.get("lm_roles") is None
    assert dspy.settings.get("ledger") is None
    assert dspy.settings.lm is None


def test_an_unavailable_default_model_is_reported_at_once() -> None:
    with pytest.raises(ModelUnavailableError), session("local/nothing"):
        pass


def test_the_first_session_has_the_disk_cache_read_plain_data_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []
    monkeypatch.delattr(dspy, "cache")
    monkeypatch.setattr(dspy, "configure_cache", lambda **options: asked.append(options))
    restrict_cache()
    assert asked == [{"restrict_pickle": True, "memory_max_entries": 10_000}]


def test_a_place_that_cannot_be_written_to_leaves_a_cache_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def configure(**options: object) -> None:
        asked.append(options)
        if options.get("enable_disk_cache", True):
            raise PermissionError("read-only")

    monkeypatch.delattr(dspy, "cache")
    monkeypatch.setattr(dspy, "configure_cache", configure)
    restrict_cache()
    assert asked[-1] == {"enable_disk_cache": False, "restrict_pickle": True, "memory_max_entries": 10_000}


def test_a_cache_that_somebody_configured_stays() -> None:
    before = dspy.cache
    with scripted_model([], "a"), session("a"):
        assert dspy.cache is before


def test_a_call_in_a_thread_without_the_session_is_refused() -> None:
    step = RolePredict("question -> answer")

    def ask(number: int) -> str:
        return str(step(question=str(number)).answer)

    with scripted_model(["[[ ## answer ## ]]\nParis"] * 3, "a"), ThreadPoolExecutor(2) as pool:
        with session("a") as ledger:
            with pytest.raises(UserError, match="no session, and one is open in another thread"):
                list(pool.map(ask, range(2)))
            assert pool.submit(contextvars.copy_context().run, ask, 1).result() == "Paris"
            assert ledger.usage().calls == 1

            def ask_in_own(number: int) -> str:
                with session("a"):
                    return ask(number)

            assert pool.submit(ask_in_own, 2).result() == "Paris"
        with dspy.context(lm=dspy.settings.lm):
            pool.submit(step._lm_of_role).result()


def test_programs_without_a_session_run_in_threads(bundled: KnowledgeBase) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: bundled.ask("Who wrote Emma?").answer, range(2)))
    assert len(set(found)) == 1
    with session("extractive"), ThreadPoolExecutor(1) as pool, pytest.raises(UserError, match=r"dspy\.Parallel"):
        pool.submit(bundled.ask, "Who wrote Emma?").result()
