"""What the tests of `kg` share: the sentence encoder, and a small knowledge base of people and places."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bolt_server import bolt_server
from kg_parts import built

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.encode import Encoder, load_encoder

TRIPLES = """\
hindemith\tstudent\theiden
hindemith\tgenre\topera
heiden\tborn_in\tfrankfurt
heiden\tteacher\thindemith
jordan_player\tplays_for\tbulls
jordan_player\tteam_sport\tbasketball
jordan_player\tborn_in\tnew_york
jordan_scientist\tfield_of_work\tmachine_learning
jordan_scientist\tacademic_advisor\trumelhart
obama\tborn_in\thonolulu
obama\tspouse\tmichelle
michelle\tspouse\tobama
anna\tborn_in\tgottorp
gottorp\tinhabitants\t3800
paris\tcountry\tfrance
paris_texas\tcountry\tusa
paris\tinhabitants\t2100000
paris\tlocated_in\tfrance
france\tcapital\tparis
new_york\tcountry\tusa
godfather\tdirector\tcoppola
godfather\tyear\t1972
zsa_zsa\tborn_in\tbudapest
"""
ENTITIES = """\
id\tlabel\taliases\ttype\tdescription
hindemith\tPaul Hindemith\t\tPerson\tGerman composer.
heiden\tBernhard Heiden\tBernhard Levi\tPerson\tComposer.
frankfurt\tFrankfurt am Main\tFrankfurt\tCity\t
jordan_player\tMichael Jordan\tAir Jordan\tPerson\tBasketball player.
jordan_scientist\tMichael Jordan\tMichael I. Jordan\tPerson\tComputer scientist.
obama\tBarack Obama\t\tPerson\tPresident.
michelle\tMichelle Robinson\t\tPerson\t
anna\tAnna of Holstein-Gottorp\t\tPerson\t
gottorp\tGottorp\t\tPlace\t
paris\tParis\tCity of Light\tCity\t
paris_texas\tParis\t\tCity\t
france\tFrance\tRépublique française\tCountry\t
new_york\tNew York\tBig Apple\tCity\t
usa\tUnited States\tUSA|US\tCountry\t
godfather\tThe Godfather\t\tFilm\t
coppola\tFrancis Ford Coppola\t\tPerson\t
zsa_zsa\tZsa Zsa Gábor\t\tPerson\t
atlantis\tAtlantis\t\tPlace\t
question_mark\t?\t? and the Mysterians\tBand\t
beijing\t北京\tBeijing|Peking\tCity\t
"""
RELATIONS = """\
id\tlabel\taliases
plays_for\tplays for\tteam
team_sport\tsport played\t
field_of_work\tfield of research\t
academic_advisor\tdoctoral advisor\tsupervisor
born_in\tborn in\tbirthplace
"""


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    return load_encoder()


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return built(tmp_path_factory.mktemp("people"), TRIPLES, ENTITIES, RELATIONS)


@pytest.fixture(scope="session")
def people_with_vectors(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("people_with_vectors")
    return built(folder, TRIPLES, ENTITIES, RELATIONS, encoder=encoder, name_vectors=True)


@pytest.fixture(scope="session")
def bolt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Bolt server with empty databases."""
    with bolt_server(tmp_path_factory.mktemp("bolt")) as url:
        yield url
