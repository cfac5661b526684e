"""What is watched: TARGETs of the command line and monitor.yaml, checked before anything is read."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from brokerlab.brokers.contract import WatchedByEndpoint
from brokerlab.brokers.registry import BROKERS, broker_named
from brokerlab.errors import Problem, UserError, WorkloadError
from brokerlab.model.plan import Frozen, Security, TargetPlan
from brokerlab.monitor.exports import Export, parse_exports
from brokerlab.workload.quantity_fields import Seconds
from brokerlab.workload.tree import Tree, read_tree
from brokerlab.workload.validation import field_problems

KINDS = ("host", "process", "jvm")
EXAMPLE = "host, process=PID, jvm=PID, jvm=http://127.0.0.1:8778/jolokia or BROKER=127.0.0.1:9092"
LEAST_INTERVAL_S, MOST_INTERVAL_S = 0.2, 3600.0
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"


class NearestError(ValueError):
    """A wrong name with the nearest valid one, for the reader of a file's problems."""

    def __init__(self, message: str, nearest: str | None) -> None:
        super().__init__(message)
        self.nearest = nearest


def _broker(name: str) -> str:
    if name not in BROKERS:
        near = difflib.get_close_matches(name, BROKERS, n=1, cutoff=0.4)
        raise NearestError("must be a broker's name", near[0] if near else None)
    return name


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536 or "@" in text:
        raise ValueError("must be HOST:PORT")
    return text


def _url(text: str) -> str:
    if text.startswith("service:jmx:"):
        raise ValueError(
            "must be the address of a Jolokia: JMX over RMI can only be read by Java. Give the JVM's process with --attach"
        )
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("must be a process number, or the address of a Jolokia such as http://127.0.0.1:8778/jolokia")
    return text


def _jvm(value: Any) -> Any:
    return value if isinstance(value, int) else _url(value)


Pid = Annotated[int, Field(strict=True, ge=1)]
Address = Annotated[str, AfterValidator(_address)]
Addresses = Annotated[tuple[Address, ...], BeforeValidator(lambda v: (v,) if isinstance(v, str) else v)]


class TargetFields(Frozen):
    """One entry of `targets`: exactly one of host, process, jvm and broker."""

    host: bool = Field(False, description="This host: processors, memory, disk, network.")
    process: Pid | None = Field(None, description="A process, by its number.")
    jvm: Annotated[Pid | str, AfterValidator(_jvm)] | None = Field(
        None, description="A JVM, by its process or the address of its Jolokia."
    )
    broker: Annotated[str, AfterValidator(_broker)] | None = Field(None, description="A broker of `list brokers`.")
    address: Addresses = Field((), description="HOST:PORT of the broker, or a list of them.")
    options: dict[str, str] = Field({}, description="What else its figures need: `jolokia`, `monitoring`, ...")
    security: Security | None = Field(None, description="As in a workload: tls, ca_file, user, password by reference.")
    attach: bool = Field(False, description="An agent may be attached to the JVM.")
    name: Annotated[str, Field(pattern=NAME)] | None = Field(None, description="What its series are called.")

    @model_validator(mode="after")
    def _one_kind(self) -> TargetFields:
        given = [n for n in ("host", "process", "jvm", "broker") if getattr(self, n) not in (None, False)]
        if len(given) != 1:
            said = " and ".join(given) or "none of them"
            raise ValueError(f"must have exactly one of host, process, jvm and broker; it has {said}")
        if (self.broker is not None) != bool(self.address):
            raise ValueError("broker and address must be given together")
        return self

    def planned(self, attach: bool) -> TargetPlan:
        attach = attach or self.attach
        if self.broker is not None:
            return TargetPlan(
                kind="broker", name=self.name or self.broker, broker=self.broker, addresses=self.address,
                options=self.options, security=self.security, attach=attach,
            )  # fmt: skip
        if self.jvm is not None:
            if isinstance(self.jvm, int):
                return TargetPlan(kind="jvm", name=self.name or f"jvm-{self.jvm}", pid=self.jvm, attach=attach)
            name = self.name or (urlsplit(self.jvm).netloc)
            return TargetPlan(kind="jvm", name=name, url=self.jvm, security=self.security)
        if self.process is not None:
            return TargetPlan(kind="process", name=self.name or f"process-{self.process}", pid=self.process)
        return TargetPlan(kind="host", name="host")


def _some(targets: tuple[TargetFields, ...]) -> tuple[TargetFields, ...]:
    if not targets:
        raise ValueError("must not be empty")
    return targets


