"""`triplecheck verify`."""

from __future__ import annotations

import json
from pathlib import Path

from cli_support import Run, ok

TEXT = "Bernhard Heiden was student of Paul Hindemith. Nora Known was born in Hanau."


def test_each_statement_has_its_verdict_and_its_evidence(run: Run, kb: Path) -> None:
    result = ok(run("verify", TEXT, "--kb", kb))
    assert "unknown" in result.output and "the graph does not know the head" in result.output
    assert "extractive" in result.output


def test_json_is_one_object(run: Run, kb: Path) -> None:
    result = run("verify", TEXT, "--kb", kb, "--json")
    found = json.loads(result.stdout)
    assert {"text", "claims", "verdicts", "notes", "usage"} <= found.keys()
    assert [claim["head"] for claim in found["claims"]] == ["Bernhard Heiden", "Nora Known"]


def test_a_text_without_statements_says_so(run: Run, kb: Path) -> None:
    result = run("verify", "hm", "--kb", kb)
    assert (result.exit_code, "no statement" in result.output) == (0, True)


def test_an_empty_text_is_an_error(run: Run, kb: Path) -> None:
    assert run("verify", " ", "--kb", kb).exit_code == 2
