// SPDX-License-Identifier: Apache-2.0
// One viewer in an element of a page: what the server shows, what people do, and what they keep.
import { add, scale } from './math.js';
import { control } from './camera.js';
import { Editor } from './editor.js';
import { camera_path, film_type, keep, record, smaller } from './films.js';
import { make_gif } from './gif.js';
import { hint_read, switch_theme } from './markup.js';
import { Tour } from './tour.js';
import { ask_episode, check_edits, fetch_facts, fetch_rollout, fetch_scene, fetch_truth, send_file } from './server.js';

const PING = 2000; // milliseconds between two looks at whether the server is there
const PATIENCE = 10000; // milliseconds for its answer
// What buttons and keys do; other names are edits.
const COMMANDS = { play: v => v.play(!v.playing), back: v => v.step_by(-1), forward: v => v.step_by(1), fit: v => v.fit(), panel: v => v.root.classList.toggle('closed'),
  help: v => v.find('.help').showModal(), theme: switch_theme, tour: v => v.begin_tour(), hint: v => v.end_hint(),
  picture: v => v.keep_picture(), film: v => v.keep_film(), gif: v => v.keep_gif(), view: v => v.add_view(), path: v => v.keep_path(),
  save: v => v.save(), download: v => v.save_rollout(), undo: v => v.undo(false), redo: v => v.undo(true), simulate: v => v.simulate(), stop: v => v.stop(), more: v => v.step_on(), mechanics: v => v.mechanics(), beside: v => v.keep_beside(),
  box: v => v.choose_tool('box'), lasso: v => v.choose_tool('lasso'), compose: v => v.compose(), compare: v => v.compare(),
  earlier: v => v.show_episode(v.facts.episodes[0]), later: v => v.show_episode(v.facts.episodes[2]) };

export class Viewer extends Editor {
  constructor(root, options) {
    super(root, options);
    this.patience = PATIENCE;
    this.listen();
  }

  // ---- what the server shows

  async open(facts) {
    this.facts = facts;
    for (let id = 0; id < facts.scenes.length; id++) {
      const scene = await fetch_scene(id);
      this.add_scene(scene, facts.predicts && !id ? 'predicted' : facts.scenes.length > 1 ? facts.scenes[id].file.split('/').at(-1) : 'original', { id });
    }
    this.find('.episodes').hidden = !facts.predicts;
    if (facts.predicts) this.name_episode();
    this.find('.compare').hidden = !facts.simulates;
    this.list_files();
    if (facts.compares && !facts.predicts) await this.compare();
  }

