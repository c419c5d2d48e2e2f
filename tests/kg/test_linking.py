"""From text to nodes: sources, scores, homonyms, grounding."""

from __future__ import annotations

from pathlib import Path

import pytest
from kg_parts import built

from triplecheck.kg import Candidate, KnowledgeBase
from triplecheck.kg.linking import GraphLinker
from triplecheck.language.pipeline import read_text


def candidates(kb: KnowledgeBase, text: str, question: str | None = None) -> list[Candidate]:
    return kb.linker.candidates(text, question)


def only(kb: KnowledgeBase, text: str) -> Candidate:
    (candidate,) = candidates(kb, text)
    return candidate


class TestSources:
    @pytest.mark.parametrize(
        ("text", "id", "source"),
        [
            ("Bernhard Heiden", "heiden", "label"),
            ("bernhard heiden", "heiden", "label"),
            ("Bernhard Levi", "heiden", "alias"),
            ("3800", "3800", "value"),
            ("Bernard Haiden", "heiden", "typo"),
            ("Bernhard Lewi", "heiden", "typo"),
            ("Hindemith", "hindemith", "partial"),
            ("Hindemit", "hindemith", "partial"),
            ("hindmeith", "hindemith", "partial"),
            ("Obama", "obama", "partial"),
            ("Obana", "obama", "partial"),
            ("Ford Copola", "coppola", "partial"),
            ("holstien", "anna", "partial"),
            ("北京", "beijing", "label"),
            ("?", "question_mark", "label"),
        ],
    )
    def test_a_candidate_tells_how_it_was_found(self, people: KnowledgeBase, text: str, id: str, source: str) -> None:
        candidate = only(people, text)
        assert (candidate.id, candidate.source) == (id, source)

    def test_a_candidate_has_the_label_and_the_number_of_its_node(self, people: KnowledgeBase) -> None:
        candidate = only(people, "Bernhard Levi")
        assert candidate.label == "Bernhard Heiden"
        assert people.graph.node_id(candidate.node) == candidate.id == "heiden"

    def test_the_nearer_the_name_the_better(self, people: KnowledgeBase) -> None:
        texts = ["Bernhard Heiden", "Bernhard Levi", "Bernhard Heidn", "Bernhrad Hiden", "Heiden", "Heidn"]
        lexical = [only(people, text).lexical for text in texts]
        assert lexical == sorted(set(lexical), reverse=True)
        assert all(0 < fit <= 1 for fit in lexical)

    def test_union_adds_misspelt_names_to_an_exact_one_and_parts_of_names_only_where_there_is_nothing_else(
        self, tmp_path: Path
    ) -> None:
        kb = built(tmp_path, "Malia Ann Obama\tchild of\tObama\nMalia Ann Obama\tborn near\tObamo\n")
        assert [(c.id, c.source) for c in candidates(kb, "obama")] == [("Obama", "label")]
        found = kb.linker.candidates("obama", union=True)
        assert [(c.id, c.source) for c in found] == [("Obama", "label"), ("Obamo", "typo")]
        (part,) = kb.linker.candidates("malia", union=True)
        assert (part.id, part.source) == ("Malia Ann Obama", "partial")

    def test_a_number_is_a_name_only_as_a_word_of_it(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "S-10\tnext to\tS-11\n")
        assert [c.source for c in candidates(kb, "S-10")] == ["label"]
        assert candidates(kb, "10") == []
        (plane,) = candidates(built(tmp_path / "planes", "Boeing 747\tmade in\tEverett\n"), "747")
        assert (plane.id, plane.source) == ("Boeing 747", "partial")

    def test_misspelt_names_and_parts_are_not_searched_if_there_is_an_exact_one(self, people: KnowledgeBase) -> None:
        assert {c.source for c in candidates(people, "Paris")} == {"label"}
        assert [c.label for c in candidates(people, "Michael")] == ["Michael Jordan", "Michael Jordan"]

    def test_the_shorter_of_two_names_with_a_part_fits_better(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "Malia Ann Obama\tchild of\tBarack Obama\n")
        assert [c.id for c in candidates(kb, "obama")] == ["Barack Obama", "Malia Ann Obama"]

    def test_a_less_similar_name_does_not_hide_a_part_of_a_name(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "Rakovski\tfriend of\tMarx\nAndrei Tarkovsky\tdirected\tStalker\n")
        assert [c.id for c in candidates(kb, "Tarkovski")] == ["Andrei Tarkovsky", "Rakovski"]
        (mention,) = kb.linker.mentions(read_text("Who is Tarkovski?"))
        assert kb.linker.candidates(mention)[0].id == "Andrei Tarkovsky"

    @pytest.mark.parametrize("text", ["chlie", "hcile", "chi le", "chipe", "cjhile", "chil"])
    def test_a_short_name_is_found_one_edit_away(self, tmp_path: Path, text: str) -> None:
        kb = built(tmp_path, "Chile\tborders\tPeru\nChina\tborders\tIndia\n")
        assert candidates(kb, text)[0].id == "Chile"

    @pytest.mark.parametrize(
        "text", ["", " ", "zz", "Qwertz", "Bo", "\x00", "\ud83d", "\N{VIOLIN}", "贝多芬", "x" * 20_000]
    )
    def test_what_resembles_no_name_has_no_candidates(self, people: KnowledgeBase, text: str) -> None:
        assert candidates(people, text) == []

    def test_a_short_word_is_not_matched_as_misspelt(self, people: KnowledgeBase) -> None:
        assert "Zsa Zsa Gábor" not in [c.label for c in candidates(people, "Zsi")]

    def test_without_typo_tolerance_only_exact_names_are_found(self, people: KnowledgeBase) -> None:
        linker = GraphLinker(people.graph, people.names)
        assert [c.id for c in linker.candidates("Bernhard Heiden")] == ["heiden"]
        assert linker.candidates("Bernhard Heidn") == linker.candidates("Heiden") == []
        named = [m.text for m in linker.mentions(read_text("Who taught Bernhard Heiden or Paul Hindemit?")) if m.forms]
        assert named == ["Bernhard Heiden"]

    def test_a_name_is_found_by_meaning_with_name_vectors(self, people_with_vectors: KnowledgeBase) -> None:
        found = candidates(people_with_vectors, "the United States of America")
        assert found[0].id == "usa"
        assert "dense" in {c.source for c in found}


