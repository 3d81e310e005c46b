'use strict';

const crypto = require('crypto');
const { Message } = require('ali-ons');

/**
 * The messages that the request asks for, one `message` argument each, itself form-encoded: body, or size and seed (noise
 * that does not compress); tags, keys, flag, delay (a level), wait; p.NAME is a user's property, s.NAME one of the system,
 * whose value "+N" is N ms after now.
 */
function messages(request) {
  const now = Date.now();
  return request.all('message').map(query => one(request.text('topic'), new URLSearchParams(query), now));
}

function one(topic, fields, now) {
  const body = fields.has('size')
    ? noise(fields.get('seed'), Number(fields.get('size')))
    : Buffer.from((fields.get('body') || '').repeat(Number(fields.get('repeat') || 1)));
  const message = new Message(topic, fields.get('tags'), body);
  if (!fields.has('tags')) {
    delete message.properties.TAGS; // the client would send the word "null"
  }
  if (fields.has('keys')) {
    message.keys = fields.get('keys').split(' ');
  }
  if (fields.has('flag')) {
    message.flag = Number(fields.get('flag'));
  }
  if (fields.has('delay')) {
    message.delayTimeLevel = Number(fields.get('delay'));
  }
  if (fields.has('wait')) {
    message.waitStoreMsgOK = fields.get('wait') === 'true';
  }
  for (const [ name, value ] of fields) {
    if (name.startsWith('p.')) {
      message.properties[name.slice(2)] = value;
    } else if (name.startsWith('s.')) {
      message.properties[name.slice(2)] = value.startsWith('+') ? String(now + Number(value.slice(1))) : value;
    }
  }
  return message;
}

function noise(seed, size) {
  const parts = [];
  for (let i = 0; i * 32 < size; i++) {
    parts.push(crypto.createHash('sha256').update(`${seed}:${i}`).digest());
  }
  return Buffer.concat(parts).subarray(0, size);
}

module.exports = { messages };
