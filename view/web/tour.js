// SPDX-License-Identifier: Apache-2.0
// The tour: what there is, step by step, beside the page itself.

const STOPS = [
  ['canvas', 'These are particles: what the model saw of the recording, and predicts to move. Drag to turn, drag with the right button to move, scroll or pinch to zoom.'],
  ['.timeline', 'Steps of the prediction. Play them, or drag the slider; comma and full stop go one step back and on.'],
  ['.stage .tools', 'Show everything again, light or dark, all keys, and the panel.'],
  ['[data-set="colour"]', 'Colour particles as in the video, by label, body or speed. "View" looks through a camera of the recording.'],
  ['.compare', 'If the data say where objects really went, this shows it beside the prediction, and the colour "error" tells how far off it is.'],
  ['.selected', 'Click a particle to select its body. Box and lasso take whatever you draw around.'],
  ['[data-set="edits"]', 'Throw, move, rotate, copy or delete what is selected: each is a line here, and the model simulates what follows. Undo with Control Z.'],
  ['.mechanics', 'Gravity, contact and friction can move bodies in place of the model: one, or all of them. "Keep beside" leaves a result there to compare with the next.'],
  ['[data-do="download"]', 'Save the rollout, or the list: "vpd edit" makes the same of it, bit for bit.'],
  ['[data-do="picture"]', 'Pictures, films and a path of cameras for "vpd render". That was the tour; the question mark shows it again.'],
];

export class Tour {
  constructor(root) {
    this.root = root;
    this.box = root.querySelector('.tour');
    this.box.addEventListener('click', event => {
      const by = event.target.closest('[data-tour]')?.dataset.tour;
      if (by) this.show(by === 'end' ? -1 : this.at + Number(by));
    });
    this.box.addEventListener('keydown', event => {
      event.stopPropagation();
      if (event.key === 'Escape') this.show(-1);
    });
  }

  start() {
    this.stops = STOPS.filter(([selector]) => this.root.querySelector(selector)?.getClientRects().length);
    this.before = document.activeElement;
    this.show(0);
  }

  show(at) {
    const stop = this.stops[at];
    this.at = at;
    for (const marked of this.root.querySelectorAll('.toured')) marked.classList.remove('toured');
    this.box.hidden = !stop;
    if (!stop) return this.before?.focus();
    const target = this.root.querySelector(stop[0]);
    target.classList.add('toured');
    target.scrollIntoView({ block: 'center' });
    this.box.querySelector('p').textContent = stop[1];
    this.box.querySelector('small').textContent = `${at + 1} of ${this.stops.length}`;
    this.box.querySelector('[data-tour="-1"]').disabled = at === 0;
    this.box.querySelector('[data-tour="1"]').hidden = at === this.stops.length - 1;
    this.box.querySelector(at === this.stops.length - 1 ? '[data-tour="end"]' : '[data-tour="1"]').focus();
  }
}
