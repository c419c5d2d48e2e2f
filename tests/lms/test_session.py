from __future__ import annotations

from pathlib import Path

import dspy
import pytest

from triplecheck.lms import ModelUnavailableError, Roles, TolerantAdapter, session
from triplecheck.lms.roles import restrict_cache
from triplecheck.lms.testing import scripted_model


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
