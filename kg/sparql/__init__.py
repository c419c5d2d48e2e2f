from triplecheck.kg.sparql.client import Limits, QueryRefusedError, SparqlClient
from triplecheck.kg.sparql.endpoint import HttpClient
from triplecheck.kg.sparql.graph import SparqlGraph
from triplecheck.kg.sparql.in_process import OxigraphClient, RdflibClient
from triplecheck.kg.sparql.linker import SparqlLinker
from triplecheck.kg.sparql.terms import Kind, Term
from triplecheck.kg.vocabulary import Vocabulary

__all__ = [
    "HttpClient",
    "Kind",
    "Limits",
    "OxigraphClient",
    "QueryRefusedError",
    "RdflibClient",
    "SparqlClient",
    "SparqlGraph",
    "SparqlLinker",
    "Term",
    "Vocabulary",
]
