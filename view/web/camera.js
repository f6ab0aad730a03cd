// SPDX-License-Identifier: Apache-2.0
// A camera that turns about a target, and what mouse, fingers and keys do to it.
import { add, along, AXES, clamp, cross, dot, multiply, place_in, scale, subtract, unit } from './math.js';

export class Camera {
  constructor() {
    this.target = [0, 0, 0];
    this.frame = AXES; // across the floor, and up
    this.yaw = -0.9; // radians about the way up
    this.pitch = 0.45; // above the floor
    this.distance = 4;
    this.fov = 0.75; // radians, of the shorter side
  }

  // Towards the eye, to the right and up.
  basis() {
    const c = Math.cos(this.pitch);
    const back = place_in(this.frame, [c * Math.cos(this.yaw), c * Math.sin(this.yaw), Math.sin(this.pitch)]);
    const right = place_in(this.frame, [-Math.sin(this.yaw), Math.cos(this.yaw), 0]);
    return { back, right, up: cross(back, right) };
  }

  eye() { return add(this.target, scale(this.basis().back, this.distance)); }

  // Half heights of the picture at distance 1, horizontal and vertical.
  spread(aspect) {
    const t = Math.tan(this.fov / 2);
    return aspect >= 1 ? [t * aspect, t] : [t, t / aspect];
  }

  matrix(aspect) {
    const { back, right, up } = this.basis(), eye = this.eye(), [sx, sy] = this.spread(aspect);
    const near = this.distance / 100, far = this.distance * 100;
    const view = new Float32Array([right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
      -dot(right, eye), -dot(up, eye), -dot(back, eye), 1]);
    const projection = new Float32Array([1 / sx, 0, 0, 0, 0, 1 / sy, 0, 0, 0, 0, -(far + near) / (far - near), -1,
      0, 0, -2 * far * near / (far - near), 0]);
    return multiply(projection, view);
  }

  // Pose (4,4) row by row, x right, y down, z ahead.
  pose() {
    const { back, right, up } = this.basis(), eye = this.eye();
    return [...[0, 1, 2].flatMap(c => [right[c], -up[c], -back[c], eye[c]]), 0, 0, 0, 1];
  }

  // The direction of the ray through a point of the picture, -1 .. 1 to the right and up.
  ray(x, y, aspect) {
    const { back, right, up } = this.basis(), [sx, sy] = this.spread(aspect);
    return unit(add(scale(back, -1), add(scale(right, x * sx), scale(up, y * sy))));
  }

  turn(dx, dy) {
    this.yaw -= dx;
    this.pitch = clamp(this.pitch + dy, -1.5, 1.55);
  }

  // By parts of the picture's height.
  pan(dx, dy) {
    const { right, up } = this.basis(), size = 2 * Math.tan(this.fov / 2) * this.distance;
    this.target = add(this.target, add(scale(right, -dx * size), scale(up, dy * size)));
  }

  zoom(factor) { this.distance = clamp(this.distance * factor, 0.02, 1000); }

  // So that all corners of a box are in view.
  fit(low, high, aspect) {
    this.target = scale(add(low, high), 0.5);
    const { back, right, up } = this.basis(), [sx, sy] = this.spread(aspect);
    this.distance = 0.1;
    for (let k = 0; k < 8; k++) {
      const r = subtract([0, 1, 2].map(c => (k >> c & 1 ? high : low)[c]), this.target);
      this.distance = Math.max(this.distance, dot(r, back) + 1.05 * Math.max(Math.abs(dot(r, right)) / sx, Math.abs(dot(r, up)) / sy));
    }
  }

  // The box around the corners of another one, along the axes of the floor.
  level_box({ low, high }) {
    const corners = [...Array(8)].map((_, k) => along(this.frame, [0, 1, 2].map(c => (k >> c & 1 ? high : low)[c])));
    return [Math.min, Math.max].map(most => [0, 1, 2].map(c => most(...corners.map(corner => corner[c]))));
  }

  // As a camera of the recording sees: pose (4,4) row by row, x right, y down, z ahead.
  look_through(camera, size, centre) {
    const p = camera.pose, eye = [p[3], p[7], p[11]], ahead = [p[2], p[6], p[10]], [x, y, z] = along(this.frame, ahead);
    this.distance = Math.max(0.1, dot(subtract(centre, eye), ahead));
    this.target = add(eye, scale(ahead, this.distance));
    this.yaw = Math.atan2(-y, -x);
    this.pitch = clamp(Math.asin(clamp(-z, -1, 1)), -1.5, 1.55);
    this.fov = 2 * Math.atan(Math.min(size[0] / camera.intrinsics[0], size[1] / camera.intrinsics[4]) / 2);
  }
}

// Pointers on an element: drag turns, right or middle button or two fingers move, wheel and pinch zoom. `hooks`:
// changed(), zooms(), clicked(x, y), and begin(x, y, event), which may take a drag over by returning {move(x, y, event), end()}.
export function control(element, camera, hooks) {
  const pointers = new Map();
  let travelled = 0, taken = null;
  const place = event => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const spacing = points => Math.hypot(points[0][0] - points[1][0], points[0][1] - points[1][1]);

  element.addEventListener('pointerdown', event => {
    element.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    travelled = pointers.size > 1 ? Infinity : 0;
    taken = pointers.size === 1 && event.button === 0 ? hooks.begin(...place(event), event) : null;
  });

  element.addEventListener('pointermove', event => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = place(event), dx = now[0] - before[0], dy = now[1] - before[1], height = element.clientHeight;
    travelled += Math.hypot(dx, dy);
    if (pointers.size === 2) {
      const old = spacing([...pointers.values()]);
      pointers.set(event.pointerId, now);
      const wide = spacing([...pointers.values()]);
      if (wide > 0 && old > 0) camera.zoom(old / wide);
      camera.pan(dx / height / 2, dy / height / 2);
    } else {
      pointers.set(event.pointerId, now);
      if (taken) taken.move(...now, event);
      else if (event.buttons & 6 || event.shiftKey) camera.pan(dx / height, dy / height);
      else camera.turn(dx * 5 / height, dy * 5 / height);
    }
    hooks.changed();
  });

  const release = event => {
    const at = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    if (!at) return;
    if (taken) taken.end(event.type === 'pointerup' && travelled > 4);
    if (event.type === 'pointerup' && event.button === 0 && travelled <= 4) hooks.clicked(...at);
    taken = null;
  };
  element.addEventListener('pointerup', release);
  element.addEventListener('pointercancel', release);
  element.addEventListener('contextmenu', event => event.preventDefault());
  element.addEventListener('wheel', event => {
    if (!hooks.zooms()) return; // the page scrolls
    event.preventDefault();
    camera.zoom(Math.exp(clamp(event.deltaY, -120, 120) * 0.0015));
    hooks.changed();
  }, { passive: false });
}
