// SPDX-License-Identifier: Apache-2.0
// The list of edits (docs/editing.md) as text, with undo and redo.

const round = x => Math.round(x * 1000) / 1000 + 0;
export const vector = v => `[${v.map(round).join(', ')}]`;

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

  // One more line, such as "remove: {body: 1}".
  add(edit, from) {
    const text = this.empty ? 'version: 1\nedits:' : this.text.trimEnd();
    return this.set(`${text}\n  - ${edit}\n`, from);
  }

  undo() { return this.at > 0 && (this.at--, true); }
  redo() { return this.at < this.states.length - 1 && (this.at++, true); }
}
