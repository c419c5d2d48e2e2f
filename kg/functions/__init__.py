"""Functions with typed arguments beside a graph: Python callables, and the operations of an OpenAPI file."""

from typing import TYPE_CHECKING

from triplecheck.kg._lazy import lazily

if TYPE_CHECKING:
    from triplecheck.kg.functions.function import Function, FunctionSource
    from triplecheck.kg.functions.graph import FunctionGraph, FunctionLinker, calls_at, is_function, stored_graph
    from triplecheck.kg.functions.limits import CallLimits
    from triplecheck.kg.functions.openapi import read_openapi

__all__ = [
    "CallLimits",
    "Function",
    "FunctionGraph",
    "FunctionLinker",
    "FunctionSource",
    "calls_at",
    "is_function",
    "read_openapi",
    "stored_graph",
]

__getattr__ = lazily(__name__)
