"""A JVM's management beans over HTTP by Jolokia: its agent in servers of ours, or the one that a product brings along.

Beans are named by JMX patterns, so that a broker's own name need not be known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.certificates import Certificates
from brokerlab.brokers.kit.http_reader import ask, basic_login
from brokerlab.brokers.kit.java import properties
from brokerlab.brokers.kit.local import write_private
from brokerlab.brokers.kit.wire import credentials, tls_context
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint, Security
from brokerlab.model.watched import Bean, WatchedMetric, beans_of

# Our agents answer only requests that say they come from here: a page in a browser cannot say so. Products that let in
# requests from localhost alone (`*://localhost*`) take it for one of those.
ORIGIN = "http://localhost.brokerlab.invalid"
Values = dict[str, Any]


class Jolokia:
    """One address. Every method raises OSError where it gets no good answer."""

    def __init__(self, url: str, security: Security | None, seconds: float = 5.0) -> None:
        self._url = url
        self._seconds = seconds
        self._context = tls_context(security) if url.startswith("https:") else None
        user, password = credentials(security)
        in_clear = self._context is None and security is not None and security.tls  # where TLS was asked for
        login = basic_login(user, password) if user and not in_clear else {}
        self._headers = {"Content-Type": "application/json", "Origin": ORIGIN, **login}

    def ask(self, requests: Sequence[Mapping[str, object]]) -> list[Values]:
        """Answers in the order of the requests, which go together; each says by its `status` whether it is a good one."""
        body = json.dumps(list(requests)).encode()
        answer = ask(
            self._url, method="POST", body=body, headers=self._headers, seconds=self._seconds, context=self._context
        )
        if answer.status != 200:
            raise PermissionError(f"{self._url} answered {answer.status}")
        try:
            answers = json.loads(answer.text)
        except (ValueError, RecursionError):
            answers = None
        if not isinstance(answers, list) or len(answers) != len(requests):
            raise OSError(f"{self._url}: this is not an answer from Jolokia: {answer.text[:100]!r}")
        return answers

    def read(self, pattern: str, attributes: Sequence[str]) -> dict[str, Values]:
        """Attributes of every bean that the pattern fits, by the beans' names. No such bean is no error."""
        (answer,) = self.ask([{"type": "read", "mbean": pattern, "attribute": list(attributes)}])
        if answer.get("status") == 404:
            return {}
        if answer.get("status") != 200:
            raise OSError(str(answer.get("error")))
        found: dict[str, Values] = answer["value"]
        return found

    def call(self, bean: str, operation: str, *arguments: object) -> None:
        self.call_each(bean, operation, [arguments])

    def call_each(self, bean: str, operation: str, calls: Sequence[Sequence[object]]) -> None:
        """Call the operation with each of these arguments; they go together, and all are tried."""
        request = {"type": "exec", "mbean": bean, "operation": operation}
        answers = self.ask([{**request, "arguments": list(arguments)} for arguments in calls]) if calls else []
        for answer in answers:
            if answer.get("status") != 200:
                raise OSError(str(answer.get("error")))


@contextmanager
def asking_beans(product: str) -> Iterator[None]:
    """Turns a Jolokia's OSError into a BrokerError that says what to do."""
    try:
        yield
    except OSError as e:
        hint = "check user and password" if isinstance(e, PermissionError) else "is this Jolokia's address?"
        raise BrokerError(f"{product}'s management beans do not answer, or refuse: {e}", hint=hint) from e


class JolokiaProbe:
    """See brokers.contract.BrokerProbe. Reads all nodes that have a Jolokia address, at the same time: a slow one must not
    keep the others waiting."""

    def __init__(
        self,
        security: Security | None,
        nodes: tuple[NodeInfo, ...],
        rows: Sequence[WatchedMetric],
        seconds: float = 0.8,
    ) -> None:
        self._rows = rows
        self._requests = requests_for(rows)
        self._nodes = {
            node.name: Jolokia(node.urls["jolokia"], security, seconds) for node in nodes if "jolokia" in node.urls
        }

    def read(self) -> list[Reading]:
        if not self._nodes:
            return []
        with ThreadPoolExecutor(len(self._nodes)) as pool:
            return [reading for of_node in pool.map(self._read_node, self._nodes) for reading in of_node]

    def _read_node(self, name: str) -> list[Reading]:
        try:
            answers = self._nodes[name].ask(self._requests)
        except OSError:
            return []
        return readings_of(name, self._rows, answers)


