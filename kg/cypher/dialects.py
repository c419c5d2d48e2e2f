"""`Dialect`: how the engines that speak Cypher differ. All of them are in one table, `DIALECTS`."""

from __future__ import annotations

from dataclasses import dataclass

from triplecheck.kg.errors import UserError

BOLT_SCHEMES = ("bolt", "neo4j", "bolt+s", "neo4j+s", "bolt+ssc", "neo4j+ssc")
LADYBUG = "ladybug"


@dataclass(frozen=True)
class Dialect:
    """The Cypher of one engine. `{}` in an expression stands for a variable.

    Attributes:
        name: its name, also the `profile` of an endpoint.
        element: the engine's own id of a node.
        same: what tells two nodes apart, where they are counted.
        labels: the labels of a node, as a list.
        text: a value as a string.
        kind: the type of a value as a string; empty: columns have types.
        relationship_types: a query with rows (type).
        indexed: a query with rows (labels, properties) of the indices; empty: none that the graph may use.
        tables: whether each node has one label with fixed columns, and the engine's id names the table.
    """

    name: str
    element: str
    relationship_types: str
    labels: str = "labels({})"
    type: str = "type({})"
    text: str = "toString({})"
    kind: str = "valueType({})"
    same: str = "{}"
    indexed: str = ""
    tables: bool = False


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "neo4j",
            element="elementId({})",
            relationship_types="CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType",
            indexed="SHOW INDEXES YIELD labelsOrTypes, properties RETURN labelsOrTypes, properties",
        ),
        Dialect("memgraph", element="id({})", relationship_types="MATCH ()-[r]->() RETURN DISTINCT type(r)"),
        Dialect(
            LADYBUG,
            element="id({})",
            same="id({})",
            labels="[label({})]",
            type="label({})",
            text="CAST({} AS STRING)",
            kind="",
            relationship_types="CALL show_tables() WHERE type = 'REL' RETURN name",
            tables=True,
        ),
    )
}


def detect(agent: str) -> Dialect:
    """The dialect of a Bolt server, by how it names itself."""
    return DIALECTS["memgraph" if "memgraph" in agent.lower() else "neo4j"]


def quoted(name: str) -> str:
    """A label, a type or a property key as an identifier: nothing in it is read as Cypher.

    Raises:
        UserError: it has a character that no engine can quote.
    """
    if "\0" in name or "\\u" in name or any("\ud800" <= c <= "\udfff" for c in name):
        raise UserError(f"{name!r}: a name that cannot be written in Cypher")
    return f"`{name.replace('`', '``')}`"


def string(text: str) -> str:
    """A string in a query of Ladybug, for what takes no parameter."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
