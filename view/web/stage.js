// SPDX-License-Identifier: Apache-2.0
// What is shown: scenes side by side or over each other, the model's own picture, what was recorded, and time.
import { add, AXES, clamp, frame_of, place_in, scale, subtract, transform } from './math.js';
import { Camera } from './camera.js';
import { no_painter, Painter, arrow_lines, axis_lines, box_lines, colours, frusta, frustum_lines, grid_lines, trail_dots } from './draw.js';
import { copy_view } from './films.js';
import { handle_lines } from './gizmo.js';
import { hint_read, MARKUP } from './markup.js';
import { fetch_picture, fetch_psnr, fetch_recorded } from './server.js';

const END_PAUSE = 0.7; // seconds before a loop begins again
const PICTURES = [[160, 1], [512, 6]]; // pixels of the longer side; strips, since the server ends one before it does something else
const SLOW = 55, QUICK = 22, STILL = 600; // milliseconds of a picture; without a change

let viewers = 0;

const has_surface = scene => scene.surface.some(count => count > 0);

export class Stage {
  constructor(root, { live }) {
    this.root = root;
    this.live = live; // whether there is a server
    root.innerHTML = MARKUP.replaceAll('-ID"', `-${viewers++}"`);
    root.classList.toggle('still', !live);
    if (!live || hint_read()) this.find('.hint').remove();
    if (live) this.find('.title').setAttribute('aria-level', '1');
    this.settings = { step: 0, rate: 1, loop: true, colour: 'rgb', size: 1, grid: true, frusta: false, trails: false, ghosts: false, box: false, particles: true, triangles: true, springs: true, touching: true, picture: false,
      beside: true, steps: 20, grow: 'body', view: '', ground: true };
    this.scenes = []; // {scene, shown, name, id}
    this.camera = new Camera();
    this.selection = null; // {entry, particle, indices, where}
    this.coarse = 1; // resolution while something moves
    this.frame = 16;
    this.find('canvas').setAttribute('aria-busy', 'true');
  }

  find(selector) { return this.root.querySelector(selector); }

  // ---- scenes

  // The edited scene stays in front.
  add_scene(scene, name, more = {}) {
    const entry = { scene, name, id: -1, shown: true, ...more };
    this.scenes.push(entry);
    this.scenes.sort((a, b) => Boolean(a.result) - Boolean(b.result));
    if (this.scenes.length === 1) this.begin(scene);
    this.list_scenes();
    this.changed();
    return entry;
  }

  // Something is shown still.
  drop_scene(entry) {
    this.painter?.forget(entry.scene);
    this.scenes = this.scenes.filter(other => other !== entry);
    if (!this.visible().length) this.scenes[0].shown = true;
    this.select_none();
    this.list_scenes();
    this.set_step(this.settings.step);
  }

  // Other scenes in place of those that are shown: what add_scene takes, ..
  set_scenes(list) {
    const hidden = this.scenes.filter(({ shown }) => !shown).map(({ name }) => name);
    for (const { scene } of this.scenes) this.painter?.forget(scene);
    this.scenes = [];
    this.select_none();
    for (const [scene, name, more] of list) this.add_scene(scene, name, { shown: !hidden.includes(name), ...more });
    if (!this.visible().length) this.scenes[0].shown = true;
    this.list_scenes();
  }

  begin(scene) {
    this.camera.frame = frame_of(scene.up);
    const { low, high } = this.focus(scene);
    if (!this.painter) {
      this.open_painter();
      this.camera.fit(low, high, this.aspect([0, 0, 1, 1]));
    }
    this.frame_scene(scene);
    this.find('canvas').removeAttribute('aria-busy');
    this.root.dataset.ready = '';
  }

  // Without WebGL the model draws still pictures.
  open_painter() {
    const canvas = this.find('canvas'), box = this.find('[data-set="picture"]');
    try {
      this.painter = new Painter(canvas);
    } catch (error) {
      if (!this.live || !this.facts?.simulates) throw error;
      this.painter = no_painter(canvas);
      this.settings.picture = box.checked = box.disabled = true;
      this.say(`${error.message} The model draws still pictures instead.`);
    }
  }

