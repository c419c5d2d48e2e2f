"""The operations of an OpenAPI file as functions: GET requests with typed parameters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import yaml
from jsonschema import Draft4Validator, Draft202012Validator
from pydantic import BaseModel, Field, ValidationError

from triplecheck.kg.errors import UserError
from triplecheck.kg.functions.function import Function, NotAsDeclaredError, Parameter, bind
from triplecheck.kg.functions.shapes import resolved

_MOST_BYTES = 8 << 20  # of a reply
_MOST_SECONDS = 60.0  # of a request; `CallLimits.seconds` ends the wait for it before
_IGNORED_HEADERS = {"accept", "content-type", "authorization"}  # OpenAPI gives their parameters no meaning
_FORMATS = jsonschema.FormatChecker(("date",))
_FORMATS.checks("date-time", ValueError)(lambda text: not isinstance(text, str) or bool(datetime.fromisoformat(text)))


class _Operation(BaseModel):
    operation_id: str = Field("", alias="operationId")
    summary: str = ""
    description: str = ""
    parameters: list[dict[str, Any]] = []
    responses: dict[str, dict[str, Any]] = {}


class _PathItem(BaseModel):
    get: _Operation | None = None
    parameters: list[dict[str, Any]] = []


class _Server(BaseModel):
    url: str


class _File(BaseModel):
    openapi: str = Field(pattern=r"^3\.")
    servers: list[_Server] = []
    paths: dict[str, _PathItem]


def read_openapi(
    file: str | Path | Mapping[str, Any],
    *,
    server: str | None = None,
    headers: Mapping[str, str] | None = None,
    only: Sequence[str] = (),
) -> list[Function]:
    """The GET operations of an OpenAPI 3 file as functions.

    Args:
        file: JSON or YAML, or its content.
        server: where requests go; None: the first server of the file.
        headers: sent with each request, such as a key.
        only: the operations to take, by id; empty: all that can be called about an entity.

    Raises:
        UserError: no such file, no OpenAPI 3, no server, no such operation, one of `only` that cannot be called, or one
            that needs a header that is not given.
    """
    content = _content(file)
    place = "the OpenAPI file" if isinstance(file, Mapping) else str(file)
    try:
        read = _File.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{place}: not OpenAPI 3: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    url = server or (read.servers[0].url if read.servers else "")
    if not url.startswith(("http://", "https://")):
        raise UserError(f"{place}: no server with an address (it is {url!r}); give one: server=")
    client = httpx.Client(base_url=url.rstrip("/"), headers=dict(headers or {}), timeout=_MOST_SECONDS)
    operations = {
        item.get.operation_id or path.strip("/").replace("/", "_"): (path, item)
        for path, item in read.paths.items()
        if item.get is not None
    }
    if unknown := [name for name in only if name not in operations]:
        raise UserError(f"{place}: no GET operation {unknown[0]!r}; there are {', '.join(operations) or 'none'}")
    found: list[Function] = []
    for name, (path, item) in operations.items():
        if only and name not in only:
            continue
        try:
            bound = _functions(name, path, item, content, client)
        except UserError:
            if only:
                raise
            continue
        _check_headers(name, item, content, headers or {})
        found += bound
    if not found:
        raise UserError(f"{place}: no GET operation can be called about an entity; name one with only= to see why")
    return found


def _content(file: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(file, Mapping):
        return file
    try:
        text = Path(file).read_text("utf-8")
        content = json.loads(text) if str(file).endswith(".json") else yaml.safe_load(text)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"{file}: cannot be read: {str(error).splitlines()[0]}") from None
    if not isinstance(content, Mapping):
        raise UserError(f"{file}: not OpenAPI: an object is expected")
    return content


def _parameters(name: str, item: _PathItem, root: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The parameters of an operation; those of its path that it does not declare again, too."""
    own = [] if item.get is None else item.get.parameters
    given = [resolved(name, one, root) for one in (*item.parameters, *own)]
    return {str(one.get("name")): one for one in given}


def _check_headers(name: str, item: _PathItem, root: Mapping[str, Any], headers: Mapping[str, str]) -> None:
    """Raise `UserError` if an operation needs a header or a cookie that is not given."""
    sent = {header.lower() for header in headers}
    for key, one in _parameters(name, item, root).items():
        header = {"header": key, "cookie": "Cookie"}.get(str(one.get("in")))
        if header and one.get("required") and header.lower() not in sent | _IGNORED_HEADERS:
            raise UserError(
                f"{name}: needs the header {header!r}; give it with headers=, or name the operations to take with only="
            )


def _functions(name: str, path: str, item: _PathItem, root: Mapping[str, Any], client: httpx.Client) -> list[Function]:
    operation = item.get
    assert operation is not None
    read = _parameters(name, item, root)
    parameters = [
        Parameter(key, resolved(name, one.get("schema") or {}, root), bool(one.get("required")))
        for key, one in read.items()
        if one.get("in") in ("path", "query")
    ]
    in_path = {key for key, one in read.items() if one.get("in") == "path"}
    reply = _reply(name, operation, root)
    validator = _validator(name, reply, is_30=str(root["openapi"]).startswith("3.0"))

    def call(arguments: Mapping[str, Any]) -> Any:
        where = path
        for key in in_path:
            where = where.replace(f"{{{key}}}", quote(str(arguments.get(key, "")), safe=""))
        query = {key: value for key, value in arguments.items() if key not in in_path}
        result = _get(client, where, query)
        if (error := next(validator.iter_errors(result), None)) is not None:
            raise NotAsDeclaredError(error.absolute_path, error.message)
        return result

    description = (operation.summary or operation.description).partition("\n")[0]
    return bind(name, description, parameters, reply, call)


def _validator(name: str, schema: Mapping[str, Any], *, is_30: bool) -> Any:
    """What finds the errors of a reply.

    Raises:
        UserError: it is no JSON schema.
    """
    kind = _OpenAPI30 if is_30 else Draft202012Validator
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise UserError(f"{name}: the schema of its reply is wrong: {error.message}") from None
    return kind(schema, format_checker=_FORMATS)


def _type_or_null(validator: Any, kinds: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    """The keyword `type` of OpenAPI 3.0, which has `nullable` beside it."""
    if value is not None or not schema.get("nullable"):
        yield from Draft4Validator.VALIDATORS["type"](validator, kinds, value, schema)


_OpenAPI30 = jsonschema.validators.extend(Draft4Validator, {"type": _type_or_null})


def _reply(name: str, operation: _Operation, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a successful reply, in which `#/components` can be looked up."""
    for status in ("200", "2XX", "default"):
        if status in operation.responses:
            content = resolved(name, operation.responses[status], root).get("content") or {}
            media: Mapping[str, Any] = next((one for kind, one in content.items() if "json" in kind), {})
            schema = media.get("schema") or {}
            return {**schema, "components": root.get("components", {})} if schema else {}
    return {}


def _get(client: httpx.Client, path: str, query: Mapping[str, Any]) -> Any:
    """The JSON of a reply.

    Raises:
        ValueError: an error, a reply that is too long, or one that is no JSON.
    """
    with client.stream("GET", path, params=dict(query)) as reply:
        if reply.is_error:
            raise ValueError(f"the server replies {reply.status_code} {reply.reason_phrase}")
        body = bytearray()
        for part in reply.iter_bytes():
            body += part
            if len(body) > _MOST_BYTES:
                raise ValueError(f"the reply is longer than {_MOST_BYTES >> 20} MB")
    return json.loads(body)
