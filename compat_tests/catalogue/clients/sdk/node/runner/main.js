// Runs programs with Apache's client of 5.x for Node.js; ../../../node/runner/runtime.js says how, and
// ../../java/sources/common what each program does.
'use strict';

const out = require('./out');
const { run } = require('./runtime');

run({ ...require('./producers'), ...require('./consumers') }, out.failure);
