"""Answers beside those of single runs: starting, comparing, studies, brokers, and the commands that pages started."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fastapi import FastAPI, Query
from fastapi.responses import HTMLResponse, JSONResponse

from brokerlab import lab
from brokerlab.dashboard import broker_list, other_pages, starting, study_list
from brokerlab.dashboard.commands import Command
from brokerlab.dashboard.site import site
from brokerlab.errors import NotFoundError, UserError

if TYPE_CHECKING:
    from brokerlab.dashboard.app import Dashboard


def add_starting(app: FastAPI, dashboard: Dashboard) -> None:
    @app.get("/start")
    def start_page() -> HTMLResponse:
        return HTMLResponse(other_pages.start_page())

    @app.get("/api/workloads")
    def workloads() -> JSONResponse:
        return JSONResponse(starting.workloads())

    @app.post("/api/check")
    def check(asked: starting.Asked) -> JSONResponse:
        return JSONResponse(dashboard.outward.everything(starting.checked(asked)))

    @app.post("/api/start")
    def start(asked: starting.Asked) -> JSONResponse:
        return _started(dashboard, starting.start(asked, dashboard.commands, dashboard.runs))

    @app.post("/api/runs/{name}/analyze")
    def analyze(name: str) -> JSONResponse:
        run = dashboard.run(name)
        command = ["analyze", run.name, "--runs", str(dashboard.runs), "--quiet"]
        return _started(dashboard, dashboard.commands.start(f"analyze {run.name}", command))

    @app.get("/api/commands")
    def commands() -> JSONResponse:
        found = [dashboard.commands.state(c) for c in dashboard.commands.all()[:12]]
        return JSONResponse(dashboard.outward.everything(found))

    @app.get("/api/commands/{name}")
    def command(name: str) -> JSONResponse:
        return JSONResponse(dashboard.outward.everything(dashboard.commands.state(dashboard.commands.find(name))))

    @app.post("/api/commands/{name}/stop")
    def stop_command(name: str) -> JSONResponse:
        dashboard.commands.stop(dashboard.commands.find(name))
        return JSONResponse({"stopping": name})


def add_comparing(app: FastAPI, dashboard: Dashboard) -> None:
    @app.get("/compare")
    def compare(
        base: str = "",
        candidates: list[str] = Query(default=[], alias="with"),  # noqa: B008
        unlike: bool = False,
        choose: bool = False,
    ) -> HTMLResponse:
        if choose or not base or not candidates:
            return HTMLResponse(other_pages.compare_page())
        for name in (base, *candidates):
            if "/" in name or "\\" in name or name.startswith("."):  # a path names runs that are not among ours
                raise NotFoundError(f"no run and no tag is called {name!r}")
        if len(candidates) > 20:
            raise UserError(f"at most 20 candidates can be compared (got {len(candidates)})")
        page = lab.comparison_page(base, candidates, dashboard.runs, allow_unlike=unlike, site=site("/compare"))
        return HTMLResponse(dashboard.outward(page))


def add_studies(app: FastAPI, dashboard: Dashboard) -> None:
    @app.get("/studies")
    def studies() -> HTMLResponse:
        return HTMLResponse(other_pages.studies_page())

    @app.get("/studies/{name}")
    def study(name: str, scale: str = "quick") -> HTMLResponse:
        try:
            page = study_list.study_html(name, scale, dashboard.runs)
        except study_list.NotJudgedError as error:
            page = other_pages.study_not_judged_page(name, scale, error.message)
        return HTMLResponse(dashboard.outward(page))

    @app.get("/api/studies")
    def list_studies() -> JSONResponse:
        return JSONResponse(dashboard.outward.everything(study_list.study_rows(dashboard.runs)))

    @app.get("/api/studies/{name}")
    def counts(name: str, scale: str = "quick") -> JSONResponse:
        return JSONResponse(dashboard.outward.everything(study_list.study_counts(name, scale, dashboard.runs)))

    @app.post("/api/studies/{name}/judge")
    def judge(name: str, scale: str = "quick") -> JSONResponse:
        study_list.known(name, scale)
        command = ["study", "show", name, "--scale", scale, "--runs", str(dashboard.runs), "--quiet"]
        return _started(dashboard, dashboard.commands.start(f"study show {name}", command))


def add_brokers(app: FastAPI, dashboard: Dashboard) -> None:
    @app.get("/brokers")
    def brokers() -> HTMLResponse:
        return HTMLResponse(other_pages.brokers_page())

    @app.get("/api/brokers")
    def list_brokers() -> JSONResponse:
        return JSONResponse(dashboard.outward.everything(broker_list.broker_rows()))

    @app.post("/api/brokers/{name}/{action}")
    def act(name: str, action: str) -> JSONResponse:
        if action not in broker_list.ACTIONS:
            raise NotFoundError(f"a broker cannot {action!r}", hint=f"it can {', '.join(broker_list.ACTIONS)}")
        arguments = broker_list.arguments(name, action)
        return _started(dashboard, dashboard.commands.start(f"{action} {name}", arguments))

    @app.post("/api/doctor")
    def doctor() -> JSONResponse:
        command = ["doctor", "--json", "--quiet", "--runs", str(dashboard.runs)]
        return _started(dashboard, dashboard.commands.start("doctor", command))

    @app.get("/api/doctor/{name}")
    def findings(name: str) -> JSONResponse:
        """What a doctor that has ended found."""
        command = dashboard.commands.find(name)
        try:
            found = json.loads(dashboard.commands.output(command))
        except ValueError:
            raise NotFoundError("it has not ended, or ended with an error") from None
        return JSONResponse(dashboard.outward.everything(found))


def _started(dashboard: Dashboard, command: Command) -> JSONResponse:
    return JSONResponse(dashboard.outward.everything(dashboard.commands.state(command)))
