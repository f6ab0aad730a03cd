// SPDX-License-Identifier: Apache-2.0
// One viewer in an element of a page. To what the stage shows it adds selection, edits, and what people do; with a
// server it edits and simulates.
import { add, dot, scale, subtract, transform } from './math.js';
import { control } from './camera.js';
import { Edits, vector } from './edits.js';
import { fetch_facts, file_address, run_job, run_on } from './server.js';
import { Stage } from './stage.js';

const PING = 2000; // milliseconds between two looks at whether the server is there
const BALL = 0.1; // metres

export class Viewer extends Stage {
  constructor(root, options) {
    super(root, options);
    this.edits = new Edits();
    this.held = ''; // what a drag does: throw or move
    this.listen();
  }

  // ---- selection

  pane_at(x, y) {
    const { clientWidth: w, clientHeight: h } = this.find('canvas');
    return this.panes().find(({ box }) => x >= box[0] * w && x < (box[0] + box[2]) * w && y >= box[1] * h && y < (box[1] + box[3]) * h);
  }

  // The particle in front at a point of the canvas.
  pick(x, y) {
    const { clientWidth: w, clientHeight: h } = this.find('canvas'), pane = this.pane_at(x, y);
    if (!pane) return null;
    const { box, entries } = pane, matrix = this.camera.matrix(this.aspect(box)), pixels = this.pixels(box, h);
    const left = box[0] * w, top = box[1] * h, wide = box[2] * w, high = box[3] * h;
    let best = null, depth = Infinity;
    for (const entry of entries) {
      const { scene } = entry, step = Math.min(this.settings.step, scene.last);
      for (let i = 0; i < scene.shown; i++) {
        const q = transform(matrix, scene.position(i, step));
        if (!(q[3] > 0) || q[3] >= depth) continue;
        const px = left + wide * (0.5 + 0.5 * q[0] / q[3]), py = top + high * (0.5 - 0.5 * q[1] / q[3]);
        const radius = Math.max(2, pixels * scene.radius * scene.radii[i] / 65535 * 0.5 * this.settings.size / q[3]);
        if (Math.hypot(px - x, py - y) <= radius) {
          best = { entry, particle: i };
          depth = q[3];
        }
      }
    }
    return best;
  }

  // Selects what the setting says around a particle.
  select(found) {
    if (!found) return this.select_none();
    const { entry, particle: i } = found, { scene } = entry, body = scene.body[i] - 1, label = scene.label[i];
    const grow = this.settings.grow === 'body' && body < 0 ? 'label' : this.settings.grow;
    const step = Math.min(this.settings.step, scene.last), p = scene.position(i, step);
    const near = j => Math.hypot(...subtract(scene.position(j, step), p)) <= BALL;
    let indices = scene.find((b, l) => grow === 'label' ? l === label : b === body), where = `body: ${body}`;
    if (grow === 'label' && !scene.labelled) {
      indices = [i];
      where = `sphere: {centre: ${vector(p)}, radius: 0.005}`;
    } else if (grow === 'label') where = `label: ${label}`;
    if (grow === 'ball') {
      indices = [...Array(scene.shown).keys()].filter(near);
      where = `sphere: {centre: ${vector(p)}, radius: ${BALL}}`;
    }
    const speed = Math.hypot(...scene.velocity(i, step));
    const name = [scene.labelled ? scene.label_name(label) : '', body >= 0 ? `body ${body}` : 'stands still'].filter(Boolean).join(', ');
    this.selection = { ...found, indices, where };
    this.find('.what').textContent = `${name}: ${indices.length} particles, at ${vector(p)} m, ${speed.toFixed(2)} m/s`;
    this.find('[data-set="pick"]').value = body >= 0 ? String(body) : `label ${label}`;
    if (!this.find('[data-set="pick"]').value) this.find('[data-set="pick"]').value = '';
    this.root.dataset.selected = name;
    this.find('.acts').hidden = !this.live;
    this.changed();
  }

  select_none() {
    this.selection = null;
    this.find('.what').textContent = 'Nothing. Click a particle, or choose a body:';
    this.find('[data-set="pick"]').value = '';
    this.find('.acts').hidden = true;
    delete this.root.dataset.selected;
    this.changed();
  }