class TestHomonyms:
    def test_all_are_kept(self, people: KnowledgeBase) -> None:
        assert {c.id for c in candidates(people, "Michael Jordan")} == {"jordan_player", "jordan_scientist"}
        assert {c.id for c in candidates(people, "paris")} == {"paris", "paris_texas"}

    def test_the_better_known_one_is_first(self, people: KnowledgeBase) -> None:
        first, second = candidates(people, "Paris")
        assert (first.id, second.id) == ("paris", "paris_texas")
        assert first.popularity > second.popularity
        assert first.lexical == second.lexical == 1.0

    def test_a_limit_keeps_the_best(self, people: KnowledgeBase) -> None:
        assert people.linker.candidates("Paris", limit=1) == candidates(people, "Paris")[:1]

    def test_a_misspelt_name_of_several_nodes_finds_them_all(self, people: KnowledgeBase) -> None:
        assert {c.id for c in candidates(people, "Micheal Jordan")} == {"jordan_player", "jordan_scientist"}


class TestGrounding:
    @pytest.mark.parametrize(
        ("question", "id"),
        [
            ("Which sport does Michael Jordan play?", "jordan_player"),
            ("Who was the doctoral advisor of Michael Jordan?", "jordan_scientist"),
            ("What is the field of research of Michael Jordan?", "jordan_scientist"),
        ],
    )
    def test_the_homonym_whose_relations_fit_the_question_is_first(
        self, people_with_vectors: KnowledgeBase, question: str, id: str
    ) -> None:
        first, second = candidates(people_with_vectors, "Michael Jordan", question)
        assert first.id == id
        assert first.grounding > second.grounding

    def test_a_question_does_not_outweigh_a_name(self, people_with_vectors: KnowledgeBase) -> None:
        found = candidates(people_with_vectors, "Bernhard Heiden", "Which sport does Bernhard Heiden play?")
        assert [c.id for c in found] == ["heiden"]

    def test_an_entity_without_relations_is_grounded_in_nothing(self, people_with_vectors: KnowledgeBase) -> None:
        (atlantis,) = candidates(people_with_vectors, "Atlantis", "Where is Atlantis?")
        assert (atlantis.grounding, atlantis.popularity) == (0.0, 0.0)

    def test_candidates_are_not_grounded_without_a_question(self, people_with_vectors: KnowledgeBase) -> None:
        assert {c.grounding for c in candidates(people_with_vectors, "Michael Jordan")} == {0.0}


class TestMentionsToCandidates:
    @pytest.mark.parametrize(
        ("question", "ids", "source"),
        [
            ("Who taught Bernhard Heiden?", ["heiden"], "label"),
            ("Who taught Bernhard Levi?", ["heiden"], "alias"),
            ("Who taught Bernard Haiden?", ["heiden"], "typo"),
            ("Where is Paris?", ["paris", "paris_texas"], "label"),
        ],
    )
    def test_a_mention_has_the_candidates_of_its_names(
        self, people: KnowledgeBase, question: str, ids: list[str], source: str
    ) -> None:
        (mention,) = people.linker.mentions(read_text(question))
        found = people.linker.candidates(mention)
        assert [c.id for c in found] == ids
        assert {c.source for c in found} == {source}


