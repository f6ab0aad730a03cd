// SPDX-License-Identifier: Apache-2.0
// Selection and edits, and their simulation by the server.
import { add, along, clamp, dot, scale, subtract } from './math.js';
import { Edits, vector } from './edits.js';
import { ask_selection, run_job, stop_job } from './server.js';
import { Stage } from './stage.js';
import { about_axis, along_axis, degrees, handle_near, handles, turn_lines } from './gizmo.js';
import { exact, region, turn_about } from './tools.js';

const BALL = 0.1; // metres
const HANDLE = 0.1, HANDLE_PIXELS = 40; // a ring's radius: part of the shorter side of its pane, at least

export class Editor extends Stage {
  constructor(root, options) {
    super(root, options);
    this.edits = new Edits();
    this.held = ''; // what a drag does: throw, move or rotate
    this.tool = ''; // what the next drag draws: box or lasso
  }

  // ---- selection

  pane_at(x, y) {
    const { clientWidth: w, clientHeight: h } = this.find('canvas');
    return this.panes().find(({ box }) => x >= box[0] * w && x < (box[0] + box[2]) * w && y >= box[1] * h && y < (box[1] + box[3]) * h);
  }

  // The direction from the eye through a point of the canvas, in a pane.
  ray(box, x, y) {
    const { clientWidth: w, clientHeight: h } = this.find('canvas');
    return this.camera.ray(2 * (x / w - box[0]) / box[2] - 1, 1 - 2 * (y / h - box[1]) / box[3], this.aspect(box));
  }

  // The particle in front at a point of the canvas.
  pick(x, y) {
    const { clientHeight: h } = this.find('canvas'), pane = this.pane_at(x, y);
    if (!pane) return null;
    const { box, entries } = pane, project = this.projection(box), pixels = this.pixels(box, h);
    let best = null, nearest = Infinity;
    for (const entry of entries) {
      const { scene } = entry, step = this.step_of(scene);
      for (let i = 0; i < scene.shown; i++) {
        const [px, py, depth] = project(scene.position(i, step));
        if (!(depth > 0) || depth >= nearest) continue;
        const radius = Math.max(2, pixels * scene.radius * scene.radii[i] / 65535 * 0.5 * this.settings.size / depth);
        if (Math.hypot(px - x, py - y) > radius) continue;
        best = { entry, particle: i };
        nearest = depth;
      }
    }
    return best;
  }

  // Selects what the setting says around a particle.
  select(found) {
    if (!found) return this.select_none();
    if (this.warned) this.state('');
    const { entry, particle: i } = found, { scene } = entry, body = scene.body[i] - 1, label = scene.label[i];
    let grow = this.settings.grow === 'body' && body < 0 ? 'label' : this.settings.grow;
    if (grow === 'label' && !scene.labelled) grow = 'particle';
    const name = [scene.labelled ? scene.label_name(label) : '', body >= 0 ? `body ${body}` : 'stands still'].filter(Boolean).join(', ');
    const at = exact(scene.position(i, this.edit_step(entry))), place = { particle: [`sphere: {centre: ${at}, radius: 0.001}`, `a particle of ${name}`],
      ball: [`sphere: {centre: ${at}, radius: ${BALL}}`, `a ball about ${name}`], cluster: [`cluster: {near: ${at}}`, 'a connected part'] }[grow];
    if (place && this.live) return this.select_where(entry, ...place);
    const indices = place ? [i] : scene.find((b, l) => grow === 'label' ? l === label : b === body);
    this.find('[data-set="pick"]').value = body >= 0 ? String(body) : `label ${label}`;
    if (!this.find('[data-set="pick"]').value) this.find('[data-set="pick"]').value = '';
    this.show_selection({ ...found, indices, where: grow === 'label' ? `label: ${label}` : `body: ${body}` }, name);
  }

