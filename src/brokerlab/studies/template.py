"""The folder that `brokerlab study init` writes: commented, small, and it runs as it stands."""

from __future__ import annotations

from pathlib import Path

from brokerlab.errors import UserError

STUDY = """\
# A study: claims that somebody published, and experiments that judge them. Check it with `brokerlab study plan FOLDER`, run
# it with `brokerlab study run FOLDER`. Every field is explained in docs/studies.md. This one runs as it stands, on the
# `memory` broker; put a real one in its place.

name: {name}                       # a-z, 0-9 and -
title: "A blog post, 2026: sending twice as fast delivers twice as much"
differs:                           # what is not as in the original; shown on the page
  - one machine with the load beside the broker
  - the memory broker instead of a real one

scales:
  quick:                           # `brokerlab study run` without --scale
    budget: 10min                  # no further look begins that would end after this
    repeats: {{least: 4, most: 8}}   # looked at after 4, 6 and 8; cells whose claims are clear stop first
    phases: {{warm_up: 1s, measure: 5s}}
    cluster: kept                  # one cluster for executions with equal server settings; or fresh
  full:
    repeats: {{least: 6}}
    phases: {{warm_up: 5s, measure: 30s}}
    cluster: fresh

# calibrate: {{cell: all-it-can, metric: sent_per_s}}     # run first; rates may then be `0.7 of calibrated`

experiments:
  - id: rates
    workload: rates.yaml           # in this folder; `brokerlab run rates.yaml` runs it alone
    cells:                         # name: what differs from the workload, by dotted path as in --set
      slow: {{producers.rate: {{quick: 500/s, full: 10_000/s}}}}
      fast: {{producers.rate: {{quick: 1_000/s, full: 20_000/s}}}}
    figures:
      "1":                         # number in the original; published.csv has its points
        title: Received against sent
        cells: [slow, fast]
        metric: received_per_s
        x: configured messages a second

claims:
  - id: twice-as-much
    says: sending twice as fast delivers twice as much
    # ours: true                   # added here: not a claim of the original
    measure: ratio(fast, slow, received_per_s)      # see docs/studies.md for the other measures
    published: {{value: 2.0, where: figure 1}}
    holds: 1.9 to 2.1              # or: above 1, at least 2, below 0.5, "> 1"
    same: [driver_path, durability]
    # unlike: why cells of unlike driver path or durability may be compared, where `same` leaves one out
    # expects: [not_steady]        # reasons of a verdict that do not stop this claim
    # requires: {{cpu_count: 4, because: three brokers need one processor each}}
  - id: keeps-up
    says: both rates are reached, and nothing is lost
    measure: all(share(slow, sent_per_s, configured) at least 0.99, share(fast, sent_per_s, configured) at least 0.99, level(fast, lost) == 0)
"""

WORKLOAD = """\
# An ordinary workload: `brokerlab init` writes one with every field explained.
name: {name}-rates
question: Does twice the rate deliver twice as much?
broker: memory
producers:
  rate: 1_000/s
  message: 200B
consumers: {{}}
phases: {{warm_up: 1s, measure: 5s}}
repeats: 4
retries: 1
"""

PUBLISHED = """\
figure,series,x,y,low,high,cell,note
1,blog post,500,500,,,slow,
1,blog post,1000,1000,,,fast,read off the chart
"""

README = """\
# {name}

What the original did, where it was published, what differs here and why.

    brokerlab study plan .
    brokerlab study run .
"""


def template_files(name: str) -> dict[str, str]:
    """File names and texts."""
    texts = {"study.yaml": STUDY, "rates.yaml": WORKLOAD, "published.csv": PUBLISHED, "README.md": README}
    return {file: text if file == "published.csv" else text.format(name=name) for file, text in texts.items()}


def write_template(folder: Path) -> None:
    """Raises UserError where the folder exists or cannot be made."""
    name = "".join(
        c if c.isascii() and (c.isalnum() or c == "-") else "-" for c in folder.absolute().name.lower()
    ).strip("-")
    try:
        folder.mkdir(parents=True)
        for file, text in template_files(name[:30] or "my-study").items():
            (folder / file).write_text(text, "utf-8")
    except FileExistsError:
        raise UserError(f"{folder} already exists", hint="give a folder that does not exist yet") from None
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}") from None
