'use strict';

const { ConsumeResult, PushConsumer, SimpleConsumer } = require('rocketmq-client-nodejs');
const out = require('./out');
const { options, subscriptions } = require('./clients');
const { LONG, sleep } = require('./runtime');

/** The consumers that stay open from one program to the next, by the names that requests give them. */
const open = new Map();

function opened(request) {
  const found = open.get(request.text('name'));
  if (found === undefined) {
    throw new Error(`nothing is open by the name ${request.text('name')}`);
  }
  return found;
}

async function keep(request, consumer, more) {
  try {
    await consumer.startup();
  } catch (refused) {
    out.failure('refused', refused);
    return;
  }
  open.set(request.text('name'), { consumer, ...more });
  out.print({ event: 'opened' });
}

async function OpenSimple(request) {
  const consumer = new SimpleConsumer({
    ...options(request), consumerGroup: request.text('group'), subscriptions: subscriptions(request),
    awaitDuration: 1000 * request.number('polling', 5),
  });
  await keep(request, consumer, { held: new Map() }); // held: by id, each as it came last
}

async function Receive(request) {
  const { consumer, held } = opened(request);
  const count = request.number('count', 1);
  const end = Date.now() + 1000 * request.number('wait', LONG);
  for (let got = 0; got < count && Date.now() < end;) {
    const began = Date.now();
    const before = got;
    try {
      for (const message of await consumer.receive(request.number('most', 32), 1000 * request.number('invisible', 30))) {
        held.set(message.messageId, message);
        out.print(out.described('received', message));
        got++;
        if (request.number('ack', 0) === 1) {
          await consumer.ack(message);
        }
      }
    } catch (failed) {
      out.failure('failed', failed);
      await sleep(200);
      continue;
    }
    if (got === before) {
      out.print({ event: 'nothing', ms: Date.now() - began });
    }
  }
}

/** Does something to messages that a simple consumer holds, by their ids. */
async function eachHeld(request, event, act) {
  const { consumer, held } = opened(request);
  for (const id of request.all('id')) {
    try {
      await act(consumer, held.get(id));
      out.print({ event, msgId: id });
    } catch (refused) {
      out.failure('refused', refused);
    }
  }
}

async function Ack(request) {
  await eachHeld(request, 'acked', (consumer, message) => consumer.ack(message));
}

async function ChangeInvisible(request) {
  const invisible = 1000 * request.number('invisible');
  await eachHeld(request, 'changed', (consumer, message) => consumer.changeInvisibleDuration(message, invisible));
}

async function OpenPush(request) {
  const unread = []; // what the listener has taken and nobody has asked for yet
  const tries = new Map();
  const messageListener = { consume: message => take(message, unread, tries) };
  const consumer = new PushConsumer({
    ...options(request), consumerGroup: request.text('group'), subscriptions: subscriptions(request), messageListener,
  });
  await keep(request, consumer, { unread });
}

async function take(message, unread, tries) {
  unread.push(out.described('received', message));
  const count = (tries.get(message.messageId) || 0) + 1;
  tries.set(message.messageId, count);
  await sleep(Number(message.properties.get('slow') || 0));
  if (count > Number(message.properties.get('fail') || 0)) {
    return ConsumeResult.SUCCESS;
  }
  if (message.properties.get('how') === 'throw') {
    throw new Error('as its message asks for');
  }
  return ConsumeResult.FAILURE;
}

async function Taken(request) {
  const { unread } = opened(request);
  const end = Date.now() + 1000 * request.number('wait', LONG);
  let got = tell(unread);
  while (got < request.number('count', 0) && Date.now() < end) {
    await sleep(10);
    got += tell(unread);
  }
  await sleep(request.number('settle', 300));
  tell(unread);
}

function tell(unread) {
  const events = unread.splice(0);
  events.forEach(out.print);
  return events.length;
}

async function Close(request) {
  const found = open.get(request.text('name'));
  if (found !== undefined) {
    open.delete(request.text('name'));
    found.consumer.shutdown().catch(problem => console.error(problem)); // it need not be waited for
  }
}

module.exports = { OpenSimple, Receive, Ack, ChangeInvisible, OpenPush, Taken, Close };
