"""Names under which bookies and brokers are tuned, as their own configuration files have them.

What decides durability, addresses and directories is not here: settings.py and the cluster decide that.
"""

from __future__ import annotations

from brokerlab.brokers.kit.names import names
from brokerlab.brokers.kit.setting_checks import TRUE_OR_FALSE, Known, looks_like, whole_number

OR_ZERO = looks_like("[0-9]{1,9}", "a whole number")  # 0 switches it off
WRITE_CACHE, READ_CACHE = "dbStorage_writeCacheMaxSizeMb", "dbStorage_readAheadCacheMaxSizeMb"
ENTRY_CACHE = "managedLedgerCacheSizeMB"
BOOKIE_CACHES_MB = {WRITE_CACHE: 32, READ_CACHE: 16}
ENTRY_CACHE_MB = 64

JOURNAL: Known = {"journalMaxGroupWaitMSec": whole_number(), "journalPageCacheFlushIntervalMSec": whole_number()}
BOOKIE: Known = {
    **dict.fromkeys(names("""
        dbStorage_maxThrottleTimeMs dbStorage_readAheadCacheBatchBytesSize dbStorage_readAheadCacheBatchSize
        dbStorage_readAheadCacheMaxSizeMb dbStorage_rocksDB_blockCacheSize dbStorage_rocksDB_blockSize
        dbStorage_rocksDB_maxSizeInLevel1MB dbStorage_rocksDB_numLevels dbStorage_rocksDB_sstSizeInMB
        dbStorage_rocksDB_writeBufferSizeMB dbStorage_writeCacheMaxSizeMb flushInterval gcWaitTime journalMaxSizeMB
        journalPreAllocSizeMB journalQueueSize journalWriteBufferSizeKB logSizeLimit nettyMaxFrameSizeBytes
        numJournalCallbackThreads readBufferSizeBytes writeBufferSizeBytes
    """), whole_number()),
    **dict.fromkeys(names("""
        dbStorage_rocksDB_bloomFilterBitsPerKey dbStorage_rocksDB_numFilesInLevel0 journalBufferedEntriesThreshold
        journalBufferedWritesThreshold journalMaxBackups maxPendingAddRequestsPerThread
        maxPendingReadRequestsPerThread numAddWorkerThreads numHighPriorityWorkerThreads numReadWorkerThreads
    """), OR_ZERO),
    **dict.fromkeys(names("""
        entryLogFilePreallocationEnabled journalAdaptiveGroupWrites journalRemoveFromPageCache
    """), TRUE_OR_FALSE),
}  # fmt: skip
BROKER: Known = {
    **dict.fromkeys(names("""
        bookkeeperClientNumIoThreads bookkeeperClientNumWorkerThreads bookkeeperNumberOfChannelsPerBookie
        defaultNumberOfNamespaceBundles dispatcherMaxReadBatchSize dispatcherMaxReadSizeBytes
        dispatcherMaxRoundRobinBatchSize dispatcherMinReadBatchSize managedLedgerMaxEntriesPerLedger
        managedLedgerMaxLedgerRolloverTimeMinutes managedLedgerNumSchedulerThreads maxConcurrentLookupRequest
        maxConcurrentTopicLoadRequest maxMessageSize numIOThreads numOrderedExecutorThreads
    """), whole_number()),
    **dict.fromkeys(names("""
        bookkeeperClientThrottleValue managedLedgerCacheEvictionTimeThresholdMillis managedLedgerCacheSizeMB
        managedLedgerMinLedgerRolloverTimeMinutes managedLedgerNewEntriesCheckDelayInMillis
        maxPendingPublishRequestsPerConnection
    """), OR_ZERO),
    **dict.fromkeys(("bookkeeperUseV2WireProtocol", "preciseDispatcherFlowControl"), TRUE_OR_FALSE),
}  # fmt: skip
