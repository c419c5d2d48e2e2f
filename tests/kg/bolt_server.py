"""A Bolt server on loopback that runs openCypher, for the tests that query a real one: ArcadeDB with its own Java."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from virtuoso_server import free_port, stop

from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.cypher.dialects import quoted
from triplecheck.kg.cypher.values import natives
from triplecheck.kg.export import to_raw
from triplecheck.kg.types import XSD

USER, PASSWORD = "root", "playwithdata"
DATABASES = ("contract", "people", "odd", "cinema")
_PLUGIN = "Bolt:com.arcadedb.bolt.BoltProtocolPlugin"
_OPENED = ("java.base/java.nio.channels.spi=ALL-UNNAMED", "java.base/java.lang=ALL-UNNAMED")


@contextlib.contextmanager
def bolt_server(place: Path) -> Iterator[str]:
    """The URL of a server with empty `DATABASES`, as long as the block lasts.

    Args:
        place: an empty directory for its files.
    """
    found = find_spec("arcadedb_embedded")
    if found is None or found.origin is None or find_spec("neo4j") is None:
        pytest.skip("neither arcadedb-embedded nor neo4j may be missing (extra `test`)")
    package = Path(found.origin).parent
    bolt, http = free_port(), free_port()
    settings = {
        "server.rootPassword": PASSWORD,
        "server.rootPath": str(place),
        "server.plugins": _PLUGIN,
        "server.defaultDatabases": ";".join(f"{name}[{USER}]" for name in DATABASES),
        "server.httpIncomingHost": "127.0.0.1",
        "server.httpIncomingPort": str(http),
        "bolt.host": "127.0.0.1",
        "bolt.port": str(bolt),
    }
    command = [str(package / "jre" / "bin" / "java"), "-Xmx512m", "-cp", str(package / "jars" / "*")]
    command += [f"--add-opens={name}" for name in _OPENED]
    command += [f"-Darcadedb.{name}={value}" for name, value in settings.items()]
    log = place / "server.log"
    with log.open("wb") as said:
        server = subprocess.Popen(
            [*command, "com.arcadedb.server.ArcadeDBServer"], cwd=place, stdout=said, stderr=subprocess.STDOUT
        )
    try:
        _wait(server, log)
        yield f"bolt://127.0.0.1:{bolt}"
    finally:
        stop(server)


def _wait(server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 120
    while "ArcadeDB Server started" not in log.read_text("utf-8", "replace"):
        assert server.poll() is None, log.read_text("utf-8", "replace")
        assert time.monotonic() < until, "the server does not start"
        time.sleep(0.1)


Write = Callable[..., list[list[Any]]]


@contextlib.contextmanager
def writing(url: str) -> Iterator[Write]:
    """A function that returns the rows of a query, which may write into the database at the end of the URL."""
    import neo4j

    address, _, database = url.rpartition("/")
    with (
        neo4j.GraphDatabase.driver(address, auth=(USER, PASSWORD)) as driver,
        driver.session(database=database) as session,
    ):
        yield lambda query, **parameters: [list(row) for row in session.run(query, parameters)]


def load(url: str, graph: ColumnarGraph) -> None:
    """Write a graph: types become labels, edges to values properties."""
    raw = to_raw(graph)
    assert raw.tails is not None and raw.datatypes is not None
    values: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    ends: dict[str, list[dict[str, str]]] = defaultdict(list)
    columns = (column.to_pylist() for column in (raw.heads, raw.relations, raw.tails, raw.datatypes))
    for head, relation, tail, datatype in zip(*columns, strict=True):
        if datatype is None:
            ends[relation].append({"from": head, "to": tail})
        else:
            kind = datatype.removeprefix(XSD)
            kind = {"decimal": "double", "gYear": "integer"}.get(kind, kind)
            values[head][relation] += natives([tail], kind) or [tail]
    nodes: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for number, row in enumerate(raw.entities.to_pylist()):
        about = {"id": row["id"], "name": row["label"] or graph.label(number)}
        about |= {"description": row["description"] or None, "aliases": row["aliases"] or None}
        about |= {key: found if len(found) > 1 else found[0] for key, found in values[row["id"]].items()}
        nodes[tuple(row["types"])].append({key: value for key, value in about.items() if value is not None})
    with writing(url) as write:
        _write(write, nodes, ends)


def _write(
    write: Write,
    nodes: Mapping[tuple[str, ...], list[dict[str, Any]]],
    ends: Mapping[str, list[dict[str, str]]],
) -> None:
    elements: dict[str, str] = {}
    for types, rows in nodes.items():
        labels = "".join(f":{quoted(each)}" for each in types)
        query = f"UNWIND $rows AS row CREATE (n{labels}) SET n += row RETURN n.id, elementId(n)"
        elements |= dict(write(query, rows=rows))  # type: ignore[arg-type]
    for relation, pairs in ends.items():
        rows = [{end: elements[id] for end, id in pair.items()} for pair in pairs]
        match = "UNWIND $rows AS row MATCH (a) WHERE elementId(a) = row.from MATCH (b) WHERE elementId(b) = row.to"
        write(f"{match} CREATE (a)-[:{quoted(relation)}]->(b)", rows=rows)
