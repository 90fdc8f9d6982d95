"""The server: the page, its settings, and two questions to ask: of a drawing and of a measurement file."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from eitlens.cancellation import Check
from eitlens.device import available_cores
from eitlens.errors import ConvergenceError, InputError
from eitlens.measure.isolation import SafeParser
from eitlens.web.answer import answer_drawing, answer_upload
from eitlens.web.assets import Asset, page
from eitlens.web.gallery import Gallery
from eitlens.web.guard import LOCAL, Guard, OwnHosts
from eitlens.web.jobs import BusyError, Jobs, SupersededError, TooLongError
from eitlens.web.schema import MOST_CURRENTS, MOST_MODELS, Drawing, read_choice, read_drawing
from eitlens.web.tank import answer_files, answer_tank, settings, warm_tank
from eitlens.web.tank_schema import LARGEST_UPLOAD, read_files, read_tank

DRAWING, UPLOAD, TANK, FILES = "/api/drawing", "/api/measurement", "/api/tank", "/api/files"
LIMITS = {  # bytes: the largest drawing has 20 KB
    DRAWING: 64 * 1024,
    UPLOAD: 8 * 1024 * 1024,
    TANK: 64 * 1024,
    FILES: LARGEST_UPLOAD,
}
_WARM, _PATIENCE = 2, 30.0  # times, as the first compiles; seconds for a request to arrive
_UPLOADED = "the file"
_HEAVY = "draw fewer or simpler shapes, or conductivities nearer to 1"
"""What a person who draws can do about a computation that takes too long."""
_SLOW_FILE = "this takes too long here: choose fewer methods, or have eitlens reconstruct do it"


@dataclass(frozen=True)
class Server:
    """The state that a request can reach."""

    gallery: Gallery
    jobs: Jobs
    parse: SafeParser

    async def warm(self) -> None:
        """Image something with every network, so that the first user does not wait and the pace is known."""
        example = _example(self.gallery)
        for _ in range(_WARM):
            work = partial(answer_drawing, example, self.gallery)
            await self.jobs.run("warm", work, budget=math.inf)
        await self.jobs.run("warm", lambda check: warm_tank(), budget=math.inf)

    async def ask(
        self, request: Request, client: str, work: Callable[[Check], dict[str, Any]], late: str = ""
    ) -> Response:
        """The answer in the client's turn, or the reason why there is none; without a client there is no work."""
        answer = asyncio.ensure_future(self.jobs.run(client, work))
        left = asyncio.ensure_future(_left(request))
        await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
        for task in (answer, left):
            task.cancel()
        try:
            return JSONResponse(await answer)
        except asyncio.CancelledError:
            return await _gone()
        except InputError as error:
            return _refusal(422, str(error))
        except ConvergenceError:
            return _refusal(422, f"the data of this drawing cannot be computed: {_HEAVY}")
        except TooLongError:
            return _refusal(422, late or f"the data of this drawing take too long to compute: {_HEAVY}")
        except SupersededError:
            return _refusal(409, "a newer request took the place of this one")
        except BusyError as error:
            return _refusal(503, str(error), {"retry-after": str(error.retry_after)})


def _example(gallery: Gallery) -> Drawing:
    ellipse = {"kind": "ellipse", "center": [0.3, 0.2], "semi_axes": [0.3, 0.2]}
    models = tuple(gallery.imagers)[:MOST_MODELS]
    asked = {"client": "warm", "shapes": [ellipse], "currents": MOST_CURRENTS, "tau": 0.05, "seed": 1}
    return Drawing.model_validate(asked | {"models": models})


