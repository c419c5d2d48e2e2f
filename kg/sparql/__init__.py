from kg.sparql.client import Limits, QueryRefusedError, SparqlClient
from kg.sparql.endpoint import HttpClient
from kg.sparql.graph import SparqlGraph
from kg.sparql.in_process import OxigraphClient, RdflibClient
from kg.sparql.linker import SparqlLinker
from kg.sparql.terms import Kind, Term
from kg.vocabulary import Vocabulary

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
