"""Configuration: `triplecheck.toml` in the working directory, overridden by the environment, overridden by flags.

    kb = "kbs/films"            # directory of a knowledge base, URL or name of an endpoint, or "bundled" (default)
    documents = "lancedb:texts" # documents that are searched instead of those of kb; also qdrant:URL#COLLECTION
    openapi = ["league.json", { file = "weather.yaml", headers = { X-Key = "$WEATHER_KEY" } }]
                                # functions beside the graph whose results are facts, too; also server, only
    language = "de"             # of questions and labels; default: that of kb, else "en"
    program = "kerag"
    lm = "openai/gpt-4o-mini"   # model of every role that is not in [roles]
    cascade = ["extractive"]    # models or bundles that are asked before, until an answer is proved; [] for none
    grounded_only = true
    hops = 2

    [roles]
    prune = "extractive"

    [budget]                    # per question of `ask` and `demo`; `eval` has flags for the whole run
    calls = 20

    [options]                   # other options of the program
    filtering = "instances"

    [function_limits]           # of calls of functions
    seconds = 5

    [endpoints.films]           # `--kb films`; every key but `url` is optional
    url = "https://films.example/sparql"    # or neo4j://HOST, or ladybug:FILE
    user_env = "FILMS_USER"     # environment variables with user and password
    key_env = "FILMS_KEY"
    headers = { Authorization = "Bearer $FILMS_TOKEN" }
    requests_per_second = 5

    [serve]                     # `triplecheck serve`
    port = 8765
    bases = { films = "kbs/films" }    # more knowledge bases, by name

    [serve.keys.alice]          # a client; without keys everybody on this machine may ask
    key_env = "ALICE_KEY"       # environment variable with the key
    per_minute = 60
    budget = { dollars = 2 }    # per day

In the environment: TRIPLECHECK_LM, TRIPLECHECK_BUDGET__CALLS, TRIPLECHECK_ROLES="prune=extractive,link=..." and so on.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from triplecheck.kg.endpoints.options import EndpointOptions
from triplecheck.kg.errors import UserError
from triplecheck.kg.functions.limits import CallLimits

FILE = "triplecheck.toml"
PREFIX = "TRIPLECHECK_"
_NO_CASCADE = "none"


class BudgetSettings(BaseModel, extra="forbid", frozen=True):
    """Limits on model calls; None: no limit."""

    calls: int | None = Field(default=None, ge=0)
    """Maximum model calls."""
    tokens: int | None = Field(default=None, ge=0)
    """Maximum prompt and completion tokens."""
    seconds: float | None = Field(default=None, ge=0)
    """Maximum seconds in model calls, summed over calls."""
    dollars: float | None = Field(default=None, ge=0)
    """Maximum cost, of models with a known price."""


class ClientSettings(BaseModel, extra="forbid", frozen=True):
    """A client of `triplecheck serve`."""

    key_env: str
    """Environment variable with its API key."""
    per_minute: int = Field(default=60, ge=1)
    """Requests in a minute."""
    budget: BudgetSettings = BudgetSettings()
    """Limits on its model calls in a day (UTC)."""


class OpenAPISettings(BaseModel, extra="forbid", frozen=True):
    """An OpenAPI file whose GET operations are functions beside the graph. Its path alone stands for the defaults."""

    file: Path
    """JSON or YAML."""
    server: str | None = None
    """Where requests go; None: the first server of the file."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Sent with each request; `$NAME` in a value is replaced from the environment."""
    only: list[str] = Field(default_factory=list)
    """Operations to take, by id; none: all that can be called about an entity."""

    @model_validator(mode="before")
    @classmethod
    def _read_path(cls, value: Any) -> Any:
        """Take the path alone."""
        return {"file": value} if isinstance(value, str | Path) else value


