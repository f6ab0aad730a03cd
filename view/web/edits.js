// SPDX-License-Identifier: Apache-2.0
// The list of edits (docs/editing.md) as text, with undo and redo.

const round = x => Math.round(x * 1000) / 1000 + 0;
export const vector = v => `[${v.map(round).join(', ')}]`;

// The selection in a line of the page's own that simulates bodies by mechanics, "" for all of them; of other lines nothing.
const by_mechanics = line => line.match(/^ {2}- simulate: \{(.*)steps: \d+, .*contact: \{mu: [^{}]*\}\}$/)?.[1];

export class Edits {
  constructor() {
    this.states = [{ text: '', from: null }]; // from: {id, step}, what is edited
    this.at = 0;
  }

  get text() { return this.states[this.at].text; }
  get from() { return this.states[this.at].from; }
  get empty() { return !this.text.trim(); }

  set(text, from) {
    if (text === this.text) return false;
    this.states.splice(this.at + 1, Infinity, { text, from: this.empty ? from : this.from });
    this.at++;
    return true;
  }

  // One more line, such as "remove: {body: 1}". Mechanics come in place of those of the same bodies, and those of all bodies stay the last line.
  add(edit, from) {
    const line = `  - ${edit}`, of = by_mechanics(line), lines = this.empty ? ['version: 1', 'edits:'] : this.text.trimEnd().split('\n');
    const left = of === undefined ? lines : lines.filter(other => ![of, ''].includes(by_mechanics(other)) && (of || by_mechanics(other) === undefined));
    left.splice(left.length - (by_mechanics(left.at(-1)) === ''), 0, line);
    return this.set(`${left.join('\n')}\n`, from);
  }

  undo() { return this.at > 0 && (this.at--, true); }
  redo() { return this.at < this.states.length - 1 && (this.at++, true); }
}
