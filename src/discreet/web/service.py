"""The recommendation service: a released model behind HTTP, and the page, on a checked address.

A request takes the one model that is served when it begins and keeps it to its end, so it never meets two; whatever is
served was loaded and checked before. Whatever is wrong with a request is answered with a 4xx and one sentence. No
request is written to a log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from discreet.errors import DiscreetError, HistoryInvalid, ModelInvalid
from discreet.model import History, Model, Recommendations
from discreet.model.storage import MANIFEST
from discreet.statements.document import Document, write_document
from discreet.statements.page import page as statement_page
from discreet.web.metrics import CONTENT_TYPE, Metrics
from discreet.web.page import INDEX, SENT_WITH, File, page_files
from discreet.web.search import Search
from discreet.web.server import PRIVATE, REFUSALS, Limits, Measured, ServerSettings, presents, run_server

__all__ = ["Current", "Served", "ServiceSettings", "load", "make_app", "serve"]

Q = TypeVar("Q", bound=BaseModel)
_LISTS = frozenset({"/recommend", "/similar", "/items"})
_PATHS = _LISTS | {"/statement", "/statement.html", "/health/live", "/health/ready", "/metrics", "/"}
"""Paths that metrics name."""

log = logging.getLogger("discreet.web")
Stamp = tuple[int, int, int] | None


_MOST = 10_000  # entries in a history or a list of ids
_Id = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)] | Annotated[str, Field(max_length=1000)]
_Ids = Annotated[list[_Id], Field(max_length=_MOST)]
_Count = Annotated[int, Field(ge=1, le=1000)]


class _Asked(BaseModel):
    """What is read strictly: a field too many, a number as text, or a number that is none is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class _Rated(_Asked):
    item: _Id
    rating: float | None = None


class _RecommendRequest(_Asked):
    """A person's own history, what is not for them, and what to make of both."""

    history: Annotated[list[_Rated], Field(max_length=_MOST)]
    disliked: _Ids = []
    n: _Count = 10
    exclude_seen: bool = True
    allowed: _Ids | None = None
    blocked: _Ids | None = None
    unknown_items: Literal["error", "drop"] = "error"

    def owned(self, explicit: bool) -> History:
        """The history as a model takes it."""
        if explicit:
            return [(entry.item, entry.rating) for entry in self.history]
        if any(entry.rating is not None for entry in self.history):
            raise HistoryInvalid(
                "this model was trained on what people chose, without ratings; leave the ratings out"
            )
        return [entry.item for entry in self.history]

    def options(self) -> dict[str, Any]:
        """Everything else, as `Model.recommend` takes it."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "history"}


class _SimilarQuery(BaseModel):
    """As words of an address, so numbers come as text."""

    item: Annotated[str, Field(max_length=1000)]
    n: _Count = 10


class _SearchQuery(BaseModel):
    search: Annotated[str, Field(max_length=200)] = ""
    n: _Count = 20


class ServiceSettings(ServerSettings):
    """How to serve a model; beside what any server needs:

    Parameters
    ----------
    model
        The model folder. What replaces it is served as soon as it is seen.
    anyone
        Answer whoever reaches the address, as behind a proxy that ends TLS, with or without a token.
    page
        Serve the page that recommends in the browser.
    watch
        Seconds between looks at the model folder; 0 means never.
    """

    model: Path
    anyone: bool = False
    page: bool = True
    watch: Annotated[float, Field(ge=0)] = 2.0
    largest_body: Annotated[int, Field(ge=1024)] = 1 << 18

    def check(self) -> None:
        """Refuse to listen where others could read histories on their way, or ask without leave."""
        self.check_listening(self.anyone, "--anyone, where something in front of it ends TLS")


def serve(settings: ServiceSettings, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until told to stop; ``ready`` is called with the address when it is bound."""
    logging.basicConfig(
        format="%(asctime)s %(message)s"
    )  # to stderr, unless the caller has decided otherwise
    settings.check()
    metrics = Metrics(_PATHS)
    current = Current(settings.model, page=settings.page, tell=metrics.exchanged)

    def admitted(scope: Scope) -> bool:
        """Who does not present the token learns whether the service is well, and nothing else."""
        return scope["path"].startswith("/health/") or presents(dict(scope["headers"]), settings.token)

    app = Limits(
        make_app(settings, current, metrics),
        lambda scope: settings.largest_body,
        local=settings.token is None and not settings.anyone,
        admitted=admitted,
    )
    run_server(settings, Measured(app, metrics), ready)


@dataclass(frozen=True)
class Served:
    """One model with everything that is answered from it."""

    model: Model
    digest: str
    search: Search
    statement: bytes
    statement_page: bytes
    page: dict[str, File]


def load(folder: Path, *, page: bool) -> Served:
    """Load, check and lay out a model folder; `ModelInvalid` where it cannot be used, or never stays as it is."""
    document, model = _read(folder)
    ids, titles = model.catalogue.ids.tolist(), model.catalogue.titles
    search = Search([titles.get(one, str(one)) for one in ids], model.item_side.best_known.tolist())
    model.recommend([])  # compiles and lays out what no request shall wait for
    files = page_files(model, document) if page else {}
    about = document.to_json().encode(), statement_page(document).encode()
    return Served(model, document.model.digest, search, *about, files)


