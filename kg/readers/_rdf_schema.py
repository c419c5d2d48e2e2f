"""Statements of an RDF file that are not simply edges: axioms of a schema, OWL class expressions, statements about
statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplecheck.kg.readers.raw import EDGE_PROPERTY_SCHEMA
from triplecheck.kg.vocabulary import OWL, RDF, Vocabulary

Statement = tuple[str, str, str, str | None, str | None]
"""(subject, predicate, object, datatype, language); both None if the object is an entity."""

_RESTRICTION = frozenset(
    OWL + name
    for name in "onProperty someValuesFrom allValuesFrom hasValue onClass onDataRange cardinality minCardinality "
    "maxCardinality qualifiedCardinality minQualifiedCardinality maxQualifiedCardinality hasSelf".split()
)
_FILLERS = tuple(OWL + name for name in ("someValuesFrom", "hasValue", "onClass", "allValuesFrom"))
_COMBINED = frozenset(OWL + name for name in ("intersectionOf", "unionOf", "complementOf", "oneOf", "members"))
_LISTED = frozenset({RDF + "first", RDF + "rest"})
_STATED = (
    (RDF + "subject", OWL + "annotatedSource"),
    (RDF + "predicate", OWL + "annotatedProperty"),
    (RDF + "object", OWL + "annotatedTarget"),
)
STRUCTURE = (_RESTRICTION | _COMBINED | _LISTED).union(*_STATED)
"""Predicates of class expressions and reified statements."""

EXPRESSIONS = "OWL class expressions that are no edge"
NOT_ASSERTED = "properties of statements that are not edges"


@dataclass
class Resolved:
    """What structural statements come to.

    Attributes:
        edges: statements that belong to no structure.
        restrictions: edges from a class by a restriction of its superclass.
        stated: by the id of a reified statement the edge (head, relation, tail) that it is about.
        hidden: blank nodes that only hold structure.
        left_out: statements that became nothing, by the reason.
    """

    edges: list[tuple[str, str, str, str | None]] = field(default_factory=list)
    restrictions: list[tuple[str, str, str, str | None]] = field(default_factory=list)
    stated: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)


def resolve(structure: Iterable[Statement], axioms: Iterable[Statement]) -> Resolved:
    """Read class expressions and reified statements.

    `A subClassOf [onProperty p; someValuesFrom B]` becomes the edge (A, p, B), also inside an intersection. Other
    expressions are left out.

    Args:
        axioms: statements of classes, such as subClassOf and equivalentClass.
    """
    found = Resolved()
    by_subject: dict[str, dict[str, str]] = {}
    rows = list(structure)
    for subject, predicate, target, _, _ in rows:
        by_subject.setdefault(subject, {})[predicate] = target
    for subject, about in by_subject.items():
        triple = tuple(next((about[name] for name in names if name in about), None) for names in _STATED)
        if None not in triple:
            found.stated[subject] = triple  # type: ignore[assignment]
            found.hidden.add(subject)
    expressions = {s for s, about in by_subject.items() if about.keys() & (_RESTRICTION | _COMBINED)}
    open_ = [target for s in expressions for name, target in by_subject[s].items() if name in _COMBINED]
    while open_:
        node = open_.pop()
        if node in by_subject and node not in expressions:
            expressions.add(node)
            open_ += [target for name, target in by_subject[node].items() if name in _LISTED]
    used: set[str] = set()
    for subject, _, target, _, _ in axioms:
        if target in expressions:
            for node in _members(target, by_subject):
                about = by_subject.get(node, {})
                filler = next((about[name] for name in _FILLERS if name in about), None)
                if filler is not None and not filler.startswith("_:") and OWL + "onProperty" in about:
                    found.restrictions.append((subject, about[OWL + "onProperty"], filler, None))
                    used.add(node)
    found.hidden |= {node for node in expressions if node.startswith("_:")}
    for subject, predicate, target, datatype, _ in rows:
        if subject not in found.hidden:
            found.edges.append((subject, predicate, target, datatype))
        elif subject in expressions and subject not in used and predicate not in _LISTED:
            found.left_out[EXPRESSIONS] += 1
    return found


def _members(node: str, by_subject: Mapping[str, Mapping[str, str]]) -> list[str]:
    """An expression, or the members of an intersection."""
    start = by_subject.get(node, {}).get(OWL + "intersectionOf")
    members = [node]
    while start is not None and start in by_subject:
        members.append(by_subject[start].get(RDF + "first", ""))
        start = by_subject[start].get(RDF + "rest")
    return members


def stated_properties(
    found: Resolved,
    statements: Iterable[Statement],
    columns: Sequence[pa.DictionaryArray],
) -> tuple[pa.Table, list[int]]:
    """What is said about reified statements, as properties of their edges.

    Args:
        found: the reified statements; what is said about those that are not edges is counted in `left_out`.
        statements: those whose subject is reified.
        columns: heads, relations and tails of the edges.

    Returns:
        The properties, and rows of edges to repeat after the others: each further statement about an edge has its own.
    """
    rows = _rows_of(set(found.stated.values()), columns)
    properties = []
    row_of: dict[str, int] = {}
    taken: set[int] = set()
    repeated: list[int] = []
    for subject, predicate, target, datatype, _ in statements:
        edge = rows.get(found.stated[subject])
        if edge is None:
            found.left_out[NOT_ASSERTED] += 1
            continue
        if subject not in row_of:
            row_of[subject] = edge if edge not in taken else len(columns[0]) + len(repeated)
            repeated += [edge] if edge in taken else []
            taken.add(edge)
        properties.append({"edge": row_of[subject], "name": predicate, "value": target, "datatype": datatype})
    return pa.Table.from_pylist(properties, EDGE_PROPERTY_SCHEMA), repeated


def _rows_of(
    triples: set[tuple[str, str, str]], columns: Sequence[pa.DictionaryArray]
) -> dict[tuple[str, str, str], int]:
    candidates: npt.NDArray[np.bool_] = np.ones(len(columns[0]), bool)
    for column, wanted in zip(columns, map(set, zip(*triples, strict=True)) if triples else (), strict=False):
        known = pc.is_in(column.dictionary, value_set=pa.array(list(wanted), pa.string()))
        candidates &= known.to_numpy(zero_copy_only=False)[column.indices.to_numpy(zero_copy_only=False)]
    rows = np.flatnonzero(candidates) if triples else np.empty(0, np.int64)
    texts = [column.take(pa.array(rows)).to_pylist() for column in columns]
    return {
        triple: row for triple, row in zip(zip(*texts, strict=True), rows.tolist(), strict=True) if triple in triples
    }


# --- schemas -------------------------------------------------------------------------------------
_OF_SCHEMA = 0.5
"""Share of subjects that are classes or relations, from which a file is about its schema."""


def is_schema(subjects: pa.Array, heads: pa.Array, members: Iterable[str]) -> bool:
    """Whether most subjects of a file are classes and relations, as in an ontology.

    Args:
        subjects, heads: ids of what has descriptions, and edges.
        members: ids of classes and relations.
    """
    everything = pc.unique(pa.concat_arrays([subjects, heads]))
    named = everything.filter(pc.invert(pc.starts_with(everything, "_:")))
    of_schema = pc.sum(pc.is_in(named, value_set=pa.array(list(members), pa.string()))).as_py() or 0
    return of_schema > 0 and bool(of_schema >= _OF_SCHEMA * len(named))


def axiom_edges(statements: Iterable[Statement], words: Vocabulary) -> list[tuple[str, str, str, str | None]]:
    """Axioms, and types other than those of the schema languages, as edges; those with blank nodes are not."""
    return [
        (subject, predicate, target, None)
        for subject, predicate, target, _, _ in statements
        if not (subject.startswith("_:") or target.startswith("_:"))
        and not (predicate in words.types and target.startswith(words.meta))
    ]


def superclasses_of(axioms: Iterable[Statement], subclass: str) -> dict[str, list[str]]:
    """The direct superclasses of each class that has a name."""
    parents: dict[str, list[str]] = {}
    for subject, predicate, target, _, _ in axioms:
        if predicate == subclass and not (subject.startswith("_:") or target.startswith("_:")):
            parents.setdefault(subject, []).append(target)
    return {kind: list(dict.fromkeys(above)) for kind, above in parents.items()}
