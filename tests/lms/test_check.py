from __future__ import annotations

import json

from model_stand_ins import scripted_model

from triplecheck.lms import check


def test_a_model_that_keeps_the_format_passes_all_trials() -> None:
    replies = [
        "[[ ## capital ## ]]\nParis",
        "[[ ## keep ## ]]\n1\n[[ ## relevant ## ]]\nYes",
        "[[ ## cities ## ]]\nBerlin",
    ]
    with scripted_model(replies * 2, "a") as engine:
        report = check("a")
        assert report.kept_format == 3
        assert check("a").kept_format == 3  # nothing from the cache
        assert engine.left == 0
    assert report.model_id.startswith("a@")
    assert report.dollars_per_call == 0
    assert json.loads(json.dumps(report.to_json()))["trials"][2]["outputs"] == {"cities": ["Berlin"]}


def test_a_model_that_does_not_is_reported_with_its_replies() -> None:
    with scripted_model(["no", "no", "no"], "a"):
        report = check("a")
    assert report.reachable
    assert report.kept_format == 0
    assert report.trials[0].reply == "no"
    assert "capital" in report.trials[0].problem


def test_a_model_that_is_not_there_is_reported() -> None:
    report = check("local/nothing")
    assert not report.reachable
    assert "does not exist" in report.error
    assert not check("openai/").reachable
