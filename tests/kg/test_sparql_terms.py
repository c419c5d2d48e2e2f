"""No text breaks out of its place in a query."""

from __future__ import annotations

import pyoxigraph
import pytest
import rdflib
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sparql_endpoint import StoreClient

from triplecheck.kg.sparql.terms import iri, is_iri, literal
from triplecheck.kg.types import XSD

CLIENTS = [StoreClient(pyoxigraph.Store()), StoreClient(rdflib.Graph())]
AWKWARD = st.text(st.sampled_from("\\\"'uU0022<>{}|^`\n\r\t\b\f ?#@é東\U0001f600:/x"), max_size=12)
TEXT = st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), AWKWARD)


@pytest.mark.parametrize("client", CLIENTS, ids=["oxigraph", "rdflib"])
@settings(max_examples=150)
@given(text=TEXT)
@example(text="\\u0022 } UNION { ?s ?p ?o } #")
@example(text="\\U00000022 } #")
@example(text="\\\\u0022")
@example(text='"""')
def test_a_literal_comes_back_as_it_was(client: StoreClient, text: str) -> None:
    plain, tagged, typed = literal(text), literal(text, language="en-GB"), literal(text, XSD + "anyURI")
    rows = client.select(f"SELECT ?a ?b ?c WHERE {{ VALUES (?a ?b ?c) {{ ({plain} {tagged} {typed}) }} }}")
    assert [tuple(row[name].value for name in "abc") for row in rows] == [(text, text, text)]
    assert rows[0]["b"].language.lower() == "en-gb"
    assert rows[0]["c"].datatype == XSD + "anyURI"


@given(text=TEXT)
@example(text="http://a/\\u003e")
def test_an_iri_keeps_between_its_brackets_or_is_refused(text: str) -> None:
    if is_iri(text):
        assert not set(iri(text)[1:-1]) & set('<>"{}|^`\\ \n\r\t')
    else:
        with pytest.raises(ValueError, match="not an IRI"):
            iri(text)


@pytest.mark.parametrize("text", ["http://example.org/東京?a=b#c", "urn:x:y", "mailto:a@b.c", "x:"])
def test_iris(text: str) -> None:
    assert iri(text) == f"<{text}>"


@pytest.mark.parametrize("text", ["", "no scheme", "a b:c", "http://a b", "http://a>b", "1a:b", "http://a\ud800"])
def test_no_iris(text: str) -> None:
    assert not is_iri(text)


def test_lone_surrogates_and_malformed_tags_are_refused() -> None:
    for arguments in (("\ud800",), ("a", "no iri"), ("a", XSD + "string", "en us"), ("a", XSD + "string", 'en"')):
        with pytest.raises(ValueError, match=r"^not "):
            literal(*arguments)
