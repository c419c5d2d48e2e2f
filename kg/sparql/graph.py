"""`SparqlGraph`: a graph behind a SPARQL engine, in process or over HTTP, read-only."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kg.errors import GraphUnavailableError
from kg.graph import Edges, IntArray, RelationCount, RelationSchema
from kg.readable import entity_label
from kg.sparql._describe import Describer
from kg.sparql._lookup import Lookup
from kg.sparql.client import SparqlClient
from kg.sparql.terms import Kind, Term
from kg.sparql.vocabulary import Vocabulary
from kg.types import Direction, Entity, Literal, Relation

_SCHEMA_TYPES = 1000


class SparqlGraph:
    """Implements `kg.graph.Graph` by queries. Safe to use from several threads.

    Nodes and relations get their numbers when they are first seen, so the numbers of two graph
    objects over one store differ. Which edges a limit leaves out is up to the store. Over HTTP
    edges at blank nodes are left out, since the label of a blank node need not outlive a reply.

    Args:
        client: who answers the queries.
        vocabulary: which predicates describe nodes; they are no relations of the graph.
        literal_kinds: (datatype IRI, language or "") of all values. They tell how a value may be
            written; None: asked for when first needed, by a query over the whole store. Give them
            for a large public endpoint.

    Raises:
        GraphUnavailableError: by every look-up, when the store does not answer within the client's limits.
    """

    def __init__(
        self,
        client: SparqlClient,
        vocabulary: Vocabulary | None = None,
        literal_kinds: Iterable[tuple[str, str]] | None = None,
    ) -> None:
        words = vocabulary or Vocabulary()
        self._client = client
        self._look = Lookup(client, words, None if literal_kinds is None else tuple(literal_kinds))
        self._describe = Describer(self._look, words)
