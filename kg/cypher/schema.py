"""`Schema`: which labels, properties and relationship types a property graph has, and what its ids are."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from triplecheck.kg.cypher.client import CypherClient
from triplecheck.kg.cypher.dialects import quoted, string
from triplecheck.kg.cypher.values import kind_of
from triplecheck.kg.errors import UserError
from triplecheck.kg.readable import local_name
from triplecheck.kg.vocabulary import Vocabulary

_log = logging.getLogger(__name__)

WORDS = Vocabulary(
    types=(),
    labels=("name", "title", "label"),
    aliases=("aliases", "alias"),
    descriptions=("description", "comment"),
    domains=(),
    ranges=(),
    classes=(),
    properties=(),
    axioms=(),
    ignored=(),
    meta=(),
)
"""The properties that describe a node; the first of `labels` that a node has is its label, the others are edges."""
TYPES = "types"
"""The property with the types of a node where a node has one label only."""
_KEYS = ("id", "iri", "uri", "uuid")


def ladybug_name(id: str) -> str:
    """The name of a type or a relation in Ladybug, whose names have no dot: the id, or its local name."""
    return id if "." not in id else local_name(id).replace(".", "_")


@dataclass(frozen=True, slots=True)
class Property:
    """A property of the nodes with one label.

    Attributes:
        label: the label; None: nodes without one.
        kind: kind of its values (`kg.cypher.values.KINDS`); empty: several.
        many: whether a node has a list of them.
    """

    label: str | None
    key: str
    kind: str
    many: bool


@dataclass(frozen=True)
class Schema:
    """What a property graph consists of.

    Attributes:
        key: the property whose value is the id of a node; None: the engine's own id.
        types: types of relationships that exist.
        edge_properties: whether any relationship has properties.
        numbers: labels by the number of their table, in an engine with tables.
        indexed: labels with an index of the key.
    """

    key: str | None
    labels: tuple[str, ...]
    properties: tuple[Property, ...]
    types: tuple[str, ...]
    edge_properties: bool
    numbers: Mapping[int, str]
    indexed: tuple[str, ...] = ()

    @cached_property
    def keys(self) -> frozenset[str]:
        """All properties of nodes."""
        return frozenset(each.key for each in self.properties)

    @cached_property
    def keys_of(self) -> Mapping[str | None, frozenset[str]]:
        """The properties of the nodes with a label."""
        found: dict[str | None, set[str]] = {}
        for each in self.properties:
            found.setdefault(each.label, set()).add(each.key)
        return {label: frozenset(keys) for label, keys in found.items()}

    def as_json(self) -> dict[str, Any]:
        """For the index of an endpoint."""
        return asdict(self) | {"numbers": [[number, label] for number, label in self.numbers.items()]}

    @classmethod
    def of_json(cls, about: Mapping[str, Any]) -> Schema:
        """What `as_json` returned.

        Raises:
            TypeError, KeyError: something else.
        """
        listed = {name: tuple(about[name]) for name in ("labels", "types", "indexed")}
        properties = tuple(Property(**each) for each in about["properties"])
        numbers = {int(number): label for number, label in about["numbers"]}
        return cls(**{**about, **listed, "properties": properties, "numbers": numbers})


def read_schema(client: CypherClient, key: str | None = None) -> Schema:
    """Read the schema: from the catalogue, or over all nodes where the engine has none.

    Args:
        key: the property whose value is the id of a node; None: found.

    Raises:
        UserError: no node has the property `key`.
        GraphUnavailableError: as `CypherClient.rows`.
    """
    reader = _tables if client.dialect.tables else _open_schema
    schema, candidates = reader(client)
    if key is not None and key not in schema.keys:
        raise UserError(f"{client.name}: no node has the property {key!r}; name another key")
    chosen = key or next((each for each in candidates if each in schema.keys and _is_unique(client, each)), None)
    indexed = schema.indexed
    if client.dialect.indexed and chosen is not None:
        rows = client.rows(client.dialect.indexed)
        having = {labels[0] for labels, keys in rows if labels and list(keys or ()) == [chosen]}
        indexed = tuple(label for label in schema.labels if label in having)
    return replace(schema, key=chosen, indexed=indexed)


def _is_unique(client: CypherClient, key: str) -> bool:
    """Whether each node has a value of its own."""
    value = client.dialect.text.format(f"n.{quoted(key)}")
    [[nodes, have, distinct]] = client.rows(f"MATCH (n) RETURN count(*), count({value}), count(DISTINCT {value})")
    return bool(nodes == have == distinct)


def _writable(names: Iterable[str], name_of_store: str) -> list[str]:
    """The names that a query can contain; a warning names the others."""
    found = []
    for name in names:
        try:
            quoted(name)
        except UserError as error:
            _log.warning("%s: left out: %s", name_of_store, error)
        else:
            found.append(name)
    return found


def _tables(client: CypherClient) -> tuple[Schema, tuple[str, ...]]:
    """The schema, from the catalogue of an engine with tables; a primary key that all tables have is the key."""
    listed = sorted(client.rows("CALL show_tables() RETURN id, name, type"))
    tables = [row for row in listed if "." not in row[1]]
    for _, name, _ in (row for row in listed if "." in row[1]):
        _log.warning(
            "%s: left out: the table %r, because Ladybug takes the dot for the end of a database", client.name, name
        )
    nodes = {int(id): name for id, name, kind in tables if kind == "NODE"}
    properties = []
    primary = set()
    for label in nodes.values():
        for _, key, kind, _, is_primary in client.rows(f"CALL table_info({string(label)}) RETURN *"):
            about = kind_of(kind)
            if is_primary:
                primary.add(key)
            if about is not None:
                properties.append(Property(label, key, *about))
    types = [name for _, name, kind in tables if kind == "REL"]
    columns = [row for name in types for row in client.rows(f"CALL table_info({string(name)}) RETURN *")]
    found = [name for name in types if client.rows(f"MATCH ()-[r:{quoted(name)}]->() RETURN 1 LIMIT 1")]
    labels = tuple(sorted(nodes.values()))
    schema = Schema(None, labels, tuple(properties), tuple(sorted(found)), bool(columns), nodes, labels)
    return schema, tuple(primary) if len(primary) == 1 else ()


def _open_schema(client: CypherClient) -> tuple[Schema, tuple[str, ...]]:
    """By a look at all nodes."""
    dialect = client.dialect
    kind, item = dialect.kind.format("n[k]"), dialect.kind.format("n[k][0]")
    # Some servers do not say what is in a list.
    rows = client.rows(
        f"MATCH (n) UNWIND keys(n) AS k WITH {dialect.labels.format('n')} AS labels, k, {kind} AS kind, n "
        f"WITH labels, k, kind, CASE WHEN kind STARTS WITH 'LIST' THEN {item} ELSE '' END AS item "
        "RETURN DISTINCT labels, k, kind, item"
    )
    keys = set(_writable(sorted({row[1] for row in rows}), client.name))
    found = {
        Property(label, key, *about)
        for labels, key, kind, item in rows
        if key in keys and (about := kind_of(f"LIST<{item}>" if item else kind)) is not None
        for label in (_writable(labels, client.name) if labels else (None,))
    }
    named = [row[0] for row in client.rows(f"MATCH (n) UNWIND {dialect.labels.format('n')} AS l RETURN DISTINCT l")]
    types = _writable(sorted(row[0] for row in client.rows(dialect.relationship_types)), client.name)
    types = [name for name in types if client.rows(f"MATCH ()-[r:{quoted(name)}]->() RETURN 1 LIMIT 1")]
    described = bool(client.rows("MATCH ()-[r]->() WHERE size(keys(r)) > 0 RETURN 1 LIMIT 1"))
    labels = _writable(sorted(named), client.name)
    properties = sorted(found, key=lambda p: (p.key, p.label or "", p.kind, p.many))
    schema = Schema(None, tuple(labels), tuple(properties), tuple(types), described, {})
    return schema, _KEYS
