"""`triplecheck ask --html, --svg, --graphml`: the proof as a file."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import pytest
from cli_support import QUESTION, Run, ok, refused
from typer.testing import CliRunner

from triplecheck.app.main import app
from triplecheck.kg import KnowledgeBase

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</script><script>alert(1)</script>\x0b & "co" <!--'


@pytest.fixture(scope="module")
def written(kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the three files of one question."""
    folder = tmp_path_factory.mktemp("proof")
    words = [f"--{form}={folder / f'a.{form}'}" for form in ("html", "svg", "graphml")]
    result = CliRunner().invoke(app, ["ask", QUESTION, "--kb", str(kb), *words])
    assert result.exit_code == 0, result.output
    assert "Answer  Germany" in result.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["a.graphml", "a.html", "a.svg"]
    return folder


def test_the_graph_has_the_three_weights(written: Path) -> None:
    graph = nx.read_graphml(written / "a.graphml")
    assert graph.graph["answer"] == "Germany"
    edges = {(head, about["relation"], tail): about["weight"] for head, tail, about in graph.edges(data=True)}
    assert edges["Bernhard Heiden", "student of", "Paul Hindemith"] == "proved"
    assert edges["Paul Hindemith", "nationality", "Germany"] == "proved"
    assert edges["Bernhard Heiden", "born in", "Frankfurt"] == "kept"
    assert edges["Paul Hindemith", "born in", "Hanau"] == "looked_at"
    assert graph.nodes["Bernhard Heiden"]["part"] == "topic"
    assert graph.nodes["Germany"] == {"label": "Germany", "weight": "proved", "part": "answer"}


def test_the_picture_is_built_again_as_a_knowledge_base(run: Run, written: Path) -> None:
    ok(run("kb", "build", "again", "--triples", written / "a.graphml", "--no-vectors"))
    again = KnowledgeBase.open("again").graph
    assert again.find("Paul Hindemith") is not None
    assert again.find_relation("nationality") is not None


def test_the_svg_begins_with_the_proof(written: Path) -> None:
    root = ElementTree.parse(written / "a.svg").getroot()
    assert root.findtext(f"{SVG}title") == QUESTION
    assert root.findtext(f"{SVG}desc") == "Germany (proved)"
    boxes = root.findall(f"{SVG}rect")[1:]
    names = [text.text for text in root.findall(f"{SVG}text") if text.get("text-anchor") == "middle"]
    rows = dict(zip(names, (int(box.get("y", "0")) for box in boxes), strict=True))
    columns = dict(zip(names, (int(box.get("x", "0")) for box in boxes), strict=True))
    assert rows["Bernhard Heiden"] == rows["Paul Hindemith"] == rows["Germany"] < rows["Frankfurt"]
    assert columns["Bernhard Heiden"] < columns["Paul Hindemith"] < columns["Germany"]
    assert len({(columns[name], rows[name]) for name in names}) == len(names)


def test_an_abstention_has_files_too(run: Run, kb: Path) -> None:
    ok(run("ask", "Who won the cup final?", "--kb", kb, "--html", "a.html", "--svg", "a.svg"))
    assert ElementTree.parse("a.svg").getroot().findtext(f"{SVG}desc") == "Not in the graph, as far as I can tell"


def test_labels_of_a_graph_stay_text(run: Run, tmp_path: Path) -> None:
    KnowledgeBase.from_triples([("Ada", "made by", HOSTILE)], tmp_path / "kb", encoder=None)
    words = ["--kb", tmp_path / "kb", "--html", "a.html", "--svg", "a.svg", "--graphml", "a.graphml"]
    ok(run("ask", "Who is Ada made by?", *words))
    assert "alert" in Path("a.html").read_text("utf-8")
    assert "<script>alert" not in Path("a.html").read_text("utf-8")
    assert "alert(1)" in "".join(ElementTree.parse("a.svg").getroot().itertext())
    assert any("alert(1)" in node for node in nx.read_graphml("a.graphml"))


def test_the_page_names_nothing_outside_of_itself(written: Path) -> None:
    text = (written / "a.html").read_text("utf-8")
    assert "Permission is hereby granted" in text
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--html", "none/a.html"], "none/a.html: name a file in a folder that exists"),
        (["--svg", "."], ".: name a file"),
        (["--html", "a", "--svg", "a"], "a: is named twice"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_question(
    words: list[str], said: str, run: Run, kb: Path
) -> None:
    result = refused(run("ask", QUESTION, "--kb", kb, *words), said)
    assert not result.stdout