  // What belongs to the first scene: floor, cameras, title.
  frame_scene(scene) {
    const { low, high } = scene.movers === scene.shown ? this.focus(scene) : scene.steps[0];
    const steps = scene.movers === scene.shown ? scene.steps.keys() : [0], lowest = Math.min(...[...steps].map(s => scene.lowest(scene.up, s)));
    this.floor = Math.abs(lowest) < 0.02 ? 0 : lowest;
    this.box = { low, high };
    this.find('[data-set="view"]').replaceChildren(new Option('free', ''), ...scene.cameras.map((_, v) => new Option(`camera ${v + 1}`, v)));
    this.find('.title').textContent = scene.title;
    const simulated = has_surface(scene);
    this.find('option[value="rgb"]').textContent = simulated ? 'of the scene' : 'of the video';
    this.settings.particles = this.find('[data-set="particles"]').checked = !simulated || !scene.covered;
    if (simulated) this.settings.size = this.find('[data-set="size"]').value = 0.4;
  }

  // A box around everything, wherever it goes.
  whole(scene) {
    return { low: [0, 1, 2].map(c => Math.min(...scene.steps.map(s => s.low[c]))), high: [0, 1, 2].map(c => Math.max(...scene.steps.map(s => s.high[c]))) };
  }

  // What moves, with room around it; everything if nothing or all of it moves.
  focus(scene) {
    const all = this.whole(scene);
    if (!scene.movers || scene.movers === scene.shown) return all;
    const moving = [...Array(scene.movers).keys()], ends = [0, scene.last].map(s => scene.extent(moving, s));
    const low = [0, 1, 2].map(c => Math.min(ends[0].low[c], ends[1].low[c]));
    const high = [0, 1, 2].map(c => Math.max(ends[0].high[c], ends[1].high[c]));
    const room = 0.3 * Math.hypot(...subtract(high, low));
    return { low: low.map((v, c) => Math.max(all.low[c], v - room)), high: high.map((v, c) => Math.min(all.high[c], v + room)) };
  }

