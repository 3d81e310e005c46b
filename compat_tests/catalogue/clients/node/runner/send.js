'use strict';

const out = require('./out');
const { producing } = require('./clients');
const { messages } = require('./messages');

async function sendOne(producer, message) {
  try {
    out.sent(await producer.send(message));
  } catch (problem) {
    out.failure('refused', problem);
  }
}

/** Sends the messages one by one; a refusal is printed and the next is sent. */
exports.SendSync = request => producing(request, async producer => {
  for (const message of messages(request)) {
    await sendOne(producer, message);
  }
});

/** Sends all messages at once. */
exports.SendAsync = request => producing(request, async producer => {
  await Promise.all(messages(request).map(message => sendOne(producer, message)));
  out.print({ event: 'answered', all: true });
});

Object.defineProperty(exports, 'sendOne', { value: sendOne }); // no program
