"""Patterns as text: read, written, refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.kg import Name, Pattern, UserError, Variable
from triplecheck.kg.patterns import parse_patterns, write_pattern


def test_variables_types_names_and_words() -> None:
    text = """?film:Film directed_by 'Christopher Nolan'; ?film starring ?actor
    "O'Hara":'Fictional person' * ?film"""
    film, actor = Variable("film", "Film"), Variable("actor")
    assert parse_patterns(text) == [
        Pattern(film, "directed_by", Name("Christopher Nolan")),
        Pattern(Variable("film"), "starring", actor),
        Pattern(Name("O'Hara", "Fictional person"), Variable("*"), Variable("film")),
    ]


def test_an_iri_is_one_word() -> None:
    (pattern,) = parse_patterns("http://example.org/a:b http://example.org/directed ?x")
    assert pattern == Pattern(Name("http://example.org/a:b"), "http://example.org/directed", Variable("x"))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no pattern"),
        (" ; ", "no pattern"),
        ("?a b", "2 parts"),
        ("?a b ?c ?d", "4 parts"),
        ("?a b 'Nolan", "not closed"),
        ("?a b 'Nolan'x", "not followed by a space"),
        ("? b ?c", "needs a name"),
        ("?a:Film b ?c; ?a:City d ?e", "two types"),
    ],
)
def test_what_is_no_pattern_is_refused_with_what_is_wrong(text: str, part: str) -> None:
    with pytest.raises(UserError, match=part.replace("?", r"\?")):
        parse_patterns(text)


names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)
parts = st.builds(Name, names, names | st.none()) | st.builds(Variable, st.from_regex(r"[a-z]\w{0,5}", fullmatch=True))


@given(parts, names.filter(lambda name: name != "*" and name.strip()), parts)
def test_what_is_written_is_read_back(head: Name | Variable, relation: str, tail: Name | Variable) -> None:
    pattern = Pattern(head, relation, tail)
    assert parse_patterns(write_pattern(pattern)) == [pattern]
