"""More of what `inputs` damages: property graphs, weights, training files, requests to the server, chats."""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import json
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from model_stand_ins import costly_rules

from torture.attack import Failure
from torture.inputs import _app, _small_base


def write_property_graphs(folder: Path) -> None:
    """One graph in each format of property graphs, and two lines of Wikidata's dump."""
    import networkx as nx

    ada, team = {"id": "1", "name": "Ada", "type": "Person", "age": 36}, {"id": "2", "name": "Billing", "type": "Team"}
    edge = {"source": "1", "target": "2", "relation": "works in", "since": 2017}
    network = nx.DiGraph()
    for node in (ada, team):
        network.add_node(node["id"], **{name: value for name, value in node.items() if name != "id"})
    network.add_edge("1", "2", relation="works in", since=2017)
    nx.write_graphml(network, folder / "a.graphml")
    nx.write_gexf(network, folder / "b.gexf")
    apoc = [
        {"type": "node", "id": "1", "labels": ["Person"], "properties": {"name": "Ada", "age": 36}},
        {"type": "node", "id": "2", "labels": ["Team"], "properties": {"name": "Billing"}},
        {"type": "relationship", "id": "9", "label": "works in", "start": {"id": "1"}, "end": {"id": "2"}},
    ]
    for name, rows in (("c.jsonl", [ada, team, edge]), ("d.jsonl", apoc)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "e.json").write_text(json.dumps({"nodes": [ada, team], "links": [edge]}))
    (folder / "f.json").write_text(json.dumps({"elements": [{"data": row} for row in (ada, team, edge)]}))
    (folder / "g.cyjs").write_text(json.dumps(nx.cytoscape_data(network)))
    (folder / "h.csv").write_text(
        '"_id","_labels","name","_start","_end","_type"\n"1",":Person","Ada",,,\n,,,"1","1","likes"\n'
    )
    (folder / "i.csv").write_text("id:ID,name,age:int,:LABEL\n1,Ada,36,Person\n")
    time = {"time": "+2001-02-00T00:00:00Z", "precision": 10}
    claims = [
        ("wikibase-entityid", {"id": "Q5"}),
        ("time", time),
        ("quantity", {"amount": "+3"}),
        ("globecoordinate", {"latitude": 1.5, "longitude": 2}),
        ("monolingualtext", {"text": "x"}),
    ]
    snaks = [
        {"snaktype": "value", "property": "P31", "datavalue": {"type": kind, "value": value}} for kind, value in claims
    ]
    named = {"labels": {"en": {"value": "Ada"}}, "aliases": {"en": [{"value": "A"}]}}
    said = [{"mainsnak": snak, "rank": "normal", "qualifiers": {"P580": [snaks[1]]}} for snak in snaks]
    items = [
        {"type": "item", "id": "Q1", **named, "claims": {"P31": said}},
        {"type": "property", "id": "P31", "labels": {"en": {"value": "instance of"}}},
    ]
    lines = ",\n".join(json.dumps(item, separators=(",", ":")) for item in items)
    (folder / "j.json").write_text(f"[\n{lines}\n]\n")


def write_weights(folder: Path) -> None:
    """The weights in the package: of the ranker, of common relations, and of the embeddings of the bundled graph."""
    from triplecheck.kg import ranker
    from triplecheck.programs.judge import ranked

    shutil.copyfile(ranker.GENERAL, folder / "ranker.safetensors")
    shutil.copyfile(ranked.COMMON, folder / "common.safetensors")
    shutil.copytree(ranker.GENERAL.parent / "bundled" / "embeddings", folder / "embeddings")


def read_weights(folder: Path) -> None:
    """Open the damaged file, and compute with it."""
    from triplecheck.kg.embedding.embeddings import Embeddings
    from triplecheck.kg.ranker import load_ranker
    from triplecheck.programs.judge import ranked

    name = Path(os.environ["TORTURE_DAMAGED"]).name
    if name == "ranker.safetensors":
        found = load_ranker.__wrapped__(folder / name)
        vectors = np.ones((2, found.weights["lengths.weight"].shape[1]), np.float32)
        hops = found.hops(vectors[0], found.relations(vectors))
        if not 1 <= hops.longest() <= 3 or not np.isfinite(hops.first).all():
            raise Failure("a damaged ranker scores hops with numbers that are not finite")
    elif name == "common.safetensors":
        was, ranked.COMMON = ranked.COMMON, folder / name
        try:
            ranked._common.__wrapped__(load_ranker())
        finally:
            ranked.COMMON = was
    else:
        embeddings = Embeddings(folder / "embeddings")
        with contextlib.suppress(IndexError):  # says that a node or relation has no vector
            embeddings.score(*(np.array(column) for column in ((0, 1), (0, 1), (2, 3))))
        embeddings.best_tails(0, 0, 3)


