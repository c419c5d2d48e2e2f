"""Graph lookups, compared with numpy on the same arrays, and with pyoxigraph and rdflib in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import fixtures
from bench.measurement import Measurement, Options
from bench.peers import Numpy, Ours, Oxigraph, Rdflib, Store, mapped
from bench.timing import interleaved
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.types import Edge

_DRAWN, _STARTS = 1000, 5
_NEIGHBOURS = "neighbours of (entity, relation)"


def drawn_by_edge(folder: Path) -> list[Edge]:
    """Edges drawn uniformly, as for questions about random facts, so that popular nodes occur often."""
    at = np.random.default_rng(7).integers(0, len(mapped(folder, "out_ends")), _DRAWN)
    return _edges(folder, np.searchsorted(mapped(folder, "out_offsets"), at, "right") - 1, at)


def drawn_by_node(folder: Path) -> list[Edge]:
    """One edge of each of some uniformly drawn nodes, most of which have few edges."""
    rng = np.random.default_rng(7)
    offsets = mapped(folder, "out_offsets")
    heads = rng.permutation(np.flatnonzero(np.diff(offsets)))[:_DRAWN]
    share = rng.random(len(heads))
    return _edges(folder, heads, offsets[heads] + (share * (offsets[heads + 1] - offsets[heads])).astype(np.int64))


def _edges(folder: Path, heads: Any, at: Any) -> list[Edge]:
    relations, ends = mapped(folder, "out_relations")[at], mapped(folder, "out_ends")[at]
    return list(zip(heads.tolist(), relations.tolist(), ends.tolist(), strict=True))


def lookups(options: Options) -> Iterator[Measurement]:
    """Entity, relations, neighbours, membership, two hops."""
    for size in options.sizes:
        folder = fixtures.graph(options, size)
        ours = Ours(folder)
        edges = drawn_by_edge(folder)
        yield _by_id(f"entity by id, {size} triples", ours.graph, edges, options)
        yield from _compare(f"{size} triples", edges, ours, Numpy(folder), options, 1 / 3)
    size = "200k" if options.quick else "1M"
    yield from _against(Oxigraph(fixtures.ntriples(options, size)), size, options, 20)
    yield from _against(Rdflib(fixtures.ntriples(options, "200k")), "200k", options, None)


def _by_id(label: str, graph: ColumnarGraph, edges: list[Edge], options: Options) -> Measurement:
    ids = [graph.node_id(head) for head, _, _ in edges]
    median = interleaved({"ours": lambda: [graph.find(id) for id in ids]}, options.rounds, len(ids))
    return Measurement(label, median["ours"] * 1e6, "us")


def _against(peer: Store, size: str, options: Options, least: float | None) -> Iterator[Measurement]:
    folder = fixtures.graph(options, size)
    ours = Ours(folder)
    yield from _compare(f"{size} triples", drawn_by_edge(folder), ours, peer, options, least)
    label = f"{size} triples, nodes drawn uniformly"
    yield from _compare(label, drawn_by_node(folder), ours, peer, options, least, only=_NEIGHBOURS)


def _compare(
    label: str,
    edges: list[Edge],
    ours: Ours,
    peer: Store,
    options: Options,
    least: float | None,
    only: str | None = None,
) -> Iterator[Measurement]:
    """One row per kind of lookup, after a check that both return the same number of results."""
    contests = [_contest(store, [store.keys(ours.graph, edge) for edge in edges]) for store in (ours, peer)]
    for name in contests[0]:
        if only is not None and name != only:
            continue
        run, other = (contest[name] for contest in contests)
        if (results := run()) != other():
            raise RuntimeError(f"{name}, {label}: {peer.name} returns another number of results")
        calls = len(results)
        median = interleaved({"ours": run, "theirs": other}, options.rounds, calls)
        target = least if name == _NEIGHBOURS else None
        note = f"{sum(results) / calls:,.0f} results on average" if name in (_NEIGHBOURS, "two hops") else ""
        figures = median["ours"] * 1e6, median["theirs"] * 1e6
        yield Measurement(f"{name}, {label}", figures[0], "us", peer.name, figures[1], target, note=note)


def _contest(store: Store, edges: list[tuple[Any, Any, Any]]) -> dict[str, Callable[[], list[int]]]:
    return {
        "relations of an entity": lambda: [store.relations_of(head) for head, _, _ in edges],
        _NEIGHBOURS: lambda: [store.neighbours(head, relation) for head, relation, _ in edges],
        "contains": lambda: [store.contains(*edge) for edge in edges],
        "two hops": lambda: [store.two_hops(head) for head, _, _ in edges[:_STARTS]],
    }
