'use strict';

const out = require('./out');
const { producing } = require('./clients');
const { messages } = require('./messages');

async function sendOne(producer, message, refusal) {
  try {
    out.sent(await producer.send(message));
  } catch (problem) {
    out.failure(refusal, problem);
  }
}

function inTurn(refusal) {
  return request => producing(request, async producer => {
    for (const message of messages(request)) {
      await sendOne(producer, message, refusal);
    }
  });
}

/** Sends the messages one by one; a refusal is printed and the next is sent. */
exports.SendSync = inTurn('refused');

/** The same at an endpoint that misbehaves. */
exports.SendThrough = inTurn('failed');

/** Sends all messages at once. */
exports.SendAsync = request => producing(request, async producer => {
  await Promise.all(messages(request).map(message => sendOne(producer, message, 'refused')));
  out.print({ event: 'answered', all: true });
});

Object.defineProperty(exports, 'sendOne', { value: sendOne }); // no program
