"""From a question to an answer: plan, prepare, measure, analyze, report. The command line, studies and notebooks call this.

    from brokerlab import lab

    plan = lab.plan("steady", brokers=["all"], repeats=4)
    print(lab.estimate(plan).seconds)
    answer = lab.run(plan)
    print(answer.verdict.headline, answer.report)

Every function that takes a while accepts a listener (model.listener.RunListener) and reports to it; the default ignores
everything. Errors are those of errors.py.
"""

from brokerlab.lab.many_runs import (
    add_to_lake,
    analyzed_runs,
    compare,
    history,
    keep_in_lake,
    lake_store,
    query_lake,
)
from brokerlab.lab.one_run import (
    Answer,
    PlannedSettings,
    analyze,
    find_run,
    measure,
    plan,
    planned_settings,
    prepare,
    remarks,
    report,
    run,
    workloads,
)
from brokerlab.lab.programs import brokers, install, spark_settings
from brokerlab.lab.study import plan_study, report_study, run_study, studies, study_answer
from brokerlab.workload.estimate import Estimate, estimate

__all__ = [
    "Answer",
    "Estimate",
    "PlannedSettings",
    "add_to_lake",
    "analyze",
    "analyzed_runs",
    "brokers",
    "compare",
    "estimate",
    "find_run",
    "history",
    "install",
    "keep_in_lake",
    "lake_store",
    "measure",
    "plan",
    "plan_study",
    "planned_settings",
    "prepare",
    "query_lake",
    "remarks",
    "report",
    "report_study",
    "run",
    "run_study",
    "spark_settings",
    "studies",
    "study_answer",
    "workloads",
]
