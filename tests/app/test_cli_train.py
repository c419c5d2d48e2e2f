"""`triplecheck kb train`: a ranker trained on a small graph is stored, used, shown, and dropped with the graph."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from cli_support import Run, ok, refused

from triplecheck.optimize.distil import path_ranker
from triplecheck.optimize.distil.path_ranker import FURTHER

PEOPLE = 40


def write_graph(place: Path) -> None:
    """People who glimmered towns, and the countries in which the towns froop: relations no rule can read."""
    rows = []
    for number in range(PEOPLE):
        rows += [
            (f"Person{number:02}", "glim", f"Town{number % 20:02}"),
            (f"Person{number:02}", "zork", f"Guild{number % 7:02}"),
        ]
    rows += [(f"Town{number:02}", "froop", f"Land{number % 5:02}") for number in range(20)]
    place.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")


def write_questions(place: Path) -> None:
    asked = []
    for number in range(PEOPLE):
        name = f"Person{number:02}"
        asked += [
            (f"a{number}", f"where does {name} live?", f"Town{number % 20:02}"),
            (f"b{number}", f"which club is {name} a member of?", f"Guild{number % 7:02}"),
            (f"c{number}", f"in which country does {name} live?", f"Land{number % 20 % 5:02}"),
        ]
    lines = [
        json.dumps({"id": id, "question": text, "answers": [answer], "topic": [f"Person{int(id[1:]):02}"]})
        for id, text, answer in asked
    ]
    place.write_text("\n".join(lines), "utf-8")


@pytest.fixture(scope="module")
def trained_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from typer.testing import CliRunner

    from triplecheck.app.main import app

    folder = tmp_path_factory.mktemp("trained")
    write_graph(folder / "graph.tsv")
    write_questions(folder / "questions.jsonl")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_ranker, "FURTHER", replace(FURTHER, epochs=10, least_steps=150))
        for words in (
            ["kb", "build", folder / "kb", "--triples", folder / "graph.tsv"],
            ["kb", "train", folder / "kb", "--questions", folder / "questions.jsonl", "--seed", "1"],
        ):
            result = CliRunner().invoke(app, list(map(str, words)))
            assert result.exit_code == 0, result.output
    (folder / "trained.txt").write_text(result.stdout, "utf-8")
    return folder


@pytest.fixture
def films(trained_base: Path, elsewhere: Path) -> str:
    """A copy of the graph with its ranker."""
    for path in trained_base.iterdir():
        (shutil.copytree if path.is_dir() else shutil.copy)(path, elsewhere / path.name)
    return "kb"


def test_a_trained_ranker_answers_what_the_rules_cannot_read(run: Run, films: str) -> None:
    trained = json.loads(run("kb", "info", films, "--json").stdout)["ranker"]
    assert trained["held_out"]["after"] > trained["held_out"]["before"]
    assert trained["hops"] == 2
    words = ("ask", "in which country does Person07 live?", "--kb", films, "--verdict", "any", "--json")
    assert json.loads(run(*words).stdout)["answer"] == "Land02"
    assert json.loads(run(*words, "--no-ranker").stdout)["answer"] != "Land02"


def test_every_program_uses_it(run: Run, films: str) -> None:
    words = ("eval", "anchorrag", "--kb", films, "--questions", "questions.jsonl", "--limit", "20", "--json")
    own = json.loads(run(*words, "--out", "own").stdout)["hits_at_1"]
    none = json.loads(run(*words, "--out", "none", "--no-ranker").stdout)["hits_at_1"]
    assert own > none


def test_think_on_graph_stops_when_the_trained_path_is_walked(run: Run, films: str) -> None:
    words = ("eval", "tog", "--kb", films, "--questions", "questions.jsonl", "--limit", "20", "--json")
    own = json.loads(run(*words, "--out", "own").stdout)
    none = json.loads(run(*words, "--out", "none", "--no-ranker").stdout)
    assert own["missing"] < none["missing"] and own["hits_at_1"] > none["hits_at_1"]


def test_the_confidence_of_an_answer_rests_on_it(films: str) -> None:
    from triplecheck.kg import KnowledgeBase
    from triplecheck.kg.ranker import GENERAL
    from triplecheck.programs import Outcome, Sources
    from triplecheck.programs.judge.verdicts import Judge
    from triplecheck.programs.steps import Linked

    base = KnowledgeBase.open(films)
    person, relation, town = base.graph.find("Person07"), base.graph.find_relation("glim"), base.graph.find("Town07")
    assert person is not None and relation is not None and town is not None
    found = Outcome("Town07", evidence=((person, relation, town),), answers=(town,), grounded=True)
    linked = [Linked("Person07", [{"id": "Person07", "score": 1.0}], ["Person07"])]

    def confidence(ranker: Path) -> float:
        judge = Judge(base.graph, ranker, base.relation_vectors)
        return judge.judge("where does Person07 live?", found, linked).confidence or 0.0

    assert confidence(Sources.of(base).ranker) > confidence(GENERAL)


def test_info_shows_it_and_every_hash_matches(run: Run, films: str) -> None:
    shown = run("kb", "info", films, "--verify")
    assert shown.exit_code == 0 and "all hashes match" in shown.stdout
    summary, warning, *_ = Path("trained.txt").read_text("utf-8").splitlines()
    assert summary.startswith("trained on 96 questions") and summary in " ".join(shown.stdout.split())
    assert warning.startswith("12 held-out questions are too few to tell")


def test_a_new_build_drops_it_with_a_message(run: Run, films: str) -> None:
    built = run("kb", "build", films, "--triples", "graph.tsv")
    assert "ranker of paths" in built.output and "dropped" in built.output
    assert json.loads(run("kb", "info", films, "--json").stdout)["ranker"] is None


def test_a_ranker_of_an_earlier_state_is_used_and_says_so(run: Run, films: str) -> None:
    from triplecheck.kg import KnowledgeBase
    from triplecheck.kg.manifest import StaleWarning

    shutil.copytree(films, "changed")
    after = KnowledgeBase.open("changed").add([("Person07", "glim", "Town99")])
    with pytest.warns(StaleWarning, match="`ranker` is stale"):
        assert after.ranker_file is not None
    about = json.loads(run("kb", "info", "changed", "--json").stdout)
    assert about["ranker"] is not None and "ranker" in about["stale"]


def test_a_ranker_of_another_graph_is_not_used(run: Run, films: str, caplog: pytest.LogCaptureFixture) -> None:
    from triplecheck.kg import KnowledgeBase, build

    other = build([("Person07", "glim", "Town07")], Path("other"))
    with other.generation.replaced_part("ranker") as folder:
        (stored,) = Path(films, "ranker").iterdir()
        shutil.copy(stored, folder)
    assert KnowledgeBase.open("other").ranker_file is None
    assert "trained on another graph" in caplog.text


def test_too_few_questions_say_how_many_are_needed(run: Run, films: str) -> None:
    refused(
        run("kb", "train", films, "--questions", "questions.jsonl", "--limit", "30"),
        "30 questions are too few",
        "63 or more",
    )


def test_traces_stand_in_for_questions_and_the_teacher_is_named(
    run: Run, films: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_ranker, "FURTHER", replace(FURTHER, epochs=1, least_steps=60))
    words = ("collect", "kerag", "--kb", films, "--questions", "questions.jsonl", "--pass", "gold", "--out", "traces")
    ok(run(*words, "--limit", "72", "--no-ranker"))
    result = ok(run("kb", "train", films, "--traces", "traces", "--json"))
    trained = json.loads(result.stdout)
    assert trained["teacher"] == "gold" and 50 <= trained["questions"] <= 58
    assert "answered by gold" in " ".join(run("kb", "info", films).stdout.split())
    manifest = Path("traces/manifest.json")
    manifest.write_text(json.dumps(json.loads(manifest.read_text("utf-8")) | {"graph": "0" * 64}), "utf-8")
    result = run("kb", "train", films, "--traces", "traces")
    assert result.exit_code == 2 and "are of another graph" in " ".join(result.output.split())


def test_without_questions_the_flag_is_named(run: Run, films: str) -> None:
    refused(run("kb", "train", films), "--questions is missing")