  // With where its middle is and how fast that moves.
  show_selection(selection, name) {
    const { entry: { scene }, indices } = selection, step = this.step_of(scene), { length } = indices, middle = s => scene.extent(indices, s).centre;
    this.selection = { ...selection, number: this.choices = (this.choices || 0) + 1 };
    this.find('.what').textContent = `${name}: ${length} particle${length > 1 ? 's' : ''}, at ${vector(middle(step))} m, ${scene.speed(middle, step).toFixed(2)} m/s`;
    this.root.dataset.selected = name;
    this.find('.acts').hidden = !this.live;
    this.name_mechanics();
    this.changed();
  }

  // The step of a scene that a list of edits begins with. Places mean what lies there at that step.
  edit_step(entry) {
    if (entry.result) return 0;
    return this.edits.empty ? this.step_of(entry.scene) : this.edits.from.step;
  }

  // Selects what a selection of the list of edits takes; the server says what that is.
  async select_where(entry, where, name) {
    const step = this.edit_step(entry), of = entry.result ? { result: this.job } : { scene: Math.max(entry.id, 0) };
    if (this.is_kept(entry)) return;
    this.play(false);
    this.set_step(entry.scene.begin + step);
    this.state('');
    await this.attempt(async () => {
      const indices = await ask_selection({ ...of, step, where });
      if (!indices.length) throw new Error('None of the particles that are shown lies there.');
      this.show_selection({ entry, particle: indices[0], indices, where }, name);
    });
  }

  // Box and lasso: the next drag draws the region.
  choose_tool(tool) {
    if (!this.live || !this.facts.simulates) return;
    this.tool = this.tool === tool ? '' : tool;
    for (const each of ['box', 'lasso']) this.find(`[data-do="${each}"]`).setAttribute('aria-pressed', String(this.tool === each));
    this.root.classList.toggle('drawing', Boolean(this.tool));
    this.find('canvas').focus();
    if (this.tool) this.move_cross();
    else this.drop_cross();
  }

  draw_region(x, y) {
    const pane = this.pane_at(x, y), { tool } = this, line = this.find('.region polygon'), points = [[x, y]];
    if (!pane || !this.front()) return null;
    const polygon = () => {
      const [a, b] = [points[0], points.at(-1)];
      return tool === 'box' ? [a, [b[0], a[1]], b, [a[0], b[1]]] : points;
    };
    return {
      move: (mx, my) => {
        if (Math.hypot(mx - points.at(-1)[0], my - points.at(-1)[1]) > 3) points.push([mx, my]);
        line.setAttribute('points', polygon().map(p => p.join()).join(' '));
      },
      end: done => {
        line.setAttribute('points', '');
        if (this.tool === tool) this.choose_tool(tool);
        if (done && points.length > (tool === 'box' ? 1 : 2)) this.select_region(polygon(), pane);
      },
    };
  }

  // ---- a cross in place of the mouse: arrow keys move it, Enter presses and lifts it

  move_cross([right, down] = [0, 0]) {
    const { clientWidth: w, clientHeight: h } = this.find('canvas'), [x, y] = this.cross || [w / 2, h / 2];
    this.cross = [clamp(x + right, 1, w - 1), clamp(y + down, 1, h - 1)];
    this.taken?.move(...this.cross, {});
    this.find('.region path').setAttribute('d', `M${this.cross[0] - 9} ${this.cross[1]}h18m-9-9v18`);
    this.find('.keys').textContent = 'Use the mouse; or move the cross with arrow keys (Shift: further), press and lift it with Enter, and leave it with Escape.';
  }

  press_cross() {
    const { taken } = this;
    if (!this.cross) return this.move_cross();
    this.dragged = true; // a key that is held does not act by numbers
    this.taken = taken ? null : this.begin_drag(...this.cross, {});
    if (taken) taken.end(true);
    else if (!this.taken) this.select(this.pick(...this.cross));
  }

  drop_cross() {
    const { taken } = this;
    this.cross = this.taken = null;
    taken?.end(false);
    this.find('.region path').setAttribute('d', 'M0 0');
    this.find('.keys').textContent = '';
  }

  select_region(polygon, { box, entries }) {
    const entry = entries.at(-1), where = region(polygon, this.camera.eye(), ([x, y]) => this.ray(box, x, y)), ground = entry.scene.labelled ? '{label: 0}' : '{floor: true}';
    this.select_where(entry, this.settings.ground ? `${where}, not: ${ground}` : where, 'what you drew around');
  }

