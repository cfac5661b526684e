"""`security`: what reaches the plan, what is refused, and that no secret is ever repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from brokerlab.errors import Problem, WorkloadError
from brokerlab.model.plan import Endpoint, RunPlan
from brokerlab.workload.literal_secrets import kept_text
from brokerlab.workload.load import plan_workload

PLANTED = "hunter2-5527"
BASE = """\
name: secure
question: Does it work?
broker: safe
producers: {rate: 100/s}
phases: {measure: 1s}
"""
GOOD = BASE + "security:\n  tls: true\n  user: lab\n  password: env:LAB_PASSWORD\n"


@pytest.fixture
def named(broker_named):
    """As the other tests' brokers, and `safe` and `half`, which have security."""
    able = broker_named("able")
    safe, half = type(able)("safe", able=True), type(able)("half", able=True)
    safe.capabilities = replace(able.capabilities, security=("tls", "password"))
    half.capabilities = replace(able.capabilities, security=("tls",))
    return lambda name: {"safe": safe, "half": half}.get(name) or broker_named(name)


@pytest.fixture
def plan(written, named):
    def planned(text: str, **given) -> RunPlan:
        return plan_workload(written(text), broker_named=named, **given)

    return planned


@pytest.fixture
def problems_of(plan):
    def problems(text: str, **given) -> list[Problem]:
        with pytest.raises(WorkloadError) as caught:
            plan(text, **given)
        assert PLANTED not in f"{caught.value} {caught.value.hint} {caught.value.problems!r}"
        return caught.value.problems

    return problems


def test_it_reaches_the_cell_as_references(plan):
    (cell,) = plan(GOOD).cells
    assert cell.security is not None
    assert cell.security.model_dump() == {
        "tls": True, "ca_file": None, "user": "lab", "password": "env:LAB_PASSWORD",
    }  # fmt: skip
    assert cell.security.words() == "TLS and password"


def test_without_it_or_with_nothing_asked_there_is_none(plan):
    assert plan(BASE).cells[0].security is None
    assert plan(BASE + "security: {tls: false}\n").cells[0].security is None


def test_another_reference_is_another_run(plan):
    other = GOOD.replace("LAB_PASSWORD", "OTHER")
    assert len({plan(BASE).fingerprint, plan(GOOD).fingerprint, plan(other).fingerprint}) == 3


