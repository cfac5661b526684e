"""The frame around every page of the dashboard: its bar, its styles and scripts, and where those come from."""

from __future__ import annotations

from importlib.resources import files

from brokerlab.report.markup import Html, join, tag
from brokerlab.report.page import Site, asset, document, theme_button

ASSETS = "/assets"
PAGES = (
    ("/", "Runs"),
    ("/start", "Start"),
    ("/compare", "Compare"),
    ("/studies", "Studies"),
    ("/brokers", "Brokers"),
    ("/monitor", "Monitor"),
)
_KINDS = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}


def assets() -> dict[str, tuple[str, str]]:
    """Every file that is served: name -> (kind, text). Nothing else can be asked for, so no path can lead elsewhere."""
    reports, own = files("brokerlab.report") / "assets", files("brokerlab.dashboard") / "assets"
    names = [entry.name for entry in reports.iterdir() if entry.name.rpartition(".")[2] in _KINDS]
    found = {name: asset(name) for name in names}
    found |= {e.name: e.read_text(encoding="utf-8") for e in own.iterdir() if e.name.rpartition(".")[2] in _KINDS}
    return {name: (_KINDS[name.rpartition(".")[2]], text) for name, text in found.items()}


def site(here: str) -> Site:
    """For a page that belongs to the part `here` of the bar."""
    head = join(
        tag("link", rel="stylesheet", href=f"{ASSETS}/dashboard.css"),
        tag("link", rel="icon", href="data:,"),
        tag("script", src=f"{ASSETS}/theme.js"),
        tag("script", type="module", src=f"{ASSETS}/common.js"),
    )
    links = [tag("a", text, href=path, aria_current="page" if path == here else None) for path, text in PAGES]
    bar = tag(
        "header",
        tag("a", "brokerlab", href="/", class_="brand"),
        tag("nav", links, aria_label="Pages"),
        tag("span", tag("button", "Unlock", type="button", id="unlock"), class_="session"),
        class_="site",
    )
    return Site(ASSETS, head, join(tag("a", "Skip to content", href="#content", class_="skip"), bar))


def own_page(title: str, here: str, module: str, *parts: object) -> str:
    """A page whose content the script `module` makes current."""
    body = join(
        tag("main", *parts, id="content", tabindex="-1"),
        theme_button(),
        tag("script", type="module", src=f"{ASSETS}/{module}"),
    )
    return document(f"{title} · brokerlab", body, site(here))


def section(identifier: str, title: str, *parts: object) -> Html:
    return tag("section", tag("h2", title), *parts, id=identifier)
