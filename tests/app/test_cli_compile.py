"""`triplecheck compile`, `triplecheck optimizers`, and what is compiled with `--bundle`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from cli_support import QUESTION, Run, ok, refused

from triplecheck.app.tuning import said, taken
from triplecheck.evals import bundled_questions
from triplecheck.kg import KnowledgeBase
from triplecheck.lms import Usage
from triplecheck.optimize.candidates import Gain
from triplecheck.optimize.paired import Measured
from triplecheck.optimize.tuning.cost import Cost
from triplecheck.optimize.tuning.result import Choice, Tuned
from triplecheck.programs import KERAG

FEW = ("--optimizer", "BootstrapFewShot", "--teacher", "gold", "--limit", 8, "--hops", 1)


def test_optimizers_are_listed_with_what_they_do(run: Run) -> None:
    listed = run("optimizers").stdout
    assert "GEPA: rewrites instructions from feedback" in listed
    assert json.loads(run("optimizers", "--json").stdout)["GEPA"]["resumes"] == "checkpoint"


def test_a_program_is_compiled_measured_and_asked_and_no_other_takes_its_bundle(run: Run, elsewhere: Path) -> None:
    held_out = elsewhere / "held.jsonl"
    held_out.write_text(
        json.dumps({"id": "h1", "question": "What is the capital of Mongolia?", "answers": ["Ulaanbaatar"]}) + "\n"
    )
    words = ("compile", "kerag", *FEW, "--held-out", held_out)
    made = ok(run(*words, "--out", "run"))
    assert "BootstrapFewShot may take" in made.stderr and "ignores instructions" in made.stderr
    assert "before" in made.stdout and "after" in made.stdout and "(chosen)" in made.stdout
    assert "Bootstrapped" not in made.output, "nothing that DSPy prints"
    again = json.loads(run(*words, "--out", "run", "--json").stdout)
    assert again["after"]["f1"] == 1
    usage = again["usage"]
    assert usage["cached_calls"] + usage["failed_calls"] == usage["calls"], (
        "only what has no right reply is asked again"
    )
    asked = json.loads(run("ask", "What is the capital of Mongolia?", "--bundle", "run/bundle", "--json").stdout)
    assert [answer["label"] for answer in asked["answers"]] == ["Ulaanbaatar"]
    summary = json.loads(run("eval", "kerag", "--bundle", "run/bundle", "--limit", 2, "--out", "eval", "--json").stdout)
    assert summary["configuration"]["switches"]["hops"] == 1, "with the options that it was compiled with"
    refused(run("eval", "anchorrag", "--bundle", "run/bundle", "--limit", 1), "contains 'kerag', not 'anchorrag'")


def test_without_an_optimizer_one_table_shows_what_pays(run: Run, elsewhere: Path) -> None:
    kinds = ("one_hop", "alias", "homonym", "misspelt")
    lines = [line for part in ("train", "dev") for line in bundled_questions(part).read_text().splitlines()]
    asked = elsewhere / "asked.jsonl"
    asked.write_text("\n".join(line for line in lines if json.loads(line)["kind"] in kinds) + "\n")
    few = ("--hops", 1, "--option", "assist=-plans", "--student", "none")
    words = ("compile", "kerag", "--questions", asked, "--kb", "bundled", *few)
    told = ok(run(*words, "--estimate", "--out", "run"))
    assert (
        "to choose by" in told.stderr
        and "a ranker of paths needs 63 to train" in told.stderr
        and "may take" in told.stderr
        and told.stdout == ""
    )
    made = ok(run(*words, "--out", "run"))
    assert "worst" in made.stdout and "as written (kept)" in made.stdout
    assert "nothing won more than chance does, so there is no bundle" in made.stdout
    written = (elsewhere / "run" / "report.md").read_text("utf-8")
    assert "\n| as written | " in written and "\n| summarize | " in written and "Total: " in written
    assert "`triplecheck compile kerag --kb bundled " in written and "--option assist=-plans --hops 1 " in written
    assert "--student none`. Models: {'default': 'extractive'}. Graph: {'content_hash': " in written
    report = json.loads(run(*words, "--out", "run", "--json").stdout)
    assert report["bundle"] is None and report["choices"][0]["test"]["right"] > 0.9


def test_the_name_of_a_file_of_questions_changes_nothing(run: Run, elsewhere: Path) -> None:
    asked = bundled_questions("train").read_bytes()
    told = []
    for name in ("films.jsonl", "bundled.jsonl"):
        (elsewhere / name).write_bytes(asked)
        words = ("--questions", elsewhere / name, *FEW[:-4], "--estimate", "--out", name.removesuffix(".jsonl"))
        result = run("compile", "kerag", *words)
        assert (result.exit_code, result.stdout) == (0, ""), result.output
        told.append(result.stderr)
    assert re.search(r"BootstrapFewShot may take .* one question at a time", told[0])
    assert not (elsewhere / "films" / "bundle").exists()
    assert len({re.sub(r"[^,]* one question at a time", "", text) for text in told}) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compile", "kerag", "--optimizer", "GEPA"), "name one with --prompt-model"),
        (("compile", "kerag", *FEW[:2], "--set", "demos=many"), "demos is 'many'"),
        (("compile", "kerag", "--set", "demos=4"), "--set belongs to an optimizer"),
        (("compile", "kerag", "--hops", 1, "--limit", 60, "--budget-calls", 20), "20 calls is too small"),
        (("compile", "kerag", "--student", "genius"), "there are ranker"),
        (("compile", "kerag", "--student", "ranker", *FEW), "--student has no effect with an optimizer"),
        (("compile", "kerag", "--kb", "bundled", "--split", "dev"), "name it with --data"),
        (("compile", "kerag", *FEW, "--out", "run", "--budget-calls", 12), "budget of 12 calls is too small"),
        (("ask", QUESTION, "--bundle", "nowhere"), "no such file; name the directory of a bundle"),
    ],
)
def test_errors_name_the_cause(words: tuple[object, ...], message: str, run: Run) -> None:
    result = run(*words)
    assert (result.exit_code, message in result.stderr.replace("\n", " ")) == (2, True), result.output


def test_a_budget_that_allows_no_choice_says_so(bundled: KnowledgeBase) -> None:
    written = Choice("as written", kept=True, validation=Measured({}))
    choices = (written, Choice("a ranker of paths, trained", note="not tried: the budget does not allow it"))
    line = said(Tuned(KERAG(bundled), (), choices, None, None, Usage()), Path("out"))
    assert line.startswith("the budget allows no choice, so nothing was tried") and "report in out" in line


@pytest.mark.parametrize(
    ("won", "lost", "calls", "told", "warns"),
    [
        (5, 0, (3, 3), "5 won, 0 lost", False),
        (1, 2, (3, 3), "1 won, 2 lost", True),
        (0, 0, (3, 1), "at 1.0 calls in place of 3.0", False),
        (0, 1, (3, 1), "at 1.0 calls in place of 3.0", True),
        (0, 0, (0, 0), "0 won, 0 lost (p = 1.000); bundle", True),
    ],
)
def test_a_bundle_that_gains_nothing_on_the_test_questions_comes_with_a_warning(
    won: int, lost: int, calls: tuple[int, int], told: str, warns: bool, bundled: KnowledgeBase
) -> None:
    measured = [Measured({"q": {"usage": {"by_model": {"some": {"calls": count}}}}}) for count in calls]
    choices = tuple(Choice(name, test=test) for name, test in zip(("as written", "all"), measured, strict=True))
    line = said(Tuned(KERAG(bundled), (), choices, Gain(won, lost, 50, 1.0), Path("b"), Usage()), Path("out"))
    assert told in line and ("WARNING: no gain there" in line) is warns


def test_an_estimate_has_the_price_or_says_that_it_is_unknown() -> None:
    cost = Cost(per_question=2.0, tokens_per_call=100.0, least=1000, whole=2000)
    assert taken(cost, 1000) == "1,000 calls, 100,000 tokens at an unknown price"
    assert taken(replace(cost, dollars_per_call=0.001), 2000) == "2,000 calls, 200,000 tokens, $2.00"
    assert taken(replace(cost, dollars_per_call=0.0), 1000) == "1,000 calls, 100,000 tokens"