def create(gallery: Gallery, jobs: Jobs | None = None, names: Iterable[str] = ()) -> ASGIApp:
    """The application. It answers to `localhost`, to addresses and to these host names (see `OwnHosts`)."""
    jobs = jobs or Jobs(workers=available_cores())
    server = Server(gallery, jobs, SafeParser(patience=jobs.budget))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await server.warm()
        yield
        jobs.close()
        server.parse.close()

    app = FastAPI(title="eitlens", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.add_exception_handler(HTTPException, _told)
    app.add_exception_handler(ClientDisconnect, _gone)
    _add_page(app, page(), gallery.settings() | {"tank": settings()})
    _add_questions(app, server)
    _add_tanks(app, server)
    app.add_middleware(GZipMiddleware, minimum_size=2048, compresslevel=1)
    known = frozenset(name.lower() for name in (LOCAL, *names) if name)
    return Guard(OwnHosts(app, known), LIMITS)


def _add_page(app: FastAPI, assets: dict[str, Asset], settings: dict[str, Any]) -> None:
    reads = ["GET", "HEAD"]

    @app.api_route("/", methods=reads)
    async def index() -> Response:
        return _file(assets["index.html"])

    @app.api_route("/settings.json", methods=reads)
    async def known() -> Response:
        return JSONResponse(settings)

    @app.api_route("/{name:path}", methods=reads)
    async def asset(name: str) -> Response:
        return _file(assets[name]) if name in assets else _refusal(404, "there is no such page")


def _add_questions(app: FastAPI, server: Server) -> None:
    @app.post(DRAWING)
    async def drawing(request: Request) -> Response:
        if (refused := _other_type(request, "application/json")) is not None:
            return refused
        try:
            asked = read_drawing(await _body(request))
            server.gallery.check(asked.models)
        except InputError as error:
            return _refusal(422, str(error))
        return await server.ask(request, asked.client, partial(answer_drawing, asked, server.gallery))

    @app.post(UPLOAD)
    async def measurement(request: Request, client: str = "", models: str = "") -> Response:
        if (refused := _other_type(request, "application/octet-stream")) is not None:
            return refused
        body = await _body(request)
        try:
            asked = read_choice(client, models)
            server.gallery.check(asked.models)
        except InputError as error:
            return _refusal(422, str(error))

        def work(check: Check) -> dict[str, Any]:
            return answer_upload(server.parse(body, _UPLOADED), asked.models, server.gallery, check)

        return await server.ask(request, asked.client, work)


def _add_tanks(app: FastAPI, server: Server) -> None:
    @app.post(TANK)
    async def tank(request: Request) -> Response:
        if (refused := _other_type(request, "application/json")) is not None:
            return refused
        body = await _body(request)
        try:
            asked = read_tank(body)
        except InputError as error:
            return _refusal(422, str(error))
        return await server.ask(request, asked.client, partial(answer_tank, asked))

    @app.post(FILES)
    async def files(request: Request) -> Response:
        if (refused := _other_type(request, "application/octet-stream")) is not None:
            return refused
        body = await _body(request)
        try:
            asked, parts = read_files(body)
        except InputError as error:
            return _refusal(422, str(error))

        def work(check: Check) -> dict[str, Any]:
            return answer_files(asked, parts, server.parse, check)

        return await server.ask(request, asked.client, work, _SLOW_FILE)


async def _body(request: Request) -> bytes:
    """The whole body of a request, unless it takes too long to come."""
    try:
        return await asyncio.wait_for(request.body(), _PATIENCE)
    except TimeoutError:
        raise HTTPException(408, f"the request did not come within {_PATIENCE:g} s") from None


async def _left(request: Request) -> None:
    """Wait until the client hangs up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _other_type(request: Request, wanted: str) -> Response | None:
    """Refuse a media type that a foreign page may send without asking the server first."""
    given = request.headers.get("content-type", "").split(";")[0].strip().lower()
    return None if given == wanted else _refusal(415, f"content-type must be {wanted}, got {given[:80]!r}")


async def _told(_: Request, error: Exception) -> Response:
    """An error of the framework (a wrong path or method, a body too large), in our own words."""
    known = error if isinstance(error, HTTPException) else HTTPException(500)
    return _refusal(known.status_code, known.detail, dict(known.headers or {}))


async def _gone(*_: object) -> Response:
    """The answer that nobody reads, as its client has hung up."""
    return _refusal(499, "the client has left")


def _file(asset: Asset) -> Response:
    return Response(asset.content, media_type=asset.kind, headers={"cache-control": "no-cache"})


def _refusal(status: int, reason: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"reason": reason}, status, headers)