  select_by_name(value) {
    const entry = this.front();
    if (!value || !entry) return this.select_none();
    const { scene } = entry, label = value.startsWith('label ') ? Number(value.slice(6)) : -1;
    const particle = scene.find((b, l) => label >= 0 ? l === label : b === Number(value))[0];
    if (particle !== undefined) this.select({ entry, particle });
  }

  // ---- edits

  middle() {
    const { entry, indices } = this.selection;
    return entry.scene.extent(indices, Math.min(this.settings.step, entry.scene.last)).centre;
  }

  // A drag with T or M held: an arrow on the floor's plane, or upwards with Shift.
  begin_drag(x, y, event) {
    const what = this.held;
    if (!this.live || !this.selection || !what) return null;
    const canvas = this.find('canvas'), start = this.middle();
    const pane = this.pane_at(x, y), grip = pane && this.ray_place(pane.box, x, y, start, event.shiftKey);
    if (!grip) return null;
    return {
      move: (mx, my, moved) => {
        const at = this.ray_place(pane.box, mx, my, start, moved.shiftKey);
        if (at) this.arrow = { from: start, to: add(start, subtract(at, grip)) };
        canvas.style.cursor = 'grabbing';
      },
      end: done => {
        const arrow = this.arrow;
        this.arrow = null;
        canvas.style.cursor = '';
        if (arrow && done) this.act(what, subtract(arrow.to, arrow.from).map(v => what === 'throw' ? 4 * v : v));
        this.changed();
      },
    };
  }

  // Where a point of the canvas lies on the plane through a place: level, or upright and facing the eye.
  ray_place(box, x, y, through, upright) {
    const { clientWidth: w, clientHeight: h } = this.find('canvas'), eye = this.camera.eye();
    const ray = this.camera.ray(2 * (x / w - box[0]) / box[2] - 1, 1 - 2 * (y / h - box[1]) / box[3], this.aspect(box));
    const back = this.camera.basis().back, normal = upright ? [back[0], back[1], 0] : [0, 0, 1], slope = dot(ray, normal);
    if (Math.abs(slope) < 1e-6) return null;
    const at = add(eye, scale(ray, dot(subtract(through, eye), normal) / slope));
    return upright ? [through[0], through[1], at[2]] : at;
  }

  vector() { return [...this.root.querySelectorAll('[data-number="vector"]')].map(input => Number(input.value) || 0); }

  act(what, by = this.vector()) {
    if (!this.live || !this.selection) return;
    const { where } = this.selection;
    const edits = { throw: `throw: {${where}, velocity: ${vector(by)}}`, move: `move: {${where}, by: ${vector(by)}}`,
      copy: `copy: {${where}, by: ${vector(by.some(v => v) ? by : this.room_beside())}}`, remove: `remove: {${where}}` };
    if (this.edits.add(edits[what], this.present())) this.edited();
  }

  // Where a copy does not lie in what it is a copy of.
  room_beside() {
    const { entry, indices } = this.selection, { low, high } = entry.scene.extent(indices, Math.min(this.settings.step, entry.scene.last));
    const { right } = this.camera.basis();
    return scale(right, 1.3 * Math.hypot(high[0] - low[0], high[1] - low[1]));
  }

  // The scene and step that the first edit of a list begins with.
  present() {
    const { id, scene } = this.scenes.find(entry => entry.shown && !entry.result) || this.scenes[0];
    return { id, step: Math.min(this.settings.step, scene.last) };
  }

  edited() {
    this.find('[data-set="edits"]').value = this.edits.text;
    if (this.edits.empty) this.drop_result();
    else this.simulate();
  }

  undo(forward) {
    if (forward ? this.edits.redo() : this.edits.undo()) this.edited();
  }

  result() { return this.scenes.find(entry => entry.result); }

  show_result(scene) {
    let entry = this.result();
    if (!entry) {
      entry = this.add_scene(scene, 'edited');
      entry.result = true;
      this.list_scenes();
    }
    if (entry.scene !== scene) {
      this.painter.forget(entry.scene);
      entry.scene = scene;
      this.settings.step = 0;
      this.select_none();
      this.list_bodies();
      if (scene.time_step && scene.movers) this.play(true);
    }
    entry.shown = true;
    this.list_scenes();
    this.changed();
  }

  drop_result() {
    const entry = this.result();
    this.turn = (this.turn || 0) + 1; // what still comes is of no use
    this.state('');
    if (!entry) return;
    this.painter.forget(entry.scene);
    this.scenes = this.scenes.filter(other => other !== entry);
    this.select_none();
    this.list_scenes();
    this.set_step(this.settings.step);
  }