IRREGULAR = ("ada child bo", "children kind_of group")


def test_a_relation_of_an_ontology_is_not_what_its_noun_names(tmp_path: Path) -> None:
    owl, rdf = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    rows = [
        ("director", f"{rdf}type", f"{owl}ObjectProperty"),
        ("Alder", "director", "Ada"),
        ("Birch", "near", "Alder"),
    ]
    kb = built(tmp_path, "head\trelation\ttail\n" + "".join("\t".join(row) + "\n" for row in rows))
    assert [one.text for one in kb.linker.mentions(read_text("Which places have no director?"))] == []
    assert [one.text for one in kb.linker.mentions(read_text("What is near Alder?"))] == ["Alder"]


class TestRelationNames:
    @pytest.fixture(scope="class")
    @staticmethod
    def words(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
        rows = ("head relation tail", "happy antonym unhappy", "wheel part_of car", "antonym kind_of word")
        triples = "".join(row.replace(" ", "\t") + "\n" for row in (*rows, "parts kind_of region", *IRREGULAR)).replace(
            "_", " "
        )
        return built(tmp_path_factory.mktemp("words"), triples)

    @pytest.mark.parametrize(
        ("question", "named"),
        [
            ("What is the antonym of happy?", ["happy"]),
            ("What are the parts of a car?", ["car"]),
            ("What is the antonym?", ["antonym"]),
            ("Who are the children of ada?", ["ada"]),
        ],
    )
    def test_a_word_that_names_a_relation_is_a_topic_only_alone(
        self, words: KnowledgeBase, question: str, named: list[str]
    ) -> None:
        assert [mention.text for mention in words.linker.mentions(read_text(question)) if mention.forms] == named

    def test_a_name_with_a_capital_stays_a_topic(self, words: KnowledgeBase) -> None:
        assert {m.text for m in words.linker.mentions(read_text("Is Antonym happy?"))} == {"Antonym", "happy"}


class TestPartsOfNames:
    NAMES = (
        "Ada K. Moss\tin\tOsby\nMarsh & Dunnock Ltd\tin\tOsby\nHolt & Rye\tin\tVik\nHolt & Rye Lamps Ltd\tin\tVik\n"
        "201-KE-3316\tof\tVan 4\nJan Nowak-Lis\tin\tVik\n"
    )

    @pytest.mark.parametrize(
        ("question", "mention", "found"),
        [
            ("what did marsh & dunnock build?", "marsh & dunnock", "Marsh & Dunnock Ltd"),
            ("Who runs Marsh & Dunnock?", "Marsh & Dunnock", "Marsh & Dunnock Ltd"),
            ("who do we talk to at marsh & dunnock", "marsh & dunnock", "Marsh & Dunnock Ltd"),
            ("Is Marsh & Dunnock ISO 9001 certified?", "Marsh & Dunnock", "Marsh & Dunnock Ltd"),
            ("how many boats did ada moss build", "ada moss", "Ada K. Moss"),
        ],
    )
    def test_a_name_lacks_its_legal_form(self, tmp_path: Path, question: str, mention: str, found: str) -> None:
        kb = built(tmp_path, self.NAMES)
        one = kb.linker.mentions(read_text(question))[0]
        assert (one.text, question[one.start : one.end]) == (mention, mention)
        assert [candidate.label for candidate in kb.linker.candidates(one)] == [found]

    def test_a_name_with_all_words_is_meant_and_not_one_with_some(self, tmp_path: Path) -> None:
        kb = built(tmp_path, self.NAMES + "Curie\tin\tVik\nMarie Curie College\tin\tVik\n")
        assert only(kb, "Holt & Rye Lamps").label == "Holt & Rye Lamps Ltd"
        assert {one.label for one in candidates(kb, "Marie Curie")} == {"Curie", "Marie Curie College"}

    @pytest.mark.parametrize("question", ["Who drives 201-KE-3399?", "who drives 201-ke-3399"])
    def test_another_code_is_no_part_of_a_name(self, tmp_path: Path, question: str) -> None:
        linker = built(tmp_path, self.NAMES).linker
        assert not any(linker.candidates(mention) for mention in linker.mentions(read_text(question)))

    @pytest.mark.parametrize("text", ["2010", "List"])
    def test_a_number_and_a_short_part_are_not_misspelt(self, tmp_path: Path, text: str) -> None:
        assert built(tmp_path, self.NAMES).linker.candidates(text) == []
