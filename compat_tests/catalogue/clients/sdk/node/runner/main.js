// Runs programs with Apache's client of 5.x for Node.js: a line `Program?query` of standard input is one request, answered
// with JSON lines on standard output; an object whose event is "done" ends the answer. The end of standard input ends it.
// ../../java/sources/common says what each program does.
'use strict';

const readline = require('readline');
const out = require('./out');
const { Request } = require('./request');
const programs = { ...require('./producers'), ...require('./consumers') };

async function serve(line) {
  try {
    const request = new Request(line);
    const program = programs[request.name];
    if (program === undefined) {
      throw new Error(`the client offers no program ${request.name}`);
    }
    await program(request);
  } catch (problem) {
    out.failure('crashed', problem);
  }
  out.print({ event: 'done' });
}

async function main() {
  out.print({ event: 'ready', node: process.version });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    await serve(line);
  }
  process.exit(0); // consumers that are open must not keep it
}

process.on('unhandledRejection', problem => console.error(problem)); // the client's own loops, after their end
main();
