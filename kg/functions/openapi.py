"""The operations of an OpenAPI file as functions: GET requests with typed parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import yaml
from pydantic import BaseModel, Field, ValidationError

from triplecheck.kg.errors import UserError
from triplecheck.kg.functions.function import Function, Parameter, bind
from triplecheck.kg.functions.shapes import resolved

_MOST_BYTES = 8 << 20  # of a reply
_MOST_SECONDS = 60.0  # of a request; `CallLimits.seconds` ends the wait for it before


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
        UserError: no such file, no OpenAPI 3, no server, no such operation, or one of `only` that cannot be called.
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
            found += _functions(name, path, item, content, client)
        except UserError:
            if only:
                raise
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


def _functions(name: str, path: str, item: _PathItem, root: Mapping[str, Any], client: httpx.Client) -> list[Function]:
    operation = item.get
    assert operation is not None
    given = [resolved(name, one, root) for one in (*item.parameters, *operation.parameters)]
    read = {str(one.get("name")): one for one in given}
    parameters = [
        Parameter(key, resolved(name, one.get("schema") or {}, root), bool(one.get("required")))
        for key, one in read.items()
        if one.get("in") in ("path", "query")
    ]
    in_path = {key for key, one in read.items() if one.get("in") == "path"}

    def call(arguments: Mapping[str, Any]) -> Any:
        where = path
        for key in in_path:
            where = where.replace(f"{{{key}}}", quote(str(arguments.get(key, "")), safe=""))
        query = {key: value for key, value in arguments.items() if key not in in_path}
        return _get(client, where, query)

    description = (operation.summary or operation.description).partition("\n")[0]
    return bind(name, description, parameters, _reply(name, operation, root), call)


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
