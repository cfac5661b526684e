from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.probes import host


def test_cpu_times_are_cores_between_two_readings(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    cpu = host.CpuTimes(stat)
    stat.write_text("cpu  100 10 50 1000 20 1 2 3 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nintr 1\n")
    assert cpu.read(5_000_000_000) == []
    assert cpu.busy_cores is None
    # Two seconds later, at 100 ticks a second: 200 ticks are one core.
    stat.write_text("cpu  300 10 150 1100 40 1 2 23 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nintr 1\n")
    values = {r.metric: r.value for r in cpu.read(7_000_000_000)}
    assert values == {
        "cpu_user_cores": 1.0,
        "cpu_system_cores": 0.5,
        "cpu_idle_cores": 0.5,
        "cpu_iowait_cores": pytest.approx(0.1),
        "cpu_steal_cores": pytest.approx(0.1),
        "cpu_busy_cores": pytest.approx(1.3),  # not the 1.5 that was sampled
    }
    assert cpu.busy_cores == pytest.approx(1.3)


def test_pressure_is_left_out_where_the_kernel_has_none(tmp_path: Path) -> None:
    assert host.read_pressure(tmp_path) == []


def test_pressure_reads_the_share_in_which_some_task_waited(tmp_path: Path) -> None:
    (tmp_path / "io").write_text("some avg10=1.50 avg60=2.92 avg300=1.53 total=10925819\nfull avg10=9.00 total=0\n")
    [reading] = host.read_pressure(tmp_path)
    assert (reading.subject, reading.metric, reading.value) == ("host", "pressure_io_some_avg10_percent", 1.5)


def test_memory_used_is_what_is_not_available(tmp_path: Path) -> None:
    file = tmp_path / "meminfo"
    file.write_text("MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n")
    values = {r.metric: r.value for r in host.read_memory(file)}
    assert values == {"memory_available_bytes": 400 * 1024, "memory_used_bytes": 600 * 1024}


def test_loopback_bytes_count_once_and_other_interfaces_each_way(tmp_path: Path) -> None:
    file = tmp_path / "dev"
    lo, eth = "lo: 3193 29 0 0 0 0 0 0 3193 29 0 0 0 0 0 0", "eth{}: 70 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0"
    file.write_text(f"Inter-| Receive\n face |bytes\n  {eth.format(0)}\n    {lo}\n{eth.format(1)}\n")
    assert {r.metric: r.value for r in host.read_network(file)} == {
        "network_loopback_bytes_total": 3193,
        "network_receive_bytes_total": 140,
        "network_transmit_bytes_total": 10,
    }


def test_this_host_answers_with_plausible_figures(tmp_path: Path) -> None:
    memory = {r.metric: r.value for r in host.read_memory()}
    assert memory["memory_available_bytes"] > 0
    disk = {r.metric: r.value for r in host.read_disk(tmp_path)}
    assert disk["disk_free_bytes"] > 0
    assert host.read_load()[0].value >= 0
    assert "network_loopback_bytes_total" in {r.metric for r in host.read_network()}
