"""From a question to an answer: plan, prepare, measure, analyze, report. The command line, studies and notebooks call this.

    from brokerlab import lab

    plan = lab.plan("steady", brokers=["all"], repeats=4)
    print(lab.estimate(plan).seconds)
    answer = lab.run(plan)
    print(answer.verdict.headline, answer.report)

Every function that takes a while accepts a listener (model.listener.RunListener) and reports to it; the default ignores
everything. Errors are those of errors.py.
"""

from brokerlab.lab.in_progress import annotate, stop
from brokerlab.lab.many_runs import (
    add_to_lake,
    analyzed_runs,
    check_lake,
    compare,
    comparison_page,
    follow_run,
    history,
    init_lake,
    keep_in_lake,
    lake_status,
    lake_store,
    query_lake,
    rebuild_lake,
)
from brokerlab.lab.one_run import (
    Answer,
    PlannedSettings,
    analyze,
    estimate,
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
from brokerlab.lab.study import plan_study, report_study, run_studies, run_study, studies, study_answer
from brokerlab.lab.watching import analyze_watched, watch, watch_targets
from brokerlab.workload.estimate import Estimate

__all__ = [
    "Answer",
    "Estimate",
    "PlannedSettings",
    "add_to_lake",
    "analyze",
    "analyze_watched",
    "analyzed_runs",
    "annotate",
    "brokers",
    "check_lake",
    "compare",
    "comparison_page",
    "estimate",
    "find_run",
    "history",
    "init_lake",
    "install",
    "follow_run",
    "keep_in_lake",
    "lake_status",
    "lake_store",
    "measure",
    "plan",
    "plan_study",
    "planned_settings",
    "prepare",
    "query_lake",
    "rebuild_lake",
    "remarks",
    "report",
    "report_study",
    "run",
    "run_studies",
    "run_study",
    "spark_settings",
    "stop",
    "studies",
    "study_answer",
    "watch",
    "watch_targets",
    "workloads",
]
