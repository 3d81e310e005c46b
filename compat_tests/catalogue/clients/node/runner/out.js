// Prints events as JSON lines.
'use strict';

const { described, print } = require('./runtime');

function sent(result) {
  print({
    event: 'sent', status: result.sendStatus, msgId: result.msgId, offsetMsgId: result.msgId,
    topic: result.messageQueue.topic, broker: result.messageQueue.brokerName,
    queueId: Number(result.messageQueue.queueId), queueOffset: result.queueOffset,
  });
}

function received(by, message) {
  const properties = { ...message.properties };
  delete properties['']; // what the client makes of the last separator
  for (const name of Object.keys(properties)) {
    if (properties[name] === null) {
      delete properties[name];
    }
  }
  print({
    event: 'received', topic: message.topic, queueId: message.queueId, queueOffset: message.queueOffset,
    msgId: message.msgId, tags: properties.TAGS === undefined ? null : properties.TAGS,
    keys: properties.KEYS === undefined ? null : properties.KEYS, properties, flag: message.flag,
    sysFlag: message.sysFlag, bornTimestamp: message.bornTimestamp, storeTimestamp: message.storeTimestamp,
    bornHost: `/${message.bornHost}`, storeHost: `/${message.storeHost}`, physicalOffset: message.commitLogOffset,
    storeSize: message.storeSize, reconsumeTimes: message.reconsumeTimes, by, at: Date.now(),
    ...described(message.body || Buffer.alloc(0)),
  });
}

function failure(name, problem) {
  const code = typeof problem.code === 'number' ? { code: problem.code } : {};
  print({ event: name, error: problem.name, text: problem.message, message: problem.message, at: problem.stack, ...code });
}

module.exports = { print, sent, received, failure };
