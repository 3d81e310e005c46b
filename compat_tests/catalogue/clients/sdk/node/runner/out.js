// Prints events as JSON lines.
'use strict';

const runtime = require('./runtime');

const { print } = runtime;

function sent(message, receipt) {
  print({ event: 'sent', msgId: receipt.messageId, handle: receipt.recallHandle || null, text: message.body.toString() });
}

function described(event, message) {
  return {
    event, topic: message.topic, msgId: message.messageId, tags: message.tag || null,
    keys: message.keys.length ? message.keys.join(' ') : null, properties: Object.fromEntries(message.properties),
    messageGroup: message.messageGroup || null,
    due: message.deliveryTimestamp ? message.deliveryTimestamp.getTime() : null,
    bornTimestamp: message.bornTimestamp ? message.bornTimestamp.getTime() : null, bornHost: message.bornHost,
    attempt: message.deliveryAttempt, at: Date.now(), ...runtime.described(message.body),
  };
}

/** Prints an error, with its code if the endpoint answered one. */
function failure(name, problem) {
  const code = typeof problem.code === 'number' && problem.code >= 10000 ? problem.code : null;
  print({ event: name, error: problem.name, text: problem.message, at: problem.stack, code });
}

module.exports = { print, sent, described, failure };
