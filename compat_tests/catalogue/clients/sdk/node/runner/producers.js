'use strict';

const { TransactionResolution } = require('rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb');
const out = require('./out');
const { startedProducer, messages } = require('./clients');
const { LONG, sleep } = require('./runtime');

const OUTCOMES = { c: TransactionResolution.COMMIT, r: TransactionResolution.ROLLBACK };

async function Publish(request) {
  let producer;
  try {
    producer = await startedProducer(request);
  } catch (refused) {
    out.failure('refused', refused);
    return;
  }
  try {
    const all = messages(request);
    if (request.number('async', 0) === 1) {
      await Promise.all(all.map(message => accepted(producer, message)));
      return;
    }
    const end = Date.now() + 1000 * request.number('wait', LONG);
    for (const message of all) {
      while (!await accepted(producer, message) && request.number('again', 0) === 1 && Date.now() < end) {
        await sleep(100);
      }
      await sleep(request.number('pause', 0));
    }
  } finally {
    await producer.shutdown();
  }
}

async function accepted(producer, message, transaction) {
  try {
    out.sent(message, await producer.send(message, transaction));
    return true;
  } catch (refused) {
    out.failure('refused', refused);
    return false;
  }
}

async function PublishInTransaction(request) {
  const asked = new Map();
  let checks = 0;
  const checker = {
    async check(message) {
      out.print(out.described('checked', message));
      const step = (asked.get(message.messageId) || 0) + 1;
      asked.set(message.messageId, step);
      checks++;
      const said = letter(message.keys[0], request.number('last', 0) === 1 ? Infinity : step);
      return OUTCOMES[said] || TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED;
    },
  };
  const producer = await startedProducer(request, { checker });
  try {
    for (const message of messages(request)) {
      const transaction = producer.beginTransaction();
      if (await accepted(producer, message, transaction)) {
        await decided(transaction, letter(message.keys[0], 0));
      }
    }
    const end = Date.now() + 1000 * request.number('wait', LONG);
    while (checks < request.number('checks', 0) && Date.now() < end) {
      await sleep(10);
    }
    await sleep(300);
  } finally {
    await producer.shutdown();
  }
}

async function decided(transaction, said) {
  try {
    if (said === 'c') {
      await transaction.commit();
    } else if (said === 'r') {
      await transaction.rollback();
    }
  } catch (refused) {
    out.failure('refused', refused);
  }
}

function letter(plan, step) {
  return plan[Math.min(step, plan.length - 1)];
}

async function Recall(request) {
  const producer = await startedProducer(request);
  try {
    for (const handle of request.all('handle')) {
      try {
        out.print({ event: 'recalled', msgId: (await producer.recallMessage(request.text('topic'), handle)).messageId });
      } catch (refused) {
        out.failure('refused', refused);
      }
    }
  } finally {
    await producer.shutdown();
  }
}

module.exports = { Publish, PublishInTransaction, Recall };
