// SPDX-License-Identifier: Apache-2.0
// What people keep: a picture, a film of the steps, a path of cameras for `vpd render --cameras`.

export function keep(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The canvas, with the model's pictures over it if there are some.
export function still_picture(canvas, pictures) {
  const copy = document.createElement('canvas'), box = canvas.getBoundingClientRect();
  Object.assign(copy, { width: canvas.width, height: canvas.height });
  const context = copy.getContext('2d');
  context.drawImage(canvas, 0, 0);
  for (const img of pictures) {
    const place = img.getBoundingClientRect(), [sx, sy] = [canvas.width / box.width, canvas.height / box.height];
    context.drawImage(img, (place.left - box.left) * sx, (place.top - box.top) * sy, place.width * sx, place.height * sy);
  }
  return new Promise(done => copy.toBlob(done, 'image/png'));
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
