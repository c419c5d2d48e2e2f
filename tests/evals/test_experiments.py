"""Experiments: read from TOML, run cell by cell, resumed, and reported with the published figures."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_stand_ins import costly_rules

from triplecheck.evals.datasets.folder import bundled_case
from triplecheck.evals.experiments.config import FOLDER, ModelSpec, RowSpec, experiment_names, read_experiment
from triplecheck.evals.experiments.directions import Direction, Measured, direction
from triplecheck.evals.experiments.paired import Pairs, paired_rows
from triplecheck.evals.experiments.report import write_report
from triplecheck.evals.experiments.run import Selection, SetOpener, Trained, _slug, run_experiment
from triplecheck.evals.progress import Progress
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.embedding import TrainingOptions
from triplecheck.kg.ranker import GENERAL
from triplecheck.programs import KERAG, resolve_program
from triplecheck.programs.assists import ASSISTS
from triplecheck.programs.options import check_options

SMALL = """
title = "A small one"
paper = "Nobody 1999"
differs = "everything"
limit = 6

[data.films]
bundled = "dev"

[data.misspelt]
bundled = "dev"
variant = "typo1"

[data.elsewhere]
case = "somewhere/else"

[[tables]]
name = "switches"
title = "Switches"
data = ["films", "elsewhere"]
rows = [
  { label = "two hops", program = "kerag", x = 2 },
  { label = "one hop", program = "kerag", options = { hops = 1 }, x = 1 },
  { label = "withheld", program = "kerag", withheld = true },
]
published = [{ label = "theirs", values = { "Hits@1" = 0.5 } }]

[[tables]]
name = "matrix"
title = "Overall"
layout = "matrix"
data = ["films", "misspelt"]
metrics = ["accuracy"]
rows = [{ label = "KERAG", program = "kerag" }]

[[tables]]
name = "sets"
title = "One program"
data = ["films", "misspelt"]
rows = [{ label = "KERAG", program = "kerag" }]

[[tables]]
name = "robust"
title = "Robust"
layout = "drop"
data = ["films", "misspelt"]
rows = [{ label = "KERAG", program = "kerag" }]

[[figures]]
name = "hops"
title = "Hops"
table = "switches"
metric = "hits_at_1"
kind = "lines"
x_label = "hops"

[[figures]]
name = "origin"
title = "Origin"
table = "sets"
metric = "right_from_graph"
above = "right_from_model"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, "utf-8")
    return path


@pytest.fixture
def opener(tmp_path: Path) -> SetOpener:
    return SetOpener(None, tmp_path / "kbs", missing=lambda text: None)


def test_an_experiment_is_run_and_reported(small: Path, opener: SetOpener, tmp_path: Path) -> None:
    experiment = read_experiment(small)
    told: list[tuple[str, Progress]] = []
    cells = run_experiment(experiment, opener, tmp_path / "runs", tell=lambda name, p: told.append((name, p)))
    # What is not at hand is left out; the cell that stands in two tables is run once.
    assert [(cell.table, cell.row.label, cell.data) for cell in cells] == [
        ("switches", "two hops", "films"),
        ("switches", "one hop", "films"),
        ("switches", "withheld", "films"),
        ("matrix", "KERAG", "films"),
        ("matrix", "KERAG", "misspelt"),
        ("sets", "KERAG", "films"),
        ("sets", "KERAG", "misspelt"),
        ("robust", "KERAG", "films"),
        ("robust", "KERAG", "misspelt"),
    ]
    assert len({cell.out for cell in cells}) == 4
    assert told[0][0] == "switches/films/two hops/extractive"
    assert cells[0].summary.scores.hits_at_1 is not None and cells[0].summary.scores.hits_at_1 > 0.5
    assert cells[2].summary.scores.hits_at_1 == 0, "with the facts withheld, nothing is known"

    report = write_report(experiment, cells, tmp_path / "report", command="the command").read_text("utf-8")
    assert "| two hops | 6 |" in report
    assert "| theirs | 0.5 |" in report
    assert "accurate (n)" in report
    assert "| KERAG, extractive | n |" in report and "| films | 6 |" in report
    assert re.search(r"\| KERAG \| extractive \| \d\.\d{3} \(6\) \| \d\.\d{3} \([+-]\d\.\d{3}, [1-6]\) \|", report)
    assert "`the command`" in report and "everything" in report
    for figure in ("hops", "origin"):
        assert (tmp_path / "report" / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader((tmp_path / "report" / "cells.csv").open(encoding="utf-8")))
    assert [row["label"] for row in rows] == [cell.row.label for cell in cells]
    assert float(rows[0]["hits_at_1"]) == pytest.approx(cells[0].summary.scores.hits_at_1)
    errors = (tmp_path / "report" / "errors.md").read_text("utf-8")
    assert "## one hop, films, extractive" in errors and " of 6 correct." in errors
    assert "withheld" not in errors and "misspelt" not in errors


