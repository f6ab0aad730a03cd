// SPDX-License-Identifier: Apache-2.0
// Vectors are arrays of three numbers; matrices are 4 x 4, column by column, as WebGL takes them.

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

export const AXES = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];

// Two axes across `up` and `up` itself, right-handed; the first is as near to x as it can be.
export function frame_of(up) {
  const first = Math.abs(up[0]) > 0.9 ? AXES[1] : AXES[0], across = unit(subtract(first, scale(up, dot(first, up))));
  return [across, cross(up, across), up];
}

// A place or direction by its numbers along the axes of a frame, and the other way.
export const place_in = (frame, [a, b, c]) => add(add(scale(frame[0], a), scale(frame[1], b)), scale(frame[2], c));
export const along = (frame, v) => frame.map(axis => dot(axis, v));

export function unit(a) {
  const length = Math.hypot(...a);
  return length > 0 ? scale(a, 1 / length) : a;
}

export function multiply(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; c++)
    for (let r = 0; r < 4; r++)
      for (let k = 0; k < 4; k++) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
  return out;
}

// Where a world point lies in clip space: x, y, z, w.
export function transform(m, p) {
  return [0, 1, 2, 3].map(r => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r]);
}
