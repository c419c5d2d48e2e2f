"""Roles, and the session that assigns models to them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import dspy

from triplecheck.kg.errors import UserError
from triplecheck.lms.adapter import TolerantAdapter
from triplecheck.lms.ledger import Budget, Ledger
from triplecheck.lms.resolve import language_model

ROLES = ("answer", "extract", "link", "prune", "judge", "query", "rerank")
"""The roles that programs use; besides them `knowledge.1`, `knowledge.2` ... (one per knowledge model)."""

DEFAULT_MODEL = "extractive"
"""The default model: the embedded rule-based engine, not a language model."""

_KNOWLEDGE = re.compile(r"knowledge\.[1-9][0-9]*")


def check_role(name: str) -> str:
    """Return `name` if it is a role; raise `UserError` listing the roles if it is not."""
    if name in ROLES or _KNOWLEDGE.fullmatch(name):
        return name
    raise UserError(f"unknown role {name!r}: the roles are {', '.join(ROLES)} and knowledge.1, knowledge.2 ...")


@dataclass(frozen=True)
class Roles:
    """The model of each role.

    Raises:
        UserError: a role is unknown or a model string is empty.
    """

    default: str = DEFAULT_MODEL
    """Model string of every role that is not in `by_role`."""
    by_role: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Role to model string. Do not change it after construction."""

    def __post_init__(self) -> None:
        for role, model in {"default": self.default, **self.by_role}.items():
            if role != "default":
                check_role(role)
            if not isinstance(model, str) or not model.strip():
                raise UserError(f"role {role!r} has no model: give one, such as {role}=openai/gpt-4o-mini")
        object.__setattr__(self, "by_role", dict(self.by_role))

    @classmethod
    def parse(cls, items: Iterable[str], default: str = DEFAULT_MODEL) -> Roles:
        """Parse `role=model` items of a command line.

        An item without a role, or with the role `default`, names the default model. A role that is given twice
        is an error.

        Raises:
            UserError: a role is unknown or named twice, or a model is missing.
        """
        found: dict[str, str] = {}
        for item in items:
            role, separator, model = item.partition("=")
            if not separator or "/" in role:
                role, model = "default", item
            role, model = role.strip(), model.strip()
            if role in found:
                raise UserError(f"role {role!r} is given twice: {found[role]!r} and {model!r}; keep one")
            found[role] = model
        return cls(default=found.pop("default", default), by_role=found)

    def model(self, role: str) -> str:
        """The model string of a role, or the default.

        Raises:
            UserError: the role is unknown.
        """
        return self.by_role.get(check_role(role), self.default)

    def models(self) -> list[str]:
        """All model strings, without duplicates, the default first."""
        return list(dict.fromkeys([self.default, *self.by_role.values()]))

    def to_json(self) -> dict[str, str]:
        """`{"default": ..., role: model ...}`: the form in manifests and reports."""
        return {"default": self.default, **dict(sorted(self.by_role.items()))}


@contextmanager
def session(roles: Roles | str | None = None, budget: Budget | None = None) -> Iterator[Ledger]:
    """Set roles, adapter, budget and ledger for all code inside the block, `dspy.Parallel` included.

    Sessions nest: calls count in the inner and the outer ledgers, and all budgets apply. Threads that you start
    yourself do not inherit the session; `dspy.Parallel` and `dspy.asyncify` pass it on.

    Args:
        roles: the models; a string is one model for all roles. None keeps the roles of the enclosing session,
            else the default.
        budget: limits for the calls inside.

    Raises:
        ModelUnavailableError: the default model is unavailable.
    """
    outer_roles: Roles | None = dspy.settings.get("lm_roles")
    outer_ledger: Ledger | None = dspy.settings.get("ledger")
    if isinstance(roles, str):
        roles = Roles(default=roles)
    roles = roles or outer_roles or Roles()
    ledger = Ledger(budget, parent=outer_ledger)
    restrict_cache()
    # Optimizers copy `settings.lm` to vary it and run their own prompts on it: it is the default model.
    default = language_model(roles.default)
    with dspy.context(lm_roles=roles, ledger=ledger, lm=default, adapter=TolerantAdapter()):
        yield ledger


def restrict_cache() -> None:
    """Restrict DSPy's disk cache to plain data, unless a cache is already configured."""
    if "cache" in vars(dspy):
        return
    try:
        dspy.configure_cache(restrict_pickle=True)
    except (OSError, sqlite3.Error):
        # The directory is not writable: the cache is in memory only.
        dspy.configure_cache(enable_disk_cache=False, restrict_pickle=True)