  list_scenes() {
    const list = this.find('.scenes');
    list.replaceChildren(...this.scenes.map(entry => {
      const label = document.createElement('label'), box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: entry.shown });
      label.className = 'check';
      box.addEventListener('change', () => {
        entry.shown = box.checked;
        this.list_bodies();
        this.changed();
      });
      label.append(box, ` ${entry.name}`);
      return label;
    }));
    this.find('[data-do="beside"]').setAttribute('aria-pressed', String(this.scenes.some(entry => entry.kept)));
    this.find('.scenes-part').hidden = this.scenes.length < 2;
    this.find('.simulated').hidden = !this.scenes.some(({ scene }) => has_surface(scene));
    this.find('option[value="error"]').hidden = !this.scenes.some(entry => entry.truth);
    this.list_bodies();
  }

  // Of the scene in front: its particles, and its bodies to choose from.
  list_bodies() {
    const entry = this.front(), select = this.find('[data-set="pick"]');
    if (!entry) return;
    const { scene } = entry, names = new Map(), every = scene.every > 1 ? `, 1 of ${scene.every} shown` : '';
    this.find('.about').textContent = `${this.visible().length > 1 ? `${entry.name}: ` : ''}${scene.particles.toLocaleString('en')} particles${every}`;
    for (let i = 0; i < scene.movers; i++) {
      const body = scene.body[i] - 1;
      if (body >= 0 && !names.has(body)) names.set(body, `body ${body}, ${scene.label_name(scene.label[i])}`);
    }
    if (!names.size) scene.names.forEach((name, label) => { if (label) names.set(`label ${label}`, name); });
    this.find('[data-set="like"]').replaceChildren(...[...names].map(([value, name]) =>
      new Option(name, typeof value === 'number' ? `body: ${value}` : value.replace('label ', 'label: '))));
    select.replaceChildren(new Option('none', ''), ...[...names].map(([value, name]) => new Option(name, value)));
  }

  visible() { return this.scenes.filter(entry => entry.shown); }
  front() { return this.visible().at(-1); } // the one that is edited: the result when there is one
  step_of(scene) { return clamp(this.settings.step - scene.begin, 0, scene.last); }
  last() { return Math.max(0, ...this.visible().map(({ scene }) => scene.begin + scene.last)); }

  // ---- drawing

  changed() {
    this.unpaint();
    this.redraw();
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(now => {
      this.pending = false;
      this.draw(now);
    });
  }

  // Parts of the canvas, each with the scenes in it.
  panes() {
    const visible = this.visible(), n = visible.length, { clientWidth: w, clientHeight: h } = this.find('canvas');
    if (!this.settings.beside || n < 2) return [{ box: [0, 0, 1, 1], entries: visible }];
    return visible.map((entry, i) => ({ entries: [entry],
      box: w >= h ? [i / n, 0, 1 / n, 1] : [0, i / n, 1, 1 / n] }));
  }

  aspect(box) {
    const { clientWidth: w, clientHeight: h } = this.find('canvas');
    return w * box[2] / (h * box[3]);
  }

  // From world points to pixels of the canvas, and how far ahead they lie.
  projection(box) {
    const { clientWidth: w, clientHeight: h } = this.find('canvas'), matrix = this.camera.matrix(this.aspect(box));
    return point => {
      const q = transform(matrix, point);
      return [w * (box[0] + box[2] * (0.5 + 0.5 * q[0] / q[3])), h * (box[1] + box[3] * (0.5 - 0.5 * q[1] / q[3])), q[3]];
    };
  }

  // Pixels of a metre at distance 1, on a canvas of this height.
  pixels(box, height) { return height * box[3] / 2 / this.camera.spread(this.aspect(box))[1]; }

  draw(now) {
    const { painter, settings } = this;
    if (!painter || !this.scenes.length) return;
    if (settings.view !== '' && this.camera.pose().join() !== this.looked) settings.view = this.find('[data-set="view"]').value = ''; // it was turned away
    painter.resize(this.adapt(now));
    this.marks = [];
    for (const pane of this.panes()) this.draw_pane(pane);
    this.place_marks();
    if (this.recording) this.copy_view(this.recording);
    this.show_time();
    this.show_recorded();
    this.root.dataset.drawn = Number(this.root.dataset.drawn || 0) + 1;
  }

  // What is seen, as a picture.
  copy_view(to) { return copy_view(this.find('canvas'), this.root.querySelectorAll('.pictures img, .marks .caption:not([hidden])'), to); }

  draw_fine() {
    this.resting = true;
    this.draw(performance.now());
  }

  // Coarser pictures while they come slowly; a fine one when all has been still for a while.
  adapt(now) {
    if (this.recording) return 1; // a film has one size
    const passed = now - (this.drawn_at || 0), { resting } = this;
    this.resting = false;
    this.drawn_at = resting ? 0 : now;
    if (!resting && passed < 3000) {
      this.frame = 0.7 * this.frame + 0.3 * passed;
      if (this.frame > SLOW) this.coarse = Math.max(0.5, this.coarse * 0.8);
      else if (this.frame < QUICK) this.coarse = Math.min(1, this.coarse * 1.05);
    }
    return resting ? 1 : this.coarse;
  }

  // ---- the model's own picture, while nothing changes

  unpaint() {
    clearTimeout(this.rest_timer);
    this.painting?.abort();
    this.painting = null;
    if (!this.painter?.still) this.drop_pictures(() => true);
    delete this.root.dataset.painted;
    this.rest_timer = setTimeout(() => this.rested(), STILL);
  }

  // When nothing has changed for a while.
  rested() {
    if (this.coarse < 1 && !this.recording) this.draw_fine();
    if (this.playing || this.streaming || !this.live || !this.facts.simulates) return;
    if (this.settings.picture) this.paint();
    if (this.settings.frusta) this.read_frusta();
    if (this.recorded && !this.find('.recorded img').hidden) this.rate_recorded();
  }

  drop_pictures(test) {
    for (const img of [...this.root.querySelectorAll('.pictures img')].filter(test)) {
      URL.revokeObjectURL(img.src);
      img.remove();
    }
  }

  // Coarse at first, then fine.
  async paint() {
    const { signal } = this.painting = new AbortController(), turn = String(this.turns = (this.turns || 0) + 1);
    await this.attempt(async () => {
      for (const [side, strips] of PICTURES)
        for (const { box, entries } of this.panes().filter(({ entries }) => entries.length && (entries.at(-1).result || entries.at(-1).id >= 0)))
          for (let strip = 0; strip < strips; strip++) await this.paint_strip(entries.at(-1), box, side, strip, strips, turn, signal);
      this.root.dataset.painted = '';
    });
  }

  async paint_strip(entry, box, side, strip, strips, turn, signal) {
    const aspect = this.aspect(box), [width, all] = [Math.min(1, aspect), Math.min(1, 1 / aspect)].map(part => Math.max(strips, Math.round(side * part)));
    const [top, end] = [strip, strip + 1].map(k => Math.round(k * all / strips)), height = end - top, img = new Image();
    img.src = await fetch_picture({ ...(entry.result ? { result: this.job } : { scene: entry.id }), step: this.step_of(entry.scene), width, height,
      middle: all / 2 - top, focal: width / 2 / this.camera.spread(width / all)[0], pose: this.camera.pose().join() }, signal);
    await img.decode();
    if (signal.aborted) return URL.revokeObjectURL(img.src);
    img.alt = strip ? '' : `What the model draws of ${entry.name}`;
    img.dataset.turn = turn;
    [box[0], box[1] + box[3] * top / all, box[2], box[3] * height / all].forEach((v, k) => { img.style[['left', 'top', 'width', 'height'][k]] = `${100 * v}%`; });
    this.find('.pictures').append(img);
    if (this.painter.still) this.drop_pictures(other => other.dataset.turn !== turn);
  }

  // What the camera that is looked through recorded at this step, in a corner.
  async show_recorded() {
    const { view } = this.settings, box = this.find('.recorded'), { id, scene } = this.scenes[0];
    const step = this.step_of(scene), wanted = this.live && view !== '' ? `${view} ${step}` : '';
    if (wanted === this.recorded || this.reading) return;
    this.recorded = wanted;
    box.hidden = !wanted;
    if (!wanted) return;
    this.reading = true;
    const img = box.querySelector('img');
    try {
      const address = await fetch_recorded(id, step, view);
      URL.revokeObjectURL(img.src);
      img.hidden = false;
      img.src = address;
      img.alt = box.querySelector('figcaption').textContent = `recorded, camera ${Number(view) + 1}, step ${step}`;
    } catch (error) {
      img.hidden = true;
      box.querySelector('figcaption').textContent = error.message;
      if (error.lost) this.lost(error.message);
    }
    this.reading = false;
    this.unpaint(); // the rest begins now
    this.show_recorded();
  }

  recorded_key() { return `${this.facts?.generation} ${this.step_of(this.scenes[0].scene)}`; }

  // What every camera recorded at this step, for their frusta.
  async read_frusta() {
    const key = this.recorded_key(), { id, scene } = this.scenes[0];
    if (key === this.frusta_asked) return;
    this.frusta_asked = key;
    const images = await Promise.all(scene.cameras.map(async (_, view) => {
      const img = new Image();
      img.src = await fetch_recorded(id, this.step_of(scene), view);
      await img.decode();
      URL.revokeObjectURL(img.src);
      return img;
    })).catch(() => []); // without its data set there are no pictures
    if (key !== this.recorded_key()) return void (this.frusta_asked = ''); // they may be asked for again
    this.painter.keep_pictures(images);
    this.frusta_key = key;
    this.draw_fine();
  }

  // How near the model's picture is.
  async rate_recorded() {
    const words = this.find('.recorded figcaption'), wanted = this.recorded, { id, scene } = this.scenes[0];
    const psnr = await fetch_psnr(id, this.step_of(scene), this.settings.view).catch(() => null);
    if (psnr !== null && this.recorded === wanted) words.textContent = `${words.textContent.split(';')[0]}; the model draws it with ${psnr.toFixed(1)} dB`;
  }

  draw_pane({ box, entries }) {
    const { clientWidth: w, clientHeight: h } = this.find('canvas'), { painter, camera, settings } = this, aspect = this.aspect(box), matrix = camera.matrix(aspect);
    const background = this.rgb(getComputedStyle(this.find('.stage')).backgroundColor), grid = this.rgb(getComputedStyle(this.find('.marks')).color);
    const pixel_box = painter.begin_pane(box, background), pixels = pixel_box[3] / 2 / camera.spread(aspect)[1];
    entries.forEach((entry, k) => {
      const shown = this.particles(entry, k);
      if (settings.particles) painter.draw_particles(shown, matrix, pixels, settings.size * 0.5);
      for (const what of ['triangles', 'springs']) if (settings[what]) painter.draw_surface(shown, what, matrix, camera.eye(), camera.frame);
      if (settings.ghosts) this.draw_ghosts(entry.scene, matrix, pixels);
    });
    const lines = [];
    if (settings.grid) lines.push(...this.surroundings([...grid, 0.55]));
    if (settings.box) lines.push(...box_lines(entries[0]?.scene.bounds || [this.box.low, this.box.high], [...grid, 1]));
    if (settings.frusta && entries[0]) {
      const list = frusta(entries[0].scene, 0.08 * camera.distance);
      lines.push(...frustum_lines(list, [...grid, 1]));
      if (entries[0] === this.scenes[0] && this.frusta_key === this.recorded_key()) painter.draw_pictures(list, matrix, settings.view);
    }
    if (this.turning) lines.push(...this.turning);
    if (this.arrow) lines.push(...arrow_lines(this.arrow.from, this.arrow.to, [1, 0.72, 0.1, 1]));
    if (lines.length) painter.draw_lines(lines, matrix);
    const held = entries.includes(this.selection?.entry) && !this.arrow && !this.turning ? handle_lines(this.handles()) : [];
    if (held.length) painter.draw_lines(held, matrix, { front: true });
    if (settings.touching) for (const { scene } of entries) {
      const dots = scene.touching_at(this.step_of(scene)).flatMap(place => [...place, 0.95, 0.2, 0.15, 1]);
      if (dots.length) painter.draw_lines(dots, matrix, { dots: true, front: true });
    }
    if (settings.trails) for (const { scene } of entries) painter.draw_lines(trail_dots(scene, this.step_of(scene)), matrix, { dots: true, front: true });
    if (settings.grid) this.mark_axes(box);
    if (entries.length === 1 && this.visible().length > 1)
      this.marks.push({ text: entries[0].name, x: w * (box[0] + 0.5 * box[2]), y: h * (box[1] + box[3]) - 1, caption: true, wide: w * box[2] });
  }

  // A few steps before and behind, blue and orange.
  draw_ghosts(scene, matrix, pixels) {
    const { size } = this.settings, step = this.step_of(scene), apart = Math.max(1, Math.round(scene.last / 10));
    for (const [by, tint] of [[-2, 0.8], [-1, 0.6], [1, 0.6], [2, 0.8]].map(([k, t]) => [k * apart, [...(k < 0 ? [0.25, 0.5, 0.95] : [0.95, 0.5, 0.15]), t]]))
      if (step + by >= 0 && step + by <= scene.last) this.painter.draw_ghost({ scene, step: step + by, tint }, matrix, pixels, size * 0.25);
  }

  rgb(text) { return text.match(/[\d.]+/g).slice(0, 3).map(value => value / 255); }

  particles(entry, k) {
    const { scene } = entry, step = this.step_of(scene), mode = this.settings.colour;
    const chosen = this.selection && this.selection.entry === entry ? this.selection.indices : [];
    return { scene, step, tint: k > 0 ? [0.95, 0.45, 0.1, 0.4] : null,
      key: `${mode} ${mode === 'speed' || mode === 'error' ? `${step} ${scene.speed_max}` : ''} ${chosen.length && this.selection.number}`,
      colours: () => colours(scene, mode, step, chosen, entry.truth) };
  }

  spacing() {
    const [low, high] = this.camera.level_box(this.box), wide = Math.max(high[0] - low[0], high[1] - low[1], 0.01);
    return 10 ** Math.round(Math.log10(wide / 8));
  }

  // So far above the floor, where the world's origin is.
  above_floor(height) { return place_in(this.camera.frame, [0, 0, this.floor + height]); }

  surroundings(colour) {
    return [...grid_lines(...this.camera.level_box(this.box), this.floor - 0.002, this.spacing(), colour, this.camera.frame),
      ...axis_lines(this.above_floor(0.003), this.axis_length())];
  }

  axis_length() { return Math.max(0.05, 0.4 * this.spacing()); }

  mark_axes(box) {
    const project = this.projection(box);
    AXES.forEach((axis, c) => {
      const [x, y, depth] = project(add(this.above_floor(0), scale(axis, this.axis_length() * 1.12)));
      if (depth > 0) this.marks.push({ text: 'xyz'[c], x, y });
    });
  }

  place_marks() {
    const holder = this.find('.marks'), { clientWidth: w, clientHeight: h } = holder;
    this.root.classList.toggle('parts', this.marks.some(mark => mark.caption));
    while (holder.children.length < this.marks.length) holder.append(document.createElement('span'));
    [...holder.children].forEach((span, i) => {
      const mark = this.marks[i], inside = mark && mark.x >= 0 && mark.x <= w && mark.y >= 0 && mark.y <= h;
      span.hidden = !inside;
      if (!inside) return;
      span.textContent = mark.text;
      span.className = mark.caption ? 'caption' : '';
      span.style.maxWidth = mark.caption ? `calc(${mark.wide}px - 1rem)` : '';
      span.style.transform = `translate(${mark.x}px, ${mark.y}px)${mark.caption ? ' translate(-50%, -150%)' : ''}`;
    });
    const per_metre = this.pixels(this.panes()[0].box, h) / this.camera.distance;
    const nice = [1, 2, 5].flatMap(d => [-3, -2, -1, 0, 1, 2].map(e => d * 10 ** e)).sort((a, b) => a - b);
    const length = nice.filter(m => m * per_metre <= 130).at(-1) || 0.001;
    this.find('.scalebar i').style.width = `${length * per_metre}px`;
    this.find('.scalebar span').textContent = length >= 1 ? `${length} m` : `${Math.round(length * 1000) / 10} cm`;
    const mode = this.settings.colour, front = this.front(), compared = this.visible().find(entry => entry.truth);
    const scales = { speed: front && `0 to ${front.scene.speed_max.toFixed(1)} m/s`,
      error: compared && `0 to ${(100 * compared.scene.error_scale(compared.truth)).toPrecision(2)} cm from what was recorded` };
    this.find('.legend').hidden = !scales[mode];
    this.find('.legend span').textContent = scales[mode] || '';
  }

  // In a page: stands still while it cannot be seen.
  in_view(seen) {
    this.away = !seen;
    if (seen && this.playing) this.play(true);
  }

  // ---- time

  show_time() {
    const last = this.last(), step = Math.min(this.settings.step, last), slider = this.find('[data-set="step"]');
    const front = this.front(), seconds = front ? (step * front.scene.time_step).toFixed(2) : '0';
    const words = `step ${step} of ${last}, ${seconds} s`;
    slider.max = last;
    slider.value = step;
    slider.setAttribute('aria-valuetext', words);
    this.find('.time').textContent = words;
    this.root.dataset.step = step;
    this.find('.timeline').classList.toggle('none', last < 1);
  }

  set_step(step) {
    this.settings.step = Math.min(Math.max(0, step), this.last());
    this.changed();
  }

  play(on) {
    this.playing = on && this.last() > 0;
    const button = this.find('[data-do="play"]');
    button.setAttribute('aria-label', this.playing ? 'Pause (space)' : 'Play (space)');
    button.querySelector('path').setAttribute('d', this.playing ? 'M3 2h4v12H3zM9 2h4v12H9z' : 'M4 2l10 6-10 6z');
    if (!this.playing) return this.changed();
    const dt = this.front().scene.time_step || 0.04;
    this.clock = this.settings.step >= this.last() && !this.streaming ? 0 : this.settings.step * dt;
    const film = this.film = {}; // one that plays already ends, or both would move the clock
    let before = performance.now();
    const tick = now => {
      if (!this.playing || this.away || this.film !== film) return;
      this.clock += Math.min(0.25, (now - before) / 1000) * this.settings.rate;
      before = now;
      const end = this.last() * dt;
      if (this.streaming) this.clock = Math.min(this.clock, end); // it waits for the next step
      if (this.clock > end + (this.settings.loop ? END_PAUSE * this.settings.rate : 0)) {
        if (!this.settings.loop) this.play(false);
        else this.clock = 0;
      }
      const step = Math.min(this.last(), Math.floor(this.clock / dt + 1e-6)); // n * dt / dt may be below n
      if (step !== this.settings.step) this.set_step(step);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
}