class ServeSettings(BaseModel, extra="forbid", frozen=True):
    """What `triplecheck serve` and `triplecheck mcp` allow."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=8765, ge=0, le=65535)
    """Port to listen on; 0: a free one."""
    bases: dict[str, str] = Field(default_factory=dict)
    """Knowledge bases by name, besides `kb`."""
    keys: dict[str, ClientSettings] = Field(default_factory=dict)
    """Clients by name. Without any, requests need no key."""
    hosts: list[str] = Field(default_factory=list)
    """Names under which the server is reached, besides `localhost` and `host`."""
    origins: list[str] = Field(default_factory=list)
    """Origins of web pages of others that may call the server (CORS)."""
    seconds: float = Field(default=120, gt=0)
    """Seconds for one request, with the wait for its turn."""
    concurrent: int = Field(default=32, ge=1)
    """Questions that are answered at the same time."""
    waiting: int = Field(default=128, ge=0)
    """Questions that may wait for their turn; more are refused."""
    body: int = Field(default=1 << 20, ge=1)
    """Bytes of a request."""
    question: int = Field(default=1_000, ge=1)
    """Characters of a question."""
    grace: float = Field(default=10, ge=0)
    """Seconds that open requests have to end when the server stops."""
    log_questions: bool = False
    """Write questions and answers to the log."""


class Settings(BaseSettings):
    """The configuration. Made by `load_settings`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        toml_file=FILE,
        frozen=True,
    )

    kb: str | None = None
    """Directory of the knowledge base, URL or name of an endpoint; None or `bundled`: the bundled one."""
    documents: str | None = None
    """Place of documents that are searched instead of those of `kb`, such as `lancedb:passages`."""
    openapi: list[OpenAPISettings] = Field(default_factory=list)
    """OpenAPI files of functions beside the graph: each a path, or a table of `file`, `server`, `headers`, `only`."""
    function_limits: CallLimits = CallLimits()
    """Limits on calls of functions: `seconds`, `calls`, `values`, `cache_seconds`; see `kg.functions.CallLimits`."""
    language: str | None = None
    """Language of the questions, or the spaCy pipeline that reads them; None: that of the knowledge base."""
    endpoints: dict[str, EndpointOptions] = Field(default_factory=dict)
    """Endpoints by name."""
    program: str = "kerag"
    """Program that answers."""
    bundle: Path | None = None
    """Compiled program that answers instead of `program`."""
    lm: str | None = None
    """Model of every role that is not in `roles`; None: `extractive`."""
    roles: Annotated[dict[str, str], NoDecode] = Field(default_factory=dict)
    """Model by role. In the environment: `answer=MODEL,prune=MODEL`."""
    cascade: Annotated[list[str] | None, NoDecode] = None
    """Models or bundles that are asked before `lm`, until an answer is proved. None: `extractive` for KERAG and
    AnchorRAG with a language model as `lm`, unless `roles`, `options` or `bundle` are set. In the environment:
    `MODEL,MODEL`, or `none`."""
    ranker: bool = True
    """Let `extractive` score paths with the trained ranker, besides its rules."""
    grounded_only: bool = False
    """Abstain instead of answering from the model's own knowledge."""
    verdict: Literal["proved", "likely", "supported", "any"] | None = None
    """Lowest verdict of answers that are given. None: `likely` where a person asks, `any` elsewhere."""
    hops: int | None = Field(default=None, ge=1)
    """Maximum distance from the topics; None: the program's default."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Other options of the program, by name."""
    budget: BudgetSettings = BudgetSettings()
    """Limits on model calls."""
    workers: int = Field(default=1, ge=1)
    """Questions that `triplecheck eval` runs in parallel."""
    serve: ServeSettings = ServeSettings()
    """The server."""
    cache: Path | None = None
    """Directory in which the bundled knowledge base is built; None: the platform's cache directory."""

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

    @field_validator("cascade", mode="before")
    @classmethod
    def _read_cascade(cls, value: Any) -> Any:
        """Take `a,b`, and `none`."""
        names = [item.strip() for item in value.split(",") if item.strip()] if isinstance(value, str) else value
        return [] if names == [_NO_CASCADE] else names

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
        **flags: values of the command line, by the fields of `Settings`; None: not given. If `lm` is given,
            only the `roles` given here differ from it, whatever the file says.

    Raises:
        UserError: the file is not TOML, or a key or a value is wrong; the message names the place.
    """
    given = {name: value for name, value in flags.items() if value is not None and value != {}}
    try:
        settings = Settings(**given)
    except ValidationError as error:
        raise UserError("; ".join(_explain(detail, given) for detail in error.errors())) from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{FILE}: is not TOML: {error}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{FILE}: is not UTF-8 ({error.reason} at byte {error.start})") from None
    except RecursionError:
        raise UserError(f"{FILE}: is nested too deeply") from None
    except SettingsError as error:
        raise UserError(f"{PREFIX}...: {error}; tables are written NAME__KEY=VALUE or as JSON") from None
    except ValueError as error:  # a number that is too long
        raise UserError(f"{FILE}: {error}") from None
    if "lm" in given:
        settings = settings.model_copy(update={"roles": given.get("roles", {})})
    return settings


def parse_pairs(items: Iterable[str], where: str) -> dict[str, str]:
    """`["answer=openai/x"]` as a mapping.

    Raises:
        UserError: an item is not NAME=VALUE, or a name is given twice.
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
    """`["filtering=none", "limits.values=50"]` as nested values: TOML if they can be parsed, else text.

    Raises:
        UserError: as `parse_pairs`.
    """
    options: dict[str, Any] = {}
    for name, text in parse_pairs(items, where).items():
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except (tomllib.TOMLDecodeError, RecursionError):
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
    """An error of pydantic, with the place of the value."""
    path = [str(part) for part in detail["loc"]]
    place = _place(path, flags)
    if detail["type"] == "extra_forbidden":
        tables: dict[str, type[BaseModel]] = {
            "budget": BudgetSettings,
            "serve": ServeSettings,
            "openapi": OpenAPISettings,
        }
        table = tables.get(path[0]) if len(path) > 1 else Settings
        if len(path) > 3 and path[:2] == ["serve", "keys"]:
            table = BudgetSettings if path[3] == "budget" and len(path) > 4 else ClientSettings
        fields = (table or Settings).model_fields
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