def test_files_are_looked_for_beside_the_workload(plan, tmp_path):
    (tmp_path / "ca.pem").write_text("")
    text = GOOD.replace("env:LAB_PASSWORD", "file:word.txt\n  ca_file: ca.pem")
    (cell,) = plan(text, endpoints={"safe": Endpoint(addresses=("127.0.0.1:1",))}).cells
    assert cell.security is not None
    assert cell.security.password == f"file:{tmp_path / 'word.txt'}"
    assert cell.security.ca_file == str(tmp_path / "ca.pem")


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("  user: lab\n", "", 6, "security.user", "a password needs a user"),
        ("  password: env:LAB_PASSWORD\n", "", 6, "security.password", "is missing"),
        ("  tls: true", "  tls: maybe", 7, "security.tls", "must be true or false"),
        ("  tls: true", "  tls: true\n  ca_file: no.pem", 8, "security.ca_file", "no such file"),
        ("  tls: true", "  ca_file: w.yaml", 7, "security.ca_file", "needs tls: true"),
        ("  tls: true", "  tls: true\n  ca_file: w.yaml", 8, "security.ca_file", "makes its own certificate"),
        ("  tls: true", "  tsl: true", 7, "security.tsl", "is not a field"),
        ("user: lab", "user: a b", 8, "security.user", "letters, digits"),
        ("broker: safe", "broker: half", 6, "security", "half does not support a password: it has TLS here"),
        ("broker: safe", "broker: able", 6, "security", "does not support TLS and a password: it has neither"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(problems_of, old, new, line, field, message):
    assert old in GOOD
    found = problems_of(GOOD.replace(old, new))
    assert (line, field) in [(p.line, p.field) for p in found]
    assert any(message in p.message for p in found)


LITERALS = [
    GOOD.replace("env:LAB_PASSWORD", PLANTED),
    GOOD.replace("env:LAB_PASSWORD", f"'env:{PLANTED}'"),
    GOOD.replace("env:LAB_PASSWORD", f"[{PLANTED}]"),
    GOOD.replace("env:LAB_PASSWORD", f"{{value: {PLANTED}}}"),
    GOOD.replace("env:LAB_PASSWORD", f"*{PLANTED}"),
    GOOD.replace("env:LAB_PASSWORD", f'"{PLANTED}'),
    GOOD.replace("  password: env:LAB_PASSWORD", f"  pasword: {PLANTED}"),
    GOOD.replace("  user: lab", f"  user: {{name: lab, password: {PLANTED}}}"),
    BASE + f"security: {PLANTED}\n",
    BASE + f"security: {{tls: 3, user: lab, password: {PLANTED}}}\n",
    BASE + f"sweep: {{security.password: [env:A, {PLANTED}]}}\n",
    BASE + f"sweep: {{security.password: {PLANTED}}}\n",
    BASE + f"sweep: {{security: [null, {{user: lab, password: {PLANTED}}}]}}\n",
    BASE + f"sweep: {{security: {PLANTED}}}\n",
    BASE + f"sweep: {{client_settings.able.sasl.password: [{PLANTED}]}}\n",
    BASE + f"sweep: {{client_settings.able: [{{sasl.password: {PLANTED}}}]}}\n",
    BASE + f"client_settings: {{able: {{sasl.password: {PLANTED}}}}}\n",
    BASE + f"client_settings: {{able: sasl.password={PLANTED}}}\n",
    BASE + f"broker_settings: {{safe: {{url: 'nats://lab:{PLANTED}@127.0.0.1:4222'}}}}\n",
    BASE + f"broker_settings: {{safe: {{listener.jaas.config: 'x password={PLANTED};'}}}}\n",
]


@pytest.mark.parametrize("text", LITERALS)
def test_a_literal_is_refused_and_never_repeated(problems_of, text):
    for problem in problems_of(text):
        assert problem.line >= 1
        assert problem.field


def test_a_literal_is_refused_with_its_line_and_what_to_write_instead(problems_of):
    (problem,) = problems_of(LITERALS[0])
    assert (problem.line, problem.field, problem.value) == (9, "security.password", None)
    assert "env:NAME or file:PATH" in problem.message


def test_a_secret_setting_is_refused_with_the_way_to_give_it(problems_of):
    for text in LITERALS[-4:]:
        (problem,) = [p for p in problems_of(text) if "settings" in p.field]
        assert "under `security`" in problem.message or "must have fields" in problem.message


@pytest.mark.parametrize(
    "override",
    [
        f"security.password={PLANTED}",
        f"security.password= '{PLANTED}'",
        f"security={{tls: true, user: lab, password: {PLANTED}}}",
        f"security={PLANTED}",
        f"security.password=[{PLANTED}",
        f"security.password:{PLANTED}",
        f"security..password={PLANTED}",
        f"security.passwort={PLANTED}",
        f"security.password.x={PLANTED}",
        f"sweep.security.password=[{PLANTED}]",
        f"client_settings.safe.sasl.password={PLANTED}",
    ],
)
def test_after_set_a_literal_is_refused_and_never_repeated(problems_of, override):
    found = problems_of(GOOD, overrides=[override])
    assert any(p.file.startswith(("--set s", "--set c")) for p in found)


def test_a_literal_that_something_replaces_is_refused_all_the_same(problems_of):
    """The file's text and the flags are kept with the run, used or not."""
    later = "security.password=env:LAB_PASSWORD"
    assert problems_of(GOOD.replace("env:LAB_PASSWORD", PLANTED), overrides=[later])
    assert problems_of(GOOD, overrides=[f"security.password={PLANTED}", later])
    assert problems_of(BASE + f"security: {PLANTED}\n", overrides=["security={tls: true}"])


def test_a_reference_after_set_is_fine_and_kept(plan):
    run = plan(BASE, overrides=["security.user=lab", "security.password=env:LAB_PASSWORD"])
    assert run.cells[0].security is not None
    assert run.cells[0].security.words() == "password without TLS"
    assert "security.password=env:LAB_PASSWORD" in run.overrides


def test_a_password_that_was_commented_out_is_not_kept(plan):
    text = GOOD + f"# password: {PLANTED}\nseed: 3  # secret = '{PLANTED}'\n#   password: env:OTHER # or file:x\n"
    run = plan(text)
    assert PLANTED not in run.model_dump_json()
    assert "# password: (hidden)" in run.workload_text
    assert "#   password: env:OTHER # or file:x" in run.workload_text
    assert kept_text(GOOD) == GOOD


def test_cells_that_differ_in_security_say_so_in_their_names(plan):
    swept = BASE + "sweep:\n  security: [null, {tls: true}, {tls: true, user: lab, password: env:X}]\n"
    assert [c.label for c in plan(swept).cells] == [
        "safe, security none",
        "safe, security TLS",
        "safe, security TLS and password",
    ]
    tls = GOOD + "sweep: {security.tls: [true, false]}\n"
    assert [c.label for c in plan(tls).cells] == ["safe, tls true", "safe, tls false"]


@pytest.mark.parametrize("name", ["memory", "faulty"])
def test_the_brokers_made_for_calibration_have_none(written, name):
    from brokerlab.brokers.registry import broker_named

    with pytest.raises(WorkloadError, match=f"{name} does not support TLS and a password"):
        plan_workload(written(GOOD.replace("broker: safe", f"broker: {name}")), broker_named=broker_named)
