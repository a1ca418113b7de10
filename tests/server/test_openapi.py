"""The description of the API has every verb of the route table, and nothing that isn't there."""

from __future__ import annotations

import json
import re

import pytest
from glassloom_server.base_handlers import GlassloomAPIHandler
from glassloom_server.openapi import openapi
from glassloom_server.routes import ROUTES
from tornado.httpclient import HTTPClientError
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


async def test_a_request_without_the_body_that_the_description_requires_is_refused(jp_fetch):
    with_body = [
        path
        for path, verbs in openapi(ROUTES)["paths"].items()
        if "post" in verbs and verbs["post"]["requestBody"]["required"]
    ]
    assert "/glassloom/api/clusters" in with_body
    for path in with_body:
        for body in ("", " "):
            with pytest.raises(HTTPClientError) as caught:
                await jp_fetch(*path.strip("/").replace("{cluster_id}", "c1").split("/"), method="POST", body=body)
            assert caught.value.code == 400, path
            assert "the request has no body" in json.loads(caught.value.response.body)["message"], path
