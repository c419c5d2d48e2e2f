"""`triplecheck fit`, and what was fitted with `--bundle`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import QUESTION, Run, ok
from model_stand_ins import costly_rules

FEW = ("--limit", 16, "--hops", 1, "--guarantee", "asked", "--alpha", 0.4)
MONGOLIA = "What is the capital of Mongolia?"


def test_a_program_is_fitted_asked_and_evaluated(run: Run, elsewhere: Path) -> None:
    made = ok(run("fit", "kerag", *FEW, "--try", "limits.candidates=1,3", "--out", "run"))
    assert "(chosen)" in made.stdout and "abstains below a confidence of" in made.stdout
    assert "It answers at most 40% of all questions incorrectly, on average" in made.stdout
    assert Path("run/calibration.png").is_file()
    again = json.loads(run("fit", "kerag", *FEW, "--try", "limits.candidates=1,3", "--out", "run", "--json").stdout)
    assert again == json.loads(Path("run/fit.json").read_text("utf-8"))
    assert again["usage"]["calls"] == 0 and len(again["candidates"]) == 2

    manifest = Path("run/bundle/manifest.json")
    fitted = json.loads(manifest.read_text("utf-8"))
    assert (fitted["options"]["hops"], fitted["about"]["fitted"]["guarantee"]["alpha"]) == (1, 0.4)
    fitted["options"]["abstain_below"] = 0.0001
    manifest.write_text(json.dumps(fitted), "utf-8")
    asked = json.loads(run("ask", MONGOLIA, "--bundle", "run/bundle", "--json").stdout)
    assert [answer["label"] for answer in asked["answers"]] == ["Ulaanbaatar"] and 0 < asked["confidence"] < 1
    stricter = run("ask", MONGOLIA, "--bundle", "run/bundle", "--option", "abstain_below=0.999")
    assert stricter.exit_code == 0 and "as far as I can tell (low_confidence)" in stricter.stdout
    words = ("eval", "kerag", "--bundle", "run/bundle", "--limit", 2, "--out", "eval", "--json")
    assert json.loads(run(*words).stdout)["configuration"]["switches"]["abstain_below"] == 0.0001


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("fit", "kerag", "--try", "hops"), 2, "write NAME=VALUE,VALUE"),
        (("fit", "kerag", "--try", "hops=1", "--threshold-only"), 2, "keep one"),
        (("fit", "kerag", "--guarantee", "all"), 2, "answered, asked"),
        (("fit", "kerag", "--alpha", 0), 2, "alpha must lie between 0 and 1"),
        (("fit", "kerag", "--limit", 1), 2, "too few to be halved"),
        (("fit", "kerag", "--split", "dev"), 2, "name it with --data"),
        (("fit", "kerag", "--kb", "kb", "--out", "run"), 2, "--questions is missing"),
        (
            ("fit", "kerag", *FEW, "--out", "run", "--lm", "costly", "--budget-calls", 5),
            4,
            "budget of 5 calls is used up",
        ),
        (("ask", QUESTION, "--option", "abstain_below=often"), 2, "abstain_below cannot be 'often'"),
    ],
)
def test_errors_name_the_cause(words: tuple[object, ...], code: int, message: str, run: Run) -> None:
    with costly_rules():
        result = run(*words)
    assert (result.exit_code, message in result.stderr.replace("\n", " ")) == (code, True), result.output
