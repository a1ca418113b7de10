"""The description of the API has every verb of the route table, and nothing that isn't there."""

from __future__ import annotations

import json
import re

from glassloom_server.base_handlers import GlassloomAPIHandler
from glassloom_server.openapi import openapi
from glassloom_server.routes import ROUTES
from tornado.web import RequestHandler


def test_every_verb_of_every_rest_handler_is_described():
    document = openapi(ROUTES)
    described = {(path, verb) for path, verbs in document["paths"].items() for verb in verbs}
    undefined = RequestHandler._unimplemented_method
    there = {
        (route.handler.__name__, verb)
        for route in ROUTES
        if issubclass(route.handler, GlassloomAPIHandler)
        for verb in ("get", "post", "put", "patch", "delete")
        if getattr(route.handler, verb) is not undefined
    }
    assert len(described) == len(there)
    names = [verbs[verb]["operationId"] for verbs in document["paths"].values() for verb in verbs]
    assert sorted(names) == sorted(f"{verb}{name.removesuffix('Handler')}" for name, verb in there)


def test_paths_name_their_parts_and_types_are_found():
    document = openapi(ROUTES)
    scale = document["paths"]["/glassloom/api/clusters/{cluster_id}/scale"]["post"]
    assert scale["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/ScaleRequest"
    }
    assert [parameter["name"] for parameter in scale["parameters"]] == ["cluster_id"]
    assert "202" in document["paths"]["/glassloom/api/clusters"]["post"]["responses"]
    assert "/glassloom/api/openapi.json" in document["paths"]
    references = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert references <= set(document["components"]["schemas"])


def test_the_messages_of_the_stream_are_described():
    document = openapi(ROUTES)
    (message,) = document["x-websockets"].values()
    names = [reference["$ref"].rpartition("/")[2] for reference in message["anyOf"]]
    assert names == ["StreamSnapshot", "StreamChanges", "StreamAlive"]
    assert "now" in document["components"]["schemas"]["StreamAlive"]["required"]


async def test_it_is_served(jp_fetch):
    response = await jp_fetch("glassloom", "api", "openapi.json")
    assert json.loads(response.body)["openapi"] == "3.1.0"
