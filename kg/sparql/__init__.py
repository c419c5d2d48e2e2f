from triplecheck.kg.sparql.client import (
    OxigraphClient,
    QueryLimits,
    QueryRefusedError,
    RdflibClient,
    SparqlClient,
)
from triplecheck.kg.sparql.graph import SparqlGraph
from triplecheck.kg.sparql.http import HttpClient, Manners
from triplecheck.kg.sparql.linker import SparqlLinker
from triplecheck.kg.sparql.terms import Term, TermKind
from triplecheck.kg.vocabulary import Vocabulary

__all__ = [
    "HttpClient",
    "Manners",
    "TermKind",
    "QueryLimits",
    "OxigraphClient",
    "QueryRefusedError",
    "RdflibClient",
    "SparqlClient",
    "SparqlGraph",
    "SparqlLinker",
    "Term",
    "Vocabulary",
]
