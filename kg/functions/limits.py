"""`CallLimits`: limits of calls of functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from triplecheck.kg.errors import UserError


@dataclass(frozen=True)
class CallLimits:
    """Limits of calls.

    Attributes:
        calls: calls of a function at one hop.
        values: values and objects of one result.
        cache_seconds: how long a result is kept. Errors are kept a minute at most.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}

    seconds: float = 10.0
    calls: int = 10
    values: int = 500
    cache_seconds: float = 3600.0

    def __post_init__(self) -> None:
        for name in ("seconds", "calls", "values", "cache_seconds"):
            if getattr(self, name) <= 0:
                raise UserError(f"{name} of function calls must be greater than 0, not {getattr(self, name)}")
