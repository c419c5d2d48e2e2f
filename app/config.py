"""Configuration: `triplecheck.toml` in the working directory, overridden by the environment, overridden by flags.

    kb = "kbs/films"            # a knowledge base; without it, or as "bundled", the bundled one
    program = "kerag"
    lm = "openai/gpt-4o-mini"   # plays every role that [roles] does not name
    grounded_only = true
    hops = 2

    [roles]
    prune = "extractive"

    [budget]                    # per question of `ask` and `demo`; `eval` has flags for the whole run
    calls = 20

    [options]                   # further arguments of the program
    filtering = "instances"

In the environment: TRIPLECHECK_LM, TRIPLECHECK_BUDGET__CALLS, TRIPLECHECK_ROLES="prune=extractive,link=..." and so on.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from triplecheck.kg.errors import UserError

FILE = "triplecheck.toml"
PREFIX = "TRIPLECHECK_"


class BudgetSettings(BaseModel, extra="forbid", frozen=True, use_attribute_docstrings=True):
    """Limits on what may be spent; none where nothing is set."""

    calls: int | None = Field(default=None, ge=0)
    """Calls to language models."""
    tokens: int | None = Field(default=None, ge=0)
    """Prompt and completion tokens."""
    seconds: float | None = Field(default=None, ge=0)
    """Sum of the calls' durations."""
    dollars: float | None = Field(default=None, ge=0)
    """Money, for models whose price is known."""


class Settings(BaseSettings):
    """Everything that can be configured. Made by `load_settings`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        toml_file=FILE,
        frozen=True,
        use_attribute_docstrings=True,
    )

    kb: Path | None = None
    """Knowledge base that questions are asked of; None or `bundled`: the bundled one."""
    program: str = "kerag"
    """Program that answers."""
    bundle: Path | None = None
    """Compiled program that answers, in place of `program` as it comes."""
    lm: str | None = None
    """Model of every role that `roles` does not name; None: `extractive`."""
    roles: Annotated[dict[str, str], NoDecode] = Field(default_factory=dict)
    """Model by role. In the environment: `answer=MODEL,prune=MODEL`."""
    grounded_only: bool = False
    """Abstain rather than answer from a model's own knowledge."""
    hops: int | None = Field(default=None, ge=1)
    """How far from the topics a program looks; None: as far as the program does by itself."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of the program, by name."""
    budget: BudgetSettings = BudgetSettings()
    """What may be spent."""
    workers: int = Field(default=1, ge=1)
    """Questions that `triplecheck eval` asks at a time."""
    cache: Path | None = None
    """Where the bundled knowledge base is kept once built; None: the platform's place for caches."""

    @field_validator("roles", mode="before")
    @classmethod
    def _read_roles(cls, value: Any) -> Any:
        """Take `a=x,b=y`, and the table that TOML makes of an unquoted `knowledge.1`."""
        if isinstance(value, str):
            return parse_pairs((item for item in value.split(",") if item.strip()), f"{PREFIX}ROLES")
        if isinstance(value, dict):
            flat: dict[str, Any] = {}
            for name, model in value.items():
                flat |= {f"{name}.{k}": v for k, v in model.items()} if isinstance(model, dict) else {name: model}
            return flat
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then the environment, then the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load_settings(**flags: Any) -> Settings:
    """Read the configuration.

    Args:
        **flags: values given on the command line, by the names of `Settings`; None: not given. A model
            given as `lm` plays all roles but those in `roles` here, whatever the file says.

    Raises:
        UserError: the file is no TOML, or a key or a value is wrong; the message says where it stands.
    """
    given = {name: value for name, value in flags.items() if value is not None and value != {}}
    try:
        settings = Settings(**given)
    except ValidationError as error:
        raise UserError("; ".join(_explain(detail, given) for detail in error.errors())) from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{FILE}: not TOML: {error}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{FILE}: not UTF-8 ({error.reason} at byte {error.start})") from None
    except SettingsError as error:
        raise UserError(f"{PREFIX}...: {error}; tables are written NAME__KEY=VALUE or as JSON") from None
    if "lm" in given:
        settings = settings.model_copy(update={"roles": given.get("roles", {})})
    return settings


def parse_pairs(items: Iterable[str], where: str) -> dict[str, str]:
    """`["answer=openai/x"]` as a mapping.

    Raises:
        UserError: an item is not NAME=VALUE, or a name stands twice.
    """
    pairs: dict[str, str] = {}
    for item in items:
        name, separator, value = (part.strip() for part in item.partition("="))
        if not separator or not name or not value:
            raise UserError(f"{where} {item!r}: write NAME=VALUE, such as answer=openai/gpt-4o-mini")
        if name in pairs:
            raise UserError(f"{where}: {name!r} is given twice: {pairs[name]!r} and {value!r}; keep one")
        pairs[name] = value
    return pairs


def parse_options(items: Iterable[str], where: str = "--option") -> dict[str, Any]:
    """`["filtering=none", "limits.values=50"]` as nested values; a value is TOML if it can be, else text.

    Raises:
        UserError: as `parse_pairs`.
    """
    options: dict[str, Any] = {}
    for name, text in parse_pairs(items, where).items():
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        *tables, key = name.split(".")
        place = options
        for table in tables:
            place = place.setdefault(table, {})
            if not isinstance(place, dict):
                raise UserError(f"{where} {name}: {table!r} is a value already; keep one of the two")
        place[key] = value
    return options


def _explain(detail: Any, flags: dict[str, Any]) -> str:
    """One error of pydantic, said with the place where the value stands."""
    path = [str(part) for part in detail["loc"]]
    place = _place(path, flags)
    if detail["type"] == "extra_forbidden":
        fields = BudgetSettings.model_fields if path[0] == "budget" and len(path) > 1 else Settings.model_fields
        return f"{place}: unknown key {'.'.join(path)!r}; the keys are {', '.join(fields)}"
    return f"{place}: {'.'.join(path)}: {detail['msg'][:1].lower()}{detail['msg'][1:]} (it is {detail['input']!r})"


def _place(path: list[str], flags: dict[str, Any]) -> str:
    given: Any = flags
    for part in path:
        given = given.get(part) if isinstance(given, dict) else None
    if given is not None:
        return f"--{'-'.join(path).replace('_', '-')}"
    variables = [PREFIX + "__".join(path[: i + 1]).upper() for i in range(len(path))]
    present = {name.upper(): name for name in os.environ}
    return next((present[name] for name in variables if name in present), FILE)
