// SPDX-License-Identifier: Apache-2.0
// Finds the viewers of the page: one with data from the server, or some with data inside the page.
import { from_base64, read_scene } from './scene.js';
import { fetch_facts, fetch_scene } from './server.js';
import { Viewer } from './viewer.js';

async function open_live(viewer) {
  if (location.search) history.replaceState(null, '', '/'); // the token
  const facts = await fetch_facts();
  for (let id = 0; id < facts.scenes.length; id++) {
    const scene = await fetch_scene(id);
    viewer.add_scene(scene, facts.scenes.length > 1 ? `${id + 1}: ${scene.title}` : 'original', id);
  }
  document.title = `${facts.title.split('/').at(-1)} - vpd view`;
  if (!facts.simulates) {
    viewer.live = false;
    viewer.root.classList.add('still');
    viewer.say(`This can be looked at, but not simulated: ${facts.why}.`);
  }
  viewer.watch();
}

for (const root of document.querySelectorAll('.viewer')) {
  const live = 'server' in root.dataset, viewer = new Viewer(root, { live });
  root.viewer = viewer; // for tests
  root.addEventListener('themed', () => viewer.changed());
  const open = async () => {
    if (live) return open_live(viewer);
    const data = [...root.parentElement.querySelectorAll('script[type="application/octet-stream"]')];
    for (const each of data) viewer.add_scene(read_scene(from_base64(each.textContent)), each.dataset.name);
  };
  open().then(() => { if (!matchMedia('(prefers-reduced-motion: reduce)').matches) viewer.play(true); },
    error => {
      root.dataset.failed = '';
      viewer.say(error.message, 'bad');
    });
}
