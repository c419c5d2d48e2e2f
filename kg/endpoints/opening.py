"""`open_endpoint`: a graph and its linker from the options of an endpoint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from triplecheck.kg.endpoints.index import EndpointIndex, is_index
from triplecheck.kg.endpoints.options import EndpointOptions, headers_from_environment
from triplecheck.kg.errors import GraphUnavailableError, KnowledgeBaseError, UserError
from triplecheck.kg.linking import Linker
from triplecheck.kg.queried import RemoteGraph
from triplecheck.kg.queried_linker import QueriedLinker
from triplecheck.kg.readable import relation_label
from triplecheck.kg.sparql import HttpClient, QueryLimits, SparqlGraph
from triplecheck.kg.sparql._cache import ReplyCache
from triplecheck.kg.sparql.profiles import PROFILES, STATEMENTS, detect
from triplecheck.kg.types import Relation
from triplecheck.kg.vocabulary import Vocabulary

T = TypeVar("T")


@dataclass(frozen=True)
class Endpoint:
    """An endpoint that was opened; `counted` says whether the server can count the whole graph."""

    options: EndpointOptions
    profile: str
    graph: RemoteGraph
    linker: Linker
    index: EndpointIndex | None
    counted: bool

    @property
    def identity(self) -> dict[str, Any]:
        """What determines the answers: the endpoint, how it is read, and when the index was built."""
        made = {} if self.index is None else {"index": self.index.about.made}
        return self.options.identity | {"profile": self.profile} | made

    def about(self) -> dict[str, Any]:
        """What is known of it: address, profile, index and counts; a count that the server refuses is its message."""
        index = self.index
        made = None if index is None else datetime.fromtimestamp(index.about.made, UTC).isoformat(" ", "minutes")
        counts: dict[str, int | str] = {} if index is None else dict(index.about.counts)
        if index is None:
            for name, of in (("nodes", "num_nodes"), ("relations", "num_relations"), ("triples", "num_triples")):
                try:
                    counts[name] = getattr(self.graph, of) if self.counted else "the graph is too large"
                except GraphUnavailableError as error:
                    counts[name] = str(error)
        equal = "equal names" if self.options.is_cypher else "text index of the server, or equal names"
        return {
            "endpoint": self.options.name,
            "profile": self.profile,
            "names": equal if index is None else "local index",
            "index": "none" if index is None else f"{index.folder} ({made})",
            "counts": counts,
        }


def open_endpoint(options: EndpointOptions, cache: Path, *, use_index: bool = True) -> Endpoint:
    """Open an endpoint.

    Args:
        cache: directory of cached replies, and of the default place of indices.
        use_index: False: names are looked up on the server even if there is an index.

    Raises:
        UserError: no such profile, a variable that is not set, or a missing package.
        KnowledgeBaseError: the index is missing, or of another endpoint.
        GraphUnavailableError: the server does not answer.
    """
    index = _index(options, cache) if use_index else None
    profile, counted, graph = _cypher(options, index) if options.is_cypher else _sparql(options, cache, index)
    linker: Linker = QueriedLinker(graph) if index is None else index.linker(graph)
    return Endpoint(options, profile, graph, linker, index, counted)


def index_path(options: EndpointOptions, cache: Path) -> Path:
    """Where the index of an endpoint is: the configured place, or one in the cache directory."""
    return options.index or cache / "endpoints" / f"{_key(options.identity)}-index"


def _key(identity: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def _index(options: EndpointOptions, cache: Path) -> EndpointIndex | None:
    place = index_path(options, cache)
    if not is_index(place):
        if options.index is not None:
            raise KnowledgeBaseError(
                f"{place}: no index here; build it with `triplecheck kb index {options.name} {place}`"
            )
        return None
    found = EndpointIndex(place)
    for name, wanted in (("endpoint", options.name), ("database", options.database), ("key", options.key)):
        made = found.about.endpoint.get(name)
        if made != wanted:
            raise KnowledgeBaseError(f"{place}: is the index of {name} {made}, not of {wanted}; name another one")
    return found


def _sparql(options: EndpointOptions, cache: Path, index: EndpointIndex | None) -> tuple[str, bool, RemoteGraph]:
    replies = None
    user, password = options.credentials
    if options.cache_hours and options.cache_megabytes:
        # Users may see different graphs, so each has replies of its own.
        key = _key(options.identity | {"user": user or "", "headers": dict(options.headers)})
        path = cache / "endpoints" / f"{key}.sqlite"
        replies = ReplyCache(path, options.cache_hours * 3600, options.cache_megabytes << 20)
    url = options.url
    if options.default_graph:
        url += ("&" if "?" in url else "?") + f"default-graph-uri={quote(options.default_graph, safe='')}"
    client = HttpClient(
        url,
        QueryLimits(options.seconds, options.rows, options.megabytes << 20),
        user,
        password,
        headers=headers_from_environment(options.headers, options.name),
        requests_per_second=options.requests_per_second,
        retries=options.retries,
        cache=replies,
    )
    if index is not None:
        client.most_rows = index.about.learned.get("most_rows")
    given = _named(options.profile, PROFILES, "profile")
    profile = given or detect(options.name, client.server())
    if options.statements is not None:
        if options.statements not in STATEMENTS:
            raise UserError(f"{options.name}: statements is {options.statements!r}; there are: {', '.join(STATEMENTS)}")
        profile = replace(profile, statements=options.statements)
    words = _vocabulary(options, profile.vocabulary)
    return profile.name, profile.counted, SparqlGraph(client, words, profile=profile, **_known(index))


def _cypher(options: EndpointOptions, index: EndpointIndex | None) -> tuple[str, bool, RemoteGraph]:
    from triplecheck.kg.cypher import BoltClient, CypherClient, CypherGraph, LadybugClient
    from triplecheck.kg.cypher.dialects import DIALECTS, LADYBUG
    from triplecheck.kg.cypher.schema import WORDS
    from triplecheck.kg.readers import read_relations

    limits = QueryLimits(options.seconds, options.rows, options.megabytes << 20)
    client: CypherClient
    if options.scheme == LADYBUG:
        client = LadybugClient(options.path, limits)
    else:
        dialect = _named(options.profile, DIALECTS, "Cypher profile")
        user, password = options.credentials
        client = BoltClient(
            options.url, limits, user, password, database=options.database, retries=options.retries, dialect=dialect
        )
    described = [] if options.relations is None else read_relations(options.relations)[0].to_pylist()
    graph = CypherGraph(
        client,
        _vocabulary(options, WORDS),
        options.key,
        described=[_relation(row) for row in described],
        learned=None if index is None else index.about.learned,
        **_known(index),
    )
    return client.dialect.name, True, graph


def _named(name: str | None, known: Mapping[str, T], what: str) -> T | None:
    if name and name not in known:
        raise UserError(f"no {what} {name!r}; there are: {', '.join(known)}")
    return known[name] if name else None


def _known(index: EndpointIndex | None) -> dict[str, Any]:
    """What an index says to a graph, so that the server is not asked for it."""
    if index is None:
        return {}
    about = index.about
    return {
        "type_ids": about.types,
        "relations": about.relations,
        "schemas": about.schemas,
        "type_labels": about.type_labels,
    }


def _relation(row: Mapping[str, Any]) -> Relation:
    label, aliases = row["label"] or relation_label(row["id"]), tuple(row["aliases"] or ())
    return Relation(row["id"], label, aliases, row["description"] or "", row["domain"], row["range"])


def _vocabulary(options: EndpointOptions, words: Vocabulary) -> Vocabulary:
    given = {name: getattr(options, name) for name in ("types", "labels", "aliases", "descriptions", "language")}
    changed = replace(words, **{name: value for name, value in given.items() if value})
    return replace(changed, ignored=(*changed.ignored, *options.ignored))
