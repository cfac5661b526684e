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
REFUSED = {
    2: "BadValue", 9: "FailedToParse", 13: "Unauthorized", 14: "TypeMismatch", 18: "AuthenticationFailed",
    59: "CommandNotFound", 73: "InvalidNamespace", 121: "DocumentValidationFailure", 10107: "NotWritablePrimary",
    10334: "BSONObjectTooLarge", 13435: "NotPrimaryNoSecondaryOk", 11000: "DuplicateKey",
}  # fmt: skip


def told_of(error: Exception, batch: Batch, *, first: bool, last: bool) -> list[Told]:
    """What is known of a batch whose insert into one collection failed. `first`, `last`: whether it is the first and the
    last collection that the batch goes into; a message that is in one of several is neither stored nor refused."""
    details = error.details if isinstance(error, BulkWriteError) else {}
    refused = (details.get("writeErrors") or [{}])[0]  # inserts end at the first that is refused
    code = refused.get("code", error.code if isinstance(error, OperationFailure) else None)
    kind = type(error).__name__
    surely = code in REFUSED or ERRORS.of(kind) == REJECTED
    kind += "" if code is None else f" {REFUSED.get(code, code)}"
    if not surely or details.get("writeConcernErrors"):
        return [batch.told(UNKNOWN, kind)]
    numbers, stored = batch.numbers(), int(refused.get("index", 0))
    before = Told(numbers[:stored], ACKNOWLEDGED) if first and last else Told(numbers[:stored], UNKNOWN, kind)
    return [before, Told(numbers[stored:], REJECTED if first else UNKNOWN, kind)]
