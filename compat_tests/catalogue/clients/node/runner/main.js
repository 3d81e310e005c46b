// Runs the compatibility programs with ali-ons: a line `Program?query` of standard input is one request, answered with
// JSON lines on standard output; an object whose event is "done" ends the answer. The end of standard input ends it.
'use strict';

const readline = require('readline');
const { Producer } = require('ali-ons');
const out = require('./out');
const { Request } = require('./request');
const programs = { ...require('./send'), ...require('./push') };

async function serve(line) {
  try {
    const request = new Request(line);
    const program = programs[request.name];
    if (program === undefined) {
      throw new Error(`ali-ons offers no program ${request.name}`);
    }
    await program(request);
  } catch (problem) {
    out.failure('crashed', problem);
  } finally {
    await forget();
  }
  out.print({ event: 'done' });
}

/** The client keeps a producer of its own, for all consumers of the process, at the first name server it was told. */
async function forget() {
  const kept = Producer.defaultProducer;
  Producer.defaultProducer = null;
  if (kept) {
    await kept.close().catch(problem => console.error(problem));
  }
}

async function main() {
  out.print({ event: 'ready', node: process.version });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    await serve(line);
  }
  process.exit(0); // timers of the client must not keep it
}

process.on('unhandledRejection', problem => console.error(problem)); // the client's own loops, after their end
main();
