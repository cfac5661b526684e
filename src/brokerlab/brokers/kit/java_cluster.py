"""Servers in Java as child processes: their commands, the files they read, and Jolokia's agent in those that have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from brokerlab.brokers.kit.java import NOT_OURS, java_command, write_java_files
from brokerlab.brokers.kit.jolokia import agent_and_jars, agent_option, policy, write_agent_files
from brokerlab.brokers.kit.local import HOST, LocalCluster
from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.processes.process import ServerProcess, inherited_environment

_Beans = Mapping[str, Sequence[str]]  # names or patterns, and attributes or operations of each


class JavaCluster(LocalCluster):
    """See kit.local.LocalCluster."""

    def _java(
        self,
        name: str,
        server: JavaServer,
        options: Sequence[str],
        main: Sequence[str],
        env: Mapping[str, str] | None = None,
    ) -> ServerProcess:
        """A node that runs `main`, a class and its arguments; `env` is added to what it inherits."""
        command = java_command(server.java.path, server.jars, self._directory / name, options, main)
        inherited = inherited_environment(self._cell.security, *NOT_OURS)
        return self._server(name, command, {**inherited, **(env or {})})

    def _java_with_agent(
        self, name: str, server: JavaServer, options: Sequence[str], main: Sequence[str]
    ) -> ServerProcess:
        """With the agent that is among the server's jars; `_write_files` writes what it reads."""
        agent, jars = agent_and_jars(server.jars)
        own = agent_option(agent, self._directory / name)
        return self._java(name, replace(server, jars=jars), [*options, own], main)

    def _jolokia_urls(self, ports: Sequence[int]) -> list[str]:
        scheme = "http" if self._certificates is None else "https"
        return [f"{scheme}://{HOST}:{port}/jolokia/" for port in ports]

    def _write_files(
        self,
        name: str,
        jolokia_port: int,
        readable: _Beans,
        callable_: _Beans | None = None,
        silent: Sequence[str] = (),
    ) -> None:
        """Of a node with the agent, which permits this and nothing else; `silent` loggers log nothing."""
        home = self._directory / name
        write_java_files(home, silent)
        write_agent_files(home, jolokia_port, policy(readable, callable_), self._certificates, self._cell.security)
