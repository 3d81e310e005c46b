// Runs the compatibility programs with ali-ons; runtime.js says how.
'use strict';

const { Producer } = require('ali-ons');
const out = require('./out');
const { run } = require('./runtime');

/** The client keeps a producer of its own, for all consumers of the process, at the first name server that it got. */
async function forget() {
  const kept = Producer.defaultProducer;
  Producer.defaultProducer = null;
  if (kept) {
    await kept.close().catch(problem => console.error(problem));
  }
}

run({ ...require('./send'), ...require('./push') }, out.failure, forget);
