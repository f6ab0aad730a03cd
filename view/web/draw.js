// SPDX-License-Identifier: Apache-2.0
// WebGL2: particles as shaded round splats, lines, and a light along edges of depth that shows their shape.
import { add, AXES, place_in, scale, subtract, unit } from './math.js';

const COARSE = 40000; // particles in a coarse picture
const NO_TINT = [0, 0, 0, 0];

// Particles, corners of triangles, and ends of lines: places between two corners of a box.
const PLACED = `#version 300 es
uniform mat4 u_matrix;
uniform vec3 u_low, u_wide;
uniform float u_radius, u_pixels, u_least;
in vec3 a_place; in vec4 a_colour; in float a_radius;
out vec3 v_place; out vec4 v_colour;
void main() {
  v_place = u_low + u_wide * a_place;
  gl_Position = u_matrix * vec4(v_place, 1.0);
  gl_PointSize = max(u_least, 2.0 * u_radius * a_radius * u_pixels / gl_Position.w);
  v_colour = a_colour;
}`;
const SPLAT_PIXELS = `#version 300 es
precision mediump float;
uniform vec4 u_tint;
in vec4 v_colour;
out vec4 colour;
void main() {
  vec2 d = gl_PointCoord * 2.0 - 1.0;
  float r = dot(d, d);
  if (r > 1.0) discard;
  float light = 0.76 + 0.27 * sqrt(1.0 - r) - 0.07 * (d.x + d.y);
  vec3 c = v_colour.rgb * light;
  if (v_colour.a > 0.5) c = mix(c, vec3(1.0, 0.72, 0.10), r > 0.55 ? 0.85 : 0.35);
  colour = vec4(mix(c, u_tint.rgb, u_tint.a), 1.0);
}`;
// Triangles with the light of their own plane, and springs.
const SURFACE_PIXELS = `#version 300 es
precision highp float;
uniform vec3 u_eye, u_light; uniform vec4 u_tint; uniform float u_lines;
in vec3 v_place; in vec4 v_colour;
out vec4 colour;
void main() {
  vec3 n = normalize(cross(dFdx(v_place), dFdy(v_place))), to_eye = normalize(u_eye - v_place);
  n *= sign(dot(n, to_eye));
  float light = u_lines > 0.5 ? 0.55 : 0.5 + 0.35 * max(0.0, dot(n, normalize(u_light))) + 0.2 * dot(n, to_eye);
  vec3 c = mix(v_colour.rgb * light, vec3(1.0, 0.72, 0.10), v_colour.a > 0.5 ? 0.4 : 0.0);
  colour = vec4(mix(c, u_tint.rgb, u_tint.a), 1.0);
}`;
const LINE_PIXELS = `#version 300 es
precision mediump float;
in vec4 v_colour;
out vec4 colour;
void main() { colour = v_colour; }`;

// Pictures of the recording, in space.
const PICTURES_AT = `#version 300 es
uniform mat4 u_matrix;
in vec3 a_place; in vec2 a_at;
out vec2 v_at;
void main() { gl_Position = u_matrix * vec4(a_place, 1.0); v_at = a_at; }`;
const PICTURE_PIXELS = `#version 300 es
precision mediump float;
uniform sampler2D u_picture;
in vec2 v_at;
out vec4 colour;
void main() { colour = texture(u_picture, v_at); }`;

function build(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  const names = {};
  for (const [all, info, place] of [[gl.ACTIVE_UNIFORMS, 'getActiveUniform', 'getUniformLocation'], [gl.ACTIVE_ATTRIBUTES, 'getActiveAttrib', 'getAttribLocation']])
    for (let i = 0; i < gl.getProgramParameter(program, all); i++) {
      const { name } = gl[info](program, i);
      names[name] = gl[place](program, name);
    }
  return { program, ...names };
}

// ---- colours

const hue = h => [0, 2, 4].map(k => 255 * (0.32 + 0.6 * Math.min(1, Math.max(0, Math.abs((h * 6 + k) % 6 - 3) - 1))));
const object_colour = number => hue((0.08 + number * 0.61803) % 1);
// Dark blue over green to yellow.
const RAMP = [[46, 38, 110], [42, 106, 158], [36, 162, 134], [146, 204, 72], [250, 226, 60]];
export function ramp(x) {
  const at = Math.min(Math.max(x, 0), 0.9999) * (RAMP.length - 1), k = Math.floor(at), t = at - k;
  return RAMP[k].map((v, c) => v + t * (RAMP[k + 1][c] - v));
}

