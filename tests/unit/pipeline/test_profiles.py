from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from brokerlab.errors import UserError
from brokerlab.pipeline.profiles import ALLOWED, address_towards, spark_settings
from brokerlab.pipeline.session import SETTINGS
from brokerlab.pipeline.shipping import package_zip


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROFILE", "MASTER", "CONF", "DRIVER_MEMORY"):
        monkeypatch.delenv(f"BROKERLAB_SPARK_{name}", raising=False)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)


def test_without_anything_given_spark_runs_here_on_loopback() -> None:
    settings = spark_settings()
    assert (settings.profile, settings.master, settings.ships_code) == ("local", "local[*]", False)
    assert settings.python() == sys.executable
    values = settings.values()
    assert (values["spark.driver.host"], values["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.1")


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[*]", 5), ("local[*,3]", 5), ("local[3]", 3), ("local[12,2]", 12), ("local[16]", 16)],
)
def test_on_one_machine_there_are_as_many_partitions_as_cores(
    monkeypatch: pytest.MonkeyPatch, master: str, cores: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(5)))
    values = spark_settings(master=master).values()
    assert (values["spark.sql.shuffle.partitions"], values["spark.default.parallelism"]) == (str(cores), str(cores))
    given = spark_settings(master=master, conf=["spark.sql.shuffle.partitions=7"]).values()
    assert given["spark.sql.shuffle.partitions"] == "7"


def test_a_master_elsewhere_means_the_profile_of_a_cluster() -> None:
    settings = spark_settings(master="spark://127.0.0.1:7077")
    assert (settings.profile, settings.ships_code, settings.python()) == ("cluster", True, "python3")
    values = settings.values()
    assert values["spark.driver.host"] == "127.0.0.1", "the address by which the master reaches this host"
    assert "spark.driver.bindAddress" not in values
    assert int(values["spark.sql.shuffle.partitions"]) > 2
    assert spark_settings("local", "spark://127.0.0.1:7077").profile == "local"


@pytest.mark.parametrize("master", ["yarn", "k8s://https://10.0.0.1:6443"])
def test_where_the_manager_knows_the_driver_spark_finds_its_address_itself(master: str) -> None:
    settings = spark_settings(master=master)
    assert settings.profile == "cluster"
    assert "spark.driver.host" not in settings.values()


def test_the_environment_gives_what_options_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_SPARK_MASTER", "local[3]")
    monkeypatch.setenv("BROKERLAB_SPARK_PROFILE", "cluster")
    monkeypatch.setenv("BROKERLAB_SPARK_CONF", "spark.executor.memory=3g; spark.cores.max=4")
    monkeypatch.setenv("BROKERLAB_SPARK_DRIVER_MEMORY", "5g")
    settings = spark_settings(conf=["spark.cores.max=6"])
    assert (settings.profile, settings.master) == ("cluster", "local[3]")
    values = settings.values()
    assert (values["spark.executor.memory"], values["spark.cores.max"]) == ("3g", "6")
    assert values["spark.driver.memory"] == "5g"


def test_a_setting_that_could_change_results_is_refused_with_the_list() -> None:
    with pytest.raises(UserError, match=r"spark.sql.ansi.enabled may not be set") as caught:
        spark_settings(conf=["spark.sql.ansi.enabled=false"])
    assert caught.value.hint is not None
    assert all(name in caught.value.hint for name in ALLOWED)
    with pytest.raises(UserError, match="maxPartitionBytes may not be set"):
        spark_settings(conf=["spark.sql.files.maxPartitionBytes=64m"])
    with pytest.raises(UserError, match="may not be set") as caught:
        spark_settings(conf=["spark.sql.shufle.partitions=8"])
    assert "did you mean spark.sql.shuffle.partitions?" in str(caught.value)
    for wrong in ("spark.executor.memory", "=4g"):
        with pytest.raises(UserError, match="must be KEY=VALUE"):
            spark_settings(conf=[wrong])


def test_what_both_profiles_fix_may_not_be_set() -> None:
    for name in SETTINGS:
        assert not any(name == a or (a.endswith(".") and name.startswith(a)) for a in ALLOWED), name


def test_a_value_can_be_a_reference_to_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = spark_settings(conf=["spark.hadoop.fs.s3a.secret.key=env:LAKE_KEY"])
    with pytest.raises(UserError, match="LAKE_KEY is not set"):
        settings.values()
    monkeypatch.setenv("LAKE_KEY", "hush")
    assert settings.values()["spark.hadoop.fs.s3a.secret.key"] == "hush"
    assert "hush" not in repr(settings)


def test_an_unknown_profile_and_a_master_without_address_are_named() -> None:
    with pytest.raises(UserError, match="must be one of local, cluster, given 'big'"):
        spark_settings("big")
    with pytest.raises(UserError, match="spark://nowhere"):
        address_towards("spark://nowhere")


def test_the_shipped_package_can_be_imported_with_numpy_and_pyarrow_alone(tmp_path: Path) -> None:
    """In a process that may import nothing else that is not Python's own (but pyspark, which Spark brings itself)."""
    packed = package_zip(tmp_path)
    assert package_zip(tmp_path).read_bytes() == packed.read_bytes()
    with zipfile.ZipFile(packed) as file:
        assert "brokerlab/pipeline/lane.py" in file.namelist()
    program = """
import sys
sys.path = [p for p in sys.path if not p.endswith("/src")]
sys.path.insert(0, sys.argv[1])
import brokerlab.pipeline.scan, brokerlab.pipeline.work
assert sys.argv[1] in brokerlab.pipeline.scan.__file__, brokerlab.pipeline.scan.__file__
heavy = {"pydantic", "click", "yaml", "rich", "psutil", "duckdb", "confluent_kafka", "cryptography"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program, str(packed)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
