"""What pymongo's errors say about messages that were to be inserted."""

from __future__ import annotations

from pymongo.errors import BulkWriteError, OperationFailure

from brokerlab.brokers.kit.blocking import Batch, Told
from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN

# The exceptions of pymongo.errors. Rejected: raised before anything is sent.
ERRORS = OutcomeTable(
    rejected="ConfigurationError DocumentTooLarge InvalidName InvalidOperation InvalidURI",
    unknown="""AutoReconnect BulkWriteError ConnectionFailure DuplicateKeyError ExecutionTimeout NetworkTimeout
        NotPrimaryError OperationFailure PyMongoError ServerSelectionTimeoutError WaitQueueTimeoutError WriteConcernError
        WriteError WTimeoutError _OperationCancelled""",
    elsewhere="""ClientBulkWriteException CollectionInvalid CursorNotFound EncryptedCollectionError EncryptionError
        ProtocolError""",
)
# Codes of refusals that leave nothing behind. Any other may come after the write, as FerretDB's InternalError (1) does
# when it loses its database.
REFUSALS = {
    2: "BadValue", 9: "FailedToParse", 13: "Unauthorized", 14: "TypeMismatch", 18: "AuthenticationFailed",
    59: "CommandNotFound", 73: "InvalidNamespace", 121: "DocumentValidationFailure", 10107: "NotWritablePrimary",
    10334: "BSONObjectTooLarge", 13435: "NotPrimaryNoSecondaryOk", 11000: "DuplicateKey",
}  # fmt: skip


def told_of(error: Exception, batch: Batch, *, first: bool, last: bool) -> list[Told]:
    """What is known of a batch whose insert into one collection failed. `first`, `last`: whether it is the first and the
    last collection that the batch goes into; a message that is in one of several is neither stored nor refused."""
    numbers, kind = batch.numbers(), _kind(error)
    if isinstance(error, BulkWriteError):
        details = error.details
        refused = details.get("writeErrors", [])
        if details.get("writeConcernErrors") or not refused or refused[0].get("code") not in REFUSALS:
            return [Told(numbers, UNKNOWN, kind)]
        stored = int(refused[0]["index"])  # inserts end at the first that is refused
        before = Told(numbers[:stored], ACKNOWLEDGED) if last and first else Told(numbers[:stored], UNKNOWN, kind)
        return [before, Told(numbers[stored:], REJECTED if first else UNKNOWN, kind)]
    surely = (
        error.code in REFUSALS if isinstance(error, OperationFailure) else ERRORS.of(type(error).__name__) == REJECTED
    )
    return [Told(numbers, REJECTED if surely and first else UNKNOWN, kind)]


def _kind(error: Exception) -> str:
    code = error.code if isinstance(error, OperationFailure) else None
    if isinstance(error, BulkWriteError) and error.details.get("writeErrors"):
        code = error.details["writeErrors"][0].get("code")
    return f"{type(error).__name__} {REFUSALS.get(code, code)}" if code is not None else type(error).__name__
