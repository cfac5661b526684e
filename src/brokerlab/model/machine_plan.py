"""What a cell's processes get of the machine."""

from __future__ import annotations

from brokerlab.model.frozen import Frozen

NOT_LOADED = "the library was not loaded"  # among the settings read back of a node that was to have an fsync floor


class MachinePlan(Frozen):
    """What a cell's processes get of the machine; what is not given is as the machine is.

    Cores are numbered as the kernel does. Every server process has its own share of a processor and its own disk cap.
    """

    node_cores: tuple[int, ...] = ()
    producer_cores: tuple[int, ...] = ()
    consumer_cores: tuple[int, ...] = ()
    cpu_share_per_node: float | None = None  # of one processor
    disk_write_bytes_per_s: int | None = None
    fsync_floor_ns: int | None = None  # least time of each fsync of a node
    memory_limit_bytes_per_node: int | None = None  # files that the kernel caches for it included
    drop_page_cache: bool = False  # of the nodes' files, before a set of consumers reads a backlog
    link_bytes_per_s: int | None = None  # between everything that connects to a node and that node, each way

    @property
    def limits_cpu(self) -> bool:
        return self.cpu_share_per_node is not None

    def words(self) -> str:
        """For people: "nodes on core 0, producers on cores 1, 2; 0.3 of a processor for each node". Empty where nothing is
        asked."""
        places = (("nodes", self.node_cores), ("producers", self.producer_cores), ("consumers", self.consumer_cores))
        said = [
            f"{who} on core{'s' if len(cores) > 1 else ''} {', '.join(map(str, cores))}"
            for who, cores in places
            if cores
        ]
        if self.cpu_share_per_node is not None:
            said.append(f"{self.cpu_share_per_node:g} of a processor for each node")
        if self.disk_write_bytes_per_s is not None:
            said.append(f"disk writes of each node at most {self.disk_write_bytes_per_s / 1e6:g} MB/s")
        if self.fsync_floor_ns is not None:
            said.append(f"each fsync of a node takes at least {self.fsync_floor_ns / 1e6:g} ms, by a preloaded library")
        if self.memory_limit_bytes_per_node is not None:
            said.append(
                f"{self.memory_limit_bytes_per_node / 1e6:,g} MB of memory for each node, cached files included"
            )
        if self.link_bytes_per_s is not None:
            said.append(
                f"a link of {self.link_bytes_per_s / 1e6:g} MB/s each way to each node, by a forwarding process"
            )
        if self.drop_page_cache:
            said.append("the page cache of the nodes' files dropped before the backlog is read")
        return ", ".join(said)
