"""Packages whose public names are imported on first use, so that a command waits only for what it needs."""

from __future__ import annotations

import ast
import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def lazily(package: str) -> Callable[[str], Any]:
    """A `__getattr__` for the `__init__` of a package (PEP 562), whose imports under `if TYPE_CHECKING` say where each
    public name is."""

    def load(name: str) -> Any:
        home = _homes(package)
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(sorted(home))}")
        found = getattr(importlib.import_module(home[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return load


@functools.cache
def _homes(package: str) -> Mapping[str, str]:
    """The module of each name that a package imports for type checkers."""
    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_text("utf-8"))
    blocks = (node.body for node in tree.body if isinstance(node, ast.If))
    imports = (node for block in blocks for node in block if isinstance(node, ast.ImportFrom))
    return {name.name: str(node.module) for node in imports for name in node.names}
