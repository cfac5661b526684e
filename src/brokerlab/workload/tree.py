"""A workload file as a tree that remembers where each value was written, so that every problem can name its line.

Paths are tuples of keys. As text they are joined by dots; what follows `sweep.` or `cells.<name>.` is one key (itself such
a path), and what follows `broker_settings.<broker>.` or `client_settings.<broker>.` is one key too: settings have dots of
their own.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from brokerlab.errors import Problem, WorkloadError
from brokerlab.secrets import SECRET_NAME, holds_a_password, is_reference, names_a_secret
from brokerlab.workload.composed import TooMuchError, composed

Key = str | int
Path = tuple[Key, ...]

SETTINGS = ("broker_settings", "client_settings")


@dataclass(frozen=True)
class Origin:
    """Where a value stands, and what was written: text, or the node it is made from when asked for, because every mapping
    around a value has an origin too, and few are ever asked. Line 0: a flag; `file` is then the flag itself."""

    file: str
    line: int
    written: str | yaml.Node

    @property
    def text(self) -> str:
        return self.written if isinstance(self.written, str) else _written(self.written)


@dataclass
class Tree:
    """Plain data (`root`) and the origin of every path in it."""

    root: dict[str, Any]
    origins: dict[Path, Origin] = field(default_factory=dict)
    what: str = "workload"  # kind of file, for messages

    def copied(self) -> Tree:
        return Tree(copy.deepcopy(self.root), dict(self.origins), self.what)

    def origin(self, path: Path) -> Origin:
        """Of the path, or of the nearest thing around it that was written."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]]
        raise KeyError(path)

    def get(self, path: Path) -> Any:
        """The value, or None where nothing was written."""
        value: Any = self.root
        for key in path:
            if not isinstance(value, dict) or key not in value:
                return None
            value = value[key]
        return value

    def put(self, path: Path, value: Any, origin: Origin) -> None:
        """Set a value, making the mappings around it. Raises ValueError when the path leads through something else."""
        path = self._numbered(path)
        inside: Any = self.root
        for depth, key in enumerate(path[:-1]):
            if isinstance(inside, dict) and inside.get(key) is None:
                inside[key] = {}
                self.origins.setdefault(path[: depth + 1], origin)
            inside = inside[key]
            if not isinstance(inside, dict) and not (isinstance(inside, list) and isinstance(path[depth + 1], int)):
                raise ValueError(f"leads through {path_text(path[: depth + 1])}, {_why_not(inside, path[depth + 1])}")
        inside[path[-1]] = value
        self._forget(path)
        self.origins[path] = origin

    def _numbered(self, path: Path) -> Path:
        """With the number of an item of a list for its name: consumers.late.start means the set that is called late."""
        found: list[Key] = []
        inside: Any = self.root
        for key in path:
            named = [i for i, item in enumerate(inside) if _is_named(item, key)] if isinstance(inside, list) else []
            found.append(named[0] if named else key)
            inside = inside[named[0]] if named else inside.get(key) if isinstance(inside, dict) else None
        return tuple(found)

    def remove(self, path: Path) -> None:
        """Take a value out; one that is not there is no error."""
        around = self.get(path[:-1])
        if isinstance(around, dict):
            around.pop(path[-1], None)
        elif isinstance(around, list):
            self.remove(path[:-1])
        self._forget(path)

    def _forget(self, path: Path) -> None:
        for known in [p for p in self.origins if p[: len(path)] == path]:
            del self.origins[known]

    def problem(self, path: Path, message: str, *, with_value: bool = False, nearest: str | None = None) -> Problem:
        """A problem at the path, with the value as written there if asked, known, and not perhaps a secret."""
        at = self.origin(path)
        text = at.text if with_value and path in self.origins and not _may_be_secret(path_text(path), at.text) else None
        return Problem(at.file, at.line, path_text(path) or self.what, message, text, nearest)

    def refusal(self, path: Path, message: str, value: str | None, nearest: str | None) -> Problem:
        """What a broker or this machine refuses at the path. A broker's own words about the value count where none was
        written there."""
        found = self.problem(path, message, with_value=True, nearest=nearest)
        found = replace(found, refused=True)
        if found.value is not None or value is None or _may_be_secret(path_text(path), value):
            return found
        return replace(found, value=value)


def _why_not(inside: Any, key: Key) -> str:
    names = (
        [str(item["name"]) for item in inside if isinstance(item, dict) and "name" in item]
        if isinstance(inside, list)
        else []
    )
    return f"where nothing is called {key}: it has {', '.join(names)}" if names else "which has no fields of its own"


def _is_named(item: Any, name: Key) -> bool:
    return isinstance(item, dict) and item.get("name") == name


def _may_be_secret(name: str, value: str) -> bool:
    inside = _inner(name)
    told = ("security.tls", "security.user", "security.ca_file")
    unsure = inside == "security" or (inside.startswith("security.") and inside not in told)
    return unsure or names_a_secret(f"{name} {value}") or holds_a_password(value)


