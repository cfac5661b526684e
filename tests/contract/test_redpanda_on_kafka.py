"""Redpanda's folder with Kafka's own server behind the data path, and an Admin API served by the test: Redpanda itself
was never run here."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest
from contract_load import cell_for
from contract_servers import Running, running_server
from endpoint_cluster import EndpointCluster, contract_checks

from brokerlab.brokers.contract import Cluster
from brokerlab.brokers.redpanda.api import AdminApi
from brokerlab.brokers.redpanda.broker import BROKER
from brokerlab.brokers.registry import broker_named
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Durability, Endpoint, Security

L1, L2, L3, L4 = Durability
METRICS = """# HELP redpanda_kafka_request_bytes_total Total number of bytes
redpanda_kafka_request_bytes_total{redpanda_namespace="kafka",redpanda_request="produce",redpanda_topic="a"} 300
redpanda_kafka_request_bytes_total{redpanda_namespace="kafka",redpanda_request="produce",redpanda_topic="b"} 30
redpanda_kafka_request_bytes_total{redpanda_namespace="kafka",redpanda_request="consume",redpanda_topic="a"} 7
redpanda_rpc_active_connections{redpanda_server="kafka"} 4
"""


class AdminServer:
    """GET of four pages. `answers` may be changed; `login` is demanded where it is set."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.login: str | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.reset()

    def reset(self) -> None:
        self.login = None
        self.answers = {
            "/v1/brokers": [{"node_id": 0, "is_alive": True, "version": "v26.1.9"}],
            "/v1/cluster_config": {"write_caching_default": "false", "cluster_id": None},
            "/v1/node_config": {"developer_mode": False},
            "/public_metrics": METRICS,
        }

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = served.answers.get(self.path)
                status = 404 if answer is None else 200
                if served.login is not None and self.headers.get("Authorization") != f"Basic {served.login}":
                    status = 401
                text = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None: ...

        return Handler


@pytest.fixture(scope="module")
def api() -> Iterator[AdminServer]:
    api = AdminServer()
    yield api
    api.stop()


@pytest.fixture(autouse=True)
def fresh(api: AdminServer) -> None:
    api.reset()


def cell(level: Durability, **changes: object) -> CellPlan:
    return cell_for("redpanda", 1, level, endpoint=("127.0.0.1:9092",), **changes)


@pytest.fixture(scope="module")
def endpoint(api: AdminServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Of Kafka's server, with the Admin API's address."""
    kafka = broker_named("kafka")
    with running_server(kafka, cell_for("kafka", 1, L4), tmp_path_factory.mktemp("kafka")) as behind:
        yield behind.endpoint.model_copy(update={"options": {"admin": api.address}})


@pytest.fixture
def running(endpoint: Endpoint) -> Iterator[Running]:
    admin = BROKER.admin(endpoint, cell(L4))
    running = Running(BROKER, cell(L4), cast("Cluster", EndpointCluster(endpoint)), admin)
    yield running
    running.end_test()
    admin.close()


@pytest.mark.parametrize("check", contract_checks(), ids=lambda check: check.__name__)
def test_contract(running: Running, check: Callable[[Running], None]) -> None:
    check(running)


@pytest.mark.parametrize(
    ("level", "cluster", "node", "found"),
    [
        (L3, {"write_caching_default": "false"}, {"developer_mode": False}, L3),
        (L3, {"write_caching_default": "disabled"}, {"developer_mode": False}, L3),
        (L3, {"write_caching_default": "false"}, {"developer_mode": True}, L4),  # which may bypass fsync
        (L4, {"write_caching_default": "false"}, {"developer_mode": False}, L4),
    ],
)
def test_the_level_is_what_topic_and_cluster_say(
    api: AdminServer,
    endpoint: Endpoint,
    level: Durability,
    cluster: dict[str, str],
    node: dict[str, bool],
    found: Durability,
) -> None:
    api.answers |= {"/v1/cluster_config": cluster, "/v1/node_config": node}
    admin = BROKER.admin(endpoint, cell(level))
    name = f"level-{level}-{cluster['write_caching_default']}-{node['developer_mode']}"
    admin.create((name,), 1, ())
    try:
        computed = admin.durability((name,))
        assert computed.level == found
        settings = admin.effective_settings((name,))
        assert settings["cluster"]["write_caching_default"] == cluster["write_caching_default"]
        assert settings["node:0"]["version"] == "v26.1.9"
    finally:
        admin.delete((name,), ())
        admin.close()


def test_a_cluster_whose_default_is_another_gets_the_setting_with_its_topic(
    api: AdminServer, endpoint: Endpoint
) -> None:
    """Kafka refuses a setting that it does not know, which shows that it was sent."""
    api.answers["/v1/cluster_config"] = {"write_caching_default": "true"}
    admin = BROKER.admin(endpoint, cell(L3))
    with pytest.raises(BrokerError, match=r"write\.caching"):
        admin.create(("refused",), 1, ())
    admin.close()


def test_the_admin_api_is_asked_with_the_login_and_a_refusal_is_told(api: AdminServer) -> None:
    api.login = base64.b64encode(b"lab:word").decode()
    endpoint = Endpoint(addresses=("127.0.0.1:9",), options={"admin": api.address})
    with pytest.raises(BrokerError, match="answered 401"):
        AdminApi(endpoint).cluster_settings()
    api.login = base64.b64encode(b"lab:").decode()
    assert AdminApi(endpoint.model_copy(update={"security": Security(user="lab")})).brokers()[0]["node_id"] == 0


def test_the_next_address_answers_where_the_first_does_not(api: AdminServer) -> None:
    endpoint = Endpoint(addresses=("127.0.0.1:9",), options={"admin": f"http://127.0.0.1:9,{api.address}"})
    assert AdminApi(endpoint).cluster_settings()["write_caching_default"] == "false"


def test_the_probe_reads_the_public_metrics_of_every_address(api: AdminServer) -> None:
    probe = BROKER.probe(Endpoint(addresses=(), options={"admin": f"{api.address},http://127.0.0.1:9"}), ())
    assert probe is not None
    readings = probe.read()
    assert {(r.metric, r.value) for r in readings} == {
        ("produced_bytes_total", 330.0),
        ("consumed_bytes_total", 7.0),
        ("connections", 4.0),
    }
    assert {r.subject for r in readings} == {f"broker:{api.address.removeprefix('http://')}"}
