"""The relation that leads from a thing to its class, by its name or by what it tells of the graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from kg_parts import built

from triplecheck.kg import KnowledgeBase, build

BOATS = """
Tern\tsort of thing\tboat
Auk\tsort of thing\tboat
Skua\tsort of thing\tboat
Ida\tsort of thing\tcaptain
Jon\tsort of thing\tcaptain
Molde\tsort of thing\tport
Riga\tsort of thing\tport
Tern\tcommanded by\tIda
Auk\tcommanded by\tJon
Skua\tcommanded by\tJon
Tern\thome\tMolde
Auk\thome\tRiga
Ida\tage\t61
Jon\tage\t34
Molde\tcountry\tNorway
Riga\tcountry\tLatvia
""".lstrip()
PEOPLE = """
Ida\tgender\tfemale
Jon\tgender\tmale
Kim\tgender\tmale
Lea\tgender\tfemale
Ida\tage\t61
Jon\tage\t34
Kim\tage\t47
Ida\tmother of\tJon
Kim\tfather of\tLea
Jon\tlives in\tRiga
Lea\tlives in\tMolde
""".lstrip()


def classes(kb: KnowledgeBase) -> dict[str, tuple[str, ...]]:
    """The classes of each thing that has any."""
    nodes = range(kb.graph.num_entities)
    return {kb.graph.label(node): kb.graph.types(node) for node in nodes if kb.graph.types(node)}


@pytest.mark.parametrize("memory", [None, 0.5])
def test_a_relation_of_any_name_leads_to_classes_if_they_tell_what_things_have(
    tmp_path: Path, memory: float | None
) -> None:
    (tmp_path / "boats.tsv").write_text(BOATS, "utf-8")
    kb = build(tmp_path / "boats.tsv", tmp_path / "kb", encoder=None, memory=memory)
    assert set(kb.graph.type_ids) == {"boat", "captain", "port"}
    assert classes(kb)["Tern"] == ("boat",)
    assert classes(kb)["Ida"] == ("captain",)


def test_what_tells_nothing_of_what_things_have_is_no_class(tmp_path: Path) -> None:
    assert not classes(built(tmp_path, PEOPLE))


def test_a_relation_with_the_name_of_one_to_classes_goes_first(tmp_path: Path) -> None:
    kb = built(tmp_path, BOATS + "Tern\tis a\tship\n")
    assert classes(kb) == {"Tern": ("ship",)}


def test_changes_of_the_graph_change_the_classes(tmp_path: Path) -> None:
    new = [("Fulmar", "sort of thing", "boat"), ("Max", "sort of thing", "pilot"), ("Lea", "sort of thing", "pilot")]
    added = built(tmp_path, BOATS).add(new)
    assert classes(added)["Fulmar"] == ("boat",)
    assert classes(added)["Lea"] == ("pilot",)
    removed = added.remove([("Tern", "sort of thing", "boat")])
    assert "Tern" not in classes(removed)
    assert classes(removed)["Auk"] == ("boat",)
