from triplecheck.kg.sparql.client import QueryLimits, QueryRefusedError
from triplecheck.kg.sparql.graph import SparqlGraph
from triplecheck.kg.sparql.http import HttpClient
from triplecheck.kg.sparql.terms import Term, TermKind
from triplecheck.kg.vocabulary import Vocabulary

__all__ = ["HttpClient", "TermKind", "QueryLimits", "QueryRefusedError", "SparqlGraph", "Term", "Vocabulary"]
