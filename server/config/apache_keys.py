"""The keys of Apache's 4.9.7 broker that have no effect here.

An existing `broker.conf` may contain them; each is accepted with a warning. The names are the setters of BrokerConfig,
MessageStoreConfig, NettyServerConfig and NettyClientConfig, except those that `ServerConfig` declares.
"""

from __future__ import annotations

from typing import Final

APACHE_KEYS_WITHOUT_EFFECT: Final = frozenset(
    """
    adminBrokerThreadPoolNums autoDeleteUnusedStats bitMapLengthConsumeQueueExt brokerIP2
    brokerRole channelNotActiveInterval clientAsyncSemaphoreValue clientCallbackExecutorThreads
    clientChannelMaxIdleTimeSeconds clientCloseSocketIfTimeout clientManagerThreadPoolQueueCapacity
    clientManageThreadPoolNums clientOnewaySemaphoreValue clientPooledByteBufAllocatorEnable
    clientSocketRcvBufSize clientSocketSndBufSize clientWorkerThreads commercialBaseCount
    commercialBigCount commercialEnable commercialTimerCount commercialTransCount
    commitCommitLogLeastPages commitCommitLogThoroughInterval commitIntervalCommitLog compressedRegister
    connectTimeoutMillis consumerFallbehindThreshold consumerManagerThreadPoolQueueCapacity
    consumerManageThreadPoolNums debugLockEnable destroyMapedFileIntervalForcibly
    disableConsumeIfConsumerReadSlowly diskFallRecorded dLegerGroup dLegerPeers dLegerSelfId
    duplicationEnable enableBatchPush enableCalcFilterBitMap enableConsumeQueueExt enableDetailStat
    enableDLegerCommitLog enableLmq enableMultiDispatch enableScheduleAsyncDeliver
    enableScheduleMessageStats endTransactionPoolQueueCapacity endTransactionThreadPoolNums
    expectConsumerNumUseFilter fastFailIfNoBufferInStorePool fetchNamesrvAddrByAddressServer
    filterDataCleanTimeSpan filterServerNums flushCommitLogTimed
    flushConsumerOffsetHistoryInterval flushLeastPagesWhenWarmMapedFile
    forceRegister haHousekeepingInterval haListenPort haMasterAddress haSendHeartbeatInterval
    haSlaveFallbehindMax haTransferBatchSize heartbeatThreadPoolNums heartbeatThreadPoolQueueCapacity
    highSpeedMode isolateLogEnable mapedFileSizeConsumeQueueExt mappedFileSizeConsumeQueueExt
    maxDelayTime maxErrorRateOfBloomFilter maxLmqConsumeQueueNum maxMsgsNumBatch messageIndexSafe
    messageStorePlugIn namesrvAddr offsetCheckInSlave preferredLeaderId
    processReplyMessageThreadPoolNums pullMessageThreadPoolNums pullThreadPoolQueueCapacity
    putMessageFutureThreadPoolNums putMsgIndexHightWater putThreadPoolQueueCapacity
    queryMessageThreadPoolNums queryThreadPoolQueueCapacity readOnlyCommitLogStorePaths
    redeleteHangedFileInterval registerBrokerTimeoutMills registerNameServerPeriod
    replyThreadPoolQueueCapacity rocketmqHome
    scheduleAsyncDeliverMaxPendingLimit scheduleAsyncDeliverMaxResendNum2Blocked
    sendMessageThreadPoolNums sendThreadPoolQueueCapacity serverAsyncSemaphoreValue
    serverCallbackExecutorThreads serverOnewaySemaphoreValue
    serverPooledByteBufAllocatorEnable serverSelectorThreads serverSocketBacklog serverSocketRcvBufSize
    serverSocketSndBufSize serverWorkerThreads slaveReadEnable slaveTimeout
    startAcceptSendRequestTimeStamp storePathDLedgerCommitLog
    transferMsgByHeap
    transientStorePoolEnable transientStorePoolSize useEpollNativeSelector
    useReentrantLockWhenPutMessage useTLS waitTimeMillsInHeartbeatQueue waitTimeMillsInPullQueue
    waitTimeMillsInSendQueue waitTimeMillsInTransactionQueue warmMapedFileEnable
    writeBufferHighWaterMark writeBufferLowWaterMark
    """.split()  # noqa: SIM905 (a list literal of these would be a page long)
)

WHY_WITHOUT_EFFECT: Final = {
    "namesrvAddr": ": the broker registers with the name server in its own process (--namesrv)",
}
"""The warning for a key without effect, where an operator may rely on the effect."""
