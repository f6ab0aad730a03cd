// SPDX-License-Identifier: Apache-2.0
// Regions that people draw on the picture, as selections of edits: what lies behind a region is cut out by planes
// through the eye, so a list of edits takes the same particles without the page.
import { cross, dot, scale, unit } from './math.js';

const CORNERS = 16; // of a lasso at most

export const exact = v => `[${v.map(x => Number(x.toPrecision(7))).join(', ')}]`;

const area = points => points.reduce((sum, p, i) => {
  const q = points[(i + 1) % points.length];
  return sum + p[0] * q[1] - q[0] * p[1];
}, 0) / 2;

// The corner whose triangle is smallest goes, until few are left.
function simplify(points) {
  const out = [...points];
  while (out.length > CORNERS) {
    const sizes = out.map((p, i) => Math.abs(area([out.at(i - 1), p, out[(i + 1) % out.length]])));
    out.splice(sizes.indexOf(Math.min(...sizes)), 1);
  }
  return out;
}

function inside(p, [a, b, c]) {
  const side = (u, v) => (v[0] - u[0]) * (p[1] - u[1]) - (v[1] - u[1]) * (p[0] - u[0]);
  return side(a, b) >= 0 && side(b, c) >= 0 && side(c, a) >= 0;
}

// Triangles of a polygon, counter-clockwise: ears are cut off one by one.
export function triangles(polygon) {
  const left = simplify(area(polygon) < 0 ? [...polygon].reverse() : polygon), out = [];
  while (left.length > 2) {
    const n = left.length;
    let ear = left.findIndex((p, i) => {
      const corner = [left.at(i - 1), p, left[(i + 1) % n]];
      return area(corner) > 0 && !left.some(q => !corner.includes(q) && inside(q, corner));
    });
    if (ear < 0) ear = 0; // lines that cross
    const corner = [left.at(ear - 1), left[ear], left[(ear + 1) % n]];
    if (area(corner) > 0) out.push(corner);
    left.splice(ear, 1);
  }
  return out;
}

// Planes through the eye along the sides of a convex region, whose normals point inwards.
function planes(corners, eye, ray) {
  const rays = corners.map(ray), middle = unit(rays.reduce((sum, r) => sum.map((v, c) => v + r[c]), [0, 0, 0]));
  return rays.map((r, i) => {
    const normal = unit(cross(r, rays[(i + 1) % rays.length]));
    return `plane: {point: ${exact(eye)}, normal: ${exact(dot(normal, middle) < 0 ? scale(normal, -1) : normal)}}`;
  });
}

// The selection for a polygon of points; `ray` gives the direction from the eye through one of them.
export function region(polygon, eye, ray) {
  const box = polygon.length === 4;
  const parts = (box ? [polygon] : triangles(polygon)).map(part => `and: [${planes(part, eye, ray).map(plane => `{${plane}}`).join(', ')}]`);
  return parts.length === 1 ? parts[0] : `or: [${parts.map(part => `{${part}}`).join(', ')}]`;
}

// Axis and degrees of a rotation that is given by degrees about x, y and z together.
export function turn_about(v) {
  const angle = Math.hypot(...v);
  return `axis: ${exact(angle ? scale(v, 1 / angle) : [0, 0, 1])}, angle: ${Number(angle.toPrecision(6))}`;
}
