// SPDX-License-Identifier: Apache-2.0
// Training runs: curves, the newest sample rollout against what was recorded, its film, options; and what a run of
// `vpd train --view` is asked to do.
import { Chart, short } from './charts.js';
import { switch_theme } from './markup.js';
import { ask_wish, fetch_facts, fetch_metrics, fetch_options, fetch_run_scene, picture_address } from './server.js';
import { Viewer } from './viewer.js';

const POLL = 1500; // milliseconds
const COLOURS = ['#2f7fc4', '#c2571a', '#2f9150', '#a34db8', '#b08a1e', '#c23b57', '#3f9a9c', '#7a6a5c'];
const RATE_LINES = 20; // lines of the log that give the time of a step
// Curves that come first, and what they are called; other terms of the loss come behind the first.
const NAMES = { loss: 'Loss', bodies: 'Loss of motion', pixels: 'Loss of pixels', depth: 'Loss of depth', ssim: 'Loss of SSIM',
  psnr_step0: 'PSNR at step 0, dB', psnr_last: 'PSNR at the last step, dB', 'eval psnr': 'Validation: PSNR, dB',
  'eval psnr_moving': 'Validation: PSNR of what moves, dB', 'eval motion_error_cm': 'Validation: motion error at the last step, cm',
  'fit rms': 'Residuals, root mean square' };
// Of a run with several ranks (docs/cluster.md).
const RANK_NAMES = { ranks: 'Ranks', rank_seconds: 'Seconds of a step on rank 0', sum_seconds: 'Seconds of adding gradients',
  sum_waited: 'Seconds waited for gradients', sent_mib: 'Gradients sent, MiB' };
const AGAINST = 'residuals against ';
const FURTHER = ['fit frames', 'rate', 'rollout', 'gradient_norm', 'node_spread', 'motion', 'particles', 'steps_per_second', 'seconds', 'waiting', 'tape_mib', 'eval score',
  ...Object.keys(RANK_NAMES)];

const RUNS_MARKUP = `
<header>
  <div><h1></h1><p class="now" role="status"></p><progress max="1" value="0" aria-label="Steps done" hidden></progress></div>
  <div class="buttons own" hidden>
    <button type="button" data-wish="pause">Pause</button><button type="button" data-wish="save">Save now</button>
    <button type="button" data-wish="stop">Save and stop</button>
  </div>
  <button type="button" class="theme">Light or dark</button>
</header>
<p class="message" role="alert" hidden></p>
<table hidden><caption>Runs</caption><thead><tr><th scope="col">shown</th><th scope="col">below</th><th scope="col">run</th><th scope="col">state</th>
  <th scope="col">step</th><th scope="col">loss</th><th scope="col">PSNR of what moves, dB</th><th scope="col">motion error, cm</th></tr></thead><tbody></tbody></table>
<section aria-label="Curves"><h2>Curves</h2>
  <div class="row"><label>Smooth <input type="range" class="smooth" min="0" max="0.98" step="0.02" value="0"></label>
    <label><input type="checkbox" class="log"> logarithmic</label></div>
  <p class="empty">No step is logged yet.</p><div class="charts first"></div>
  <details><summary>Further curves</summary><div class="charts further"></div></details></section>
<section class="sample" aria-label="Sample rollout" hidden><h2>Sample rollout <small></small></h2><div class="embedded"><div class="viewer"></div></div></section>
<section class="film" aria-label="Pictures" hidden><h2>Pictures <small></small></h2><img alt=""></section>
<section aria-label="Options"><details class="options"><summary>Options</summary><pre tabindex="0"></pre></details></section>`;

function clock(seconds) {
  if (!isFinite(seconds) || seconds < 0) return '?';
  const s = Math.round(seconds), two = n => String(n).padStart(2, '0');
  return s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min ${two(s % 60)} s` : `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
}

// A list has a value for each step of a rollout: errors at its end, otherwise the mean of the predicted steps.
function number(key, value) {
  if (!Array.isArray(value)) return typeof value === 'number' ? value : null;
  const predicted = value.slice(1).filter(v => v !== null);
  if (!predicted.length) return null;
  return key.startsWith('motion_error') ? predicted.at(-1) : predicted.reduce((sum, v) => sum + v, 0) / predicted.length;
}