def _read(folder: Path) -> tuple[Document, Model]:
    """Statement and model of one and the same folder, though another may take its place meanwhile."""
    for _ in range(5):
        before = _stamp(folder)
        try:
            both = write_document(folder), Model.load(folder)
        except ModelInvalid:
            if _stamp(folder) == before:
                raise
            continue
        if _stamp(folder) == before:
            return both
    raise ModelInvalid(f"{folder} changes all the time; put a model there and leave it")


def _stamp(folder: Path) -> Stamp:
    """What changes when another model is put into the folder; None while there is none."""
    try:
        state = (folder / MANIFEST).stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns, state.st_size


class Current:
    """The one reference to what is served, exchanged when the folder has another model.

    ``tell`` is called after each attempt, with whether a new model is served.
    """

    def __init__(self, folder: Path, *, page: bool, tell: Callable[[bool], None]) -> None:
        self._folder, self._page, self._tell = folder, page, tell
        self._seen = _stamp(self._folder)
        self.served = load(folder, page=page)

    async def watch(self, seconds: float) -> None:
        """Look at the folder every so many seconds; what was served stays where the new one cannot be used."""
        while True:
            await asyncio.sleep(seconds)
            stamp = _stamp(self._folder)
            if stamp in (None, self._seen):
                continue
            self._seen = stamp
            try:
                self.served = await asyncio.to_thread(load, self._folder, page=self._page)
            except (DiscreetError, OSError) as error:
                log.error("the model was not exchanged: %s", error)
                self._tell(False)
            else:
                self._tell(True)


def make_app(settings: ServiceSettings, current: Current, metrics: Metrics) -> Starlette:
    """The application; limits, token and counts are put around it by `serve`."""

    @contextlib.asynccontextmanager
    async def live(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(current.watch(settings.watch)) if settings.watch else None
        yield
        if task is not None:
            task.cancel()

    page = _page(current) if settings.page else []
    routes = [*_lists(current), *_about(current, metrics), *page]
    return Starlette(routes=routes, lifespan=live, exception_handlers=REFUSALS)


def _lists(current: Current) -> list[Route]:
    async def recommend(request: Request) -> Response:
        """The best items for the owner of a history, which is forgotten with the answer."""
        if not request.headers.get("content-type", "").startswith("application/json"):
            raise HTTPException(415, "send application/json")
        asked, served = _RecommendRequest.model_validate_json(await request.body()), current.served
        history = asked.owned(served.model.item_side.scale.explicit)
        return _listed(served, served.model.recommend(history, **asked.options()))

    async def similar(request: Request) -> Response:
        asked, served = _query(_SimilarQuery, request), current.served
        found = await asyncio.to_thread(served.model.similar, asked.item, asked.n)  # looks at all factors
        return _listed(served, found)

    async def items(request: Request) -> Response:
        asked, served = _query(_SearchQuery, request), current.served
        found = served.search.find(asked.search)
        catalogue = served.model.catalogue
        ids = catalogue.ids[found[: asked.n]].tolist()
        named = [{"item": one} | _titled(catalogue.titles.get(one)) for one in ids]
        return _answer({"items": named, "found": len(found), "model": served.digest})

    return [
        Route("/recommend", recommend, methods=["POST"]),
        Route("/similar", similar),
        Route("/items", items),
    ]


def _about(current: Current, metrics: Metrics) -> list[Route]:
    async def statement(_: Request) -> Response:
        return Response(current.served.statement, media_type="application/json")

    async def statement_page(_: Request) -> Response:
        return Response(current.served.statement_page, media_type="text/html")

    async def live(_: Request) -> Response:
        return JSONResponse({"live": True})

    async def ready(_: Request) -> Response:
        served = current.served
        return JSONResponse({"ready": True, "model": served.digest, "items": len(served.model.catalogue)})

    async def counted(_: Request) -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    return [
        Route("/statement", statement),
        Route("/statement.html", statement_page),
        Route("/health/live", live),
        Route("/health/ready", ready),
        Route("/metrics", counted),
    ]


def _page(current: Current) -> list[Route]:
    """Hands out the page's files from memory."""

    async def file(request: Request) -> Response:
        found = current.served.page.get(request.path_params.get("name", INDEX))
        if found is None:
            raise HTTPException(404, "there is nothing here")
        headers = SENT_WITH | {"etag": f'"{found.digest}"', "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        content = found.content
        if found.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            content, headers = found.packed, headers | {"content-encoding": "gzip"}
        return Response(content, headers=headers, media_type=found.media_type)

    return [Route("/", file), Route("/{name}", file)]


def _listed(served: Served, found: Recommendations) -> Response:
    return _answer(found.to_dict() | {"notes": list(found.notes), "model": served.digest})


def _answer(content: dict[str, Any]) -> Response:
    return JSONResponse(content, headers=PRIVATE)


def _titled(title: str | None) -> dict[str, str]:
    return {} if title is None else {"title": title}


def _query(kind: type[Q], request: Request) -> Q:
    return kind.model_validate(dict(request.query_params))