  select_none() {
    this.selection = null;
    this.find('.what').textContent = 'Nothing. Click a particle, or choose a body:';
    this.find('[data-set="pick"]').value = '';
    this.find('.acts').hidden = true;
    this.name_mechanics();
    delete this.root.dataset.selected;
    this.changed();
  }

  name_mechanics() { this.find('[data-do="mechanics"]').textContent = this.selection ? 'Move what is selected' : 'Move all bodies'; }

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
    return entry.scene.extent(indices, this.step_of(entry.scene)).centre;
  }

  // A drag of a handle, or with T, M or R held; it may draw a region before.
  begin_drag(x, y, event) {
    if (this.tool) return this.draw_region(x, y);
    const what = this.held, handle = this.handle_at(x, y, event.pointerType === 'touch' ? 22 : 9), pane = this.pane_at(x, y);
    if (!this.live || !this.selection || !pane || !(what || handle)) return null;
    const start = this.middle(), { box } = pane, sizes = this.camera.frame[2].map(Math.abs), upright = sizes.indexOf(Math.max(...sizes));
    if (handle?.what === 'rotate' || (!handle && what === 'rotate')) return this.begin_turn(x, y, handle ? handle.axis : upright, box);
    if (handle) return this.begin_arrow('move', start, x, y, event, (mx, my) => along_axis(handle.axis, start, this.camera.eye(), this.ray(box, mx, my)));
    return this.begin_arrow(what, start, x, y, event, (mx, my, { shiftKey }) => this.ray_place(box, mx, my, start, shiftKey));
  }

  // Draws an arrow; `place` says where a point of the canvas leads.
  begin_arrow(what, start, x, y, event, place) {
    const grip = place(x, y, event);
    if (!grip) return null;
    return {
      move: (mx, my, moved) => {
        const at = place(mx, my, moved);
        if (at) this.arrow = { from: start, to: add(start, subtract(at, grip)) };
      },
      end: done => {
        const { arrow } = this;
        this.arrow = null;
        if (arrow && done) this.act(what, subtract(arrow.to, arrow.from).map(v => what === 'throw' ? 4 * v : v));
        this.changed();
      },
    };
  }

  // Handles stand at what is selected while nothing plays.
  handles() {
    if (!this.live || !this.selection || this.playing || !this.facts?.simulates) return [];
    const { entry } = this.selection, pane = this.panes().find(({ entries }) => entries.includes(entry));
    return pane ? handles(this.middle(), this.handle_size(pane.box)) : [];
  }

  // In metres; the camera's angle is that of the shorter side.
  handle_size(box) {
    const { clientWidth: w, clientHeight: h } = this.find('canvas'), side = Math.min(w * box[2], h * box[3]);
    return 2 * Math.max(HANDLE, HANDLE_PIXELS / side) * this.camera.distance * Math.tan(this.camera.fov / 2);
  }

  handle_at(x, y, reach) {
    const pane = this.selection && this.pane_at(x, y);
    if (!pane || !pane.entries.includes(this.selection.entry)) return null;
    const project = this.projection(pane.box);
    return handle_near(this.handles(), [x, y], reach, point => {
      const at = project(point);
      return at[2] > 0 && at;
    });
  }

  // A turn about an axis through the middle.
  begin_turn(x, y, axis, box) {
    const centre = this.middle(), at = (mx, my) => about_axis(axis, centre, this.camera.eye(), this.ray(box, mx, my));
    const begin = at(x, y), radius = this.handle_size(box), by = [0, 0, 0];
    if (begin === null) return null;
    return {
      move: (mx, my) => {
        const angle = at(mx, my);
        if (angle !== null) by[axis] = degrees(begin, angle);
        this.turning = turn_lines(axis, centre, radius, begin, begin + by[axis] * Math.PI / 180);
      },
      end: done => {
        this.turning = null;
        if (done && by[axis]) this.act('rotate', by);
        this.changed();
      },
    };
  }

  // Where a point of the canvas lies on the plane through a place: level, or upright and facing the eye.
  ray_place(box, x, y, through, upright) {
    const eye = this.camera.eye(), ray = this.ray(box, x, y), up = this.camera.frame[2], { back } = this.camera.basis();
    const normal = upright ? subtract(back, scale(up, dot(back, up))) : up, slope = dot(ray, normal);
    if (Math.abs(slope) < 1e-6) return null;
    const at = add(eye, scale(ray, dot(subtract(through, eye), normal) / slope));
    return upright ? add(through, scale(up, dot(subtract(at, through), up))) : at;
  }

  // Steps for which an edit says how something moves.
  coming() { return clamp(Math.round(this.settings.steps) || 1, 1, 10000); }

  // Says that a selection cannot be edited, because the list edits another scene.
  elsewhere() {
    const { entry } = this.selection, other = !this.edits.empty && entry.id >= 0 && entry.id !== this.edits.from?.id;
    if (other) this.state('The list edits another scene. Select in that one or in the edited one, or undo the list first.', true);
    return other || this.is_kept(entry);
  }

  is_kept({ kept }) {
    if (kept) this.state('What was kept can only be looked at. Select in another scene.', true);
    return kept;
  }

  vector() { return [...this.root.querySelectorAll('[data-number="vector"]')].map(input => Number(input.value) || 0); }

  act(what, by = this.vector()) {
    if (!this.live || !this.selection || this.elsewhere()) return;
    const { where } = this.selection;
    const edits = { throw: `throw: {${where}, velocity: ${vector(by)}}`,
      drive: `drive: {${where}, velocity: ${vector(by)}, steps: ${this.coming()}}`, move: `move: {${where}, by: ${vector(by)}}`,
      copy: `copy: {${where}, by: ${vector(by.some(v => v) ? by : this.room_beside())}}`, remove: `remove: {${where}}`,
      rotate: `rotate: {${where}, ${turn_about(by)}}`, recolour: `recolour: {${where}, like: {${this.find('[data-set="like"]').value}}}`,
      name: `label: {${where}, as: "${this.find('[data-set="name"]').value.replace(/["\\]/g, '').trim()}"}` };
    if (what === 'name' && edits.name.endsWith('""}')) return this.state('Type a name for the label first.', true);
    if (this.edits.add(edits[what], this.present())) this.edited();
  }

  // Mechanics in place of the model, for what is selected or for all bodies.
  mechanics() {
    if (!this.live || (this.selection && this.elsewhere())) return;
    const [mu] = this.numbers('friction'), gravity = this.numbers('gravity'), good = gravity.every(g => g !== null && Math.abs(g) <= 1e6);
    if (mu === null || !(mu >= 0 && mu <= 100)) return this.state('Friction: a number from 0 to 100', true);
    if (!good && gravity.some(g => g !== null)) return this.state('Gravity: three numbers from -1000000 to 1000000, or none for 9.81 m/s² downwards', true);
    const moves = this.selection?.where || '', words = [moves, `steps: ${this.coming()}`, good && `gravity: ${vector(gravity)}`, `contact: {mu: ${mu}}`];
    if (this.edits.add(`simulate: {${words.filter(Boolean).join(', ')}}`, this.present(), moves)) this.edited();
  }

  // null: empty, NaN: no number.
  numbers(name) { return [...this.root.querySelectorAll(`[data-number="${name}"]`)].map(({ value, valueAsNumber, validity }) => value || validity.badInput ? valueAsNumber : null); }

  // Leaves a copy of the result there, beside the next ones; or takes it away.
  keep_beside() {
    const entry = this.result(), kept = this.scenes.find(other => other.kept);
    if (kept) return this.drop_scene(kept);
    if (!entry || this.streaming) return this.state(entry ? 'It is still being simulated.' : 'Simulate first.', true);
    this.add_scene(entry.scene.copy(), 'kept', { kept: true });
  }

  // Adds the particles of a file that is shown.
  compose() {
    const file = this.find('[data-set="file"]').value, by = this.vector();
    if (this.live && this.edits.add(`compose: {file: "${file}", by: ${vector(by)}}`, this.present())) this.edited();
  }

  // Where a copy does not lie in what it is a copy of.
  room_beside() {
    const { entry, indices } = this.selection, { low, high } = entry.scene.extent(indices, this.step_of(entry.scene));
    const [a, b] = along(this.camera.frame, subtract(high, low));
    return scale(this.camera.basis().right, 1.3 * Math.hypot(a, b));
  }

  // The scene and step that the first edit of a list begins with: the scene in which something is selected, or the first.
  present() {
    const { id, scene } = [this.selection?.entry, ...this.visible()].find(entry => entry?.id >= 0) || this.scenes[0];
    return { id, step: this.step_of(scene) };
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
    const before = this.result(), entry = before || this.add_scene(scene, 'edited', { result: true });
    if (before?.scene === scene) return this.show_time();
    if (before) this.painter.forget(before.scene);
    Object.assign(entry, { scene, shown: true });
    this.settings.step = scene.begin;
    this.select_none();
    this.list_scenes();
    if (scene.time_step && scene.movers) this.play(true);
  }

  drop_result() {
    const entry = this.result();
    this.turn = (this.turn || 0) + 1; // what still comes is of no use
    this.set_streaming(false);
    this.state('');
    if (entry) this.drop_scene(entry);
  }

  // Edits a copy of the scene.
  simulate() {
    const from = this.edits.from || { id: this.scenes[0].id, step: this.scenes[0].scene.last };
    this.state('Simulating ..');
    return this.stream({ scene: from.id, step: from.step, edits: this.edits.empty ? '' : this.edits.text, steps: this.settings.steps }, null);
  }

  step_on() {
    const entry = this.result();
    if (!entry || !this.job) return this.simulate();
    return this.stream({ id: this.job, more: this.settings.steps || 1 }, entry.scene);
  }

  // Ends the job; its steps so far stay.
  stop() { if (this.streaming) stop_job(this.job); }

  set_streaming(on) {
    this.streaming = on;
    this.find('[data-do="stop"]').disabled = !on;
  }

  // Shows the steps of a job as they come.
  async stream(job, scene_so_far) {
    const turn = this.turn = (this.turn || 0) + 1, began = performance.now(), { steps } = this.settings;
    let last = scene_so_far?.last || 0, waited = 0, told = '', ended = '';
    if (!(Number.isInteger(steps) && steps >= 0 && steps <= 10000)) return this.state('Steps: a whole number from 0 to 10000', true);
    this.set_streaming(true);
    this.end_note(); // a warning of the job before
    try {
      for await (const { id, scene, news, stopped, warnings } of run_job(job, scene_so_far)) {
        if (this.turn !== turn) return void stop_job(id);
        this.job = id;
        told = warnings;
        ended = stopped ? 'Stopped. ' : '';
        if (!news) continue;
        if (job.edits) scene.begin = job.step;
        this.show_result(scene);
        if (!waited && job.more) { // the first is shown at once, and the others play as they come
          this.set_step(scene.begin + last + 1);
          if (steps > 1) this.play(true);
        }
        last = scene.last;
        waited ||= performance.now() - began;
        this.state(`Simulating: step ${last}`);
      }
      this.state(`${ended}${last} steps.${job.more ? '' : ` The edit was shown after ${Math.round(waited)} ms.`}${told && ` Warning: ${told}`}${job.more && this.edits.has_mechanics ? ' Behind the steps of "simulate" the model moves bodies.' : ''}`);
      if (told && !job.more) this.say(`Warning: ${told}`);
    } catch (error) {
      if (this.turn === turn || error.lost) this.failed(error);
    }
    if (this.turn !== turn) return;
    this.set_streaming(false);
    this.unpaint(); // the rest begins now
  }

  attempt(work, before) { return work().catch(error => this.failed(error, before)); }

  // A wait that was ended is no error.
  failed(error, before = '') {
    if (error.lost) this.lost(error.message);
    else if (error.name !== 'AbortError') this.state(before + error.message, true);
  }

  state(text, bad = false) {
    const place = this.find('.state');
    place.textContent = text;
    place.classList.toggle('bad', bad);
    if ((bad || this.warned) && !('lost' in this.root.dataset)) this.say(bad ? text : '', 'bad'); // beside the picture too
    this.warned = bad;
  }
}
