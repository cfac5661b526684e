"""Namespaces, topics and subscriptions, and the durability that follows from what the servers report."""

from __future__ import annotations

import contextlib
from urllib.parse import quote

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.kit.fine import fine_if
from brokerlab.brokers.kit.http_reader import as_text, read_json
from brokerlab.brokers.kit.wire import option_list
from brokerlab.brokers.pulsar.rest import ANSWER_S, Rest, RestError, topic_path
from brokerlab.brokers.pulsar.settings import level_of, namespace_of, settings_of, syncs
from brokerlab.errors import BrokerError
from brokerlab.model.patience import patience_s
from brokerlab.model.plan import CellPlan, Endpoint

_EARLIEST = {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
_NOT_KNOWN = "unknown: no bookie's address; counted as not synced"
_BOOKIE_SECONDS = 10.0


def bookie_settings(url: str) -> dict[str, str]:
    """A bookie's configuration as it runs. Raises OSError."""
    settings = read_json(f"{url}/api/v1/config/server_config", _BOOKIE_SECONDS)
    return {str(name): as_text(value) for name, value in settings.items()}


class PulsarAdmin:
    """See brokers.contract.Admin."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._settings = settings_of(cell)
        self._namespace = namespace_of(cell.durability)
        self._bookies = option_list(endpoint, "bookies")
        self._rest = Rest(endpoint, patience_s(ANSWER_S, cell.destinations * cell.partitions))

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        self._make_namespace()
        for destination in destinations:
            base = topic_path(self._namespace, destination)
            self._rest.request("PUT", f"{base}/partitions", partitions)
            for group in groups:
                with _fine(409):  # it exists
                    self._rest.request("PUT", f"{base}/subscription/{quote(group, safe='')}", _EARLIEST)

    def _make_namespace(self) -> None:
        """The quorums are its policy. It keeps what everybody has acknowledged, for groups that come later."""
        base = f"/admin/v2/namespaces/{self._namespace}"
        with _fine(409):
            self._rest.request("PUT", base)
        wanted = {
            "bookkeeperEnsemble": self._settings.ensemble,
            "bookkeeperWriteQuorum": self._settings.write_quorum,
            "bookkeeperAckQuorum": self._settings.ack_quorum,
            "managedLedgerMaxMarkDeleteRate": 0.0,
        }
        if (self._rest.get(f"{base}/persistence") or {}).items() >= wanted.items():
            return
        self._rest.request("POST", f"{base}/persistence", wanted)
        self._rest.request("POST", f"{base}/retention", {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1})

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002 - end with their topic
        for destination in destinations:
            with _fine(404):
                self._rest.request("DELETE", f"{topic_path(self._namespace, destination)}/partitions?force=true")

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for url in self._bookies:
            with contextlib.suppress(OSError):  # a bookie that does not answer tells nothing
                found[f"bookie:{url}"] = bookie_settings(url)
        for destination in destinations:
            with _fine(404):
                topic = self._rest.get(f"{topic_path(self._namespace, destination)}/partitions")
                if not topic or not topic.get("partitions"):
                    continue
                policy = self._rest.get(f"/admin/v2/namespaces/{self._namespace}/persistence") or {}
                retention = self._rest.get(f"/admin/v2/namespaces/{self._namespace}/retention") or {}
                values = {"partitions": topic["partitions"], **policy, **retention}
                found[f"{self._namespace}/{destination}"] = {k: as_text(v) for k, v in values.items()}
        return found

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        """The weakest destination and the weakest bookie decide."""
        settings = self.effective_settings(destinations)
        topics = [settings.get(f"{self._namespace}/{d}", {}) for d in destinations]
        if not topics or not all("bookkeeperAckQuorum" in topic for topic in topics):
            raise BrokerError(f"no such destination in {self._namespace}: {', '.join(destinations)}")
        bookies = [values for subject, values in settings.items() if subject.startswith("bookie:")]
        write = min(int(t["bookkeeperWriteQuorum"]) for t in topics)
        ack = min(int(t["bookkeeperAckQuorum"]) for t in topics)
        # One that does not answer may be one that does not sync.
        fsynced = bool(bookies) and len(bookies) == len(self._bookies) and all(map(syncs, bookies))
        because = {
            "ensemble": str(min(int(t["bookkeeperEnsemble"]) for t in topics)),
            "write_quorum": str(write),
            "ack_quorum": str(ack),
            "bookies_asked": f"{len(bookies)} of {len(self._bookies)}",
        }
        for name in ("journalSyncData", "journalWriteData"):
            because[name] = ", ".join(sorted({b.get(name, "not reported") for b in bookies})) or _NOT_KNOWN
        return ComputedDurability(level_of(write, ack, fsynced), because)

    def close(self) -> None:
        """Every request has its own connection."""


def _fine(status: int) -> contextlib.AbstractContextManager[None]:
    """The one refusal that says what is so already."""
    return fine_if(RestError, lambda e: e.status == status)
