"""A session: which models play which roles, what they may spend, and the ledger of what they did."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import dspy

from triplecheck.lms.adapter import TolerantAdapter
from triplecheck.lms.budget import Budget
from triplecheck.lms.ledger import Ledger
from triplecheck.lms.resolve import language_model
from triplecheck.lms.roles import Roles


@contextmanager
def session(roles: Roles | str | None = None, budget: Budget | None = None) -> Iterator[Ledger]:
    """Set roles, adapter, budget and ledger for everything that runs inside, `dspy.Parallel` included.

    Sessions nest: calls count in the inner ledger and in the outer ones, and all budgets hold.
    Threads started by hand do not see a session; `dspy.Parallel` and `dspy.asyncify` hand it on.

    Args:
        roles: the models; a string names one for all roles. None keeps those of the session around
            it, or means the default where there is none.
        budget: limits on what is spent inside.

    Raises:
        ModelUnavailableError: the default model cannot be had.
    """
    outer_roles: Roles | None = dspy.settings.get("lm_roles")
    outer_ledger: Ledger | None = dspy.settings.get("ledger")
    if isinstance(roles, str):
        roles = Roles(default=roles)
    roles = roles or outer_roles or Roles()
    ledger = Ledger(budget, parent=outer_ledger)
    restrict_cache()
    # Optimizers copy `settings.lm` to vary it, and their own prompts run on it: it is the default model.
    default = language_model(roles.default)
    with dspy.context(lm_roles=roles, ledger=ledger, lm=default, adapter=TolerantAdapter()):
        yield ledger


def restrict_cache() -> None:
    """Have DSPy read only plain data from its disk cache, unless a cache is configured already."""
    if "cache" in vars(dspy):
        return
    try:
        dspy.configure_cache(restrict_pickle=True)
    except (OSError, sqlite3.Error):
        # No place to write: the cache then lasts as long as the process.
        dspy.configure_cache(enable_disk_cache=False, restrict_pickle=True)
