// What requests say of the endpoint, of messages and of subscriptions, for the client.
'use strict';

const { FilterExpression, Producer } = require('rocketmq-client-nodejs');
const { FilterType } = require('rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb');
const { bodyOf } = require('./runtime');

const logger = { info() {}, debug() {}, warn: console.error, error: console.error };

function options(request) {
  const account = request.all('accessKey').length
    ? { sessionCredentials: { accessKey: request.text('accessKey'), accessSecret: request.text('secretKey') } }
    : {};
  return {
    endpoints: request.text('endpoints'), namespace: '', sslEnabled: false, logger,
    requestTimeout: 1000 * request.number('timeout', 10), ...account,
  };
}

async function startedProducer(request, more = {}) {
  const producer = new Producer({
    ...options(request), topic: request.text('topic'), maxAttempts: request.number('attempts', 3), ...more,
  });
  await producer.startup();
  return producer;
}

/** The topics of a consumer, all with the one expression: tags, or `sql`. */
function subscriptions(request) {
  const expression = request.all('sql').length
    ? new FilterExpression(request.text('sql'), FilterType.SQL)
    : new FilterExpression(request.text('expression', '*'));
  return new Map(request.all('topic').map(topic => [ topic, expression ]));
}

/** The messages that the request asks for, one `message` argument each, itself form-encoded. */
function messages(request) {
  const now = Date.now();
  return request.all('message').map(query => one(request.text('topic'), new URLSearchParams(query), now));
}

function one(topic, fields, now) {
  const message = { topic, body: bodyOf(fields), keys: [], properties: new Map() };
  if (fields.has('tags')) {
    message.tag = fields.get('tags');
  }
  if (fields.has('keys')) {
    message.keys = fields.get('keys').split(' ');
  }
  if (fields.has('group')) {
    message.messageGroup = fields.get('group');
  }
  if (fields.has('due')) {
    const due = fields.get('due');
    message.deliveryTimestamp = new Date(due.startsWith('+') ? now + Number(due.slice(1)) : Number(due));
  }
  for (const [ name, value ] of fields) {
    if (name.startsWith('p.')) {
      message.properties.set(name.slice(2), value);
    }
  }
  return message;
}

module.exports = { options, startedProducer, subscriptions, messages };