class Run {
  constructor(name, index) {
    this.name = name;
    this.colour = COLOURS[index % COLOURS.length];
    this.shown = index < COLOURS.length;
    this.clear();
  }

  clear() {
    this.offset = 0;
    this.step = 0;
    this.curves = new Map(); // name -> [[step, value], ..]
    this.times = [];
  }

  curve(name, point) {
    if (!this.curves.has(name)) this.curves.set(name, []);
    this.curves.get(name).push(point);
  }

  // A step of vpd sim fit: each number, and the residuals against it.
  add_fit({ step, rms, values }) {
    this.fit = true;
    for (const [name, value] of Object.entries(values)) {
      this.curve(name, [step, value]);
      this.curve(AGAINST + name, [value, rms]);
    }
  }

  add(line) {
    this.step = Math.max(this.step, line.step);
    for (const [key, value] of Object.entries(line)) {
      const x = ['step', 'kind', 'split'].includes(key) ? null : number(key, value);
      if (x === null) continue;
      this.curve(line.kind === 'train' ? key : `${line.kind} ${key}`, [line.step, x]);
    }
    if (line.kind === 'fit') this.add_fit(line);
    if (line.seconds) this.times = [...this.times.slice(-RATE_LINES), [line.step, line.seconds]];
  }

  last(name) { return this.curves.get(name)?.at(-1)[1] ?? null; }

  get seconds_per_step() {
    const [a, b] = [this.times[0], this.times.at(-1)];
    return b && b[0] > a[0] ? (b[1] - a[1]) / (b[0] - a[0]) : NaN;
  }

  get state() {
    if (this.lost) return ''; // nobody knows
    if (this.fit) return 'a fit';
    if (this.facts.active) return this.paused ? 'paused' : 'running';
    return this.steps && this.step >= this.steps ? 'finished' : 'not running';
  }

  // Reads what is new in its log; whether there was anything.
  async read() {
    const { file, size } = this.facts.metrics;
    if (file !== this.file || size < this.offset) this.clear();
    this.file = file;
    const before = this.offset;
    while (this.offset < size) {
      const bytes = await fetch_metrics(this.name, this.offset);
      if (!bytes.byteLength) break;
      this.offset += bytes.byteLength;
      for (const line of new TextDecoder().decode(bytes).split('\n')) if (line) this.add(JSON.parse(line));
    }
    if (this.options === undefined && this.facts.options) {
      this.options = await fetch_options(this.name);
      this.steps = Number(this.options.match(/^train:[^]*?^ {2}steps: (\d+)/m)?.[1] || 0);
    }
    return this.offset !== before;
  }
}

export class Runs {
  constructor(root) {
    this.root = root;
    root.className = 'runs';
    root.innerHTML = RUNS_MARKUP;
    document.body.className = '';
    this.runs = new Map();
    this.charts = new Map();
    this.listen();
  }

  find(selector) { return this.root.querySelector(selector); }

  listen() {
    for (const button of this.root.querySelectorAll('[data-wish]')) button.addEventListener('click', () => this.wish(button.dataset.wish));
    this.find('.theme').addEventListener('click', switch_theme);
    for (const input of ['.smooth', '.log']) this.find(input).addEventListener('input', () => this.draw());
    this.find('.further').parentElement.addEventListener('toggle', () => this.draw());
  }

  async wish(what) {
    if (what === 'stop' && !confirm('Save the last step and end the run? "vpd train --resume" goes on from there.')) return;
    try {
      await ask_wish(what === 'pause' && this.facts.paused ? 'go' : what);
      if (what === 'save') this.saving = true;
      if (what === 'stop') this.stopped = true;
      await this.poll();
    } catch (error) {
      this.fail(error);
    }
  }

  say(text) {
    this.find('.message').textContent = text;
    this.find('.message').hidden = !text;
  }

  // Again and again; a page that nobody sees asks for nothing.
  async watch() {
    if (!document.hidden) await this.poll().catch(error => this.fail(error));
    setTimeout(() => this.watch(), POLL);
  }

