// SPDX-License-Identifier: Apache-2.0
// What the page asks the server that `vpd view` runs (view/server.h).
import { read_json, read_scene } from './scene.js';

const JSON_BODY = { 'Content-Type': 'application/json' };

// What a server that was started anew and this page prove to each other that they know (view/again.h).
let key = '';
const hex = bytes => [...new Uint8Array(bytes)].map(byte => byte.toString(16).padStart(2, '0')).join('');

export async function keep_key() { key = (await (await ask('/api/key')).json()).key; }

async function proof_of(role, nonces) {
  const bytes = text => new TextEncoder().encode(text);
  const secret = await crypto.subtle.importKey('raw', bytes(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return hex(await crypto.subtle.sign('HMAC', secret, bytes(`${role} ${location.host} ${nonces}`)));
}

// Whether the server knows the key, and lets this page in.
async function renewed(signal) {
  if (!key) return false;
  const mine = hex(crypto.getRandomValues(new Uint8Array(16)));
  const answer = await fetch(`/api/again?nonce=${mine}`, { credentials: 'omit', signal }), { nonce, proof } = await answer.json();
  if (proof !== await proof_of('server', `${mine} ${nonce}`)) return false;
  const body = JSON.stringify({ proof: await proof_of('page', nonce) });
  return (await fetch('/api/again', { method: 'POST', headers: JSON_BODY, body, signal })).ok;
}

// An error whose `lost` says that nobody answers, or a new server that does not know this page.
async function ask(path, options, knocked = false) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw Object.assign(new Error('vpd does not answer. Was it ended, or the tunnel closed?'), { lost: true });
  }
  if (answer.ok) return answer;
  const text = await answer.json().then(body => body.error, () => `status ${answer.status}`);
  if (answer.status === 401 && !knocked && await renewed(options?.signal).catch(() => false)) return ask(path, options, true);
  if (answer.status === 401)
    throw Object.assign(new Error('vpd view was started anew. Open the address that it printed; then this page goes on too.'), { lost: true });
  throw new Error(text);
}

export const fetch_facts = async signal => (await ask('/api/facts', { signal })).json();
export const fetch_scene = async id => read_scene(await (await ask(`/api/scene?id=${id}`)).arrayBuffer());
export const fetch_truth = async id => read_scene(await (await ask(`/api/truth?id=${id}`)).arrayBuffer());
export const fetch_psnr = async (scene, step, camera) => (await (await ask(`/api/psnr?scene=${scene}&step=${step}&camera=${camera}`)).json()).psnr;
export const fetch_rollout = async id => (await ask(`/api/rollout.h5?id=${id}`)).blob();

// Pictures as addresses for an image: what the model draws, and what was recorded. `signal` ends the wait.
const fetch_image = async (path, signal) => URL.createObjectURL(await (await ask(path, { signal })).blob());
export const fetch_picture = (of, signal) => fetch_image(`/api/picture?${new URLSearchParams(of)}`, signal);
export const fetch_recorded = (scene, step, camera) => fetch_image(`/api/recorded?scene=${scene}&step=${step}&camera=${camera}`);

const send = (path, what) => ask(path, { method: 'POST', headers: JSON_BODY, body: JSON.stringify(what) });
const post_json = async (path, what) => (await send(path, what)).json();

export const ask_episode = what => post_json('/api/episode', what);

// Whether a list of edits can be made of a scene; the error says why not.
export const check_edits = (of, edits) => post_json('/api/check', { scene: of.id, step: of.step, edits });

// Opens a file on the server; its scene's number.
export async function send_file(file) {
  const name = file.name.replace(/[^A-Za-z0-9_.-]/g, '_').replace(/^\.+/, '').replace(/\.h5$/i, '').slice(-100).concat('.h5');
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

// Ends the work on a result, also when the page is left. Nobody waits for the answer.
export const stop_job = id => ask('/api/stop', { method: 'POST', headers: JSON_BODY, body: JSON.stringify({ id }), keepalive: true }).catch(() => {});

// Begins a job, or goes on with one. Yields {id, scene, news, stopped, warnings} whenever the server was asked for steps, for which it waits a little; `news`: some came.
export async function* run_job(job, scene_so_far) {
  const { id } = await post_json('/api/jobs', job);
  for (let wait = 5, scene = scene_so_far, state = 'working'; state === 'working';) {
    const buffer = await (await ask(`/api/result?id=${id}&from=${scene ? scene.steps.length : 0}`)).arrayBuffer();
    const { value, next } = read_json(buffer, 0), news = next < buffer.byteLength;
    if (news && !scene) scene = read_scene(buffer, next);
    else for (let at = next; at < buffer.byteLength;) at = scene.read_step(buffer, at);
    yield { id, scene, news, stopped: value.state === 'stopped', warnings: value.warnings.trimEnd().replaceAll('\n', '; ') };
    if (value.state === 'failed') throw new Error(value.error);
    state = value.state;
    if (state === 'working' && news) await pause(wait = Math.min(40, wait * 2));
  }
}