  // Edits a copy of the scene and shows its steps as they come.
  async simulate() {
    const turn = this.turn = (this.turn || 0) + 1, began = performance.now(), wanted = () => this.turn === turn;
    const from = this.edits.from || { id: this.scenes[0].id, step: this.scenes[0].scene.last };
    const job = { scene: from.id, step: from.step, edits: this.edits.empty ? '' : this.edits.text, steps: Number(this.settings.steps) };
    this.state('Simulating ..');
    let first = 0;
    await this.streamed(wanted, () => run_job(job, id => { this.job = id; }, scene => {
      first ||= performance.now() - began;
      this.show_result(scene);
      this.state(`Simulating: step ${scene.last}`);
    }, wanted), scene => `${scene.last} steps. The edit was shown after ${Math.round(first)} ms.`);
  }

  async step_on() {
    const entry = this.result();
    if (!entry || !this.job) return this.simulate();
    const turn = this.turn = (this.turn || 0) + 1, wanted = () => this.turn === turn;
    this.play(true);
    await this.streamed(wanted, () => run_on(this.job, Number(this.settings.steps) || 1, entry.scene,
      scene => this.show_result(scene), wanted), scene => `${scene.last} steps.`);
  }

  async streamed(wanted, work, done) {
    this.streaming = true;
    this.root.dataset.streaming = '';
    try {
      const scene = await work();
      if (wanted() && scene) this.state(done(scene));
    } catch (error) {
      if (error.lost) this.lost(error.message);
      else if (wanted()) this.state(error.message, true);
    }
    if (wanted()) {
      this.streaming = false;
      delete this.root.dataset.streaming;
      this.changed();
    }
  }

  state(text, bad = false) {
    const place = this.find('.state');
    place.textContent = text;
    place.classList.toggle('bad', bad);
  }

  // ---- messages and the connection

  say(text, kind = 'note') {
    const box = this.find('.message');
    box.textContent = text;
    box.dataset.kind = kind;
    box.hidden = !text;
  }

  only_look(why) {
    this.live = false;
    this.root.classList.add('still');
    this.say(why);
  }

  fail(why) {
    this.root.dataset.failed = '';
    this.find('canvas').removeAttribute('aria-busy');
    this.say(why, 'bad');
  }

  lost(why) {
    this.root.dataset.lost = '';
    this.say(`The connection is lost: ${why} What is shown stays.`, 'bad');
  }

  async watch() {
    try {
      await fetch_facts();
      if ('lost' in this.root.dataset) {
        delete this.root.dataset.lost;
        this.say('');
      }
    } catch (error) {
      if (error.lost) this.lost(error.message);
    }
    setTimeout(() => this.watch(), PING);
  }

  // ---- what people do

