// SPDX-License-Identifier: Apache-2.0
// The list of edits (docs/editing.md) as text, with undo and redo.

const round = x => Math.round(x * 1000) / 1000 + 0;
export const vector = v => `[${v.map(round).join(', ')}]`;
const text_of = lines => lines.map(({ text }) => text).join('\n');

export class Edits {
  constructor() {
    this.states = [{ lines: [], from: null }]; // lines: {text, moves}; from: {id, step}, what is edited
    this.at = 0;
  }

  get lines() { return this.states[this.at].lines; }
  get from() { return this.states[this.at].from; }
  get text() { return text_of(this.lines); }
  get empty() { return !this.text.trim(); }
  get has_mechanics() { return this.lines.some(({ moves }) => moves !== undefined); }

  // Text that was typed or opened; the page's own lines in it stay what they are.
  set(text, from) { return this.become(text ? text.split('\n').map(line => this.lines.find(own => own.text === line) || { text: line }) : [], from); }

  become(lines, from) {
    if (text_of(lines) === this.text) return false;
    this.states.splice(this.at + 1, Infinity, { lines, from: this.empty ? from : this.from });
    this.at++;
    return true;
  }

  // One more line, such as "remove: {body: 1}". Of mechanics `moves` is the selection, '' for all bodies: they come in place of those of the same bodies, and those of all bodies stay the last line.
  add(edit, from, moves) {
    const lines = this.empty ? [{ text: 'version: 1' }, { text: 'edits:' }] : this.lines.slice(0, 1 + this.lines.findLastIndex(({ text }) => text.trim()));
    const left = moves === undefined ? lines : lines.filter(({ moves: other }) => other === undefined || (moves && other && other !== moves));
    left.splice(left.length - (left.at(-1).moves === ''), 0, { text: `  - ${edit}`, moves });
    return this.become([...left, { text: '' }], from);
  }

  undo() { return this.at > 0 && (this.at--, true); }
  redo() { return this.at < this.states.length - 1 && (this.at++, true); }
}
