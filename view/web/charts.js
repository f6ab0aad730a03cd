// SPDX-License-Identifier: Apache-2.0
// Curves as SVG: a line for each run over the same axes.

const WIDE = 420, HIGH = 190, LEFT = 52, RIGHT = 10, TOP = 8, BOTTOM = 22; // of a chart, in its own units
const POINTS = 500; // of a line at most

export const short = x => x === null || !isFinite(x) ? '-' : x === 0 ? '0' : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3
  ? x.toExponential(1).replace('e+', 'e') : String(Number(x.toPrecision(4)));

function element(name, attributes, parent) {
  const made = document.createElementNS(parent.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

// Round numbers within a range.
function ticks(low, high, count) {
  const raw = (high - low) / count, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(d => d * size).find(s => s >= raw) || raw, out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step + 0); // no -0
  return out;
}

// A moving average, and then the means of neighbours where there are many points.
function thin(points, smooth) {
  let mean = null;
  const soft = points.map(([x, y]) => [x, mean = mean === null ? y : smooth * mean + (1 - smooth) * y]);
  const every = Math.ceil(soft.length / POINTS), out = [];
  for (let i = 0; i < soft.length; i += every) {
    const part = soft.slice(i, i + every);
    out.push([0, 1].map(c => part.reduce((sum, p) => sum + p[c], 0) / part.length));
  }
  if (every > 1) out.push(soft.at(-1));
  return out;
}

export class Chart {
  // `along`: what the horizontal axis has.
  constructor(title, along = 'step') {
    this.title = title;
    this.along = along;
    this.figure = document.createElement('figure');
    this.figure.className = 'chart';
    this.figure.innerHTML = `<figcaption></figcaption><svg viewBox="0 0 ${WIDE} ${HIGH}" role="img" tabindex="0"></svg>`;
    [this.words, this.svg] = this.figure.children;
    this.svg.addEventListener('pointermove', event => this.point(event));
    for (const kind of ['pointerleave', 'blur']) this.svg.addEventListener(kind, () => this.describe(this.at = null));
    this.svg.addEventListener('keydown', event => this.walk(event));
  }

  // Arrow keys go from point to point of the first line.
  walk(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key], points = this.lines[0]?.points;
    if (!by || !points) return;
    event.preventDefault();
    this.at = Math.min(Math.max((this.at ?? points.length) + by, 0), points.length - 1);
    this.describe(points[this.at][0]);
  }

  // lines: {name, colour, points: [[step, value], ..]} in order of the steps.
  update(lines, { smooth, log }) {
    this.lines = lines.map(line => ({ ...line, points: thin(line.points.filter(([, y]) => y !== null && (!log || y > 0)), smooth) }))
      .filter(line => line.points.length);
    this.scale = log ? Math.log10 : y => y;
    const all = this.lines.flatMap(line => line.points), ys = all.map(([, y]) => this.scale(y));
    this.x = [Math.min(...all.map(p => p[0])), Math.max(...all.map(p => p[0]))];
    this.y = [Math.min(...ys), Math.max(...ys)];
    for (const range of [this.x, this.y]) if (!(range[1] - range[0] > 1e-9 * Math.abs(range[1]))) { // one value: in the middle
      const room = range === this.x && this.along === 'step' ? 1 : 0.5 * (Math.abs(range[0]) || 1);
      range.splice(0, 2, range[0] - room, range[1] + room);
    }
    this.svg.replaceChildren();
    if (!all.length) return this.describe(null);
    this.axes(log);
    for (const { points, colour } of this.lines) this.draw(points, colour);
    this.rule = element('line', { y1: TOP, y2: HIGH - BOTTOM, class: 'rule', visibility: 'hidden' }, this.svg);
    this.describe(null);
  }

  draw(points, colour) {
    if (points.length < 2) return element('circle', { cx: this.left(points[0][0]), cy: this.top(points[0][1]), r: 3, fill: colour }, this.svg);
    return element('polyline', { points: points.map(([x, y]) => `${this.left(x).toFixed(1)},${this.top(y).toFixed(1)}`).join(' '), stroke: colour }, this.svg);
  }

  left(x) { return LEFT + (WIDE - LEFT - RIGHT) * (x - this.x[0]) / (this.x[1] - this.x[0]); }
  top(y) { return TOP + (HIGH - TOP - BOTTOM) * (this.y[1] - this.scale(y)) / (this.y[1] - this.y[0]); }

  axes(log) {
    const up = log ? ticks(...this.y, 4).map(k => 10 ** k) : ticks(...this.y, 4);
    for (const y of up) {
      element('line', { x1: LEFT, x2: WIDE - RIGHT, y1: this.top(y), y2: this.top(y), class: 'grid' }, this.svg);
      element('text', { x: LEFT - 6, y: this.top(y) + 4, 'text-anchor': 'end' }, this.svg).textContent = short(y);
    }
    for (const x of ticks(...this.x, 4).filter(x => this.along !== 'step' || Number.isInteger(x)))
      element('text', { x: Math.min(this.left(x), WIDE - 24), y: HIGH - 6, 'text-anchor': 'middle' }, this.svg).textContent = this.along === 'step' ? x.toLocaleString('en') : short(x);
  }

  point(event) {
    if (!this.lines.length) return;
    const box = this.svg.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * WIDE;
    const step = this.x[0] + (at - LEFT) / (WIDE - LEFT - RIGHT) * (this.x[1] - this.x[0]);
    this.describe(Math.min(Math.max(step, this.x[0]), this.x[1]));
  }

  // The values at a step, or the last ones.
  describe(step) {
    const near = ({ points }) => step === null ? points.at(-1) : points.reduce((best, p) => Math.abs(p[0] - step) < Math.abs(best[0] - step) ? p : best);
    const values = this.lines.map(line => ({ ...line, at: near(line) }));
    this.words.replaceChildren(Object.assign(document.createElement('b'), { textContent: this.title }));
    for (const { colour, at, name } of values.slice(0, 8)) {
      const value = Object.assign(document.createElement('span'), { textContent: short(at[1]), title: name });
      value.style.setProperty('--swatch', colour);
      this.words.append(' ', value);
    }
    this.words.ariaLive = step === null ? 'off' : 'polite';
    if (step !== null) this.words.append(` at ${this.along} ${this.along === 'step' ? Math.round(values[0].at[0]).toLocaleString('en') : short(values[0].at[0])}`);
    this.svg.setAttribute('aria-label', `${this.title}: ${values.map(({ name, at }) => `${name} ${short(at[1])}`).join(', ') || 'nothing yet'}`);
    if (!this.rule) return;
    this.rule.setAttribute('visibility', step === null ? 'hidden' : 'visible');
    if (step !== null) for (const side of ['x1', 'x2']) this.rule.setAttribute(side, this.left(step));
  }
}