PAIRED = """
title = "Paired"
limit = 4

[data.films]
bundled = "dev"

[data.more]
bundled = "train"

[[tables]]
name = "paired"
title = "Paired"
layout = "paired"
data = ["films", "more"]
rows = [
  { label = "KERAG", program = "kerag" },
  { label = "nothing", program = "kerag", withheld = true },
]
"""


def test_rows_are_compared_with_the_first_question_by_question(tmp_path: Path, opener: SetOpener) -> None:
    (tmp_path / "paired.toml").write_text(PAIRED, "utf-8")
    experiment = read_experiment(tmp_path / "paired.toml")
    cells = run_experiment(experiment, opener, tmp_path / "runs")
    hits = [row["hits_at_1"] for cell in cells if not cell.row.withheld for row in cell.rows()]
    n, right = len([hit for hit in hits if hit is not None]), hits.count(1.0)
    assert n >= right > 2
    report = write_report(experiment, cells, tmp_path / "report").read_text("utf-8")
    p = 2 * 0.5**right
    assert f"| nothing | {n} | {right} | 0 | {p:.3f} | {right}:0 (1.000) |" in report, "both sets are of one graph"


EACH = """
title = "Each"

[data.test]
case = "s*"
where = { half = "test" }

[data.gone]
case = "x*"

[[tables]]
name = "each"
title = "Each"
data = ["test", "gone"]
rows = [{ label = "KERAG", program = "kerag" }]
"""


def test_a_pattern_stands_for_each_benchmark_with_such_questions(tmp_path: Path) -> None:
    question = '{"id": "1", "question": "Where is Aber?", "answers": ["Wales"], "half": "%s"}\n'
    for name, half in (("sea", "test"), ("ships", "test"), ("stars", "dev"), ("towns", "test")):
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / "data" / name / "questions.jsonl").write_text(question % half, "utf-8")
    (tmp_path / "each.toml").write_text(EACH, "utf-8")
    left_out: list[str] = []
    opener = SetOpener(tmp_path / "data", tmp_path / "kbs", left_out.append)
    experiment = opener.each_case(read_experiment(tmp_path / "each.toml"))
    assert experiment.tables[0].data == ("sea-test", "ships-test", "gone")
    assert [(spec.title, spec.case) for spec in experiment.data.values()] == [
        ("sea", "sea"),
        ("ships", "ships"),
        ("", "x*"),
    ]
    assert opener.open("gone", experiment.data["gone"], 1, 0) is None
    assert left_out == ["gone: no benchmark 'x*' in the data directory"]


EMBEDDED = """
title = "Embedded"

[data.rings]
case = "rings"
embeddings = true

[data.again]
case = "rings"
embeddings = true
where = { half = "dev" }

[data.few]
case = "few"
embeddings = true

[[tables]]
name = "one"
title = "One"
data = ["rings"]
rows = [{ label = "Know3RAG", program = "know3rag" }]
"""


