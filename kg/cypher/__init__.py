from typing import TYPE_CHECKING

from triplecheck.kg._lazy import lazily

if TYPE_CHECKING:
    from triplecheck.kg.cypher.bolt import BoltClient
    from triplecheck.kg.cypher.client import CypherClient, LadybugClient
    from triplecheck.kg.cypher.dialects import DIALECTS, Dialect
    from triplecheck.kg.cypher.graph import CypherGraph

__all__ = ["DIALECTS", "BoltClient", "CypherClient", "CypherGraph", "Dialect", "LadybugClient"]

__getattr__ = lazily(__name__)