  list_files() {
    const files = this.facts.scenes.filter(({ real }) => real && !/["\\]/.test(real));
    this.find('.compose').hidden = !files.length || !this.facts.simulates;
    this.find('[data-set="file"]').replaceChildren(...files.map(({ real }) => new Option(real.split('/').at(-1), real)));
  }

  async open_files(files) { for (const file of files) await this.open_file(file); }

  // A file that was dropped or chosen: a list of edits, or particles as one more scene.
  async open_file(file) {
    if (/\.ya?ml$/i.test(file.name)) return this.open_list(file);
    if (!/\.h5$/i.test(file.name)) return this.state(`${file.name}: only .h5 and .yaml files can be opened`, true);
    this.state(`Opening ${file.name} ..`);
    await this.attempt(async () => {
      const id = await send_file(file);
      this.facts.scenes = (await fetch_facts()).scenes; // not its generation, which look_for_server compares
      this.add_scene(await fetch_scene(id), file.name, { id });
      this.list_files();
      this.find('[data-set="file"]').value = this.facts.scenes[id].real;
      this.state(`${file.name} is open.${this.facts.scenes[id].real && this.facts.simulates ? ' "Add" puts its particles into the scene.' : ''}`);
    }, `${file.name}: `);
  }

  // In place of the list that is there, if all of it can be done.
  async open_list(file) {
    const text = await file.text(), from = this.edits.empty ? this.present() : this.edits.from;
    await this.attempt(async () => {
      await check_edits(from, text);
      if (this.edits.set(text, from)) this.edited();
    }, `${file.name}: `);
  }

  // Adds what was recorded of the first scene, or takes it away.
  async compare() {
    const [first] = this.scenes, there = this.scenes.find(entry => entry.recorded), pressed = on => this.find('.compare').setAttribute('aria-pressed', String(on));
    if (there) {
      pressed(false);
      first.truth = null;
      if (this.settings.colour === 'error') this.settings.colour = this.find('[data-set="colour"]').value = 'rgb';
      return this.drop_scene(there);
    }
    await this.attempt(async () => {
      first.truth = await fetch_truth(first.id);
      this.add_scene(first.truth, 'recorded', { recorded: true });
      pressed(true);
    }, 'Nothing to compare with: ');
  }

  // Another episode in place of the first scene.
  async show_episode(name) {
    this.state(`Predicting episode ${name} ..`);
    this.waiting = true; // for the server, which answers nobody meanwhile
    await this.attempt(async () => {
      await ask_episode({ episode: name, steps: Math.max(1, Math.min(200, this.scenes[0].scene.last)) });
      await this.reopen();
      this.state('');
    });
    this.waiting = false;
  }

  async reopen() {
    const recorded = this.scenes.some(entry => entry.recorded), dropped = this.scenes.filter(({ id }) => id > 0).map(entry => [entry.scene, entry.name, entry]);
    this.facts = await fetch_facts();
    this.edits.set('', null); // undo brings the list back
    this.edited();
    const scene = await fetch_scene(0);
    this.settings.view = '';
    this.recorded = null; // what is in the corner is of the episode before
    this.set_scenes([[scene, 'predicted', { id: 0 }], ...dropped]);
    this.name_episode();
    this.fit(true);
    this.set_step(0);
    if (recorded) await this.compare();
  }

  // The first episode has none before it, and the last none behind.
  name_episode() {
    const [earlier, here, later] = this.facts.episodes;
    this.find('[data-set="episode"]').value = here;
    this.find('[data-do="earlier"]').disabled = !earlier;
    this.find('[data-do="later"]').disabled = !later;
  }

  // ---- messages and the connection

  say(text, kind = 'note') {
    const box = this.find('.message');
    box.textContent = text;
    box.dataset.kind = kind;
    box.hidden = !text;
  }

  // A note is there until one goes on.
  end_note() { if (this.find('.message').dataset.kind === 'note') this.say(''); }

  only_look(why) {
    this.live = false;
    this.root.classList.add('still');
    this.say(why);
  }

  fail(why) {
    this.find('canvas').removeAttribute('aria-busy');
    this.say(why, 'bad');
  }

  lost(why) {
    this.root.dataset.lost = '';
    this.say(`The connection is lost: ${why} What is shown stays.`, 'bad');
  }

  async watch() {
    await this.look_for_server();
    setTimeout(() => this.watch(), PING);
  }

  async look_for_server() {
    try {
      const { generation, start } = this.waiting ? this.facts : await fetch_facts(AbortSignal.timeout(this.patience));
      if (start !== this.facts.start) { // another server, which may show something else
        if (this.edits.empty) return location.reload();
        return this.say('vpd view was started anew. Save the list of edits if you need it, and load this page again.', 'bad');
      }
      if (generation !== this.facts.generation && !this.streaming) await this.reopen(); // another page chose an episode
      if ('lost' in this.root.dataset) {
        delete this.root.dataset.lost;
        this.say('');
      }
    } catch (error) {
      if (error.lost) this.lost(error.message);
    }
  }

  // ---- what people do

  listen() {
    const canvas = this.find('canvas');
    control(canvas, this.camera, {
      changed: () => this.changed(),
      begin: (x, y, event) => this.end_note() || this.drop_cross() || this.begin_drag(x, y, event),
      zooms: () => this.live || document.activeElement === canvas,
      clicked: (x, y) => this.painter && this.select(this.pick(x, y)),
    });
    for (const kind of this.live ? ['dragover', 'drop'] : []) this.root.addEventListener(kind, event => {
      if (!event.dataTransfer.types.includes('Files')) return;
      event.preventDefault();
      if (kind === 'drop') this.open_files(event.dataTransfer.files);
    });
    this.find('[data-open]').addEventListener('change', ({ target }) => this.open_files([...target.files]).finally(() => { target.value = ''; }));
    new ResizeObserver(() => this.changed()).observe(canvas);
    this.root.addEventListener('click', event => {
      const button = event.target.closest('[data-do]');
      if (button) this.command(button.dataset.do);
    });
    this.root.addEventListener('input', event => this.set(event.target));
    this.root.addEventListener('change', event => {
      if (event.target.dataset.set === 'episode') this.show_episode(event.target.value.trim());
      if (event.target.dataset.set === 'edits' && this.edits.set(event.target.value, this.present())) this.edited();
    });
    const keys = this.live ? document : this.root;
    keys.addEventListener('keydown', event => this.key(event));
    keys.addEventListener('keyup', event => {
      if (!'tTmMrR'.includes(event.key)) return;
      const { held, dragged } = this;
      Object.assign(this, { held: '', dragged: false });
      if (held && !dragged && !event.target.matches('input, textarea, select')) this.act(held);
    });
    if (this.live) addEventListener('pagehide', () => this.stop());
    canvas.addEventListener('pointerdown', () => { if (this.held) this.dragged = true; });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.changed());
    new MutationObserver(() => this.changed()).observe(document.documentElement, { attributeFilter: ['data-theme'] });
  }

  set(input) {
    const name = input.dataset.set;
    if (!name || ['edits', 'episode', 'like', 'name', 'file'].includes(name)) return;
    if (name === 'pick') return this.select_by_name(input.value);
    if (name === 'step') return this.step_by(Number(input.value) - this.settings.step);
    this.settings[name] = input.type === 'checkbox' ? input.checked : input.type === 'number' ? input.valueAsNumber // NaN: it is empty
      : ['rate', 'size'].includes(name) ? Number(input.value) : input.value;
    if (name === 'view') this.look(input.value);
    if (name === 'grow' && this.selection) this.select(this.selection);
    this.changed();
  }

  look(value) {
    const { scene } = this.scenes[0], view = scene.cameras[value];
    this.settings.view = this.find('[data-set="view"]').value = value;
    if (value !== '' && view) this.camera.look_through(view, scene.size, scale(add(this.box.low, this.box.high), 0.5));
    else this.fit(true);
    this.looked = this.camera.pose().join();
    this.changed();
  }

  // What is selected, or everything; with `moving` what moves.
  fit(moving) {
    const entry = this.selection?.entry || this.scenes[0], { scene } = entry;
    const box = moving ? this.focus(scene) : this.selection ? scene.extent(this.selection.indices, this.step_of(scene)) : this.whole(scene);
    const pane = this.panes().find(({ entries }) => entries.includes(entry));
    this.camera.fov = 0.75;
    this.camera.fit(box.low, box.high, this.aspect(pane ? pane.box : [0, 0, 1, 1]));
    this.changed();
  }

  command(name) {
    if (!this.scenes.length) return;
    if (COMMANDS[name]) COMMANDS[name](this);
    else this.act(name);
  }

  step_by(by) {
    this.play(false);
    this.set_step(this.settings.step + by);
  }

  // The hint is there until it was read once.
  end_hint() {
    this.find('.hint')?.remove();
    hint_read(true);
  }

  begin_tour() {
    this.end_hint();
    this.find('.help').close();
    this.root.classList.remove('closed');
    this.tour ||= new Tour(this.root);
    this.tour.start();
  }

  // ---- what people keep

  async save_rollout() {
    if (!this.job) return this.state('Simulate first.', true);
    await this.attempt(async () => keep(await fetch_rollout(this.job), 'rollout.h5'), 'The rollout was not saved: ');
  }

  save() { keep(new Blob([this.edits.text], { type: 'application/yaml' }), 'edits.yaml'); }

  keep_picture() {
    this.draw_fine(); // WebGL forgets its picture after a moment
    const copy = smaller(this.find('canvas'));
    this.copy_view(copy);
    copy.toBlob(blob => keep(blob, `step_${this.settings.step}.png`), 'image/png');
  }

  // All steps once, at the speed that is set.
  async keep_film() {
    const type = film_type(), { loop } = this.settings;
    if (!type || this.last() < 1) return this.state(type ? 'There is one step alone.' : 'This browser records no films. It can make a GIF.', true);
    const mp4 = type.startsWith('video/mp4');
    this.set_step(0);
    this.settings.loop = false;
    this.draw_fine();
    this.recording = smaller(this.find('canvas'));
    this.draw(performance.now());
    const end = record(this.recording, type);
    this.state('Recording ..');
    this.play(true);
    while (this.playing) await new Promise(done => setTimeout(done, 50));
    this.settings.loop = loop;
    this.recording = null;
    keep(await end(), mp4 ? 'rollout.mp4' : 'rollout.webm');
    this.state(mp4 ? '' : 'This browser makes no MP4, so the film is WebM. A GIF plays everywhere.');
  }

  // Each step once, at most 640 pixels wide.
  async keep_gif() {
    const canvas = this.find('canvas'), { step } = this.settings, dt = (this.front().scene.time_step || 0.04) / this.settings.rate;
    const frames = [], every = Math.max(1, Math.ceil(0.02 / dt)); // browsers show 50 a second at most
    let copy = null;
    this.play(false);
    for (let s = 0; s <= this.last(); s += every) {
      this.state(`Drawing step ${s} ..`);
      this.settings.step = s;
      this.draw_fine();
      copy ||= smaller(canvas, 640);
      frames.push(this.copy_view(copy).getImageData(0, 0, copy.width, copy.height));
      await new Promise(done => setTimeout(done));
    }
    this.set_step(step);
    keep(make_gif(frames, Math.round(100 * dt * every)), 'rollout.gif');
    this.state('');
  }

  add_view() {
    this.path = [...(this.path || []), this.camera.pose()];
    this.find('.path').textContent = `${this.path.length} ${this.path.length === 1 ? 'place' : 'places'}`;
  }

  // As large as the picture of the recording, or as the canvas.
  keep_path() {
    const { size } = this.scenes[0].scene, { clientWidth, clientHeight } = this.find('canvas');
    const [width, height] = size[0] ? size : [clientWidth, clientHeight], focal = width / 2 / this.camera.spread(width / height)[0];
    if (!this.path) this.add_view();
    keep(camera_path(this.path.map(pose => ({ pose, focal })), width, height), 'cameras.json');
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
    if (event.target.matches('button, input') && ' Enter'.includes(key)) return;
    if (!this.press(key, event.shiftKey, event.repeat)) return;
    this.end_note();
    event.preventDefault();
  }

  press(key, shift, repeat) {
    const arrows = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key], { camera } = this;
    if (key === 'Enter') this.press_cross();
    else if (arrows && this.cross) this.move_cross(scale(arrows, shift ? -50 : -10));
    else if (arrows && shift) camera.pan(arrows[0] * 0.05, arrows[1] * 0.05);
    else if (arrows) camera.turn(arrows[0] * 0.08, arrows[1] * 0.08);
    else if (key === '+' || key === '=') camera.zoom(0.9);
    else if (key === '-') camera.zoom(1.1);
    else if (key === 'Home') this.step_by(-Infinity);
    else if (key === 'End') this.step_by(1e9);
    else if (key === 'Escape') this.tool ? this.choose_tool(this.tool) : this.cross ? this.drop_cross() : this.select_none();
    else if (/^[1-9]$/.test(key)) this.look(String(key - 1));
    else if (key === '0') this.look('');
    else if ('tTmMrR'.includes(key) && this.live) { if (!repeat) this.held = { t: 'throw', m: 'move', r: 'rotate' }[key.toLowerCase()]; }
    else if ('bB'.includes(key)) this.next_body();
    else {
      const command = { ' ': 'play', ',': 'back', '.': 'forward', f: 'fit', p: 'panel', '?': 'help', ...(this.live
        ? { c: 'copy', Delete: 'remove', Backspace: 'remove', s: 'simulate', g: 'mechanics', x: 'box', l: 'lasso' } : {}) }[key.length === 1 ? key.toLowerCase() : key];
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
