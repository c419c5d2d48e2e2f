from triplecheck.kg.endpoints.index import EndpointIndex, IndexedEndpoint, RemoteGraph, build_index
from triplecheck.kg.endpoints.opening import Endpoint, index_path, open_endpoint
from triplecheck.kg.endpoints.options import EndpointOptions, is_url

__all__ = [
    "Endpoint",
    "EndpointIndex",
    "EndpointOptions",
    "IndexedEndpoint",
    "RemoteGraph",
    "build_index",
    "index_path",
    "is_url",
    "open_endpoint",
]
