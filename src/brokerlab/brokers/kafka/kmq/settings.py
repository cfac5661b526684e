"""The one setting that consumers with markers have besides Kafka's."""

from __future__ import annotations

from brokerlab.brokers.contract import CellProblem
from brokerlab.brokers.kafka import settings
from brokerlab.brokers.kafka.kmq.markers import TIMEOUT_SETTING
from brokerlab.brokers.kit.setting_checks import is_above_zero
from brokerlab.model.plan import CellPlan


def problems(cell: CellPlan) -> list[CellProblem]:
    kafkas = {name: value for name, value in cell.client_settings.items() if name != TIMEOUT_SETTING}
    found = settings.problems(cell.model_copy(update={"client_settings": kafkas}))
    timeout = cell.client_settings.get(TIMEOUT_SETTING, "1")
    if not is_above_zero(timeout):
        found.append(CellProblem(("client_settings", TIMEOUT_SETTING), "must be milliseconds above 0", timeout))
    if cell.driver == "native":
        found.append(CellProblem(("driver",), "consumers with markers have no native path; use auto or python"))
    return found
