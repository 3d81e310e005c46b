'use strict';

const { Producer, Consumer } = require('ali-ons');
const out = require('./out');
const { LONG, sleep } = require('./runtime');

const SECONDS = 1000;
let instances = 0;

function options(request) {
  return {
    nameSrv: request.text('namesrv').split(';'),
    httpclient: {}, // asks for name servers where none are told
    clientIP: '127.0.0.1',
    instanceName: request.text('instance', `${process.pid}_${Date.now()}_${++instances}`),
    accessKeyId: request.text('accessKey', ''),
    accessKeySecret: request.text('secretKey', ''),
    heartbeatBrokerInterval: 2 * SECONDS,
    pollNameServerInteval: 2 * SECONDS,
    rebalanceInterval: 2 * SECONDS,
  };
}

/** Runs `use` with a producer, and closes it. */
async function producing(request, use) {
  const producer = new Producer({
    ...options(request),
    producerGroup: request.text('producerGroup', 'compat_producer'),
    sendMsgTimeout: 30 * SECONDS,
    retryTimesWhenSendFailed: request.number('retries', 2),
    compressMsgBodyOverHowmuch: request.number('compressOver', 4096),
  });
  producer.on('error', problem => console.error(problem));
  await producer.ready();
  try {
    await use(producer);
  } finally {
    await producer.close();
  }
}

/** Runs `use` once a consumer is subscribed, and closes it. */
async function consuming(request, more, expression, handler, use) {
  const consumer = new Consumer({
    ...options(request),
    consumerGroup: request.text('group'),
    consumeFromWhere: 'CONSUME_FROM_FIRST_OFFSET',
    parallelConsumeLimit: 4,
    ...more,
  });
  consumer.on('error', problem => console.error(problem));
  consumer.subscribe(request.text('topic'), expression, handler);
  await consumer.ready();
  try {
    await use(consumer);
  } finally {
    await consumer.close();
  }
}

/** Counts and prints what consumers receive, and waits for it. */
class Inbox {
  constructor() {
    this.count = 0;
  }

  take(by, message) {
    out.received(by, message);
    this.count++;
  }

  async awaitCount(wished, seconds, settle) {
    const end = Date.now() + seconds * SECONDS;
    while (this.count < wished && Date.now() < end) {
      await sleep(10);
    }
    await sleep(settle);
  }

  await(request) {
    return this.awaitCount(request.number('count'), request.number('wait', LONG), request.number('settle', 300));
  }
}

module.exports = { producing, consuming, Inbox };
