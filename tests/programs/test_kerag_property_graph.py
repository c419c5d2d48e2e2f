"""KERAG over a property graph, with names linked by queries."""

from __future__ import annotations

from pathlib import Path

import pytest
from program_parts import PREFIXES, WORLD, ask, kerag

from triplecheck.kg import build
from triplecheck.kg.cypher import CypherGraph, LadybugClient
from triplecheck.kg.export_files import export_graph
from triplecheck.kg.queried_linker import QueriedLinker
from triplecheck.kg.readers.rdf import read_rdf
from triplecheck.language.pipeline import read_text
from triplecheck.programs import Sources, replay

pytest.importorskip("ladybug")


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder = tmp_path_factory.mktemp("world")
    (folder / "world.ttl").write_text(PREFIXES + WORLD, "utf-8")
    base = build(read_rdf([folder / "world.ttl"]), folder / "kb", encoder=None)
    export_graph(base.columnar, folder / "world.lbug")
    graph = CypherGraph(
        LadybugClient(Path(folder / "world.lbug")),
        described=[base.graph.relation(number) for number in range(base.graph.num_relations)],
    )
    return Sources(graph, QueriedLinker(graph))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What was the nationality of Bernhard Heiden's teacher?", "German"),
        ("Where was Paul Hindemith born?", "Hanau"),
        ("who was the teacher of luke fuchs", "Paul Hindemith"),
    ],
)
def test_it_answers_with_proof(remote: Sources, question: str, answer: str) -> None:
    result = ask(kerag(remote), question)
    assert (result.answer, result.grounded) == (answer, True)
    assert replay(remote.graph, result.evidence) == []


def test_homonyms_are_kept(remote: Sources) -> None:
    candidates = remote.linker.candidates("Michael Jordan")
    assert {c.id for c in candidates} == {"http://example.org/mj_player", "http://example.org/mj_scholar"}
    assert [remote.graph.node_id(c.node) for c in candidates] == [c.id for c in candidates]


@pytest.mark.parametrize("text", ['"', "\\", "\n", "' }) RETURN 1 //", "\\u0060", "x" * 10_000, "\ud83d", "$values0"])
def test_a_text_is_never_read_as_a_query(remote: Sources, text: str) -> None:
    assert remote.linker.candidates(text) == []
    assert [m.text for m in remote.linker.mentions(read_text(f"{text} Paul Hindemith"))] == ["Paul Hindemith"]
