"""The exact name index."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kg_parts import built

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.names import Words, normalize
from triplecheck.language.pipeline import read_text


class TestNormalize:
    @pytest.mark.parametrize(
        ("text", "form"),
        [
            ("  Paul   HINDEMITH ", "paul hindemith"),
            ("Beyoncé", "beyonce"),
            ("Zsa Zsa Ga\u0301bor", "zsa zsa gabor"),
            ("Straße", "strasse"),
            ("İstanbul", "istanbul"),
            ("Anna of Holstein-Gottorp", "anna of holstein gottorp"),
            ("O'Neill, Shaquille", "o neill shaquille"),
            ("snake_case", "snake case"),
            ("C++", "c++"),
            ("Ke$ha", "ke$ha"),
            ("ﬁlm", "film"),
            ("Ἀτλαντὶς", "ατλαντισ"),
            ("مُحَمَّد", "محمد"),
            ("محمد", "محمد"),
            ("שָׁלוֹם", "שלום"),
            ("Ada\ud83d", "ada"),
            ("\ud83d", ""),
            ("Ada\x00Byron", "ada byron"),
            ("!\x00", "!"),
        ],
    )
    def test_case_accents_vowel_points_punctuation_and_what_cannot_be_stored_go(self, text: str, form: str) -> None:
        assert normalize(text) == form

    @pytest.mark.parametrize("text", ["?", "!!!", "...", "\N{MUSICAL SCORE}"])
    def test_what_is_nothing_but_punctuation_stays(self, text: str) -> None:
        assert normalize(f" {text} ") == text

    @pytest.mark.parametrize(
        "text", ["北京", "東京タワー", "ガンダム", "서울", "москва", "हिन्दी", "ประเทศไทย", "தமிழ்", "ខ្មែរ"]
    )
    def test_words_of_other_scripts_stay_whole(self, text: str) -> None:
        assert normalize(text) == text

    @given(st.text())
    def test_a_form_is_its_own_form(self, text: str) -> None:
        form = normalize(text)
        assert normalize(form) == form
        assert normalize(text.upper().lower()) == normalize(text.upper())


class TestWords:
    @pytest.mark.parametrize("name", ["Paul Hindemith", "paul hindemith", "HINDEMITH?", "Cardillac (opera)", "1926"])
    def test_a_name_that_stands_there_word_for_word(self, name: str) -> None:
        assert name in Words("Hindemith, Paul: Paul Hindemith's Cardillac (Opera), 1926.")

    @pytest.mark.parametrize("name", ["Hinde", "Hindemith Paul Paul Cardillac", "192", "opera 26", "", " ", "\ud83d"])
    def test_parts_of_words_and_nothing_are_no_names(self, name: str) -> None:
        assert name not in Words("Hindemith, Paul: Paul Hindemith's Cardillac (Opera), 1926.")

    def test_a_name_does_not_run_over_the_end_of_a_text(self) -> None:
        words = Words("He taught Ada", "Byron wrote it")
        assert "Ada" in words and "Byron" in words
        assert "Ada Byron" not in words

    def test_no_text_has_a_name(self) -> None:
        assert "Ada" not in Words()
        assert "" not in Words("")


def found(kb: KnowledgeBase, text: str) -> list[tuple[str, str]]:
    return [(kb.graph.node_id(named.node), named.source) for named in kb.names.nodes(normalize(text))]


class TestIndex:
    @pytest.mark.parametrize(
        ("text", "nodes"),
        [
            *((text, [("zsa_zsa", "label")]) for text in ("Zsa Zsa Gábor", "zsa zsa gabor", "ZSA-ZSA GABOR")),
            ("michael jordan", [("jordan_player", "label"), ("jordan_scientist", "label")]),
            ("Big Apple", [("new_york", "alias")]),
            ("USA", [("usa", "alias")]),
            ("1972", [("1972", "value")]),
            ("?", [("question_mark", "label")]),
            ("北京", [("beijing", "label")]),
        ],
    )
    def test_all_nodes_of_a_name_are_found(
        self, people: KnowledgeBase, text: str, nodes: list[tuple[str, str]]
    ) -> None:
        assert found(people, text) == nodes

    @pytest.mark.parametrize("text", ["", " ", "nobody", "\x00", "\ud83d", "x" * 100_000])
    def test_a_text_that_is_not_a_name_is_not_found(self, people: KnowledgeBase, text: str) -> None:
        assert found(people, text) == []

    def test_labels_come_before_aliases_before_values(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "a\tyear\t1984\n", "id\tlabel\taliases\na\tWinston\t1984|1984\nb\t1984\t1984\n")
        assert found(kb, "1984") == [("b", "label"), ("a", "alias"), ("1984", "value")]

    def test_a_long_text_is_no_name(self, tmp_path: Path) -> None:
        quote = 1234567890 * 10**8
        kb = built(tmp_path, f"a\tsize\t{quote / 10**18:.70f}\na\tsize\t12\n")
        assert "12" in kb.names
        assert len(kb.names) == 2

    def test_a_name_has_a_number(self, people: KnowledgeBase) -> None:
        forms = [people.names.form(number) for number in range(len(people.names))]
        assert len(set(forms)) == len(forms) == people.manifest.counts["names"]
        for number, form in enumerate(forms):
            assert people.names.nodes_of(number) == people.names.nodes(form)

    def test_a_graph_without_names(self, tmp_path: Path) -> None:
        kb = built(tmp_path, "")
        assert len(kb.names) == 0
        assert kb.names.nodes("anything") == []
        assert kb.trigrams.within("anything") == []
        assert kb.linker.mentions(read_text("Who was Anything?")) == []
        assert kb.linker.candidates("anything") == []
