"""Patches of DSPy's behaviour for the time of an optimizer run: cache, retries, error limit and output."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dspy
import tqdm
from dspy.clients import DISK_CACHE_LIMIT
from dspy.utils.exceptions import AdapterParseError

from triplecheck.kg._atomic import stored
from triplecheck.kg.redaction import RedactingFormatter
from triplecheck.lms.costs import CostCache
from triplecheck.lms.roles import REPLIES_IN_MEMORY

_NEVER = 10**9
_LOGGERS = ("dspy", "gepa")
_LOG = logging.getLogger("dspy.teleprompt")


@contextmanager
def calls_kept_in(directory: Path) -> Iterator[None]:
    """Keep all calls of language models in this directory, so that a resumed run does not repeat them.

    A kept reply counts with the tokens, dollars and seconds that it took when it was made.

    DSPy has one cache per process: nothing else should run in the process meanwhile.
    """
    before = vars(dspy).get("cache")
    with stored(directory):
        dspy.cache = CostCache(
            enable_disk_cache=True,
            enable_memory_cache=True,
            disk_cache_dir=str(directory),
            disk_size_limit_bytes=DISK_CACHE_LIMIT,
            memory_max_entries=REPLIES_IN_MEMORY,
            restrict_pickle=True,
        )
    try:
        yield
    finally:
        if before is None:
            del dspy.cache
        else:
            dspy.cache = before


@contextmanager
def patient() -> Iterator[None]:
    """Do not stop after ten errors, and do not submit an example again after two minutes.

    DSPy raises a bare exception after ten errors and discards the results; `optimize.scoring.ErrorWatch` counts
    errors instead. An example that DSPy submits again is paid for twice, and no setting changes that time limit.
    """
    import dspy.evaluate.evaluate as evaluating
    import dspy.predict.parallel as parallel

    with ExitStack() as stack:
        stack.enter_context(dspy.context(max_errors=_NEVER))
        stack.enter_context(_always(evaluating, "ParallelExecutor", timeout=0))
        stack.enter_context(_always(parallel, "ParallelExecutor", timeout=0))
        yield


@contextmanager
def keeping_instructions() -> Iterator[None]:
    """MIPROv2 keeps the instruction of a step where a proposal cannot be read; DSPy's own stops there."""
    from dspy.propose.grounded_proposer import GroundedProposer

    before = GroundedProposer.propose_instruction_for_predictor

    def propose(self: Any, **kwargs: Any) -> Any:
        try:
            return before(self, **kwargs)
        except AdapterParseError as error:
            _LOG.warning("a proposed instruction cannot be read, so the old one stays: %s", error)
            return kwargs["predictor"].signature.instructions

    with patch.object(GroundedProposer, "propose_instruction_for_predictor", propose):
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the output, progress bars and log lines of optimizers on the terminal; `logged_to` keeps the log."""
    with ExitStack() as stack:
        for logger in map(logging.getLogger, _LOGGERS):
            stack.enter_context(patch.multiple(logger, handlers=[], propagate=False))
        stack.enter_context(redirect_stdout(io.StringIO()))
        stack.enter_context(_always(tqdm.tqdm, "__init__", disable=True))
        yield


@contextmanager
def logged_to(path: Path) -> Iterator[None]:
    """Also write the log of DSPy and its optimizers to a file."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(RedactingFormatter("%(asctime)s %(name)s %(message)s"))
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
    """Patch a callable so that these arguments override those of its caller."""
    before = getattr(module, name)

    def made(*args: Any, **kwargs: Any) -> Any:
        return before(*args, **kwargs | arguments)

    with patch.object(module, name, made):
        yield