def test_embeddings_are_trained_once_and_kept_with_the_knowledge_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = TrainingOptions(dimensions=4, epochs=2, evaluate_every=1)
    monkeypatch.setattr("triplecheck.evals.experiments.run.TrainingOptions", lambda: options)
    question = '{"id": "%s", "question": "Where is n1?", "answers": ["n2"], "half": "%s"}\n'
    for name, size in (("rings", 40), ("few", 3)):
        (tmp_path / "data" / name).mkdir(parents=True)
        edges = [f"n{at}\tr{step}\tn{(at + step) % size}\n" for step in (1, 2) for at in range(size)]
        (tmp_path / "data" / name / "triples.tsv").write_text("".join(edges), "utf-8")
        asked = question % ("1", "test") + question % ("2", "dev")
        (tmp_path / "data" / name / "questions.jsonl").write_text(asked, "utf-8")
    (tmp_path / "embedded.toml").write_text(EMBEDDED, "utf-8")
    experiment = read_experiment(tmp_path / "embedded.toml")
    left_out: list[str] = []
    told: list[str] = []
    for _ in range(2):
        opener = SetOpener(tmp_path / "data", tmp_path / "kbs", left_out.append)
        for name in ("rings", "again"):
            opened = opener.open(name, experiment.data[name], 5, 0, lambda text, _done, _total: told.append(text))
            assert opened is not None and opened.knowledge_base.embeddings is not None
            assert opened.knowledge_base.embeddings.about.options.model == "ComplEx"
    assert len([text for text in told if text.startswith("training: ")]) == 2, "an epoch each, trained once"
    few = opener.open("few", experiment.data["few"], 5, 0)
    assert few is not None and few.knowledge_base.embeddings is None
    assert left_out == ["embeddings of few: 6 triples between entities are too few to train embeddings on"]
    (cell,) = run_experiment(experiment, opener, tmp_path / "runs")
    report = write_report(experiment, [cell], tmp_path / "report").read_text("utf-8")
    assert "theta_0: rings: " in report and "no embeddings" not in report


def test_a_run_directory_outlives_what_later_versions_can_say_of_a_row() -> None:
    experiment = read_experiment("faithful")
    slug = _slug(experiment, experiment.tables[0].rows[0], "bundled", ModelSpec())
    assert slug == "kerag-bundled-extractive-b64fc78d"


def test_papers_are_compared_without_assists_on_a_hundred_questions() -> None:
    faithful = read_experiment("faithful")
    own = [assist for assist in ASSISTS if assist.name != "asked_part"]  # these questions have no talk beside them
    for row in (row for table in faithful.tables for row in table.rows if "default" not in row.label):
        if any(row.program in assist.programs for assist in own):
            options = check_options(resolve_program(row.program), row.options)
            assert options["assist"] in ("none", "measured_theta"), row.label
    assert sum(question.answerable for question in bundled_case().sample(faithful.limit)) >= 100


DIRECTIONS = """
title = "Directions"
limit = 8

[data.films]
bundled = "dev"

[[tables]]
name = "directions"
title = "Directions"
layout = "directions"
data = ["films"]
metrics = ["hits_at_1", "calls"]
rows = [
  { label = "KERAG", program = "kerag" },
  { label = "nothing", program = "kerag", withheld = true, paper = "+" },
  { label = "the same", program = "kerag", options = { hops = 2 }, paper = "+" },
  { label = "without a claim", program = "kerag", options = { multi_entity = true } },
  { label = "a ranking", program = "kerag", metric = "mrr", paper = "+" },
  { label = "1 hop", program = "kerag", options = { hops = 1 }, metric = "missing", against = "nothing", paper = "-" },
]

[[tables]]
name = "changes"
title = "Changes"
layout = "changes"
data = ["films", "misspelt"]
metrics = ["accuracy"]
rows = [
  { label = "KERAG", program = "kerag" },
  { label = "nothing", program = "kerag", withheld = true, paper = "+" },
]

[data.misspelt]
bundled = "dev"
variant = "typo1"
"""