  fail(error) {
    if (!error.lost) return this.say(error.message);
    this.root.dataset.lost = '';
    for (const run of this.runs.values()) run.lost = true;
    if (this.facts) this.show_state();
    if (this.stopped) return this.say(`The run was saved and has ended. What is shown stays. To look at it again: vpd view ${this.facts.title}`);
    this.say(`${error.message} What is shown stays.${this.facts?.own ? ` If the run has ended: vpd view ${this.facts.title}` : ''}`);
  }

  async poll() {
    this.take(await fetch_facts());
    let news = false;
    for (const run of this.runs.values()) news = await run.read() || news;
    if (news || !this.drawn) this.draw();
    this.show_state();
    await this.show_front();
    this.drawn = true;
    this.root.dataset.ready = '';
  }

  take(facts) {
    delete this.root.dataset.lost;
    this.say('');
    if (this.saving && facts.saves > this.facts.saves) this.saving = false;
    this.facts = facts;
    for (const each of facts.runs) {
      if (!this.runs.has(each.name)) this.runs.set(each.name, new Run(each.name, this.runs.size));
      Object.assign(this.runs.get(each.name), { facts: each, paused: facts.paused, lost: false });
    }
    for (const name of this.runs.keys()) if (!facts.runs.some(each => each.name === name)) this.runs.delete(name);
    if (!this.runs.has(this.front?.name)) this.front = this.runs.values().next().value;
  }

  // ---- what is said about the runs

  show_state() {
    const { facts, front } = this, many = this.runs.size > 1;
    this.find('h1').textContent = facts.title.split('/').at(-1);
    document.title = `${facts.title.split('/').at(-1)} - vpd`;
    this.find('.own').hidden = !facts.own || 'lost' in this.root.dataset;
    this.find('[data-wish="pause"]').textContent = facts.paused ? 'Go on' : 'Pause';
    this.find('.now').textContent = many ? `${this.runs.size} runs` : front ? this.describe(front) : 'No run yet.';
    this.find('progress').hidden = many || !front?.steps;
    if (front?.steps) this.find('progress').value = front.step / front.steps;
    this.find('table').hidden = !many;
    if (many) this.show_table();
  }

  // How far it is.
  steps_of({ step, steps }) { return `${step.toLocaleString('en')}${steps ? ` of ${steps.toLocaleString('en')}` : ''}`; }

  describe(run) {
    const each = run.seconds_per_step, left = run.steps - run.step, words = run.state ? [run.state] : [];
    words.push(`step ${this.steps_of(run)}`);
    if (isFinite(each)) words.push(each < 1 ? `${(1 / each).toPrecision(3)} steps a second` : `${each.toPrecision(3)} s a step`);
    if (run.state === 'running' && left > 0 && isFinite(each)) words.push(`${clock(left * each)} left`);
    if (this.saving) words.push('saving ..');
    else if (this.facts.saves) words.push(`saved ${this.facts.saves === 1 ? 'once' : `${this.facts.saves} times`} from here`);
    return words.join(' · ');
  }

  show_table() {
    const rows = this.find('tbody');
    for (const run of this.runs.values()) {
      if (!run.row) this.make_row(run);
      if (run.row.parentElement !== rows) rows.append(run.row);
      const values = [run.name, run.state, this.steps_of(run), ...['loss', 'eval psnr_moving', 'eval motion_error_cm'].map(name => short(run.last(name)))];
      [...run.row.children].slice(2).forEach((cell, i) => { if (cell.textContent !== values[i]) cell.textContent = values[i]; });
    }
    for (const row of [...rows.children]) if (![...this.runs.values()].some(run => run.row === row)) row.remove();
    // Fits have no loss and no PSNR.
    for (const i of [5, 6, 7]) for (const row of this.find('table').rows) row.cells[i].hidden = [...rows.rows].every(each => each.cells[i].textContent === '-');
  }