def path_text(path: Path) -> str:
    """`producers.message[1].size`."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def parse_path(text: str) -> Path:
    """The path a dotted text means. Raises ValueError for an empty part."""
    first, _, rest = text.partition(".")
    if first == "sweep":
        parts = [first, rest] if rest else [first]
    elif first in (*SETTINGS, "cells"):  # of a broker, of a cell
        of, _, inner = rest.partition(".")
        parts = [part for part in (first, of, inner) if part]
    else:
        parts = text.split(".")
    if not all(parts):
        raise ValueError("a path is names joined by dots, such as producers.rate")
    return tuple(parts)


def read_tree(text: str, file: str, what: str = "workload", fields: str = "name, question, brokers, producers") -> Tree:
    """Raises WorkloadError for what is not YAML, not a mapping, or names a key twice. `fields` are named as examples."""
    try:
        node = composed(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = " ".join(part for part in (error.context, error.problem) if part)
        if names_a_secret(text):  # YAML repeats names of anchors, and a password may look like one
            said = re.sub(r"'[^']{2,}'", "...", said)
        raise WorkloadError([Problem(file, mark.line + 1 if mark else 1, "YAML", said)]) from None
    except yaml.YAMLError as error:
        raise WorkloadError([Problem(file, 1, "YAML", str(error))]) from None
    if not isinstance(node, yaml.MappingNode):
        raise WorkloadError([Problem(file, 1, what, f"must have fields such as {fields}")])
    tree = Tree({}, {(): Origin(file, 1, "")}, what)
    problems: list[Problem] = []
    tree.root = _built(node, (), file, tree.origins, problems)
    if problems:
        raise WorkloadError(problems)
    return tree


def _built(node: yaml.Node, path: Path, file: str, origins: dict[Path, Origin], problems: list[Problem]) -> Any:
    if isinstance(node, yaml.SequenceNode):
        for i, item in enumerate(node.value):
            origins[(*path, i)] = Origin(file, item.start_mark.line + 1, item)
        return [_built(item, (*path, i), file, origins, problems) for i, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return _setting(node) if _is_setting(path) else _scalar(node)
    built: dict[str, Any] = {}
    for key_node, value in node.value:
        key, line = str(key_node.value), key_node.start_mark.line + 1
        if key in built:
            before = origins[(*path, key)].line
            problems.append(Problem(file, line, path_text((*path, key)), f"is given twice, first in line {before}"))
        origins[(*path, key)] = Origin(file, line, value)
        built[key] = _built(value, (*path, key), file, origins, problems)
    return built


def _scalar(node: yaml.Node) -> Any:
    """The value YAML says. A time of day is not one of ours: `1:30` stays text."""
    if node.tag == "tag:yaml.org,2002:timestamp" or (node.tag.endswith(":int") and ":" in str(node.value)):
        return str(node.value)
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_object(node, deep=True)
    except yaml.YAMLError:
        return str(node.value)
    finally:
        loader.dispose()


def _is_setting(path: Path) -> bool:
    """Something under broker_settings or client_settings, of the workload, swept or of one cell."""
    return _inner(path_text(path)).partition(".")[0] in SETTINGS


def _inner(text: str) -> str:
    """The path of a field without the sweep or the cell it stands in."""
    first, _, rest = text.partition(".")
    return rest if first == "sweep" else rest.partition(".")[2] if first == "cells" else text


def _setting(node: yaml.Node) -> Any:
    """A setting's text as written, for brokers have words of their own: `no` is not YAML's false, 010 is not 8.
    A whole number may have underscores, as everywhere in a workload; True and TRUE are true."""
    value, text = _scalar(node), str(node.value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return value if text.lower() in ("true", "false") else text
    return text.replace("_", "")


def _written(node: yaml.Node) -> str:
    """The text of a value: as it stands for a scalar, on one line for anything else."""
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    return yaml.serialize(_flowing(node), width=1_000_000).strip()


def _flowing(node: yaml.Node) -> yaml.Node:
    again = copy.deepcopy(node)
    waiting = [again]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, yaml.CollectionNode):
            inner.flow_style = True
            for item in inner.value:
                waiting.extend(item if isinstance(item, tuple) else [item])
    return again


def apply_override(tree: Tree, override: str) -> Problem | None:
    """Put `path=value` of a --set flag into the tree, where it holds for every cell: it is swept no longer, and no cell
    has its own."""
    text, equals, value = override.partition("=")
    name = text.strip()
    hide = _may_be_secret(name, value) and not is_reference(value.strip())
    if hide and not equals:  # the sign was forgotten: what follows the name is the value
        named = SECRET_NAME.search(text)
        text = text[: named.end()] if named else text
    flag = f"--set {text}=..." if hide and equals else f"--set {text}{equals}{value}"
    if not equals:
        return Problem(flag, 0, text, "must be path=value, such as producers.rate=5_000/s")
    try:
        path = parse_path(name)
        node = composed(value)
    except ValueError as error:
        return Problem(flag, 0, text or "path", str(error))
    except TooMuchError as error:
        return Problem(flag, 0, text, str(error.problem))
    except yaml.YAMLError:
        return Problem(flag, 0, text, "the value cannot be read as YAML", None if hide else value)
    origins: dict[Path, Origin] = {}
    problems: list[Problem] = []
    built = None if node is None else _built(node, path, flag, origins, problems)
    try:
        tree.put(path, built, Origin(flag, 0, value.strip()))
    except ValueError as error:
        return Problem(flag, 0, text, str(error))
    tree.origins.update({known: Origin(flag, 0, origin.written) for known, origin in origins.items()})
    _replace_in_cells(tree, path, built)
    return problems[0] if problems else None


def _replace_in_cells(tree: Tree, path: Path, value: Any) -> None:
    if (
        path[0] == "cells" and value is None
    ):  # null takes away; the file's `name:` without values is a cell like the rest
        tree.remove(path)
    if path[0] in ("sweep", "cells", "broker", "brokers"):  # a cell's own broker cannot be replaced: load.py says so
        return
    tree.remove(("sweep", path_text(path)))
    cells = tree.root.get("cells")
    for name in cells if isinstance(cells, dict) else ():
        tree.remove(("cells", name, path_text(path)))
