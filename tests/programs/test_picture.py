"""Pictures of answers and proofs for notebooks."""

from __future__ import annotations

from xml.etree import ElementTree

from triplecheck import KERAG, KnowledgeBase
from triplecheck.programs.picture import Evidence, draw


def row(head: str, relation: str, tail: str) -> dict[str, str]:
    return {"head": head, "head_label": head, "relation_label": relation, "tail": tail, "tail_label": tail}


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_picture_names_all_nodes_and_relations_once() -> None:
    svg = draw([row("Heiden", "student of", "Hindemith"), row("Hindemith", "nationality", "German")])
    assert sorted(texts(svg)) == ["German", "Heiden", "Hindemith", "nationality", "student of"]


def test_markup_in_names_is_text() -> None:
    assert "<b>" in texts(draw([row("<b>", "&", "x")]))


def test_a_long_proof_is_cut_and_counted() -> None:
    svg = draw([row("a", "r", str(i)) for i in range(20)])
    assert svg.endswith("and 8 more triples</i>")


def test_a_prediction_shows_answer_and_proof(bundled: KnowledgeBase) -> None:
    found = KERAG(bundled)(question="What was the nationality of Bernhard Heiden's teacher?")
    shown = found._repr_html_()
    assert "German" in shown and "<svg" in shown
    assert isinstance(found.evidence, Evidence) and found.evidence._repr_html_() in shown
