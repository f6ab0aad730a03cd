// SPDX-License-Identifier: Apache-2.0
// What the page asks the server that `vpd view` runs (view/server.h).
import { read_json, read_scene } from './scene.js';

// An error whose `lost` says that nobody answers, or a new server that does not know this page.
async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw Object.assign(new Error('vpd does not answer. Was it ended, or the tunnel closed?'), { lost: true });
  }
  if (answer.ok) return answer;
  const text = await answer.json().then(body => body.error, () => `status ${answer.status}`);
  if (answer.status === 401)
    throw Object.assign(new Error('vpd view was started anew. Open the address that it printed; then this page goes on too.'), { lost: true });
  throw new Error(text);
}

export const fetch_facts = async signal => (await ask('/api/facts', { signal })).json();
export const fetch_scene = async id => read_scene(await (await ask(`/api/scene?id=${id}`)).arrayBuffer());
export const fetch_truth = async id => read_scene(await (await ask(`/api/truth?id=${id}`)).arrayBuffer());
export const fetch_psnr = async (scene, step, camera) => (await (await ask(`/api/psnr?scene=${scene}&step=${step}&camera=${camera}`)).json()).psnr;
export const file_address = id => `/api/rollout.h5?id=${id}`;

// What the model draws, as an address for an image; `signal` ends the wait.
export async function fetch_picture(of, signal) {
  const answer = await ask(`/api/picture?${new URLSearchParams(of)}`, { signal });
  return URL.createObjectURL(await answer.blob());
}

export async function fetch_recorded(scene, step, camera) {
  const answer = await ask(`/api/recorded?scene=${scene}&step=${step}&camera=${camera}`);
  return URL.createObjectURL(await answer.blob());
}

const send = (path, what) => ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(what) });
const post_json = async (path, what) => (await send(path, what)).json();
const post = async job => (await post_json('/api/jobs', job)).id;

export const ask_episode = what => post_json('/api/episode', what);

// Opens a file on the server; its scene's number.
export async function send_file(file) {
  const name = file.name.replace(/[^A-Za-z0-9_.-]/g, '_').replace(/^\.+/, '');
  const answer = await ask(`/api/file?${new URLSearchParams({ name })}`, { method: 'POST', headers: { 'Content-Type': 'application/octet-stream' }, body: file });
  return (await answer.json()).id;
}

// Which of the shown particles a selection takes.
export async function ask_selection(what) {
  const answer = await send('/api/select', what);
  return [...new Uint8Array(await answer.arrayBuffer())].flatMap((taken, i) => taken ? [i] : []);
}

// ---- training runs

const run_path = (what, query) => `/api/${what}?${new URLSearchParams(query)}`;
export const fetch_metrics = async (run, from) => (await ask(run_path('metrics', { run, from }))).arrayBuffer();
export const fetch_options = async run => (await ask(run_path('options', { run }))).text();
export const fetch_run_scene = async (run, which) => read_scene(await (await ask(run_path('scene', { run, which }))).arrayBuffer());
export const picture_address = (run, picture) => run_path('picture', { run, picture });
export const ask_wish = wish => post_json('/api/wish', { wish });

// ---- scenes that are simulated

const pause = ms => new Promise(done => setTimeout(done, ms));

// Reads the steps of a result as they come. `shown` is called with the scene after each answer that brought some;
// `wanted` says whether anybody still wants them.
async function follow(id, scene_so_far, shown, wanted) {
  let result = scene_so_far;
  for (let wait = 5; wanted(); wait = Math.min(40, wait * 2)) {
    const buffer = await (await ask(`/api/result?id=${id}&from=${result ? result.steps.length : 0}`)).arrayBuffer();
    const { value, next } = read_json(buffer, 0);
    if (next < buffer.byteLength) {
      if (!result) result = read_scene(buffer, next);
      else for (let at = next; at < buffer.byteLength;) at = result.read_step(buffer, at);
      if (wanted()) shown(result);
    }
    if (value.state === 'failed') throw new Error(value.error);
    if (value.state === 'done') return result;
    await pause(wait);
  }
  return result;
}

export async function run_job(job, started, shown, wanted) {
  const id = await post(job);
  started(id);
  return follow(id, null, shown, wanted);
}

export async function run_on(id, steps, scene_so_far, shown, wanted) {
  await post({ id, more: steps });
  return follow(id, scene_so_far, shown, wanted);
}