def jolokia_probe(rows: Sequence[WatchedMetric]) -> Callable[[Endpoint, tuple[NodeInfo, ...]], JolokiaProbe]:
    """A front door's `probe` for these metrics."""
    return lambda endpoint, nodes: JolokiaProbe(endpoint.security, nodes, rows)


def requests_for(rows: Iterable[WatchedMetric]) -> list[dict[str, object]]:
    """The body of one POST that reads all beans of these metrics."""
    beans = beans_of(rows)
    return [{"type": "read", "mbean": bean, "attribute": list(beans[bean])} for bean in beans]


def readings_of(node: str, rows: Sequence[WatchedMetric], answers: Sequence[Values]) -> list[Reading]:
    """Readings in one node's answers. Beans that do not exist yet (no request of that kind so far) give none."""
    values = {a["request"]["mbean"]: a["value"] for a in answers if a.get("status") == 200 and "request" in a}
    readings = []
    for row in rows:
        if not isinstance(row.source, Bean):
            continue
        of_bean = values.get(row.source.name, {})
        numbers = _numbers(of_bean.values() if "*" in row.source.name else [of_bean], row.source)
        if numbers:
            readings.append(Reading.of(row, f"{row.scope}:{node}", sum(numbers) * row.source.scale))
    return readings


def _numbers(beans: Iterable[Values], source: Bean) -> list[float]:
    found = [bean.get(source.attribute) for bean in beans]
    if source.part is not None:
        found = [value.get(source.part) for value in found if value is not None]
    return [float(value) for value in found if isinstance(value, int | float) and math.isfinite(value)]


def policy(readable: Mapping[str, Sequence[str]], callable_: Mapping[str, Sequence[str]] | None = None) -> str:
    """An agent's policy: exactly these attributes of these beans can be read and these operations called, nothing else.

    No command is allowed in general; the `allow` part makes the exceptions. (A bean listed while `read` were allowed in
    general would restrict nothing.)
    """
    beans: dict[str, str] = {}
    for bean, attributes in readable.items():
        beans[bean] = "".join(f'<attribute mode="read">{escape(a)}</attribute>' for a in attributes)
    for bean, operations in (callable_ or {}).items():
        beans[bean] = beans.get(bean, "") + "".join(f"<operation>{escape(o)}</operation>" for o in operations)
    allowed = "".join(f"    <mbean><name>{escape(bean)}</name>{rights}</mbean>\n" for bean, rights in beans.items())
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<restrict>\n'
        "  <remote><host>127.0.0.1</host></remote>\n  <http><method>post</method></http>\n"
        f"  <commands></commands>\n  <allow>\n{allowed}  </allow>\n"
        f"  <cors><allow-origin>{ORIGIN}</allow-origin><strict-checking/></cors>\n</restrict>\n"
    )


def agent_option(agent: Path, home: Path) -> str:
    """Java's option for the agent's jar, with the files of `write_agent_files`."""
    return f"-javaagent:{agent}=config={home / 'jolokia.properties'}"


class AgentAndJars(NamedTuple):
    """The agent's jar, one with everything in it, and the class path, of which it is no part."""

    agent: Path
    class_path: tuple[Path, ...]


def agent_and_jars(jars: Iterable[Path]) -> AgentAndJars:
    jars = tuple(jars)
    (agent,) = (jar for jar in jars if jar.name.startswith("jolokia-agent-jvm"))
    return AgentAndJars(agent, tuple(jar for jar in jars if jar != agent))


def write_agent_files(
    home: Path,
    port: int,
    allowed: str,
    certificates: Certificates | None,
    security: Security | None,
) -> None:
    """What the agent reads: it listens on loopback, with TLS and a login where these are given, and
    lets clients do what the policy `allowed` says."""
    rights = home / "jolokia-policy.xml"
    rights.write_text(allowed)
    settings = {"host": "127.0.0.1", "port": str(port), "discoveryEnabled": "false", "policyLocation": rights.as_uri()}
    if certificates is not None:
        settings |= {
            "protocol": "https",
            "caCert": str(certificates.ca_file),
            "serverCert": str(certificates.certificate_file),
            "serverKey": str(certificates.key_file),
            "serverKeyAlgorithm": "EC",
        }
    user, password = credentials(security)
    login = {"user": user, "password": password} if user else {}
    write_private(home / "jolokia.properties", properties(settings | login))
