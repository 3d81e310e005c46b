'use strict';

const { Consumer } = require('ali-ons');
const out = require('./out');
const { consuming, producing, Inbox } = require('./clients');
const { LONG, sleep } = require('./runtime');
const { messages } = require('./messages');
const { sendOne } = require('./send');

function taking(inbox, by) {
  return async message => inbox.take(by, message);
}

/** A consumer takes `count` messages and leaves. */
exports.PushConcurrent = async request => {
  const inbox = new Inbox();
  await consuming(request, {}, request.text('expression', '*'), taking(inbox, 'push'), async () => {
    out.print({ event: 'started' });
    await inbox.await(request);
  });
};

/** Two broadcasting consumers of one group, then the messages: each consumer gets them all. */
exports.PushBroadcast = async request => {
  const inbox = new Inbox();
  const all = messages(request);
  const both = name => ({ isBroadcast: true, instanceName: `${name}_${process.pid}_${Date.now()}` });
  await consuming(request, both('a'), '*', taking(inbox, 'a'), () =>
    consuming(request, both('b'), '*', taking(inbox, 'b'), () =>
      producing(request, async producer => {
        for (const message of all) {
          await sendOne(producer, message);
        }
        await inbox.awaitCount(2 * all.length, LONG, 300);
      })));
};

/**
 * A consumer that fails a message as often as its property `fail` says, by ACTION_RETRY, or by an exception where its
 * property `how` is "throw". The client does not ask for a delay level.
 */
exports.PushFailing = async request => {
  const inbox = new Inbox();
  const more = { isBroadcast: request.text('mode', '') === 'broadcast' };
  if (request.text('most', '') !== '') {
    more.maxReconsumeTimes = request.number('most');
  }
  const handler = async message => {
    inbox.take('push', message);
    if (message.reconsumeTimes >= Number(message.properties.fail || 0)) {
      return undefined;
    }
    if (message.properties.how === 'throw') {
      throw new Error('as asked for');
    }
    return Consumer.ACTION_RETRY;
  };
  await consuming(request, more, '*', handler, () => inbox.await(request));
};

/**
 * Consumers filter one topic by SQL, the n-th of the expressions `sql` in the group `group`_n. Once all are started, messages
 * are sent, if there are any. `count` messages are awaited in all.
 */
exports.PushSql = async request => {
  const inbox = new Inbox();
  const start = async (expressions, number) => {
    if (number < expressions.length) {
      const more = { consumerGroup: `${request.text('group')}_${number}` };
      const expression = { expressionType: 'SQL92', subString: expressions[number] };
      await consuming(request, more, expression, taking(inbox, String(number)), () => start(expressions, number + 1));
      return;
    }
    await producing(request, async producer => {
      for (const message of messages(request)) {
        await producer.send(message);
      }
      await inbox.await(request);
    });
  };
  await start(request.all('sql'), 0);
};

/** A waiting consumer is sent messages one at a time: prints how long each took from the send to the handler. */
exports.PushWhileSending = async request => {
  const inbox = new Inbox();
  const handler = async message => {
    out.print({ event: 'delay', ms: Date.now() - message.bornTimestamp });
    inbox.take('push', message);
  };
  await consuming(request, {}, '*', handler, () => producing(request, async producer => {
    await sleep(request.number('idle', 1500)); // the pulls are held by the broker by now
    const all = messages(request);
    for (let i = 0; i < all.length; i++) {
      await sendOne(producer, all[i]);
      await inbox.awaitCount(i + 1, LONG, 0);
    }
    await inbox.awaitCount(all.length, 1, 100);
  }));
};
