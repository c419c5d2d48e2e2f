"""Pickles of plain data, read without a machine that could run anything.

`pickletools` takes a pickle apart into operations. Those that build dictionaries, lists, texts and numbers are
carried out here; of all that a pickle may name, only numpy's numbers and texts are known, and read from their bytes.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.kg.errors import ReadError

_MARK = object()
_NOTHING = {"PROTO", "FRAME"}
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": set,
}
_VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8"),
}
# What operations that do not fit together end in; a length that is nonsense asks for all memory.
_DAMAGE = (ValueError, TypeError, LookupError, AttributeError, AssertionError, OverflowError, MemoryError)
_NUMPY = {"numpy dtype", "numpy.core.multiarray scalar", "numpy._core.multiarray scalar"}


class _Named(str):
    """A name of numpy's that stands on the stack."""


def read_plain_pickle(path: Path) -> Any:
    """Dictionaries, lists, texts and numbers of a pickle.

    Raises:
        ReadError: it holds anything else, or is damaged.
    """
    try:
        with path.open("rb") as source:
            return _Stack().run(pickletools.genops(source))
    except OSError as error:
        raise ReadError(path, None, error.strerror or str(error)) from error
    except _DAMAGE as error:
        raise ReadError(path, None, f"is no pickle of plain data ({error})") from error


class _Stack:
    def __init__(self) -> None:
        self._items: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self, operations: Any) -> Any:
        for code, argument, _ in operations:
            name = code.name
            if name in _VALUES:
                self._items.append(argument)
            elif name in _CONSTANTS:
                self._items.append(_CONSTANTS[name]())
            elif name == "MEMOIZE":
                self._memo[len(self._memo)] = self._items[-1]
            elif name.endswith("PUT"):
                self._memo[int(argument)] = self._items[-1]
            elif name.endswith("GET"):
                self._items.append(self._memo[int(argument)])
            elif name == "STOP":
                return self._items.pop()
            elif name not in _NOTHING:
                self._build(name, argument)
        raise ValueError("it ends too early")

    def _build(self, name: str, argument: Any) -> None:
        items = self._items
        if name == "MARK":
            items.append(_MARK)
        elif name in ("APPENDS", "SETITEMS", "ADDITEMS", "TUPLE", "LIST", "DICT"):
            self._gather(name, self._to_mark())
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            items[-count:] = [tuple(items[-count:])]
        elif name == "APPEND":
            value = items.pop()
            items[-1].append(value)
        elif name == "SETITEM":
            value, key = items.pop(), items.pop()
            items[-1][key] = value
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            named = argument if name == "GLOBAL" else " ".join(map(str, items[-2:]))
            if name == "STACK_GLOBAL":
                del items[-2:]
            if named not in _NUMPY:
                raise ValueError(f"it names {named.replace(' ', '.')}, and only plain data is read")
            items.append(_Named(named))
        elif name == "REDUCE":
            arguments, function = items.pop(), items.pop()
            items.append(_number(function, arguments))
        elif name == "BUILD" and isinstance(items[-2], np.dtype):
            items.pop()  # the state of a dtype: its byte order, which is this machine's
        else:
            raise ValueError(f"it holds the operation {name}, and only plain data is read")

    def _to_mark(self) -> list[Any]:
        at = len(self._items) - 1
        while self._items[at] is not _MARK:
            at -= 1
        found = self._items[at + 1 :]
        del self._items[at:]
        return found

    def _gather(self, name: str, found: list[Any]) -> None:
        pairs = zip(found[::2], found[1::2], strict=True) if name in ("SETITEMS", "DICT") else ()
        match name:
            case "APPENDS":
                self._items[-1].extend(found)
            case "ADDITEMS":
                self._items[-1].update(found)
            case "SETITEMS":
                self._items[-1].update(pairs)
            case "TUPLE":
                self._items.append(tuple(found))
            case "LIST":
                self._items.append(found)
            case _:
                self._items.append(dict(pairs))


def _number(function: Any, arguments: Any) -> Any:
    """A dtype of numbers or texts from its name, or a number or a text from a dtype and bytes."""
    if not isinstance(function, _Named):
        raise ValueError("it calls something, and only plain data is read")
    if function.endswith("dtype"):
        kind = np.dtype(str(arguments[0]))
        if kind.kind not in "biufU":
            raise ValueError(f"it holds numpy's {kind}, and of numpy only numbers and texts are read")
        return kind
    kind, data = arguments
    if not kind.itemsize:
        return ""
    return np.frombuffer(data, dtype=kind, count=1)[0].item()
