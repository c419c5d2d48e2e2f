"""Triple patterns as a language model writes them, in terms of the graph's patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triplecheck.kg import Name, Pattern, Variable
from triplecheck.kg.patterns import Dropped, SchemaNames
from triplecheck.signatures.notation import possible_labels
from triplecheck.signatures.query_notation import Unknown, WrittenPattern, read_patterns, read_unknown, write_pattern


@dataclass(frozen=True)
class Triplets:
    """The question as patterns (T and x_target of 4StepFocus, Algorithm 1).

    Attributes:
        target: name of the variable that is asked for; None if no variable of a pattern was named.
        dropped: lines that could not be parsed, and why.
    """

    patterns: tuple[Pattern, ...]
    target: str | None
    dropped: tuple[Dropped, ...] = ()


def read_triplets(
    lines: Sequence[str], answer: str, schema: SchemaNames, candidate_types: Sequence[str] = ()
) -> Triplets:
    """Parse what a model wrote. A line that is not a pattern is dropped with its reason.

    Args:
        answer: the variable asked for. If it names none, the only variable of a candidate type is used; if none has
            such a type, the only one whose type is not known.
        schema: names of relations and types; tells the relation in "directed by: Film to Person".
        candidate_types: ids of the types that may be answers; none: any.
    """
    written, others = read_patterns(lines)
    patterns = [Pattern(_end(one.head), _relation(one.relation, schema), _end(one.tail)) for one in written]
    dropped = [Dropped(line, "it is no pattern such as ?x <relation> <name>") for line in others]
    return Triplets(tuple(patterns), _target(patterns, answer, schema, candidate_types), tuple(dropped))


def write_triplet(pattern: Pattern) -> str:
    """A pattern as one line, which `read_triplets` reads back."""
    relation = None if isinstance(pattern.relation, Variable) else pattern.relation
    return write_pattern(WrittenPattern(_written(pattern.head), relation, _written(pattern.tail)))


def _end(end: str | Unknown) -> Name | Variable:
    return Variable(end.name, end.type) if isinstance(end, Unknown) else Name(end)


def _relation(text: str | None, schema: SchemaNames) -> str | Variable:
    if text is None:
        return Variable("*")
    return next((name for name in possible_labels(text) if schema.relations(name)), text)


def _written(end: object) -> str | Unknown:
    if isinstance(end, Variable):
        return Unknown(end.name, end.type)
    return end.text if isinstance(end, Name) else str(getattr(end, "lexical", end))


def _target(
    patterns: Sequence[Pattern], answer: str, schema: SchemaNames, candidate_types: Sequence[str]
) -> str | None:
    ends = (end for pattern in patterns for end in (pattern.head, pattern.tail))
    variables = {end.name: end for end in ends if isinstance(end, Variable)}
    name = read_unknown(answer)
    if name in variables:
        return name
    kinds = {name: None if end.type is None else schema.type_id(end.type) for name, end in variables.items()}
    may_be = [name for name, kind in kinds.items() if kind in candidate_types]
    may_be = may_be or [name for name, kind in kinds.items() if kind is None or not candidate_types]
    return may_be[0] if len(may_be) == 1 else None
