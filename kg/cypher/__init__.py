from triplecheck.kg.cypher.bolt import BoltClient
from triplecheck.kg.cypher.client import CypherClient, LadybugClient
from triplecheck.kg.cypher.dialects import DIALECTS, Dialect
from triplecheck.kg.cypher.graph import CypherGraph
from triplecheck.kg.cypher.linker import CypherLinker

__all__ = ["DIALECTS", "BoltClient", "CypherClient", "CypherGraph", "CypherLinker", "Dialect", "LadybugClient"]
