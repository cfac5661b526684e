"""A dashboard over two runs on disk: one analyzed, one whose evidence is there and whose verdict is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from asking import Client

from brokerlab import secrets
from brokerlab.dashboard.app import Dashboard, make_app
from brokerlab.dashboard.safety import TOKEN_HEADER, loopback_hosts
from synthetic import make_plan, write_run
from synthetic_tables import Story, write_results

TOKEN = "the-token-of-this-test"
PORT = 8787
ANALYZED = "20270115T0800-demo-ab12"
MEASURED = "20270116T0800-live-cd34"


@pytest.fixture(autouse=True)
def _no_secret_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers leave out every secret that this process has resolved, also an ordinary word that another test used."""
    monkeypatch.setattr(secrets, "_resolved", set())


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("dashboard") / "runs-of-a-secret-place"
    write_results(root / ANALYZED, Story(repeats=2, measure_s=12, warm_up_s=3, rate_per_s=400))
    write_results(root / "20270115T0900-demo-ef56", Story(repeats=2, measure_s=12, warm_up_s=3, rate_per_s=400), seed=1)
    write_run(root / MEASURED, plan=make_plan(MEASURED, repeats=1), faults={})
    return root


@pytest.fixture
def dashboard(runs: Path) -> Dashboard:
    return Dashboard(runs, TOKEN, loopback_hosts(PORT))


@pytest.fixture
def client(dashboard: Dashboard) -> Client:
    """Without the token: may only read."""
    return Client(make_app(dashboard), f"http://127.0.0.1:{PORT}")


@pytest.fixture
def allowed(dashboard: Dashboard) -> Client:
    """With the token."""
    return Client(make_app(dashboard), f"http://127.0.0.1:{PORT}", {TOKEN_HEADER: TOKEN})