// rgb of each shown particle and, as alpha, whether it is selected.
export function colours(scene, mode, step, selected, truth) {
  const out = new Uint8Array(4 * scene.shown);
  out.set(scene.colour);
  for (let i = 0; i < scene.shown; i++) {
    if (mode === 'label' && scene.label[i]) out.set(object_colour(scene.label[i]), 4 * i);
    if (mode === 'body' && scene.body[i]) out.set(object_colour(scene.body[i] + 3), 4 * i);
    if (mode === 'speed' && i < scene.movers) out.set(ramp(scene.speed_of(i, step) / (scene.speed_max || 1)), 4 * i);
    else if (mode === 'error' && truth && i < scene.movers)
      out.set(ramp(scene.error(truth, i, step) / scene.error_scale(truth)), 4 * i);
    else if (mode === 'moving' && scene.body[i]) out.set([235, 130, 45], 4 * i);
    else if (mode !== 'rgb' && !(mode === 'label' ? scene.label[i] : mode === 'body' && scene.body[i])) {
      const grey = 70 + 0.42 * (0.3 * out[4 * i] + 0.6 * out[4 * i + 1] + 0.1 * out[4 * i + 2]);
      out.fill(grey, 4 * i, 4 * i + 3);
    }
    out[4 * i + 3] = 0;
  }
  for (const i of selected) out[4 * i + 3] = 255;
  return out;
}

// ---- the painter

