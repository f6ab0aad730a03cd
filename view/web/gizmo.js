// SPDX-License-Identifier: Apache-2.0
// Handles at what is selected: an arrow along each axis moves it, a ring about each turns it.
import { add, AXES, dot, scale, subtract } from './math.js';
import { arrow_lines, AXIS_COLOURS, chain } from './draw.js';

const DRAGGED = [1, 0.72, 0.1, 1];
const SIDES = 48; // of a ring

const on_ring = (axis, centre, radius, angle) => add(centre, add(scale(AXES[(axis + 1) % 3], radius * Math.cos(angle)), scale(AXES[(axis + 2) % 3], radius * Math.sin(angle))));
const ring = (axis, centre, radius) => [...Array(SIDES + 1)].map((_, k) => on_ring(axis, centre, radius, 2 * Math.PI * k / SIDES));

// {what, axis, points}: lines as chains of points.
export function handles(centre, size) {
  return AXES.flatMap((along, axis) => [{ what: 'move', axis, points: [add(centre, scale(along, 0.35 * size)), add(centre, scale(along, 1.3 * size))] },
    { what: 'rotate', axis, points: ring(axis, centre, size) }]);
}

export const handle_lines = list =>
  list.flatMap(({ what, axis, points }) => what === 'move' ? arrow_lines(...points, AXIS_COLOURS[axis]) : chain(points, AXIS_COLOURS[axis]));

function distance_to(p, a, b) {
  const d = [b[0] - a[0], b[1] - a[1]], length = d[0] * d[0] + d[1] * d[1];
  const t = length > 0 ? Math.min(1, Math.max(0, ((p[0] - a[0]) * d[0] + (p[1] - a[1]) * d[1]) / length)) : 0;
  return Math.hypot(p[0] - a[0] - t * d[0], p[1] - a[1] - t * d[1]);
}

// The handle within `reach` pixels of a point of the canvas; `place` says where a world point lies there.
export function handle_near(list, point, reach, place) {
  let best = null, nearest = reach;
  for (const handle of list) {
    const points = handle.points.map(place);
    for (let k = 1; k < points.length; k++) {
      const distance = points[k - 1] && points[k] ? distance_to(point, points[k - 1], points[k]) : Infinity;
      if (distance < nearest) [best, nearest] = [handle, distance];
    }
  }
  return best;
}

// Where on an axis, seen from `centre`, a ray comes nearest to it.
export function along_axis(axis, centre, eye, ray) {
  const a = AXES[axis], between = subtract(eye, centre), slant = dot(a, ray), rest = 1 - slant * slant;
  return rest < 1e-4 ? null : scale(a, (dot(a, between) - slant * dot(ray, between)) / rest);
}

// The angle about an axis through `centre` at which a ray crosses the plane of its ring.
export function about_axis(axis, centre, eye, ray) {
  const a = AXES[axis], slope = dot(a, ray);
  if (Math.abs(slope) < 0.02) return null;
  const d = subtract(add(eye, scale(ray, dot(a, subtract(centre, eye)) / slope)), centre);
  return Math.atan2(d[(axis + 2) % 3], d[(axis + 1) % 3]);
}

// A ring with lines to where a turn begins and ends.
export function turn_lines(axis, centre, radius, from, to) {
  return [from, to].reduce((lines, angle) => [...lines, ...chain([centre, on_ring(axis, centre, radius, angle)], DRAGGED)], chain(ring(axis, centre, radius), DRAGGED));
}

// Whole degrees between two angles, the shorter way.
export const degrees = (from, to) => Math.round(180 / Math.PI * Math.atan2(Math.sin(to - from), Math.cos(to - from)));
