"""The page that Prometheus reads: the latest of every series, in its text form or in OpenMetrics', as the request asks."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from brokerlab.model.subjects import labels_of
from brokerlab.monitor.exports import Export, is_loopback, listening_socket
from brokerlab.monitor.series import BOUNDS_S, Series
from brokerlab.secrets import secret

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

PATH = "/metrics"


class Page:
    """What prometheus_client calls a collector. `info` are the labels of brokerlab_run_info; `systems` says which broker
    a cell loads: OpenTelemetry's messaging.system."""

    def __init__(self, series: Series, info: dict[str, str], systems: dict[str, str]) -> None:
        self._series, self._info, self._systems = series, info, systems

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
            InfoMetricFamily,
        )

        yield InfoMetricFamily("brokerlab_run", "The run that these series are of.", value=self._info)
        families: dict[str, Any] = {}
        for point in self._series.points():
            row = point.row
            if row.prometheus not in families:
                family = CounterMetricFamily if row.counter else GaugeMetricFamily
                families[row.prometheus] = family(row.prometheus, row.meaning)
            labels = self._labels(point.subject, row.labels)
            families[row.prometheus].samples.append(_sample(row.prometheus, labels, point.value))
        for subject, row, found in self._series.histograms():
            family = families.setdefault(row.prometheus, HistogramMetricFamily(row.prometheus, row.meaning))
            labels = self._labels(subject, row.labels)
            below = [*accumulate(int(n) for n in found.counts)]
            for bound, count in zip((*map(repr, BOUNDS_S), "+Inf"), below, strict=True):
                family.samples.append(_sample(f"{row.prometheus}_bucket", {**labels, "le": bound}, count))
            family.samples.append(_sample(f"{row.prometheus}_count", labels, below[-1]))
            family.samples.append(_sample(f"{row.prometheus}_sum", labels, found.sum_s))
        yield from families.values()

    def _labels(self, subject: str, own: dict[str, str]) -> dict[str, str]:
        labels = {**labels_of(subject), **own}
        system = self._systems.get(labels.get("cell", ""))
        return labels if system is None else {**labels, "messaging_system": system}


def _sample(name: str, labels: dict[str, str], value: float) -> Any:
    from prometheus_client.samples import Sample

    return Sample(name, labels, value)


class PrometheusServer:
    """Listens from the moment it is made. Raises OSError where it cannot."""

    def __init__(self, export: Export, page: Page) -> None:
        from prometheus_client import CollectorRegistry

        registry = CollectorRegistry(auto_describe=False)
        registry.register(page)
        token = None if export.token is None else secret(export.token)
        self._server = ThreadingHTTPServer((export.host, export.port), _handler(registry, token), False)
        self._server.daemon_threads = True
        self._server.socket.close()
        self._server.socket = listening_socket(export)
        self._thread = threading.Thread(target=self._server.serve_forever, name="prometheus", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _names_loopback(hosts: list[str]) -> bool:
    """Of a request's Host headers. A page of another site whose name was made to lead here has that name in it."""
    try:
        return len(hosts) == 1 and is_loopback(urlsplit(f"//{hosts[0]}").hostname or "")
    except ValueError:
        return False


def _handler(registry: Any, token: str | None) -> type[BaseHTTPRequestHandler]:
    from prometheus_client.exposition import choose_encoder

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            if token is None and not _names_loopback(self.headers.get_all("Host", [])):
                self._answer(421, "text/plain; charset=utf-8", b"this page answers to its loopback address only\n")
            elif self.path.partition("?")[0] != PATH:
                self._answer(404, "text/plain; charset=utf-8", f"the series are at {PATH}\n".encode())
            elif token is not None and not hmac.compare_digest(
                self.headers.get("Authorization", "").encode(), f"Bearer {token}".encode()
            ):
                self._answer(401, "text/plain; charset=utf-8", b"a token is needed: Authorization: Bearer ...\n")
            else:
                encode, kind = choose_encoder(self.headers.get("Accept", ""))
                self._answer(200, kind, encode(registry))

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    return Handler