def write_training(folder: Path) -> None:
    """Files that `train-ranker` and `kb extract` read."""
    row = {"id": "q", "vocabulary": "wikidata", "operation": "none", "source": "simplequestions-wikidata train"}
    rows = (
        {**row, "id": f"q{n}", "question": f"Who painted A{n}?", "topics": [f"A{n}"], "paths": [[["P1", "forward"]]]}
        for n in range(3)
    )
    asked = "".join(json.dumps(one) + "\n" for one in rows)
    (folder / "questions_train.jsonl.gz").write_bytes(gzip.compress(asked.encode(), mtime=0))
    named = "vocabulary\tid\tlabel\taliases\nwikidata\tP1\tpainter\tpainted by|artist\n"
    (folder / "relations.tsv.gz").write_bytes(gzip.compress(named.encode(), mtime=0))


def read_training(folder: Path) -> None:
    """Read the damaged file as it is, and its content packed well."""
    from triplecheck.kg import TriplecheckError
    from triplecheck.optimize.distil import general_ranker

    def read() -> None:
        numbers, _ = general_ranker._vocabularies(folder / general_ranker._RELATIONS)
        general_ranker._read(folder / general_ranker._QUESTIONS, numbers, ())

    damaged = Path(os.environ["TORTURE_DAMAGED"])
    with contextlib.suppress(TriplecheckError):
        read()
    damaged.write_bytes(gzip.compress(damaged.read_bytes(), mtime=0))
    read()


def write_extracted(folder: Path) -> None:
    """Documents, and what an interrupted `kb extract` has read of them."""
    texts = [{"id": f"d{n}", "text": f"Ada {n} was born in Ulm."} for n in range(3)]
    (folder / "articles.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    with costly_rules(), contextlib.suppress(Failure):  # the budget ends it, with another exit code
        _app(_main(), [*_extract(folder), "--budget-calls", "2"])
    if not (folder / ".made.extract" / "documents.jsonl").is_file():
        raise Failure("an interrupted extraction leaves no rows")


def _extract(folder: Path) -> list[str]:
    return ["kb", "extract", str(folder / "articles.jsonl"), str(folder / "made"), "--no-vectors", "--lm", "costly"]


def read_extracted(folder: Path) -> None:
    """Extract again: from the damaged documents, or beside the damaged rows."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    try:
        with costly_rules():
            _app(_main(), _extract(folder))
    finally:
        shutil.rmtree(folder / "made", ignore_errors=True)
        for path, content in before.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


@functools.cache
def _main() -> Any:
    from triplecheck.app.main import app

    return app


REQUESTS: dict[str, Any] = {
    "ask": {"question": "Where was Ada born?", "base": "kb", "program": "kerag", "stream": False},
    "chat,completions": {
        "model": "kerag",
        "messages": [
            {"role": "user", "content": "What is the capital of France?"},
            {"role": "assistant", "content": "Paris"},
            {"role": "user", "content": [{"type": "text", "text": "And of Germany?"}]},
        ],
        "stream": False,
    },
    "verify": {"text": "Paris is the capital of France.", "base": "kb"},
}
"""Bodies by path."""


def write_requests(folder: Path) -> None:
    """Bodies of requests, the query of a GET request, and lines that a person types in a chat."""
    for path, body in REQUESTS.items():
        (folder / path).write_text(json.dumps(body))
    (folder / "search").write_text("q=France")
    (folder / "neighbours").write_text("id=Q142&limit=5")
    (folder / "match").write_text("patterns=?x capital ?y&answer=?x&exact=true")
    (folder / "typed").write_text("capital of France?\n/why\nand of Germany?\n/graph\n/new\n/help\n/x\n")
    _small_base(folder)


@functools.cache
def _client(base: str) -> Any:
    from fastapi.testclient import TestClient
    from serving import service_of

    from triplecheck.app.serve.rest import make_app

    client = TestClient(make_app(service_of(base)), base_url="http://localhost")
    client.__enter__()
    return client


@contextlib.contextmanager
def _silent(*names: str) -> Iterator[None]:
    """Drop the log of some loggers; afterwards they are as before, since tests run in this process too."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def read_requests(folder: Path) -> None:
    """Send the damaged request: a reply of the API, never an error of the server's own."""
    damaged = Path(os.environ["TORTURE_DAMAGED"])
    base = str(_small_base(folder).path)
    if damaged.name == "typed":
        was, sys.stdin = sys.stdin, io.TextIOWrapper(damaged.open("rb"), "utf-8", "surrogateescape")
        try:
            _app(_main(), ["chat", "-q", "--kb", base], ends=(0, 1))
        finally:
            sys.stdin = was
        return
    path = f"/v1/{damaged.name.replace(',', '/')}"
    with _silent("httpx", "triplecheck"):
        client = _client(base)
        if damaged.name in REQUESTS:
            reply = client.post(path, content=damaged.read_bytes(), headers={"Content-Type": "application/json"})
        else:
            pairs = [pair.partition("=") for pair in damaged.read_bytes().decode("utf-8", "replace").split("&")]
            reply = client.get(path, params=[(name, value) for name, _, value in pairs])
    if reply.status_code >= 500:
        raise Failure(f"{path}: {reply.status_code}: {reply.text[:200]}")
    if reply.headers["content-type"].startswith("application/json"):
        json.loads(reply.content)