def test_directions_stand_beside_those_of_the_paper_and_a_sentence_says_why_not(
    tmp_path: Path, opener: SetOpener
) -> None:
    (tmp_path / "directions.toml").write_text(DIRECTIONS, "utf-8")
    experiment = read_experiment(tmp_path / "directions.toml")
    cells = run_experiment(experiment, opener, tmp_path / "runs")
    report = write_report(experiment, cells, tmp_path / "report").read_text("utf-8")
    directions, changes = report.split("## Changes")
    lines = {line.split(" | ")[0][2:]: line.split(" | ")[1:] for line in directions.splitlines() if line[:2] == "| "}
    assert lines["KERAG"][0] == lines["nothing"][0] == "7", "one of the eight has no answer"
    assert lines["nothing"][1] == "0.000 [0.000, 0.000]"
    assert lines["KERAG"][1].split()[0] == lines["nothing"][2].split()[0].lstrip("+")
    assert lines["nothing"][3:5] == ["+", "+"]
    assert lines["the same"][2:5] == ["+0.000 [+0.000, +0.000]", "+", "0"]
    assert lines["without a claim"][3] == ""
    # By a metric of its own, of which less is better, and against another row than the first.
    assert re.fullmatch(r"nothing: -\d\.\d{3} \[.*\] missing", lines["1 hop"][2])
    assert lines["1 hop"][3:5] == ["-", "-"]
    # No program here ranks, and without scores there is no direction.
    assert lines["a ranking"][2:5] == ["", "+", ""]
    said = [line for line in directions.splitlines() if line.startswith("- ")]
    assert said == ["- the same: all steps of all 7 questions are the same in both rows."]

    rows = [line.split(" | ") for line in changes.splitlines() if line[:2] == "| "]
    assert [row[0] for row in rows[:4]] == ["| accurate (change, n)", "| ---", "| KERAG", "| nothing"]
    head, _, kerag, nothing = rows[4:]
    assert head[:3] == ["| misspelt, extractive", "n", "change of accurate"], "none for the first data set"
    assert nothing[2] == "0.000 [0.000, 0.000]"
    assert kerag[2] == nothing[3].replace("+", "") and nothing[4:6] == ["+", "0"]


def _row(id: str, hits: float, answer: str, *steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": id,
        "status": "ok",
        "hits_at_1": hits,
        "answer": answer,
        "steps": list(steps),
        "crag": "accurate" if hits else "missing",
        "lost": None if hits else "abstained",
    } | fields


def _direction(spec: RowSpec, first: Sequence[Any], other: Sequence[Any], metric: str = "hits_at_1") -> Direction:
    of_first = Measured(RowSpec(label="first", program="kerag"), {row["id"]: row for row in first})
    found = direction(Measured(spec, {row["id"]: row for row in other}), of_first, metric)
    assert found is not None
    return found


def test_a_direction_counts_what_differs() -> None:
    spec = RowSpec(label="without", program="kerag", paper="+")
    linked = {"kind": "linked", "seconds": 1}
    first = [_row("1", 1.0, "a", linked), _row("2", 1.0, "b"), _row("3", 0.0, "c"), _row("4", 0.0, "d")]
    other = [_row("1", 0.0, "x"), _row("2", 1.0, "b", linked), _row("3", 1.0, "y", linked), _row("5", 1.0, "e")]
    found = _direction(spec, first, other)
    assert (found.n, found.won, found.lost, found.acted, found.changed, found.sign) == (3, 1, 1, 3, 2, "0")
    assert found.why() == (
        "2 of 3 answers differ; the first row is better at 1 and worse at 1; with 3 questions a difference below about "
        "1.00 cannot be told from chance. Where the first row is worse, in 1 of 1 cases the program abstained although "
        "a gold answer was, or may have been, retrieved."
    )
    assert direction(Measured(spec, {}), Measured(spec, {}), "hits_at_1") is None, "no question has a score"
    worse = _direction(spec, [_row(str(n), 0.0, "a") for n in range(5)], [_row(str(n), 1.0, "b") for n in range(5)])
    assert worse.sign == "-" and "worse at 5. " in worse.why()


