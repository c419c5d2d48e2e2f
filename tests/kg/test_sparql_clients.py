"""Clients answer, or say what is wrong with the store and what to do."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pyoxigraph
import pytest
from sparql_endpoint import Endpoint, serve

from triplecheck.kg.errors import GraphUnavailableError, UserError
from triplecheck.kg.sparql import HttpClient, QueryLimits, QueryRefusedError, Term, TermKind
from triplecheck.kg.types import XSD

TURTLE = '<http://e/a> <http://e/p> <http://e/b>, "x"@en, 5, [] .'
ALL = "SELECT ?y ?unbound WHERE { <http://e/a> <http://e/p> ?y }"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    store = pyoxigraph.Store()
    store.load(TURTLE.encode(), pyoxigraph.RdfFormat.TURTLE)
    with serve(store) as endpoint:
        yield endpoint


@pytest.mark.parametrize("path", ["/sparql", "/xml"])
def test_solutions_have_terms_for_bound_variables(endpoint: Endpoint, path: str) -> None:
    rows = HttpClient(endpoint.address + path).select(ALL)
    assert all(set(row) == {"y"} for row in rows)
    named = {row["y"] for row in rows if row["y"].kind is not TermKind.BLANK}
    assert named == {
        Term(TermKind.IRI, "http://e/b"),
        Term(TermKind.LITERAL, "x", XSD + "string", "en"),
        Term(TermKind.LITERAL, "5", XSD + "integer"),
    }
    assert len(rows) == 4


def test_a_malformed_query_is_refused(endpoint: Endpoint) -> None:
    client = HttpClient(endpoint.address + "/sparql")
    with pytest.raises(QueryRefusedError, match=client.name):
        client.select("SELECT WHERE oops")


def test_too_many_solutions_are_an_error_and_not_a_shorter_answer(endpoint: Endpoint) -> None:
    with pytest.raises(GraphUnavailableError, match=r"more than 3 solutions.*QueryLimits\.rows"):
        HttpClient(endpoint.address + "/sparql", QueryLimits(rows=3)).select(ALL)


def test_long_queries_go_by_post(endpoint: Endpoint) -> None:
    client = HttpClient(endpoint.address + "/sparql")
    endpoint.asked.clear()
    assert client.select(ALL) == client.select(ALL + " #" + "x" * 3000)
    assert [method for method, _ in endpoint.asked] == ["GET", "POST"]


@pytest.mark.parametrize("path", ["slow", "trickle"])
def test_a_slow_endpoint_is_given_up(endpoint: Endpoint, path: str) -> None:
    client = HttpClient(f"{endpoint.address}/{path}", QueryLimits(seconds=0.3))
    start = time.monotonic()
    with pytest.raises(GraphUnavailableError, match=rf"/{path}: no answer within 0\.3 s.*QueryLimits\.seconds"):
        client.select(ALL)
    assert time.monotonic() - start < 25


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("500", "failed on a query .*Engine out of memory"),
        ("502", "HTTP 502 .*try again later"),
        ("429", "HTTP 429 .*try again later"),
        ("403", "HTTP 403 .*user and password"),
        ("404", "check the URL"),
        ("html", "text/html instead of SPARQL results.*sign in.*URL"),
        ("cut", "closed the connection"),
        ("partly", "returns a part of the results .*S1TAT"),
        ("capped", "truncates results at 4 rows"),
    ],
)
def test_failures_name_the_endpoint_and_the_way_out(endpoint: Endpoint, path: str, message: str) -> None:
    with pytest.raises(GraphUnavailableError, match=f"^{endpoint.address}/{path}.*{message}"):
        HttpClient(f"{endpoint.address}/{path}", retries=0).select(ALL)


def test_an_answer_below_the_cap_of_the_endpoint_is_whole(endpoint: Endpoint) -> None:
    assert len(HttpClient(endpoint.address + "/capped").select(ALL + " LIMIT 3")) == 3


def test_a_reply_may_be_too_large(endpoint: Endpoint) -> None:
    with pytest.raises(GraphUnavailableError, match=r"more than 100 bytes.*QueryLimits\.bytes"):
        HttpClient(endpoint.address + "/sparql", QueryLimits(bytes=100)).select(ALL)


def test_a_refused_connection() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/sparql"
    with pytest.raises(GraphUnavailableError, match=f"^{address} is not reachable .*check the URL"):
        HttpClient(address).select(ALL)


@pytest.mark.parametrize("address", ["", "example.org/sparql", "file:///etc/hosts", "ftp://a/b", "http://"])
def test_only_http_urls_are_accepted(address: str) -> None:
    with pytest.raises(UserError, match="not the URL of a SPARQL endpoint"):
        HttpClient(address)


def test_user_and_password_stand_in_no_message() -> None:
    client = HttpClient("http://me:secret@127.0.0.1:1/sparql?default-graph-uri=http://g")
    with pytest.raises(GraphUnavailableError) as caught:
        client.select(ALL)
    assert "secret" not in str(caught.value)
    assert client.name == "http://127.0.0.1:1/sparql"