class MonitorFields(Frozen):
    """monitor.yaml."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")] = Field("monitor", description="Names the run.")
    interval: Seconds = Field(1.0, ge=LEAST_INTERVAL_S, le=MOST_INTERVAL_S, description="From reading to reading.")
    targets: Annotated[tuple[TargetFields, ...], AfterValidator(_some)] = Field(description="What is watched.")
    export: tuple[str, ...] = Field((), description="As --export: prometheus[=HOST:PORT], graphite=HOST:PORT.")


class Watched(Frozen):
    """What a command asks to watch, checked."""

    name: str
    interval_s: float
    targets: tuple[TargetPlan, ...]
    exports: tuple[Export, ...] = ()


def parse_target(text: str, attach: bool = False) -> TargetPlan:
    """Of the command line. Raises UserError."""
    kind, equals, value = text.partition("=")
    if kind == "host" and not equals:
        return TargetPlan(kind="host", name="host")
    if kind not in KINDS and kind not in BROKERS:
        near = difflib.get_close_matches(kind, [*KINDS, *BROKERS], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"give {EXAMPLE}, or a monitor.yaml"
        raise UserError(f"TARGET must be {EXAMPLE} (got {text!r})", hint=hint)
    fields: dict[str, Any] = {"attach": attach}
    if kind in BROKERS:
        fields |= {"broker": kind, "address": tuple(a.strip() for a in value.split(","))}
    else:
        fields[kind] = int(value) if value.isdigit() else value
    try:
        return TargetFields.model_validate(fields).planned(attach)
    except ValidationError as error:
        said = "; ".join(str((d.get("ctx") or {}).get("error", d["msg"])) for d in error.errors(include_url=False)[:1])
        raise UserError(f"TARGET {text!r}: {said}", hint=f"give {EXAMPLE}") from None


def watched(given: Sequence[str], attach: bool, token: str | None = None) -> Watched:
    """What TARGETs say together; one that is a YAML file stands for what is in it. Names are made unique. Raises UserError,
    WorkloadError for a file."""
    if not given:
        raise UserError("TARGET is missing", hint=f"give {EXAMPLE}, or a monitor.yaml")
    targets: list[TargetPlan] = []
    name, interval_s, exports = "monitor", 1.0, []
    for text in given:
        if text.endswith((".yaml", ".yml")):
            fields = read_monitor_file(Path(text))
            targets += [t.planned(attach) for t in fields.targets]
            name, interval_s = fields.name, fields.interval
            exports += [e for one in fields.export for e in parse_exports(one, token)]
        else:
            targets.append(parse_target(text, attach))
    targets = _named_apart(targets)
    for target in targets:
        _check_options(target)
    return Watched(name=name, interval_s=interval_s, targets=tuple(targets), exports=tuple(exports))


def read_monitor_file(path: Path) -> MonitorFields:
    """Raises WorkloadError with every problem: file, line, field, value, nearest name."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise UserError(f"there is no file {path}", hint="docs/monitoring.md shows one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}", hint="monitor.yaml is YAML in UTF-8") from None
    tree = read_tree(text, str(path), "monitor", "name, interval, targets, export")
    try:
        fields = MonitorFields.model_validate(tree.root)
    except ValidationError as error:
        problems = field_problems(tree, error.errors(include_url=False), MonitorFields)
        raise WorkloadError(sorted(problems, key=lambda p: p.line)) from None
    problems = [*_export_problems(tree, fields), *_option_problems(tree, fields)]
    if problems:
        raise WorkloadError(problems)
    return fields


def _export_problems(tree: Tree, fields: MonitorFields) -> list[Problem]:
    problems = []
    for i, text in enumerate(fields.export):
        try:
            parse_exports(text, "env:GIVEN_LATER")
        except UserError as error:
            problems.append(tree.problem(("export", i), error.message.removeprefix("--export: ")))
    return problems


def _option_problems(tree: Tree, fields: MonitorFields) -> list[Problem]:
    problems = []
    for i, target in enumerate(fields.targets):
        known = _options(target.broker) if target.broker else {}
        for name in target.options:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                message = f"is not an option of {target.broker}; known: {', '.join(known) or 'none'}"
                path = ("targets", i, "options", name)
                problems.append(tree.problem(path, message, nearest=near[0] if near else None))
    return problems


def _options(broker: str) -> dict[str, str]:
    front = broker_named(broker)
    more = front.figure_options if isinstance(front, WatchedByEndpoint) else {}
    return {**front.capabilities.endpoint_options, **more}


def _check_options(target: TargetPlan) -> None:
    unknown = [name for name in target.options if target.broker and name not in _options(target.broker)]
    if unknown:
        raise UserError(
            f"{target.name} has no option {unknown[0]!r}", hint=f"known: {', '.join(_options(str(target.broker)))}"
        )


def _named_apart(targets: Sequence[TargetPlan]) -> list[TargetPlan]:
    """A target that is given twice is watched once; others of the same name get a number."""
    found: list[TargetPlan] = []
    names: set[str] = set()
    for target in dict.fromkeys(t.model_dump_json() for t in targets):
        one = TargetPlan.model_validate_json(target)
        number, name = 1, one.name
        while name in names:
            number += 1
            name = f"{one.name}-{number}"
        names.add(name)
        found.append(one.model_copy(update={"name": name}))
    return found
