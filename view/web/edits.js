// SPDX-License-Identifier: Apache-2.0
// The list of edits (docs/editing.md) as text, with undo and redo.

const round = x => Math.round(x * 1000) / 1000 + 0;
export const vector = v => `[${v.map(round).join(', ')}]`;

export class Edits {
  constructor() {
    this.states = [''];
    this.at = 0;
  }

  get text() { return this.states[this.at]; }

  set(text) {
    if (text === this.text) return false;
    this.states.splice(this.at + 1, Infinity, text);
    this.at++;
    return true;
  }

  // One more line, such as "remove: {body: 1}".
  add(edit) {
    const text = this.text.trim() ? this.text.trimEnd() : 'version: 1\nedits:';
    return this.set(`${text}\n  - ${edit}\n`);
  }

  undo() { return this.at > 0 && (this.at--, true); }
  redo() { return this.at < this.states.length - 1 && (this.at++, true); }
}
