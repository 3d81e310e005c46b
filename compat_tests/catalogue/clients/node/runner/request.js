'use strict';

/** A program's name and its arguments: `Name?key=value&key=value`, form-encoded; a key may come several times. */
class Request {
  constructor(line) {
    const mark = line.indexOf('?');
    this.name = mark < 0 ? line : line.slice(0, mark);
    this.values = new URLSearchParams(mark < 0 ? '' : line.slice(mark + 1));
  }

  all(key) {
    return this.values.getAll(key);
  }

  text(key, otherwise) {
    const value = this.values.get(key);
    if (value !== null) {
      return value;
    }
    if (otherwise === undefined) {
      throw new Error(`the request lacks ${key}`);
    }
    return otherwise;
  }

  number(key, otherwise) {
    return Number(this.text(key, otherwise));
  }
}

module.exports = { Request };
