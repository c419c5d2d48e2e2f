"""How a Bolt server is asked, and what is said when it fails."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from bolt_server import PASSWORD, USER, writing
from virtuoso_server import free_port

from triplecheck.kg.cypher import BoltClient, CypherGraph
from triplecheck.kg.errors import GraphUnavailableError, MissingExtraError, UserError
from triplecheck.kg.sparql import QueryLimits
from triplecheck.kg.sparql.client import QueryRefusedError
from triplecheck.kg.types import XSD, Literal

pytest.importorskip("neo4j")

ONE = "RETURN 1"


class Proxy:
    """Passes bytes on between a driver and a server, notes what the driver sends, and fails when it is told to.

    Attributes:
        sent: all bytes of the driver.
        connections: connections so far.
        drop: whether to hang up on a connection, by its number.
        silent: whether to swallow what the server says.
    """

    def __init__(self, port: int) -> None:
        self.sent = b""
        self.connections = 0
        self.drop: Callable[[int], bool] = lambda number: False
        self.silent = False
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"bolt://127.0.0.1:{self._listening.getsockname()[1]}/people"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self.connections += 1
                if self.drop(self.connections):
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._port))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(*ends, ends[0] is near), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, outgoing: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if outgoing:
                    self.sent += data
                if outgoing or not self.silent:
                    target.sendall(data)
        target.close()

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def proxy(bolt: str) -> Iterator[Proxy]:
    passing = Proxy(int(bolt.rpartition(":")[2]))
    yield passing
    passing.close()


@contextlib.contextmanager
def asking(url: str, **options: object) -> Iterator[BoltClient]:
    given: dict[str, object] = {"user": USER, "password": PASSWORD} | options
    client = BoltClient(url, **given)  # type: ignore[arg-type]
    try:
        yield client
    finally:
        client.close()


class TestAsking:
    def test_transactions_are_read_only_and_end_after_the_time_limit(self, proxy: Proxy) -> None:
        with asking(proxy.url, limits=QueryLimits(seconds=7)) as client:
            assert client.rows("RETURN $x", {"x": "a`b'\"\\"}) == [["a`b'\"\\"]]
        assert b"\x84mode\x81r" in proxy.sent  # in PackStream
        assert b"\x8atx_timeout" in proxy.sent
        assert b"a`b'\"\\" in proxy.sent.partition(b"RETURN $x")[2]

    def test_user_and_password_may_stand_in_the_url(self, bolt: str) -> None:
        with asking(bolt.replace("//", f"//{USER}:{PASSWORD}@") + "/people", user=None, password=None) as client:
            assert client.rows(ONE) == [[1]]
            assert PASSWORD not in client.name

    def test_many_rows_arrive_in_parts(self, bolt: str) -> None:
        with asking(bolt, database="people") as client:
            assert len(client.rows("UNWIND range(1, 2500) AS a RETURN a")) == 2500

    def test_the_dialect_is_detected(self, bolt: str) -> None:
        with asking(bolt, database="people") as client:
            assert client.dialect.name == "neo4j"


def test_dates_and_times_are_found_from_both_ends(bolt: str) -> None:
    values = {
        "day": ("date('2000-01-02')", Literal("2000-01-02", XSD + "date")),
        "local": ("localdatetime('2000-01-02T03:04:05.5')", Literal("2000-01-02T03:04:05.500000", XSD + "dateTime")),
        "zoned": ("datetime('2000-01-02T03:04:05Z')", Literal("2000-01-02T03:04:05+00:00", XSD + "dateTime")),
        "place": ("point({x: 1, y: 2})", None),
    }
    written = ", ".join(f"{key}: {value}" for key, (value, _) in values.items())
    with writing(f"{bolt}/cinema") as write:
        write(f"CREATE (:Event {{id: 'e1', name: 'Event', {written}}})")
    with asking(bolt, database="cinema") as client:
        graph = CypherGraph(client)
        node = graph.find("e1")
        assert node is not None
        found = {graph.literal(int(tail)) for tail in graph.expand([node]).tails}
        assert found == {value for _, value in values.values()} - {None}
        for value in found - {None}:
            assert value is not None
            again = CypherGraph(client)
            tail = again.find(value)
            assert tail is not None, value
            assert [again.node_id(int(head)) for head in again.expand([tail]).heads] == ["e1"]


class TestFailures:
    def test_a_server_that_hangs_up_is_asked_again(self, proxy: Proxy) -> None:
        proxy.drop = lambda number: number <= 2
        with asking(proxy.url) as client:
            assert client.rows(ONE) == [[1]]
        assert proxy.connections >= 3

    def test_tries_are_capped(self, proxy: Proxy) -> None:
        proxy.drop = lambda number: True
        with asking(proxy.url, retries=1) as client, pytest.raises(GraphUnavailableError, match="is not reachable"):
            client.rows(ONE)
        assert proxy.connections == 2

    def test_a_server_that_stops_answering_is_given_up(self, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("triplecheck.kg.cypher.bolt._GRACE", 0.1)
        client = BoltClient(proxy.url, QueryLimits(seconds=4), USER, PASSWORD)
        assert client.rows(ONE) == [[1]]
        proxy.silent = True
        with pytest.raises(GraphUnavailableError, match=r"no answer within 4 s"):
            client.rows(ONE)

    def test_a_server_that_never_answers_is_given_up(self, proxy: Proxy) -> None:
        proxy.silent = True
        with (
            asking(proxy.url, limits=QueryLimits(seconds=0.5), retries=0) as client,
            pytest.raises(GraphUnavailableError),
        ):
            client.rows(ONE)

    def test_a_slow_query_is_ended(self, bolt: str) -> None:
        slow = "UNWIND range(1, 6000) AS a UNWIND range(1, 6000) AS b RETURN sum(a * b)"
        limits = QueryLimits(seconds=0.5)
        with (
            asking(bolt, database="people", limits=limits) as client,
            pytest.raises(GraphUnavailableError, match=r"no answer within 0.5 s"),
        ):
            client.rows(slow)

    def test_too_many_rows_are_an_error(self, bolt: str) -> None:
        limits = QueryLimits(rows=10)
        with (
            asking(bolt, database="people", limits=limits) as client,
            pytest.raises(GraphUnavailableError, match="more than 10 "),
        ):
            client.rows("UNWIND range(1, 100) AS a RETURN a")

    def test_nothing_there_is_not_reachable(self) -> None:
        with (
            asking(f"bolt://127.0.0.1:{free_port()}", retries=0) as client,
            pytest.raises(GraphUnavailableError, match=r"is not reachable .*check the URL and the network"),
        ):
            client.rows(ONE)

    def test_a_wrong_password_is_not_repeated(self, bolt: str) -> None:
        with (
            asking(bolt, password="s3cretword", database="people") as client,
            pytest.raises(GraphUnavailableError, match="refuses the user or the password") as raised,
        ):
            client.rows(ONE)
        assert "s3cretword" not in str(raised.value)

    def test_a_query_that_is_rejected_is_named_so(self, bolt: str) -> None:
        with (
            asking(bolt, database="people") as client,
            pytest.raises(QueryRefusedError, match=r"rejects a query: .*yntax"),
        ):
            client.rows("RETRUN 1")

    def test_a_value_that_cannot_be_sent_is_an_error(self, bolt: str) -> None:
        with asking(bolt, database="people") as client, pytest.raises(GraphUnavailableError, match="failed on a query"):
            client.rows("RETURN $x", {"x": object()})

    def test_other_urls_are_refused(self) -> None:
        for url in ("http://host", "bolt://", "host:7687", "bolt://host:port", "bolt://host:99999"):
            with pytest.raises(UserError, match="not the URL of a Bolt server"):
                BoltClient(url)

    def test_a_missing_driver_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "neo4j", None)
        with pytest.raises(MissingExtraError, match=r"needs neo4j.*: pip install 'triplecheck\[cypher\]'"):
            BoltClient("bolt://localhost")
