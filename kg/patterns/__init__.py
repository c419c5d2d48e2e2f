"""Triple patterns, matched against a graph by constraint propagation and optionally by an exact join.

    constants = Constants(kb.graph, kb.linker)
    query = bind(kb.graph, parse_patterns("?film directed_by 'Christopher Nolan'; ?film starring ?actor"), constants)
    actors = match(kb.graph, query).nodes("actor")

Source: 4StepFocus, Algorithms 2 and 3.
"""

from triplecheck.kg.patterns.answers import Measured, extreme, extremes, measure, relax, support
from triplecheck.kg.patterns.bind import ALL_HOMONYMS, Constants, SchemaNames, bind
from triplecheck.kg.patterns.match import Match, match, solutions
from triplecheck.kg.patterns.query import BoundPattern, Domain, Dropped, Link, Query, parse_patterns, write_pattern

__all__ = [
    "ALL_HOMONYMS",
    "BoundPattern",
    "Constants",
    "Domain",
    "Dropped",
    "Link",
    "Match",
    "Measured",
    "Query",
    "SchemaNames",
    "bind",
    "extreme",
    "extremes",
    "match",
    "measure",
    "parse_patterns",
    "relax",
    "solutions",
    "support",
    "write_pattern",
]