export class Painter {
  constructor(canvas) {
    const gl = canvas.getContext('webgl2', { alpha: false, antialias: false, powerPreference: 'high-performance' });
    if (!gl) throw new Error('This browser has no WebGL2, which the 3D view needs.');
    this.gl = gl;
    this.canvas = canvas;
    this.splats = build(gl, PLACED, SPLAT_PIXELS);
    this.lines = build(gl, PLACED, LINE_PIXELS);
    this.pictures = build(gl, PICTURES_AT, PICTURE_PIXELS);
    this.textures = [];
    this.surface = build(gl, PLACED, SURFACE_PIXELS);
    this.stores = new Map(); // what of each scene lies in the GPU's memory
    this.line_buffer = gl.createBuffer();
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.SCISSOR_TEST);
  }

  buffer(data, kind = this.gl.ARRAY_BUFFER) {
    const { gl } = this, buffer = gl.createBuffer();
    gl.bindBuffer(kind, buffer);
    gl.bufferData(kind, data, gl.STATIC_DRAW);
    return buffer;
  }

  store(scene) {
    let store = this.stores.get(scene);
    if (!store) {
      store = { radii: this.buffer(scene.radii), colour: this.gl.createBuffer(), key: '', steps: [] };
      this.stores.set(scene, store);
    }
    return store;
  }

  step_buffer(store, scene, step) {
    if (!store.steps[step]) store.steps[step] = this.buffer(scene.steps[step].data);
    return store.steps[step];
  }

  forget(scene) {
    const store = this.stores.get(scene);
    if (!store) return;
    for (let at = 0; at < 3; at++) this.gl.disableVertexAttribArray(at); // those of a buffer that is gone
    for (const buffer of [store.radii, store.colour, store.triangles, store.springs, ...store.steps]) if (buffer) this.gl.deleteBuffer(buffer);
    this.stores.delete(scene);
  }

  attribute(at, buffer, size, type, normalised, bytes, first, every) {
    const { gl } = this;
    if (at === undefined || at < 0) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, type, normalised, bytes * every, bytes * first);
  }

  // Draws with a program and its uniforms: numbers, vectors, matrices, and where the positions of a step lie.
  use(program, { step, ...uniforms }) {
    const { gl } = this, all = step ? { low: step.low, wide: subtract(step.high, step.low), ...uniforms } : uniforms;
    gl.useProgram(program.program);
    for (const [name, value] of Object.entries(all)) {
      const place = program[`u_${name}`];
      if (value.length === 16) gl.uniformMatrix4fv(place, false, value);
      else gl[`uniform${value.length || 1}fv`](place, [value].flat());
    }
  }

  // Particles first .. end of a scene, with positions of one step; every second, third, .. of them in coarse pictures.
  draw_range(shown, uniforms, step, first, end, few = 1) {
    const { scene } = shown, thin_out = this.coarse ? Math.ceil(scene.shown / COARSE) : 1, every = few * thin_out;
    const { gl, splats } = this, store = this.store(scene);
    if (end <= first) return;
    this.use(splats, { ...uniforms, least: 2, step: scene.steps[step], tint: shown.tint || NO_TINT, radius: uniforms.radius * Math.sqrt(thin_out) });
    this.attribute(splats.a_place, this.step_buffer(store, scene, step), 3, gl.UNSIGNED_SHORT, true, 6, first, every);
    this.attribute(splats.a_colour, store.colour, 4, gl.UNSIGNED_BYTE, true, 4, first, every);
    this.attribute(splats.a_radius, store.radii, 1, gl.UNSIGNED_SHORT, true, 2, first, every);
    gl.drawArrays(gl.POINTS, 0, Math.ceil((end - first) / every));
  }

  // shown: {scene, step, colours, key, tint}; the colours are sent when their key has changed.
  send_colours(shown) {
    const { gl } = this, store = this.store(shown.scene);
    if (store.key === shown.key) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, store.colour);
    gl.bufferData(gl.ARRAY_BUFFER, shown.colours(), gl.DYNAMIC_DRAW);
    store.key = shown.key;
  }

  // The triangles or the springs of a scene all of whose particles move; the colours are those of its particles.
  draw_surface(shown, what, matrix, eye, frame) {
    const { gl, surface } = this, { scene } = shown, step = Math.min(shown.step, scene.last), store = this.store(scene);
    if (!scene[what]?.length || scene.movers < scene.shown) return;
    this.send_colours(shown);
    store[what] ||= this.buffer(scene[what], gl.ELEMENT_ARRAY_BUFFER);
    this.use(surface, { matrix, eye, light: place_in(frame, [0.3, 0.5, 0.9]), step: scene.steps[step], tint: shown.tint || NO_TINT, lines: Number(what === 'springs') });
    for (let at = 0; at < 3; at++) gl.disableVertexAttribArray(at); // the splats' radii are not read here
    this.attribute(surface.a_place, this.step_buffer(store, scene, step), 3, gl.UNSIGNED_SHORT, true, 6, 0, 1);
    this.attribute(surface.a_colour, store.colour, 4, gl.UNSIGNED_BYTE, true, 4, 0, 1);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, store[what]);
    gl.drawElements(what === 'springs' ? gl.LINES : gl.TRIANGLES, scene[what].length, gl.UNSIGNED_INT, 0);
  }

  draw_particles(shown, matrix, pixels, size) {
    const { scene } = shown, uniforms = { matrix, pixels, radius: scene.radius * size };
    this.send_colours(shown);
    this.draw_range(shown, uniforms, 0, scene.movers, scene.shown);
    this.draw_range(shown, uniforms, Math.min(shown.step, scene.last), 0, scene.movers);
  }

  // One in five of the particles that move, at another step; their colours have been sent.
  draw_ghost(shown, matrix, pixels, size) {
    this.draw_range(shown, { matrix, pixels, radius: shown.scene.radius * size }, shown.step, 0, shown.scene.movers, 5);
  }

  // Takes images in place of those before.
  keep_pictures(images) {
    const { gl } = this;
    this.textures.forEach(texture => gl.deleteTexture(texture));
    this.textures = images.map(image => {
      const texture = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, image);
      for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
      for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
      return texture;
    });
  }

  // Attributes [place, size, first byte] of vertices of so many bytes.
  send_floats(data, attributes, bytes) {
    const { gl } = this;
    for (let at = 0; at < 3; at++) gl.disableVertexAttribArray(at);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.line_buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(data), gl.DYNAMIC_DRAW);
    for (const [at, size, first] of attributes) {
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, gl.FLOAT, false, bytes, first);
    }
  }

  // Each picture between its four corners, from the upper left one clockwise; not that of the camera one looks through.
  draw_pictures(list, matrix, view) {
    const { gl, pictures } = this;
    this.use(pictures, { matrix });
    this.textures.forEach((texture, k) => {
      if (String(k) === view) return;
      const [a, b, c, d] = list[k].corners;
      this.send_floats([...a, 0, 0, ...b, 1, 0, ...d, 0, 1, ...c, 1, 1], [[pictures.a_place, 3, 0], [pictures.a_at, 2, 12]], 20);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    });
  }

  // ends: numbers x, y, z, r, g, b, a for each end of a line, or dots; `front`: in front of all.
  draw_lines(ends, matrix, { dots = false, front = false } = {}) {
    const { gl, lines } = this;
    this.use(lines, { matrix, wide: [1, 1, 1], least: 5 });
    this.send_floats(ends, [[lines.a_place, 3, 0], [lines.a_colour, 4, 12]], 28);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    if (front) gl.disable(gl.DEPTH_TEST);
    gl.drawArrays(dots ? gl.POINTS : gl.LINES, 0, ends.length / 7);
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
  }

  // Sets the canvas' pixels; `quality` below 1 is coarser.
  resize(quality) {
    this.coarse = quality < 1;
    const ratio = Math.min(window.devicePixelRatio || 1, 2) * quality, { canvas } = this;
    const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  }

  // A part of the canvas, in parts of its size from the top left.
  begin_pane([x, y, w, h], background) {
    const { gl, canvas } = this;
    const [left, right] = [x, x + w].map(v => Math.round(v * canvas.width)), [low, high] = [1 - y - h, 1 - y].map(v => Math.round(v * canvas.height));
    const box = [left, low, right - left, high - low]; // nothing is left between two panes
    gl.viewport(...box);
    gl.scissor(...box);
    gl.clearColor(...background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    return box;
  }
}

