"""The description of the REST API, made of the route table and the types. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol, get_args

import msgspec

from glassloom_server.base_handlers import Operation
from glassloom_server.wire import Problem

VERBS = ("get", "post", "delete")
_REFERENCES = "#/components/schemas/{name}"
_GROUP = re.compile(r"\([^)]*\)")


class Row(Protocol):
    """What is read of a row of the route table."""

    @property
    def pattern(self) -> str: ...
    @property
    def handler(self) -> type: ...


def openapi(rows: Iterable[Row]) -> dict[str, Any]:
    """Return the OpenAPI document of all verbs that say what they take and give."""
    rows = list(rows)
    found = [(row, verb, operation) for row in rows for verb, operation in operations_of(row.handler)]
    types = {kind for _, _, operation in found for kind in (operation.request, operation.response) if kind}
    streams = {f"/{row.pattern}": message for row in rows if (message := getattr(row.handler, "message_type", None))}
    told = {Problem, *(kind for message in streams.values() for kind in get_args(message))}
    in_order = sorted(types | told, key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(in_order, ref_template=_REFERENCES)
    schema_of = dict(zip(in_order, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for row, verb, operation in found:
        described = _described(row, verb, operation, schema_of)
        paths.setdefault(f"/{_path(row)}", {})[verb] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "Glassloom's server extension", "version": _version()},
        "paths": paths,
        # OpenAPI has no word for WebSockets: by path, what the messages are, which come as JSON text.
        "x-websockets": {
            path: {"anyOf": [schema_of[kind] for kind in get_args(message)]} for path, message in streams.items()
        },
        "components": {"schemas": components},
    }


def operations_of(handler: type) -> Iterator[tuple[str, Operation]]:
    """Yield the verbs of a handler, with what each takes and gives."""
    for verb in VERBS:
        operation = getattr(getattr(handler, verb, None), "operation", None)
        if operation is not None:
            yield verb, operation


def parameters_of(handler: type, verb: str) -> list[str]:
    """Return the names of the parts of the path that a verb is given."""
    method = getattr(handler, verb)
    while hasattr(method, "__wrapped__"):
        method = method.__wrapped__
    return list(method.__code__.co_varnames[1 : method.__code__.co_argcount])


def _path(row: Row) -> str:
    """Return the row's path with names in braces."""
    verb, _ = next(operations_of(row.handler))
    names = iter(parameters_of(row.handler, verb))
    return _GROUP.sub(lambda _: f"{{{next(names)}}}", row.pattern).replace("\\", "")


def _described(row: Row, verb: str, operation: Operation, schema_of: dict[type, Any]) -> dict[str, Any]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in parameters_of(row.handler, verb)
    ]
    in_query = [
        {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
        for name, text in (operation.query or {}).items()
    ]
    answer: dict[str, Any] = {"description": "As asked."}
    if operation.response is not None:
        answer["content"] = {"application/json": {"schema": schema_of[operation.response]}}
    problem = {"application/json": {"schema": schema_of[Problem]}}
    described: dict[str, Any] = {
        "operationId": f"{verb}{row.handler.__name__.removesuffix('Handler')}",
        "summary": str(getattr(row.handler, verb).__doc__).partition("\n")[0],
        "parameters": [*in_path, *in_query],
        "responses": {str(operation.status): answer, "default": {"description": "Refused.", "content": problem}},
    }
    if operation.request is not None:
        body = {"application/json": {"schema": schema_of[operation.request]}}
        described["requestBody"] = {"required": True, "content": body}
    return described


def _version() -> str:
    try:
        return version("glassloom")
    except PackageNotFoundError:
        return "0"
