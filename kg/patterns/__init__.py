"""Triple patterns: what in a graph satisfies them, by constraint propagation and, on request, an exact join.

    constants = Constants(kb.graph, kb.linker)
    query = bind(kb.graph, parse_patterns("?film directed_by 'Christopher Nolan'; ?film starring ?actor"), constants)
    actors = match(kb.graph, query).nodes("actor")

Source: 4StepFocus, Algorithms 2 and 3.
"""

from triplecheck.kg.patterns.aggregate import Extreme, Measured, counts, extreme, extremes, measure
from triplecheck.kg.patterns.bind import bind
from triplecheck.kg.patterns.constants import Constant, Constants
from triplecheck.kg.patterns.match import BUDGET, Match, match, solutions
from triplecheck.kg.patterns.parse import parse_patterns, write_pattern
from triplecheck.kg.patterns.query import BoundPattern, Domain, Dropped, Link, Query
from triplecheck.kg.patterns.relax import Relaxed, relax
from triplecheck.kg.patterns.schema_names import SchemaNames
from triplecheck.kg.patterns.support import support

__all__ = [
    "BUDGET",
    "BoundPattern",
    "Constant",
    "Constants",
    "Domain",
    "Dropped",
    "Extreme",
    "Link",
    "Match",
    "Measured",
    "Query",
    "Relaxed",
    "SchemaNames",
    "bind",
    "counts",
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
