from typing import TYPE_CHECKING

from triplecheck.kg._lazy import lazily

if TYPE_CHECKING:
    from triplecheck.kg.endpoints.index import EndpointIndex, IndexedEndpoint, build_index
    from triplecheck.kg.endpoints.opening import Endpoint, index_path, open_endpoint
    from triplecheck.kg.endpoints.options import EndpointOptions, is_url

__all__ = [
    "Endpoint",
    "EndpointIndex",
    "EndpointOptions",
    "IndexedEndpoint",
    "build_index",
    "index_path",
    "is_url",
    "open_endpoint",
]

__getattr__ = lazily(__name__)
