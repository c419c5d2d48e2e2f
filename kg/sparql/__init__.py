from triplecheck.kg.sparql.client import (
    HttpClient,
    OxigraphClient,
    QueryLimits,
    QueryRefusedError,
    RdflibClient,
    SparqlClient,
)
from triplecheck.kg.sparql.graph import SparqlGraph
from triplecheck.kg.sparql.linker import SparqlLinker
from triplecheck.kg.sparql.terms import Term, TermKind
from triplecheck.kg.vocabulary import Vocabulary

__all__ = [
    "HttpClient",
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