  listen() {
    const canvas = this.find('canvas');
    control(canvas, this.camera, {
      changed: () => this.changed(),
      begin: (x, y, event) => this.begin_drag(x, y, event),
      zooms: () => this.live || document.activeElement === canvas,
      clicked: (x, y) => this.painter && this.select(this.pick(x, y)),
    });
    new ResizeObserver(() => this.changed()).observe(canvas);
    this.root.addEventListener('click', event => {
      const button = event.target.closest('[data-do]');
      if (button) this.command(button.dataset.do);
    });
    this.root.addEventListener('input', event => this.set(event.target));
    this.root.addEventListener('change', event => {
      if (event.target.dataset.set === 'edits' && this.edits.set(event.target.value, this.present())) this.edited();
    });
    const keys = this.live ? document : this.root;
    keys.addEventListener('keydown', event => this.key(event));
    keys.addEventListener('keyup', event => {
      if ('tTmM'.includes(event.key)) {
        const what = this.held, used = this.dragged;
        this.held = '';
        this.dragged = false;
        if (what && !used && !event.target.matches('input, textarea, select')) this.act(what);
      }
    });
    canvas.addEventListener('pointerdown', () => { if (this.held) this.dragged = true; });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.changed());
    new MutationObserver(() => this.changed()).observe(document.documentElement, { attributeFilter: ['data-theme'] });
  }

  set(input) {
    const name = input.dataset.set;
    if (!name || name === 'edits') return;
    if (name === 'pick') return this.select_by_name(input.value);
    if (name === 'step') {
      this.play(false);
      return this.set_step(Number(input.value));
    }
    this.settings[name] = input.type === 'checkbox' ? input.checked : ['rate', 'size', 'steps'].includes(name) ? Number(input.value) : input.value;
    if (name === 'view') this.look(input.value);
    if (name === 'grow' && this.selection) this.select(this.selection);
    this.changed();
  }

  look(value) {
    const { scene } = this.scenes[0], view = scene.cameras[value];
    this.settings.view = this.find('[data-set="view"]').value = value;
    if (value !== '' && view) this.camera.look_through(view, scene.size, scale(add(this.box.low, this.box.high), 0.5));
    else this.fit();
    this.changed();
  }

  fit() {
    const focus = this.focus(this.scenes[0].scene);
    this.camera.fov = 0.75;
    this.camera.fit(focus.low, focus.high);
    this.changed();
  }

  command(name) {
    const commands = {
      fit: () => this.fit(),
      play: () => this.play(!this.playing),
      back: () => this.step_by(-1),
      forward: () => this.step_by(1),
      panel: () => this.root.classList.toggle('closed') | this.changed(),
      help: () => this.find('.help').showModal(),
      hint: () => this.find('.hint').remove(),
      theme: () => this.theme(),
      throw: () => this.act('throw'),
      move: () => this.act('move'),
      copy: () => this.act('copy'),
      remove: () => this.act('remove'),
      undo: () => this.undo(false),
      redo: () => this.undo(true),
      save: () => this.save(),
      simulate: () => this.simulate(),
      more: () => this.step_on(),
      download: () => this.job ? window.open(file_address(this.job), '_self') : this.state('Simulate first.', true),
    };
    if (commands[name] && this.scenes.length) commands[name]();
  }

  step_by(by) {
    this.play(false);
    this.set_step(this.settings.step + by);
  }

  theme() {
    const page = document.documentElement;
    const dark = page.dataset.theme ? page.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    page.dataset.theme = dark ? 'light' : 'dark';
  }

  save() {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([this.edits.text], { type: 'application/yaml' }));
    link.download = 'edits.yaml';
    link.click();
    URL.revokeObjectURL(link.href);
  }

  key(event) {
    const typing = event.target.matches('input:not([type="range"]):not([type="checkbox"]), textarea, select');
    const control_key = event.ctrlKey || event.metaKey, { key } = event;
    if (typing || !this.scenes.length || event.altKey || this.find('.help').open) return;
    if (control_key && 'zy'.includes(key.toLowerCase()) && this.live) {
      this.undo(key.toLowerCase() === 'y' || event.shiftKey);
      event.preventDefault();
      return;
    }
    if (control_key || (event.target.matches('input') && key.startsWith('Arrow'))) return;
    if (event.target.matches('button, input') && key === ' ') return;
    if (this.press(key, event.shiftKey, event.repeat)) event.preventDefault();
  }

  press(key, shift, repeat) {
    const arrows = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key], { camera } = this;
    if (arrows && shift) camera.pan(arrows[0] * 0.05, arrows[1] * 0.05);
    else if (arrows) camera.turn(arrows[0] * 0.08, arrows[1] * 0.08);
    else if (key === '+' || key === '=') camera.zoom(0.9);
    else if (key === '-') camera.zoom(1.1);
    else if (key === 'Home') this.step_by(-Infinity);
    else if (key === 'End') this.step_by(1e9);
    else if (key === 'Escape') this.select_none();
    else if (/^[1-9]$/.test(key)) this.look(String(key - 1));
    else if (key === '0') this.look('');
    else if ('tTmM'.includes(key) && this.live) { if (!repeat) this.held = 'tT'.includes(key) ? 'throw' : 'move'; }
    else if ('bB'.includes(key)) this.next_body();
    else {
      const command = { ' ': 'play', ',': 'back', '.': 'forward', f: 'fit', p: 'panel', '?': 'help', ...(this.live
        ? { c: 'copy', Delete: 'remove', Backspace: 'remove', s: 'simulate' } : {}) }[key.length === 1 ? key.toLowerCase() : key];
      if (!command) return false;
      this.command(command);
    }
    this.changed();
    return true;
  }

  next_body() {
    const select = this.find('[data-set="pick"]');
    select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
    this.select_by_name(select.value);
  }
}
