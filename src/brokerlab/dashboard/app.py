"""The server's answers. What changes something is a POST; the Guard lets none in without the token."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from pydantic import BaseModel

from brokerlab import lab
from brokerlab.dashboard.commands import Commands
from brokerlab.dashboard.following import Followed
from brokerlab.dashboard.live_page import live_page
from brokerlab.dashboard.more_answers import add_brokers, add_comparing, add_starting, add_studies
from brokerlab.dashboard.run_list import RunList
from brokerlab.dashboard.runs_page import runs_page
from brokerlab.dashboard.safety import Guard, Outward
from brokerlab.dashboard.site import assets, own_page, site
from brokerlab.dashboard.stream import RunStream, stream
from brokerlab.errors import BrokerlabError, NotFoundError, UserError, WorkloadError
from brokerlab.report.markup import tag
from brokerlab.results.directory import RunDirectory
from brokerlab.results.run_state import in_progress


@dataclass
class Dashboard:
    """What the answers share. `ending` is set when the server is to end: no stream outlives it."""

    runs: Path
    token: str
    hosts: frozenset[str]
    ending: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.outward = Outward(self.runs)
        self.run_list = RunList(self.runs)
        self.followed = Followed(self.outward.detail)
        self.commands = Commands(self.runs)

    def run(self, name: str) -> RunDirectory:
        """The run of exactly this name. A name is one step below the runs: it cannot lead elsewhere."""
        if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise NotFoundError(f"no run is called {name!r}")
        found = RunDirectory(self.runs / name)
        if not (found.path / "plan.json").is_file():
            raise NotFoundError(f"no run is called {name!r}", hint="the page of runs lists them all")
        return found


class Remark(BaseModel):
    execution: str
    text: str


def make_app(dashboard: Dashboard) -> Guard:
    """The whole server as an ASGI application, guarded."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    _add_errors(app, dashboard)
    _add_pages(app, dashboard)
    _add_run_answers(app, dashboard)
    add_starting(app, dashboard)
    add_comparing(app, dashboard)
    add_studies(app, dashboard)
    add_brokers(app, dashboard)
    return Guard(app, dashboard.hosts, dashboard.token)


def _add_errors(app: FastAPI, dashboard: Dashboard) -> None:
    @app.exception_handler(BrokerlabError)
    async def refused(request: Request, error: BrokerlabError) -> Response:
        status = 404 if isinstance(error, NotFoundError) else 422 if isinstance(error, UserError) else 500
        said: dict[str, Any] = {"error": error.message, "hint": error.hint or ""}
        if isinstance(error, WorkloadError):
            said["problems"] = [
                {"line": p.line, "field": p.field, "message": p.message, "value": p.value, "nearest": p.nearest}
                for p in error.problems
            ]
        said = dashboard.outward.everything(said)
        if request.url.path.startswith("/api/"):
            return JSONResponse(said, status_code=status)
        page = own_page("Not found" if status == 404 else "Error", "", "common.js",
                        tag("section", tag("h2", said["error"]), tag("p", said["hint"]), tag("p", tag("a", "All runs", href="/"))))  # fmt: skip
        return HTMLResponse(page, status_code=status)


def _add_pages(app: FastAPI, dashboard: Dashboard) -> None:
    served = assets()

    @app.get("/assets/{name}")
    async def get_asset(name: str) -> Response:
        if name not in served:
            raise NotFoundError("no such file")
        kind, text = served[name]
        return Response(text, media_type=kind)

    @app.get("/")
    def get_runs() -> HTMLResponse:
        return HTMLResponse(runs_page())

    @app.get("/monitor")
    def get_monitor() -> HTMLResponse:
        return HTMLResponse(runs_page("monitor"))

    @app.get("/runs/{name}")
    def get_run(name: str) -> HTMLResponse:
        """The report; while the run goes, and before it is analyzed, the live page."""
        run = dashboard.run(name)
        if in_progress(run) or not run.verdict_file.exists():
            return live(run)
        return HTMLResponse(dashboard.outward(_report(run), run.plan().workload_file))

    @app.get("/live/{name}")
    def get_live(name: str) -> HTMLResponse:
        return live(dashboard.run(name))

    def live(run: RunDirectory) -> HTMLResponse:
        followed = dashboard.followed.run(run)
        followed.begin()
        return HTMLResponse(dashboard.outward(live_page(followed.plan)))


def _report(run: RunDirectory) -> str:
    from brokerlab.report.page import run_page

    return run_page(run, site("/"))


def _add_run_answers(app: FastAPI, dashboard: Dashboard) -> None:
    @app.get("/api/runs")
    def list_runs() -> JSONResponse:
        return JSONResponse(dashboard.outward.everything(dashboard.run_list.rows()))

    @app.get("/api/runs/{name}/live")
    async def live(name: str, execution: str | None = None) -> StreamingResponse:
        followed = dashboard.followed.run(dashboard.run(name))
        of = RunStream(followed, execution, dashboard.outward)
        return StreamingResponse(stream(of, dashboard.ending), media_type="text/event-stream")

    @app.post("/api/session")
    def session() -> JSONResponse:
        """Says that the token is right: the Guard has looked."""
        return JSONResponse({"unlocked": True})

    @app.post("/api/runs/{name}/stop")
    def stop(name: str) -> JSONResponse:
        lab.stop(dashboard.run(name))
        return JSONResponse({"stopping": name})

    @app.post("/api/runs/{name}/annotate")
    def annotate(name: str, remark: Remark) -> JSONResponse:
        lab.annotate(dashboard.run(name), remark.execution, remark.text)
        return JSONResponse({"annotated": name})
