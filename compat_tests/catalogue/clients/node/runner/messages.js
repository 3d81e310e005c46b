'use strict';

const { Message } = require('ali-ons');
const { bodyOf } = require('./runtime');

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
  const message = new Message(topic, fields.get('tags'), bodyOf(fields));
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

module.exports = { messages };