  make_row(run) {
    run.row = this.find('tbody').insertRow();
    run.row.innerHTML = `<td><input type="checkbox"><i></i></td><td><input type="radio" name="front"></td><th scope="row"></th>${'<td></td>'.repeat(5)}`;
    const [shown, front] = run.row.querySelectorAll('input');
    Object.assign(shown, { checked: run.shown, ariaLabel: `show curves of ${run.name}`, onchange: () => {
      run.shown = shown.checked;
      this.draw();
    } });
    Object.assign(front, { checked: run === this.front, ariaLabel: `show rollout, pictures and options of ${run.name}`, onchange: () => {
      this.front = run;
      this.show_front().catch(error => this.fail(error));
    } });
    run.row.querySelector('i').style.background = run.colour;
  }

  // ---- curves

  draw() {
    const runs = [...this.runs.values()].filter(run => run.shown && run.curves.size);
    const found = new Set(runs.flatMap(run => [...run.curves.keys()])), known = Object.keys(NAMES);
    const first = [...known, ...[...found].filter(name => !known.includes(name) && !FURTHER.includes(name))].filter(name => found.has(name) && this.varies(name, runs));
    this.find('.empty').hidden = found.size > 0;
    this.place(first, runs, this.find('.first'));
    const further = this.find('.further');
    if (further.parentElement.open) this.place(FURTHER.filter(name => found.has(name)), runs, further);
  }

  // A term of the loss that is off is 0 everywhere.
  varies(name, runs) { return runs.some(run => run.curves.get(name)?.some(([, y]) => y !== 0)); }

  title(name) {
    if (name.startsWith(AGAINST)) return `Residuals against ${name.slice(AGAINST.length)}`;
    return name.includes('.') ? name : name.replace(/^eval /, 'Validation: ').replaceAll('_', ' ');
  }

  place(names, runs, holder) {
    const settings = { smooth: Number(this.find('.smooth').value), log: this.find('.log').checked };
    const figures = names.map(name => {
      if (!this.charts.has(name)) this.charts.set(name, new Chart(NAMES[name] || RANK_NAMES[name] || this.title(name), name.startsWith(AGAINST) ? name.slice(AGAINST.length) : 'step'));
      const chart = this.charts.get(name), logs = settings.log && !/psnr|score/.test(name);
      chart.update(runs.filter(run => run.curves.has(name)).map(run => ({ name: run.name, colour: run.colour, points: run.curves.get(name) })), { ...settings, log: logs });
      return chart.figure;
    });
    if (figures.length !== holder.children.length || figures.some((figure, i) => holder.children[i] !== figure)) holder.replaceChildren(...figures);
  }

  // ---- of the run in front: rollout, film, options

  async show_front() {
    const run = this.front;
    if (!run) return;
    const options = this.find('.options pre');
    if (options.textContent !== (run.options || '')) options.textContent = run.options || ''; // what is selected there stays so
    this.find('.film').hidden = !run.facts.picture;
    const film = this.find('.film img'), key = `${run.name} ${run.facts.picture}`;
    if (run.facts.picture && film.dataset.key !== key) {
      film.dataset.key = key;
      film.src = picture_address(run.name, run.facts.picture);
      film.alt = `A validation rollout of ${run.name}: truth, prediction and difference`;
      this.find('.film small').textContent = `${this.runs.size > 1 ? `${run.name}, ` : ''}step ${Number(run.facts.picture.match(/\d+/))}: truth, prediction, difference`;
    }
    await this.show_rollout(run);
  }

  async show_rollout(run) {
    const key = run.facts.rollout && `${run.name} ${run.facts.rollout}`;
    this.find('.sample').hidden = !key;
    if (!key || key === this.rollout) return;
    this.rollout = key;
    const truth = run.facts.truth ? await fetch_run_scene(run.name, 'truth') : null, scene = await fetch_run_scene(run.name, 'rollout');
    this.viewer ||= this.root.viewer = new Viewer(this.find('.sample .viewer'), { live: false });
    this.viewer.set_scenes([[scene, 'predicted', { truth }], ...(truth ? [[truth, 'recorded']] : [])]);
    this.find('.sample small').textContent = `${this.runs.size > 1 ? `${run.name}, ` : ''}${scene.title}, read when the run was at step ${run.step.toLocaleString('en')}`;
  }
}