def test_fewer_missing_and_hallucinated_answers_are_better() -> None:
    spec = RowSpec(label="without", program="kerag", paper="+")
    first = [_row(str(n), 1.0, "a") for n in range(5)]
    other = [_row(str(n), 0.0, "", crag="missing" if n < 4 else "hallucinated") for n in range(5)]
    missing, wrong = (_direction(spec, first, other, metric) for metric in ("missing", "hallucination"))
    assert (missing.difference, missing.sign, missing.won, missing.why()) == (pytest.approx(0.8), "+", 4, "")
    assert (wrong.difference, wrong.won, wrong.lost) == (pytest.approx(0.2), 1, 0)


def test_a_reason_is_what_the_traces_tell() -> None:
    spec = RowSpec(label="without", program="kerag", paper="+")
    cut = {"kind": "truncated", "what": "offered paths", "kept": 1, "total": 2}
    first = [_row(str(n), 1.0, "a") for n in range(4)]
    other = [_row(str(n), 1.0, "a", *[cut] * (n < 3)) for n in range(4)]
    said = _direction(spec, first, other).why()
    assert said == (
        "the steps of 3 of 4 questions differ, and none of the answers. "
        "Limits cut something off at 3 of 4 questions in this row, and at 0 in the first row."
    )
    renamed = [row | {"answer": "b"} for row in other]
    assert _direction(spec, first, renamed).why().startswith("4 of 4 answers differ, and none of their scores. ")
    weighed = {"kind": "weighed", "turn": 0, "score": None}
    no_score = [_row(str(n), 1.0, "a", weighed) for n in range(4)]
    assert "No answer and no passage has a score in the first row." in _direction(spec, no_score, other).why()
    reason = "the knowledge base has no embeddings: no triple has a score, all turns are taken"
    checked = {"kind": "checked", "what": "embeddings", "passed": False, "reason": reason}
    none = [_row(str(n), 1.0, "a", checked, weighed) for n in range(4)]
    assert f". T{reason[1:]}. " in _direction(spec, none, other).why()
    scored = [_row(str(n), 1.0, "a", weighed | {"score": 0.5}) for n in range(4)]
    assert "score" not in _direction(spec, scored, other).why()


def test_pairs_are_won_lost_and_tested_over_all_graphs_and_without_each() -> None:
    pairs = Pairs(RowSpec(label="less", program="kerag"), {"a": [(0, 1)] * 6 + [(1, 1)], "b": [(1, 0), (0, 0)]})
    ((label, n, won, lost, p, *of_graphs),) = paired_rows([pairs], ["a", "b"])
    assert (label, n, won, lost) == ("less", "9", "6", "1")
    assert float(p) == pytest.approx(2 * 8 / 2**7, abs=0.001)
    assert of_graphs == ["6:0 (1.000)", "0:1 (0.031)"]


def test_a_row_stands_for_one_row_without_each_assist_and_one_without_all() -> None:
    table, trained, *_ = read_experiment("assists").tables
    for program in ("kerag", "anchorrag"):
        own = [row for row in table.rows if row.program == program]
        left_out = [assist.name for assist in ASSISTS if program in assist.programs]
        assert [row.options.get("assist") for row in own] == [None, *(f"-{name}" for name in left_out), "none"]
        assert len({row.label for row in own}) == len(own) > 10
    assert {(row.program, row.questions) for row in trained.rows} == {("kerag", 1000)}


