"""`triplecheck kb query`: SPARQL with labels over a knowledge base."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import Run, ok, refused
from typer.testing import CliRunner

from triplecheck.app.main import app

PUPILS = (
    "SELECT ?pupil ?town { ?pupil <student of> <Paul Hindemith> OPTIONAL { ?pupil <born in> ?town } } ORDER BY ?pupil"
)


def test_rows_are_shown_as_a_table(run: Run, kb: object) -> None:
    result = ok(run("kb", "query", kb, PUPILS))
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines == [["?pupil", "?town"], ["Arnold", "Cooke"], ["Bernhard", "Heiden", "Frankfurt"]]


def test_yes_and_no(run: Run, kb: object) -> None:
    asked = "ASK {{ <Bernhard Heiden> <born in> <{}> }}"
    assert run("kb", "query", kb, asked.format("Frankfurt")).stdout == "yes\n"
    assert run("kb", "query", kb, asked.format("Hanau")).stdout == "no (in this graph)\n"
    assert run("kb", "query", kb, asked.format("Hanau"), "--csv").stdout == "answer\nno\n"


def test_json_has_ids_labels_and_values(run: Run, kb: object) -> None:
    query = "SELECT ?who (COUNT(?pupil) AS ?n) { ?pupil <student of> ?who } GROUP BY ?who"
    found = json.loads(run("kb", "query", kb, query, "--json", "--explain").stdout)
    assert found["columns"] == ["who", "n"]
    [[who, count]] = found["rows"]
    assert who["label"] == "Paul Hindemith"
    assert count == {"value": "2", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}
    assert [one["name"] for one in found["names"]] == ["<student of>"]
    assert [(one["kind"], one["seen"]) for one in found["looked_through"]] == [("count", 2)]
    assert ["Arnold Cooke", "student of", "Paul Hindemith"] in found["triples"][0]


def test_csv_from_a_file_and_from_standard_input(run: Run, kb: object, tmp_path: Path) -> None:
    file = tmp_path / "query.rq"
    file.write_text(PUPILS)
    wanted = "pupil,town\nArnold Cooke,\nBernhard Heiden,Frankfurt\n"
    assert run("kb", "query", kb, file, "--csv").stdout == wanted
    words = ["kb", "query", str(kb), "-", "--csv"]
    assert CliRunner().invoke(app, words, input=PUPILS).stdout == wanted


def test_explain_shows_names_triples_and_what_was_looked_through(run: Run, kb: object) -> None:
    query = "SELECT ?x { ?x <student of> ?y FILTER NOT EXISTS { ?x <born in> ?town } }"
    shown = run("kb", "query", kb, query, "--explain").stdout
    assert "<student of> (relation)" in shown
    assert "2 looked through, 1 left: NOT EXISTS { ?x <born in> ?town }" in shown
    assert "  Bernhard Heiden → born in → Frankfurt" in shown
    assert "  Arnold Cooke → student of → Paul Hindemith" in shown


def test_limits_ties_and_notes_are_told(run: Run, kb: object) -> None:
    result = run("kb", "query", kb, "SELECT ?x { ?x ?p ?y }", "--rows", 2)
    assert "2 of 5 rows" in result.stdout
    assert "no proof" in result.stderr
    tied = run("kb", "query", kb, "SELECT ?x { ?x <student of> ?y } ORDER BY ?y LIMIT 1")
    assert "1 more row equals" in tied.stdout


def test_nothing_says_why(run: Run, kb: object) -> None:
    result = ok(run("kb", "query", kb, "SELECT ?x { ?x <student of> <Bernhard Heiden> }"))
    assert result.stdout == "nothing found\n"
    assert "no <student of> leads to <Bernhard Heiden>" in result.stderr or "leads from" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["SELECT name FROM people"], "this is SQL"),
        (["Who studied with Hindemith?"], "is no query"),
        (["INSERT DATA { <a> <b> <c> }"], "INSERT writes"),
        (["SELECT ?x { ?x <stdent of> ?y }"], "is it 'student of'?"),
        (["SELECT ?x { ?x <student of> <Hindemit> }"], "no thing 'Hindemit'"),
        (["SELECT ?x { ?x <student of> ?y"], "1 } missing"),
        ([PUPILS, "--seconds", "0"], "takes longer than 0 s"),
        ([PUPILS, "--json", "--csv"], "exclude"),
    ],
)
def test_mistakes_are_explained(run: Run, kb: object, words: list[str], said: str) -> None:
    refused(run("kb", "query", kb, *words), said)
