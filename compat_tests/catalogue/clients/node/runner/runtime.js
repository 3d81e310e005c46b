// What the programs of every client for Node.js share.
'use strict';

const crypto = require('crypto');
const readline = require('readline');
const { Request } = require('./request');

const LONG = 120; // seconds that anything is waited for which comes sooner or later
const SHORT_BODY = 4096; // bytes

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

function print(event) {
  process.stdout.write(JSON.stringify(event) + '\n');
}

/** The body that a message's fields ask for: text that may be repeated, or noise that does not compress. */
function bodyOf(fields) {
  if (!fields.has('size')) {
    return Buffer.from((fields.get('body') || '').repeat(Number(fields.get('repeat') || 1)));
  }
  const size = Number(fields.get('size'));
  const parts = [];
  for (let i = 0; i * 32 < size; i++) {
    parts.push(crypto.createHash('sha256').update(`${fields.get('seed')}:${i}`).digest());
  }
  return Buffer.concat(parts).subarray(0, size);
}

/** What an event tells of a body. */
function described(body) {
  return {
    length: body.length, sha256: crypto.createHash('sha256').update(body).digest('hex'),
    text: body.length <= SHORT_BODY ? body.toString() : null,
  };
}

/**
 * Runs programs: a line `Program?query` of standard input is one request, answered with JSON lines on standard output; an
 * object whose event is "done" ends the answer. The end of standard input ends it. `after` is called after each program.
 */
async function run(programs, failure, after = async () => {}) {
  process.on('unhandledRejection', problem => console.error(problem)); // the client's own loops, after their end
  print({ event: 'ready', node: process.version });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    try {
      const request = new Request(line);
      if (programs[request.name] === undefined) {
        throw new Error(`the client offers no program ${request.name}`);
      }
      await programs[request.name](request);
    } catch (problem) {
      failure('crashed', problem);
    } finally {
      await after();
    }
    print({ event: 'done' });
  }
  process.exit(0); // timers and consumers of the client must not keep it
}

module.exports = { LONG, sleep, print, bodyOf, described, run };