TRACES = """
title = "Traces"
limit = 4

[data.films]
bundled = "dev"

[[tables]]
name = "turns"
title = "Turns"
layout = "turns"
data = ["films"]
rows = [{ label = "default", program = "know3rag" }, { label = "T = 1", program = "know3rag", options = { turns = 1 } }]
models = [{ limit = 3 }]

[[tables]]
name = "sources"
title = "Sources"
layout = "sources"
data = ["films"]
rows = [{ label = "default", program = "know3rag" }]

[[figures]]
name = "asked"
title = "Asked"
table = "sources"
metric = "asked"

[[figures]]
name = "turns"
title = "Turns"
table = "turns"
metric = "share"
"""


def test_what_the_traces_tell_is_tabulated_and_drawn(opener: SetOpener, tmp_path: Path) -> None:
    path = tmp_path / "traces.toml"
    path.write_text(TRACES, "utf-8")
    experiment = read_experiment(path)
    cells = run_experiment(experiment, opener, tmp_path / "runs")
    # One directory, but the table of three questions does not speak of the fourth.
    assert cells[0].out == cells[2].out
    assert [len(list(cell.rows())) for cell in cells] == [cell.summary.scores.n for cell in cells] == [3, 3, 4]
    report = write_report(experiment, cells, tmp_path / "report").read_text("utf-8")
    assert "| answer output at | films, default (3) | films, T = 1 (3) |" in report
    assert "| t = 1 | 0.000 | 1.000 |" in report and "| t = 2 | 1.000 | 0.000 |" in report
    # The rule-based baseline has no knowledge of its own.
    assert "| films (4) | asked | declined | repeated | relevant | kept |" in report
    assert "| knowledge.1 (extractive) | 1.000 | 1.000 | - | - | - |" in report
    for name in ("asked", "turns"):
        assert (tmp_path / "report" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_of_a_table_of_traces_shows_one_of_its_measures(tmp_path: Path) -> None:
    path = tmp_path / "traces.toml"
    path.write_text(TRACES.replace('metric = "asked"', 'metric = "hits_at_1"'), "utf-8")
    with pytest.raises(UserError, match="asked, declined"):
        read_experiment(path)


def test_a_finished_cell_is_not_run_again(small: Path, opener: SetOpener, tmp_path: Path) -> None:
    chosen = Selection(only=("matrix/films",), limit=3)
    told: list[Progress] = []
    first = run_experiment(read_experiment(small), opener, tmp_path / "runs", chosen)
    again = run_experiment(read_experiment(small), opener, tmp_path / "runs", chosen, lambda _, p: told.append(p))
    assert [cell.summary.scores for cell in again] == [cell.summary.scores for cell in first]
    assert told == []


def test_a_report_says_how_many_questions_of_a_stopped_run_have_scores(
    small: Path, opener: SetOpener, tmp_path: Path
) -> None:
    experiment = read_experiment(small)
    chosen = Selection(only=("/films/KERAG/",), limit=3)
    cells = [
        replace(cell, summary=replace(cell.summary, scores=replace(cell.summary.scores, coverage=2 / 3)))
        for cell in run_experiment(experiment, opener, tmp_path / "runs", chosen)
    ]
    report = write_report(experiment, cells, tmp_path / "report").read_text("utf-8")
    assert "| films | 2 of 3 |" in report  # a table
    assert " (2 of 3) |" in report  # a matrix


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ('program = "kerag", x = 2 -> program = "kerak", x = 2', "kerak"),
        ("hops = 1 } -> hobs = 1 }", "hobs"),
        ("hops = 1 } -> hops = 'far' }", "hops"),
        ('data = ["films", "elsewhere"] -> data = ["flims"]', "flims"),
        ('bundled = "dev"\nvariant -> part = "dev"\nvariant', "give one of bundled, case and kb"),
        ("limit = 6 -> limits = 6", "limits"),
        ('layout = "matrix" -> layout = "round"', "layout"),
        ('table = "switches"\nmetric -> table = "switch"\nmetric', "switch"),
        ('title = "A small one" -> title = ', "TOML"),
        ('metric = "hits_at_1" -> metric = "luck"', "luck"),
        ("withheld = true -> metric = 'luck'", "luck"),
        ("withheld = true -> against = 'no hops'", "no hops"),
        ("withheld = true -> against = 'withheld'", "against no other row"),
    ],
)
def test_an_invalid_experiment_is_rejected_before_anything_is_run(
    small: Path, opener: SetOpener, tmp_path: Path, change: str, complaint: str
) -> None:
    before, after = change.split(" -> ")
    assert before in SMALL
    small.write_text(SMALL.replace(before, after), "utf-8")
    with pytest.raises(UserError, match=complaint):
        run_experiment(read_experiment(small), opener, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_ranker_is_trained_on_the_other_half_of_the_questions(small: Path, opener: SetOpener, tmp_path: Path) -> None:
    text = SMALL.replace('bundled = "dev"', 'bundled = "dev"\npart = "dev"', 1)
    text = text.replace(
        '{ label = "KERAG", program = "kerag" }', '{ label = "own", program = "kerag", questions = 9 }', 1
    )
    small.write_text(text, "utf-8")
    given: list[set[str]] = []

    def trainer(name: str, _kb: KnowledgeBase, questions: Sequence[Question], seed: int, place: Path) -> Trained:
        assert name == "ranker"
        given.append({question.id for question in questions})
        return Trained(GENERAL)

    (cell,) = run_experiment(
        read_experiment(small), opener, tmp_path / "runs", Selection(("matrix/films",)), trainer=trainer
    )
    assert len(given[0]) == 9 and not given[0] & cell.asked
    found = run_experiment(
        read_experiment(small), opener, tmp_path / "runs", Selection(("matrix/misspelt",)), trainer=trainer
    )
    assert found == []  # it has no other half


STUDENTS = """
title = "Students"
limit = 4
differs = "all"

[data.films]
bundled = "test"

[[tables]]
name = "students"
title = "Students"
data = ["films"]
metrics = ["hits_at_1", "lm_calls", "lm_tokens", "seconds"]
rows = [
  { label = "rules", program = "kerag" },
  { label = "a student", program = "kerag", questions = 9, students = ["reader"] },
  { label = "the teacher", program = "kerag", lm = "given" },
  { label = "both", program = "kerag", lm = "given", questions = 9, students = ["reader"], cascade = true },
]

[[figures]]
name = "cost"
title = "Cost"
table = "students"
metric = "hits_at_1"
kind = "points"
over = "seconds"

[[figures]]
name = "tokens"
title = "Tokens"
table = "students"
metric = "hits_at_1"
kind = "points"
over = "lm_tokens"
"""


def test_a_compiled_program_stands_in_place_of_that_of_the_row(tmp_path: Path, opener: SetOpener) -> None:
    def trainer(name: str, kb: KnowledgeBase, questions: Sequence[Question], seed: int, place: Path) -> Trained:
        assert (name, place.name) == ("kept", "kept")
        return Trained(program=KERAG(kb, hops=1))

    file = tmp_path / "students.toml"
    file.write_text(STUDENTS.replace('["reader"]', '["kept"]'), "utf-8")
    with costly_rules():
        chosen = Selection(model="costly")
        cells = run_experiment(read_experiment(file), opener, tmp_path / "runs", chosen, trainer=trainer)
    options = {cell.row.label: cell.summary.configuration["switches"] for cell in cells}
    assert (options["rules"]["hops"], options["a student"]["hops"]) == (None, 1)
    hops = [given["hops"] for _, given in options["both"]["programs"]]
    assert hops == [1, None]


def test_students_stand_beside_their_teacher_and_before_it(tmp_path: Path, opener: SetOpener) -> None:
    def trainer(name: str, _kb: KnowledgeBase, questions: Sequence[Question], seed: int, place: Path) -> Trained:
        assert (name, len(questions), place.name) == ("reader", 9, "reader")
        return Trained(roles={"answer": "student/one"})

    file = tmp_path / "students.toml"
    file.write_text(STUDENTS, "utf-8")
    chosen, runs = read_experiment(file), tmp_path / "runs"
    with costly_rules("student/one"), costly_rules():
        alone = run_experiment(chosen, opener, runs, trainer=trainer)
        assert [cell.row.label for cell in alone] == ["rules", "a student"]
        cells = run_experiment(chosen, opener, runs, Selection(model="costly"), trainer=trainer)
    models = {cell.row.label: set(cell.summary.configuration["models"]) for cell in cells}
    assert models["rules"] == {"extractive"} and models["a student"] == {"extractive", "student/one"}
    assert models["the teacher"] == {"costly"} and models["both"] == {"extractive", "student/one", "costly"}
    (both,) = (cell for cell in cells if cell.row.label == "both")
    asked = [set(row["usage"]["by_model"]) for row in both.rows()]
    assert {"extractive"} in asked and {"extractive", "costly"} in asked
    scores = {cell.row.label: cell.summary.scores for cell in cells}
    assert (scores["rules"].lm_calls, scores["a student"].lm_tokens) == (0, 0)
    assert scores["the teacher"].lm_calls == scores["the teacher"].calls
    assert scores["the teacher"].lm_tokens == scores["the teacher"].tokens
    assert 0 < (scores["both"].lm_calls or 0) < (scores["both"].calls or 0)
    report = write_report(chosen, cells, tmp_path / "report")
    with (tmp_path / "report" / "cells.csv").open(encoding="utf-8", newline="") as file:
        asked_models = {line["label"]: line["model"] for line in csv.DictReader(file)}
    assert asked_models == {"rules": "extractive", "a student": "extractive", "the teacher": "costly", "both": "costly"}
    assert "| both |" in report.read_text("utf-8") and "(cost.png)" in report.read_text("utf-8")
    for name in ("cost", "tokens"):
        assert (tmp_path / "report" / f"{name}.png").is_file()


def test_unavailable_models_are_left_out_and_reported(small: Path, tmp_path: Path) -> None:
    models = f'models = [{{ lm = "extractive" }}, {{ lm = "local/{tmp_path / "nowhere"}" }}]'
    table = SMALL.index('name = "sets"')
    text = SMALL[:table] + SMALL[table:].replace('data = ["films", "misspelt"]', f'data = ["films"]\n{models}', 1)
    small.write_text(text, "utf-8")
    told: list[str] = []
    experiment = read_experiment(small)
    cells = run_experiment(experiment, SetOpener(None, tmp_path / "kbs", told.append), tmp_path / "runs")
    assert [cell.model.lm for cell in cells if cell.table == "sets"] == ["extractive"]
    assert any("nowhere" in line for line in told)
    report = write_report(experiment, cells, tmp_path / "report", command="it").read_text("utf-8")
    assert "| KERAG, films | n |" in report
    assert "| extractive | 6 |" in report, "a row for each choice of models"


def test_an_unknown_experiment_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="kerag"):
        read_experiment("no-such-one")


def test_missing_data_is_an_error_without_a_callback(small: Path, tmp_path: Path) -> None:
    experiment = read_experiment(small)
    with pytest.raises(UserError, match="somewhere/else"):
        SetOpener(None, tmp_path).open("elsewhere", experiment.data["elsewhere"], 5, 0)


@pytest.mark.parametrize("name", experiment_names())
def test_every_experiment_that_comes_along_names_programs_and_options_that_exist(name: str) -> None:
    experiment = read_experiment(FOLDER / f"{name}.toml")
    for table in experiment.tables:
        for row in table.rows:
            check_options(resolve_program(row.program), row.options)
