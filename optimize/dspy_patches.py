"""What DSPy does behind an optimizer's back, set right while one runs."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import dspy
import tqdm

_NEVER = 10**9
_LOGGERS = ("dspy", "gepa")


@contextmanager
def calls_kept_in(directory: Path) -> Iterator[None]:
    """Keep every call to a model in a directory of its own: what was asked once is not asked again after a kill.

    The cache is that of the process: nothing else should run beside.
    """
    before = vars(dspy).get("cache")
    dspy.configure_cache(disk_cache_dir=str(directory), restrict_pickle=True)
    try:
        yield
    finally:
        if before is None:
            del dspy.cache
        else:
            dspy.cache = before


@contextmanager
def patient() -> Iterator[None]:
    """No end after ten errors, and no second asking of what takes longer than two minutes.

    Errors are counted apart (`optimize.halting.ErrorWatch`): after some of them DSPy would raise a bare exception
    and keep nothing. What it submits a second time it pays for twice; the limit cannot be set from outside.
    """
    import dspy.evaluate.evaluate as evaluating
    import dspy.predict.parallel as parallel

    with ExitStack() as stack:
        stack.enter_context(dspy.context(max_errors=_NEVER))
        stack.enter_context(_always(evaluating, "ParallelExecutor", timeout=0))
        stack.enter_context(_always(parallel, "ParallelExecutor", timeout=0))
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing that optimizers print, no bars and no log lines on the terminal; `logged_to` keeps what they log."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [(logger, handler) for logger in loggers for handler in logger.handlers]
    for logger, handler in before:
        logger.removeHandler(handler)
    propagating = [logger.propagate for logger in loggers]
    for logger in loggers:
        logger.propagate = False
    try:
        with redirect_stdout(io.StringIO()), _always(tqdm.tqdm, "__init__", disable=True):
            yield
    finally:
        for logger, handler in before:
            logger.addHandler(handler)
        for logger, propagate in zip(loggers, propagating, strict=True):
            logger.propagate = propagate


@contextmanager
def logged_to(path: Path) -> Iterator[None]:
    """What DSPy and the optimizers have to say goes to a file as well."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message)s"))
    for name in _LOGGERS:
        logging.getLogger(name).addHandler(handler)
    try:
        yield
    finally:
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(handler)
        handler.close()


@contextmanager
def _always(module: Any, name: str, **arguments: Any) -> Iterator[None]:
    """A class of a module with some arguments given, whatever its caller says."""
    before = getattr(module, name)

    def made(*args: Any, **kwargs: Any) -> Any:
        return before(*args, **kwargs | arguments)

    setattr(module, name, made)
    try:
        yield
    finally:
        setattr(module, name, before)
