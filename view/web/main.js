// SPDX-License-Identifier: Apache-2.0
// Finds the viewers of the page: one with data from the server, or some with data inside the page.
import { read_scene, unpack } from './scene.js';
import { switch_theme } from './markup.js';
import { Runs } from './runs.js';
import { fetch_facts, keep_key } from './server.js';
import { Viewer } from './viewer.js';

const still = matchMedia('(prefers-reduced-motion: reduce)').matches;

async function open_server(root) {
  try {
    if (location.search) history.replaceState(null, '', '/'); // the token
    const facts = await fetch_facts();
    await keep_key();
    if (facts.runs) new Runs(root).watch();
    else await open_live(root, facts);
  } catch (error) {
    root.firstElementChild.textContent = error.message;
  }
}

async function open_live(root, facts) {
  const viewer = root.viewer = new Viewer(root, { live: true }); // the property is for tests
  try {
    await viewer.open(facts);
    document.title = `${facts.title.split('/').at(-1)} - vpd view`;
    if (!facts.simulates) viewer.only_look(`This can be looked at, but not simulated: ${facts.why}.`);
    if (!still && !viewer.painter.still) viewer.play(true);
    viewer.watch();
  } catch (error) {
    viewer.fail(error.message);
  }
}

// Data in scripts behind the viewer; the first two scenes are shown at first.
async function open_inside(root) {
  const viewer = root.viewer = new Viewer(root, { live: false });
  const data = [...root.parentElement.querySelectorAll('script[type="application/octet-stream"]')];
  try {
    for (const each of data) {
      const scene = read_scene(await unpack(each.textContent));
      viewer.add_scene(scene, each.dataset.name, { shown: viewer.scenes.length < 2 });
    }
    if (!still) viewer.play(true);
  } catch (error) {
    viewer.fail(error.message);
  }
}

function watch_inside(root) {
  new IntersectionObserver(seen => {
    const visible = seen.at(-1).isIntersecting;
    if (visible && !root.viewer) open_inside(root);
    root.viewer?.in_view(visible);
  }).observe(root);
}

for (const button of document.querySelectorAll('.page .theme')) {
  button.hidden = false;
  button.addEventListener('click', switch_theme);
}

for (const root of document.querySelectorAll('.viewer'))
  if ('server' in root.dataset) open_server(root);
  else watch_inside(root);
