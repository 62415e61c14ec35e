"""The service's interface for machines, as OpenAPI: paths in a table, schemas from the models of requests."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from discreet.version import __version__
from discreet.web.requests import FoundItems, Lists, RecommendRequest, Refusal, SearchQuery, SimilarQuery

__all__ = ["interface"]

_ABOUT = {
    "/statement": "What the model promises, what that means, and what it cost; as `discreet statement --json`.",
    "/health/live": "Whether the process answers at all.",
    "/health/ready": "Whether there is a model to answer from, and which.",
    "/metrics": "Counts and times for Prometheus; nothing about any person or item.",
}


def interface() -> dict[str, Any]:
    """The whole description."""
    answers = (Lists, FoundItems, Refusal, RecommendRequest)
    _, schemas = models_json_schema(
        [(one, "validation") for one in answers], ref_template="#/components/schemas/{model}"
    )
    recommend = _operation("The best items for the owner of a history. It costs no privacy budget.", Lists)
    recommend["requestBody"] = {"required": True, "content": _json(RecommendRequest)}
    paths: dict[str, Any] = {
        "/recommend": {"post": recommend},
        "/similar": {"get": _operation("The items that are most like an item.", Lists, SimilarQuery)},
        "/items": {"get": _operation("Items whose titles fit, best known first.", FoundItems, SearchQuery)},
    }
    for path, words in _ABOUT.items():
        paths[path] = {"get": {"summary": words, "responses": {"200": {"description": words}}}}
    about = {"title": "discreet", "version": __version__}
    return {"openapi": "3.1.0", "info": about, "paths": paths, "components": {"schemas": schemas["$defs"]}}


def _operation(words: str, answer: type[BaseModel], query: type[BaseModel] | None = None) -> dict[str, Any]:
    asked = query.model_json_schema() if query is not None else {"properties": {}}
    named = [
        {"name": name, "in": "query", "required": name in asked.get("required", ()), "schema": schema}
        for name, schema in asked["properties"].items()
    ]
    wrong = {"description": "What is wrong, in one sentence.", "content": _json(Refusal)}
    responses = {"200": {"description": words, "content": _json(answer)}, "422": wrong}
    return {"summary": words, "parameters": named, "responses": responses}


def _json(kind: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}
