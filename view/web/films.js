// SPDX-License-Identifier: Apache-2.0
// What people keep: a picture, a film of the steps, a path of cameras for `vpd render --cameras`.

export function keep(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A canvas like another one, at most so wide.
export const smaller = ({ width, height }, most = width) =>
  Object.assign(document.createElement('canvas'), { width: Math.min(most, width), height: Math.round(height * Math.min(1, most / width)) });

// Draws a canvas into another one, with what lies over it: the model's pictures, names of parts.
export function copy_view(canvas, over, to) {
  const context = to.getContext('2d', { willReadFrequently: true }), box = canvas.getBoundingClientRect(), s = to.width / box.width;
  context.drawImage(canvas, 0, 0, to.width, to.height);
  for (const each of over) {
    const { left, top, width, height } = each.getBoundingClientRect(), at = [(left - box.left) * s, (top - box.top) * s, width * s, height * s];
    if (each.src) context.drawImage(each, ...at);
    else draw_name(context, each, at);
  }
  return context;
}

// As much of a name as there is room for.
function draw_name(context, { textContent }, [x, y, width, height]) {
  const size = Math.max(13, 0.5 * height), room = Math.max(width, 4 * size);
  context.font = `600 ${size}px system-ui, sans-serif`;
  let text = textContent;
  while (text.length > 3 && context.measureText(text).width > room) text = `${text.slice(0, -3)}..`;
  context.textAlign = 'center';
  for (const [colour, line] of [['#000000', 'strokeText'], ['#ffffff', 'fillText']]) {
    Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: size / 4, lineJoin: 'round' });
    context[line](text, x + width / 2, y + 0.7 * height);
  }
}

export const film_type = () => ['video/mp4;codecs=avc1.42E01E', 'video/mp4', 'video/webm;codecs=vp9', 'video/webm']
  .find(type => window.MediaRecorder?.isTypeSupported(type));

// Records the canvas until the returned function is called, which gives the film.
export function record(canvas, type) {
  const parts = [], recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: type, videoBitsPerSecond: 8e6 });
  recorder.addEventListener('dataavailable', event => parts.push(event.data));
  recorder.start();
  return () => new Promise(done => {
    recorder.addEventListener('stop', () => done(new Blob(parts, { type: type.split(';')[0] })));
    recorder.stop();
  });
}

// docs/rollouts.md, "cameras": the places of a path, in the order in which they were added.
export function camera_path(cameras, width, height) {
  const list = cameras.map(({ pose, focal }) => ({ intrinsics: [[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]],
    world_from_camera: [0, 1, 2, 3].map(r => pose.slice(4 * r, 4 * r + 4)) }));
  return new Blob([`${JSON.stringify({ width, height, cameras: list }, null, 1)}\n`], { type: 'application/json' });
}
