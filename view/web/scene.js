// SPDX-License-Identifier: Apache-2.0
// Particles and their steps, from the bytes that view/scene.c writes.
import { dot, subtract } from './math.js';

const padded = bytes => (bytes + 3) & ~3;

export class Scene {
  constructor(facts) {
    Object.assign(this, facts); // particles, shown, movers, every, time_step, radius, cameras, labels, ..
    this.names = facts.labels ? facts.labels.trimEnd().split('\n') : [];
    this.steps_inside = facts.steps + 1;
    this.steps = []; // {low, high, data}: positions as 16 bits between low and high
    this.title = facts.name ? `${facts.surface.some(count => count > 0) ? '' : 'episode '}${facts.name}` : 'particles';
    this.speed_max = 0;
    this.begin = 0; // the step of the timeline that its first one is
  }

  // The same as it is now, to which no further steps come.
  copy() { return Object.assign(new Scene({}), this, { steps: [...this.steps], trail_map: null }); }

  get last() { return this.steps.length - 1; }

  // Position of shown particle i at a step.
  position(i, step) {
    const { low, high, data } = this.steps[i < this.movers ? step : 0];
    return [0, 1, 2].map(c => low[c] + (high[c] - low[c]) * data[3 * i + c] / 65535);
  }

  // Metres a second of something that is at `place(step)`.
  speed(place, step) {
    const to = Math.max(1, step);
    return this.last < 1 || !this.time_step ? 0 : Math.hypot(...subtract(place(to), place(to - 1))) / this.time_step;
  }

  speed_of(i, step) { return i < this.movers ? this.speed(s => this.position(i, s), step) : 0; }

  label_name(label) {
    return this.names[label] || (label === 0 ? 'background' : `label ${label}`);
  }

  // Indices of the shown particles for which `test(body, label)` holds.
  find(test) {
    const found = [];
    for (let i = 0; i < this.shown; i++) if (test(this.body[i] - 1, this.label[i])) found.push(i);
    return found;
  }

  // Mean position and half sizes of the box around some particles.
  extent(indices, step) {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity], sum = [0, 0, 0];
    for (const i of indices) {
      const p = this.position(i, step);
      for (let c = 0; c < 3; c++) {
        low[c] = Math.min(low[c], p[c]);
        high[c] = Math.max(high[c], p[c]);
        sum[c] += p[c] / indices.length;
      }
    }
    return { centre: sum, low, high };
  }

  // Where the lowest of all particles is along an axis.
  lowest(axis, step) {
    const { low, high, data } = this.steps[step], [a, b, c] = axis.map((v, k) => v * (high[k] - low[k]) / 65535);
    let least = Infinity;
    for (let i = 0; i < data.length; i += 3) least = Math.min(least, a * data[i] + b * data[i + 1] + c * data[i + 2]);
    return least + dot(axis, low);
  }

  // For each body the middle of some of its particles at each step.
  trails() {
    if (this.trail_map?.steps === this.last) return this.trail_map;
    const of = new Map();
    for (let i = 0; i < this.movers; i++) {
      if (this.bodies && !this.body[i]) continue;
      const list = of.get(this.body[i] - 1) || [];
      if (list.length < 64) of.set(this.body[i] - 1, [...list, i]);
    }
    this.trail_map = new Map([...of].map(([body, some]) => [body, this.steps.map((_, s) => this.extent(some, s).centre)]));
    this.trail_map.steps = this.last;
    return this.trail_map;
  }

  // Reads a step behind the ones that are there; returns where the next one begins.
  read_step(buffer, offset) {
    const n = this.steps.length === 0 ? this.shown : this.movers;
    const box = new Float32Array(buffer, offset, 6);
    const step = { low: [...box.slice(0, 3)], high: [...box.slice(3)], data: new Uint16Array(buffer, offset + 24, 3 * n) };
    this.steps.push(step);
    this.measure_speed();
    return offset + 24 + padded(6 * n);
  }

  // Triangles and springs as numbers of shown particles; a byte for each moving particle and step: whether something presses it.
  read_surface(buffer, offset) {
    const [triangles, springs, frames] = this.surface;
    this.triangles = new Uint32Array(buffer, offset, 3 * triangles);
    this.springs = new Uint32Array(buffer, offset + 12 * triangles, 2 * springs);
    this.touching = new Uint8Array(buffer, offset + 12 * triangles + 8 * springs, frames * this.movers);
  }

  // Whether the triangles show all objects, so that particles need not be drawn.
  get covered() {
    const bare = new Set(this.label);
    for (const i of this.triangles || []) bare.delete(this.label[i]);
    return bare.size === 0;
  }

  touching_at(step) {
    const out = [];
    for (let i = 0; i < this.movers; i++) if (this.touching?.[step * this.movers + i]) out.push(this.position(i, step));
    return out;
  }

  // How far a particle is from where it was recorded.
  error(truth, i, step) {
    if (i >= Math.min(this.movers, truth.movers) || step > truth.last) return 0;
    return Math.hypot(...subtract(this.position(i, step), truth.position(i, step)));
  }

  // The largest error of some particles at the end.
  error_scale(truth) {
    const step = Math.min(this.last, truth.last);
    if (this.error_step === step) return this.error_max;
    this.error_step = step;
    this.error_max = 1e-4;
    for (let i = 0; i < this.movers; i += 1 + (this.movers >> 10)) this.error_max = Math.max(this.error_max, this.error(truth, i, step));
    return this.error_max;
  }

  // The speed of the fastest of some particles, for the scale of colours.
  measure_speed() {
    if (this.steps.length < 2) return;
    for (let i = 0; i < this.movers; i += 1 + (this.movers >> 8))
      this.speed_max = Math.max(this.speed_max, this.speed_of(i, this.last));
  }
}

export function read_json(buffer, offset) {
  const size = new DataView(buffer).getUint32(offset, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, offset + 4, size));
  return { value: JSON.parse(text), next: offset + 4 + size };
}

// Reads the head and every step behind it.
export function read_scene(buffer, offset = 0) {
  const { value, next } = read_json(buffer, offset);
  const scene = new Scene(value), n = scene.shown, part = padded(2 * n);
  scene.colour = new Uint8Array(buffer, next, 4 * n);
  scene.radii = new Uint16Array(buffer, next + 4 * n, n);
  if (!scene.radius) { // a file without radii
    scene.radius = 0.02;
    scene.radii = new Uint16Array(n).fill(65535);
  }
  scene.label = new Uint16Array(buffer, next + 4 * n + part, n);
  scene.body = new Uint16Array(buffer, next + 4 * n + 2 * part, n);
  let at = next + 4 * n + 3 * part;
  const end = scene.surface.some(count => count > 0) ? scene.steps_inside : Infinity;
  while (at < buffer.byteLength && scene.steps.length < end) at = scene.read_step(buffer, at);
  if (end < Infinity) scene.read_surface(buffer, at);
  return scene;
}

// Deflated bytes as base64.
export async function unpack(text) {
  const binary = atob(text.trim()), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).arrayBuffer();
}
