"""A lake on any file system that Hadoop knows (`hdfs:`, `s3a:`, `viewfs:`, ...), reached through Spark's JVM."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Object stores: a rename is a copy there, but an object appears whole when it is closed, and S3 can be asked to refuse one
# that exists. Where it cannot, `must` makes the creation fail instead of replacing another writer's manifest.
CREATES_WHOLE = {"s3a": "fs.option.create.conditional.overwrite", "gs": None}


class HadoopStore:
    """See store.Store. Commits need a file system whose rename refuses an existing target, as HDFS's does, or one of
    CREATES_WHOLE."""

    def __init__(self, uri: str, spark: SparkSession) -> None:
        self.spark = spark
        self.uri = uri.rstrip("/")
        internals: Any = spark
        self._jvm = internals._jvm
        self._configuration = internals._jsc.hadoopConfiguration()
        self._gateway = internals.sparkContext._gateway

    @cached_property
    def _files(self) -> Any:
        return self._path("").getFileSystem(self._configuration)

    def read(self, path: str) -> bytes:
        with _as_os_errors():
            stream = self._files.open(self._path(path))
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def create(self, path: str, content: bytes) -> None:
        scheme = self.uri.partition(":")[0]
        with _as_os_errors():
            if scheme in CREATES_WHOLE:
                self._create_object(path, content, CREATES_WHOLE[scheme])
            else:
                self._create_by_rename(path, content)

    def names(self, directory: str) -> list[str]:
        with _as_os_errors():
            try:
                found = self._files.listStatus(self._path(directory))
            except Py4JJavaError as error:
                if _java_class(error).endswith("FileNotFoundException"):
                    return []
                raise
            names = (status.getPath().getName() for status in found)
            return sorted(name for name in names if not name.startswith("."))

    def files(self, directory: str) -> dict[str, int]:
        with _as_os_errors():
            if not self._files.exists(self._path(directory)):
                return {}
            root = self._files.makeQualified(self._path("")).toString().rstrip("/")
            found, statuses = {}, self._files.listFiles(self._path(directory), True)
            while statuses.hasNext():
                status = statuses.next()
                name = status.getPath().getName()
                if name.endswith(".parquet") and not name.startswith((".", "_")):
                    path = self._files.makeQualified(status.getPath()).toString()
                    found[path.removeprefix(f"{root}/")] = int(status.getLen())
            return dict(sorted(found.items()))

    def rows(self, path: str) -> int:
        parquet = self._jvm.org.apache.parquet.hadoop
        with _as_os_errors():
            source = parquet.util.HadoopInputFile.fromPath(self._path(path), self._configuration)
            reader = parquet.ParquetFileReader.open(source)
            try:
                return int(reader.getRecordCount())
            finally:
                reader.close()

    def delete(self, path: str) -> None:
        with _as_os_errors():
            self._files.delete(self._path(path), True)

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.uri}/{path}" if path else f"{self.uri}/")

    def _create_by_rename(self, path: str, content: bytes) -> None:
        target = self._path(path)
        folder, _, _ = path.rpartition("/")
        temporary = self._path(f"{folder}/.new-{secrets.token_hex(8)}" if folder else f".new-{secrets.token_hex(8)}")
        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(target.toUri(), self._configuration)
        kinds = getattr(self._jvm.org.apache.hadoop.fs, "Options$Rename")
        options = self._gateway.new_array(kinds, 1)
        options[0] = kinds.NONE  # an existing target is refused, not replaced
        try:
            self._write(self._files.create(temporary, True), content)
            context.rename(temporary, target, options)
        finally:
            with suppress(Py4JJavaError):
                self._files.delete(temporary, False)

    def _create_object(self, path: str, content: bytes, condition: str | None) -> None:
        builder = self._files.createFile(self._path(path)).recursive().overwrite(False)
        if condition is not None:
            builder = builder.must(condition, True)
        self._write(builder.build(), content)

    @staticmethod
    def _write(stream: Any, content: bytes) -> None:
        try:
            stream.write(content)
        finally:
            stream.close()


def _java_class(error: Py4JJavaError) -> str:
    return str(error.java_exception.getClass().getName())


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Java's exceptions as Python's: FileNotFoundError, FileExistsError, else OSError with what Java says."""
    try:
        yield
    except Py4JJavaError as error:
        kind = _java_class(error).rpartition(".")[2]
        text = str(error.java_exception.getMessage() or kind)
        if kind in ("FileNotFoundException", "NoSuchFileException"):
            raise FileNotFoundError(text) from error
        if kind in ("FileAlreadyExistsException", "RemoteFileChangedException"):
            raise FileExistsError(text) from error
        raise OSError(f"{kind}: {' '.join(text.split())}") from error