// In place of a painter without WebGL, which draws nothing. Everything but pictures goes on.
export const no_painter = canvas => new Proxy({ canvas, still: true, textures: [] },
  { get: (known, name) => known[name] ?? (() => [0, 0, canvas.clientWidth, canvas.clientHeight]) });

// ---- lines of the surroundings

export const AXIS_COLOURS = [[0.9, 0.28, 0.25, 1], [0.2, 0.65, 0.25, 1], [0.25, 0.45, 0.95, 1]];

// Lines from each point to the next.
export const chain = (points, colour) => points.slice(1).flatMap((p, k) => [...points[k], ...colour, ...p, ...colour]);

// `low`, `high` and `z` are along the axes of a frame.
export function grid_lines(low, high, z, spacing, colour, frame) {
  const [x, y] = [0, 1].map(c => [Math.floor(low[c] / spacing - 1) * spacing, Math.ceil(high[c] / spacing + 1) * spacing]), out = [];
  const line = (...ends) => out.push(...chain(ends.map(end => place_in(frame, end)), colour));
  for (let at = x[0]; at < x[1] + spacing / 2; at += spacing) line([at, y[0], z], [at, y[1], z]);
  for (let at = y[0]; at < y[1] + spacing / 2; at += spacing) line([x[0], at, z], [x[1], at, z]);
  return out;
}

export function box_lines([low, high], colour) {
  const out = [], corner = k => [0, 1, 2].map(c => (k >> c & 1 ? high : low)[c]);
  for (let k = 0; k < 8; k++) for (const bit of [1, 2, 4]) if (!(k & bit)) out.push(...chain([corner(k), corner(k | bit)], colour));
  return out;
}

export const axis_lines = (origin, length) => AXES.flatMap((axis, c) => chain([origin, add(origin, scale(axis, length))], AXIS_COLOURS[c]));

// The eye of each camera of the recording, and the corners of its picture.
export function frusta(scene, depth) {
  const [W, H] = scene.size;
  return scene.cameras.map(({ intrinsics: K, pose: p }) => {
    const world = (u, v) => {
      const d = [(u - K[2]) / K[0] * depth, (v - K[5]) / K[4] * depth, depth];
      return [0, 1, 2].map(r => p[4 * r] * d[0] + p[4 * r + 1] * d[1] + p[4 * r + 2] * d[2] + p[4 * r + 3]);
    };
    return { eye: [p[3], p[7], p[11]], corners: [world(0, 0), world(W, 0), world(W, H), world(0, H)] };
  });
}

export const frustum_lines = (list, colour) =>
  list.flatMap(({ eye, corners }) => [...chain([...corners, corners[0]], colour), ...corners.flatMap(corner => chain([eye, corner], colour))]);

// A dot for the middle of each body at each step, brighter the later.
export function trail_dots(scene, step) {
  const out = [];
  scene.trails().forEach((trail, body) => trail.forEach((place, s) => {
    const later = s > step ? 0.45 : 1;
    out.push(...place, ...object_colour(body + 4).map(c => c / 255), later);
  }));
  return out;
}

export function arrow_lines(from, to, colour) {
  const head = 0.16 * Math.hypot(...subtract(to, from)), neck = subtract(to, scale(unit(subtract(to, from)), head));
  return [...chain([from, to], colour), ...AXES.flatMap(axis => [0.4, -0.4].flatMap(side => chain([to, add(neck, scale(axis, side * head))], colour)))];
}
