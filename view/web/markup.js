// SPDX-License-Identifier: Apache-2.0
// The viewer's elements.

const icon = path => `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`;
const button = (name, label, path) =>
  `<button type="button" class="icon" data-do="${name}" aria-label="${label}" title="${label}">${icon(path)}</button>`;
const numbers = (name, what, value = 0) => ['x', 'y', 'z'].map(c =>
  `<label><span>${c}</span><input type="number" step="0.1" value="${value}" data-number="${name}" aria-label="${what} along ${c}"></label>`).join('');

export function switch_theme() {
  const page = document.documentElement;
  const dark = page.dataset.theme ? page.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  page.dataset.theme = dark ? 'light' : 'dark';
}

// The hint of a first opening; `now`: from now on it was read. Some browsers keep nothing.
export function hint_read(now) {
  try {
    if (now) localStorage.setItem('vpd-hint', 'read');
    return localStorage.getItem('vpd-hint') === 'read';
  } catch {
    return false;
  }
}

export const MARKUP = `
<div class="stage">
  <canvas tabindex="0" role="application" aria-label="Particles in 3D. Arrow keys turn the view, plus and minus zoom, question mark lists all keys."></canvas>
  <div class="pictures"></div>
  <div class="marks" aria-hidden="true"></div>
  <svg class="region" aria-hidden="true"><polygon/><path/></svg>
  <div class="corner"><h2 class="title"></h2><p class="about"></p></div>
  <div class="tools">
    ${button('fit', 'Show everything, or what is selected (F)', 'M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4M6 6h4v4H6z')}
    ${button('theme', 'Light or dark', 'M8 1a7 7 0 1 0 0 14zM8 1a7 7 0 0 1 0 14')}
    ${button('help', 'Keys and mouse (?)', 'M5 6a3 3 0 1 1 4.5 2.6C8.4 9.2 8 9.7 8 10.8M8 13v.8')}
    ${button('panel', 'Show or hide the panel (P)', 'M2 4h12M2 8h12M2 12h12')}
  </div>
  <div class="scalebar" aria-hidden="true"><i></i><span></span></div>
  <figure class="recorded" hidden><img alt=""><figcaption></figcaption></figure>
  <div class="legend" hidden><i></i><span></span></div>
  <p class="hint">${matchMedia('(pointer: coarse)').matches ? 'Drag to turn, two fingers to move and zoom, tap' : 'Drag to turn, right-drag to move, scroll to zoom, click'} to select. <button type="button" data-do="tour" class="edits">Tour</button><button type="button" data-do="hint">Got it</button></p>
  <div class="tour" role="dialog" aria-label="Tour" hidden><p></p><div class="buttons"><small></small>
    <button type="button" data-tour="-1">Back</button><button type="button" class="main" data-tour="1">Next</button><button type="button" data-tour="end">End</button></div></div>
  <div class="message" role="alert" hidden></div>
</div>
<div class="timeline" role="group" aria-label="Time">
  ${button('play', 'Play (space)', 'M4 2l10 6-10 6z')}
  ${button('back', 'One step back (comma)', 'M11 3L5 8l6 5zM3 3v10')}
  ${button('forward', 'One step on (full stop)', 'M5 3l6 5-6 5zM13 3v10')}
  <input type="range" min="0" max="0" value="0" step="1" data-set="step" aria-label="Step">
  <output class="time"></output>
  <label class="speed"><span class="hidden">Speed</span><select data-set="rate" aria-label="Speed">
    <option value="0.1">0.1 x</option><option value="0.25">0.25 x</option><option value="0.5">0.5 x</option>
    <option value="1" selected>1 x</option><option value="2">2 x</option></select></label>
  <label class="check"><input type="checkbox" data-set="loop" checked> loop</label>
</div>
<aside class="panel" aria-label="Settings and edits">
  <section class="scenes-part"><h3>Scenes</h3><div class="scenes"></div>
    <label class="check beside"><input type="checkbox" data-set="beside" checked> side by side</label></section>
  <section class="edits"><div class="row episodes" hidden><label for="episode-ID">Episode</label><input id="episode-ID" type="text" data-set="episode" spellcheck="false">
    <button type="button" data-do="earlier" aria-label="The episode before">&lt;</button><button type="button" data-do="later" aria-label="The next episode">&gt;</button></div>
    <button type="button" class="compare" data-do="compare" aria-pressed="false" hidden>Compare with what was recorded</button>
    <div class="row"><label for="open-ID">Open</label><input id="open-ID" type="file" accept=".h5,.yaml,.yml" multiple data-open title="Rollouts, particles, or a list of edits; or drop them onto the page"></div></section>
  <section><h3>Look</h3>
    <div class="row"><label for="colour-ID">Colour</label><select id="colour-ID" data-set="colour">
      <option value="rgb">of the video</option><option value="label">label</option><option value="body">body</option>
      <option value="moving">moves or not</option><option value="speed">speed</option><option value="error" hidden>error</option></select></div>
    <div class="row"><label for="size-ID">Size</label><input id="size-ID" type="range" min="0.2" max="2" step="0.05" value="1" data-set="size"></div>
    <div class="row"><label for="view-ID">View</label><select id="view-ID" data-set="view"><option value="">free</option></select></div>
    <div class="checks">
      <label class="check"><input type="checkbox" data-set="grid" checked> grid and axes</label>
      <label class="check"><input type="checkbox" data-set="frusta"> cameras</label>
      <label class="check"><input type="checkbox" data-set="box"> workspace</label>
      <label class="check"><input type="checkbox" data-set="trails"> trails</label>
      <label class="check"><input type="checkbox" data-set="ghosts"> ghosts of past and future</label>
      <label class="check simulates"><input type="checkbox" data-set="picture"> the model's picture at rest</label>
    </div>
    <div class="checks simulated" role="group" aria-label="Parts of the simulation" hidden>
      <label class="check"><input type="checkbox" data-set="particles" checked> particles</label>
      <label class="check"><input type="checkbox" data-set="triangles" checked> surfaces</label>
      <label class="check"><input type="checkbox" data-set="springs" checked> springs</label>
      <label class="check"><input type="checkbox" data-set="touching" checked> contact</label>
    </div>
  </section>
  <section><h3>Keep</h3><div class="buttons">
      <button type="button" data-do="picture" title="What is shown, as PNG">Picture</button>
      <button type="button" data-do="film" title="All steps, as MP4 or WebM">Film</button>
      <button type="button" data-do="gif" title="All steps, as an animated GIF">GIF</button>
      <button type="button" data-do="view" title="Adds where you look from to a path of cameras">Add view</button>
      <button type="button" data-do="path" title="JSON for vpd render --cameras">Path</button> <span class="small path"></span></div></section>
  <section class="selected"><h3>Selected</h3>
    <p class="what" aria-live="polite">Nothing. Click a particle, or choose a body:</p>
    <div class="row"><label for="pick-ID">Body</label><select id="pick-ID" data-set="pick"><option value="">none</option></select></div>
    <div class="buttons drawn simulates">
      <button type="button" data-do="box" aria-pressed="false" title="Then drag a box on the picture (X)">Box</button>
      <button type="button" data-do="lasso" aria-pressed="false" title="Then draw around something (L)">Lasso</button>
      <label class="check"><input type="checkbox" data-set="ground" checked> without the ground</label>
    </div>
    <p class="small keys" role="status"></p>
    <div class="acts" hidden>
      <div class="row" role="group" aria-label="Take"><label for="grow-ID">Take</label><select id="grow-ID" data-set="grow">
        <option value="body">its body</option><option value="particle">the particle alone</option><option value="label">its label</option><option value="ball">a ball of 0.1 m</option><option value="cluster">a connected part</option></select></div>
      <div class="triple">${numbers('vector', 'metres, or metres a second,')}</div>
      <div class="buttons">
        <button type="button" data-do="throw" title="Add this velocity, m/s (T). Or hold T and drag an arrow.">Throw</button>
        <button type="button" data-do="drive" title="Moves it with this velocity, m/s, for as many steps as below, whatever it meets">Drive</button>
        <button type="button" data-do="move" title="Move by this many metres (M). Or hold M and drag.">Move</button>
        <button type="button" data-do="rotate" title="Turn by so many degrees about x, y and z (R). Or hold R and drag around it.">Rotate</button>
        <button type="button" data-do="copy" title="A copy, this many metres away (C)">Copy</button>
        <button type="button" data-do="remove" title="Delete it (Delete)">Delete</button>
      </div>
      <p class="small">Throw and drive take metres a second, rotate degrees, the others metres. Or drag the arrows and rings on the picture, or anywhere with T, M or R held down (Shift: upwards).</p>
      <div class="row"><label for="like-ID">Colours</label><select id="like-ID" data-set="like"></select><button type="button" data-do="recolour" title="Take the colours of this body">Take</button></div>
      <div class="row"><label for="name-ID">Label</label><input id="name-ID" type="text" data-set="name" placeholder="name"><button type="button" data-do="name">Set</button></div>
    </div>
  </section>
  <section class="editing mechanics"><h3>Mechanics</h3>
    <p class="small">Gravity, contact and friction move bodies in place of the model, for as many steps as below.</p>
    <div class="row"><label for="friction-ID">Friction</label><input id="friction-ID" type="number" min="0" max="100" step="0.1" value="0.5" data-number="friction"></div>
    <p class="small">Gravity in m/s²; without numbers 9.81 downwards.</p>
    <div class="triple">${numbers('gravity', 'gravity, metres a second squared,', '')}</div>
    <div class="buttons"><button type="button" data-do="mechanics" title="Mechanics for what is selected, or for all bodies (G)">Move all bodies</button></div>
  </section>
  <section class="editing"><h3>Edits</h3>
    <textarea rows="5" spellcheck="false" aria-label="List of edits (YAML)" data-set="edits" placeholder="No edits yet."></textarea>
    <div class="buttons">
      <button type="button" data-do="undo" title="Control Z">Undo</button>
      <button type="button" data-do="redo" title="Control Y">Redo</button>
      <button type="button" data-do="save">Save list</button>
    </div>
    <div class="row compose" hidden><label for="file-ID">Add</label><select id="file-ID" data-set="file"></select>
      <button type="button" data-do="compose" title="The particles of this file, moved by the three numbers">Add</button></div>
    <div class="row"><label for="steps-ID">Steps</label><input id="steps-ID" type="number" min="0" max="10000" value="20" data-set="steps"></div>
    <div class="buttons">
      <button type="button" class="main" data-do="simulate" title="Edit and simulate (S)">Simulate</button>
      <button type="button" data-do="stop" disabled title="Ends it; the steps so far stay, and Step on goes on">Stop</button>
      <button type="button" data-do="more" title="Go on from the last step">Step on</button>
      <button type="button" data-do="beside" aria-pressed="false" title="Keeps this result beside the next ones, or takes it away">Keep beside</button>
      <button type="button" data-do="download">Save rollout</button>
    </div>
    <p class="state small" role="status"></p>
  </section>
</aside>
<dialog class="help" aria-label="Keys and mouse"><h3 tabindex="-1" autofocus>Keys and mouse</h3><dl>
<dt>drag, arrow keys</dt><dd>turn</dd>
<dt>right drag, Shift with drag or arrows, two fingers</dt><dd>move the view</dd>
<dt>wheel, + and -, pinch</dt><dd>zoom</dd>
<dt>F</dt><dd>show everything, or what is selected</dd>
<dt>0, 1 .. 9</dt><dd>show what moves; the recording's cameras</dd>
<dt>space</dt><dd>play or pause</dd>
<dt>, and . (Home, End)</dt><dd>one step back, on (first, last)</dd>
<dt>click, B</dt><dd>select a body; the next body</dd>
<dt>Escape</dt><dd>select nothing</dd>
<dt>Enter, then arrow keys, Enter</dt><dd>a cross in place of the mouse: move it, press or lift it</dd>
<dt class="edits">X, L, then drag</dt><dd class="edits">select by a box, a lasso</dd>
<dt class="edits">drag an arrow, a ring</dt><dd class="edits">move or rotate what is selected along, about x, y or z</dd>
<dt class="edits">T, M or R held, drag</dt><dd class="edits">throw, move or rotate what is selected; with Shift upwards</dd>
<dt class="edits">T, M, R, C, Delete</dt><dd class="edits">throw, move, rotate, copy by the numbers; delete</dd>
<dt class="edits">G</dt><dd class="edits">mechanics move what is selected, or all bodies</dd>
<dt class="edits">Control Z, Control Y</dt><dd class="edits">undo, redo</dd>
<dt class="edits">S</dt><dd class="edits">simulate</dd>
<dt>P, ?</dt><dd>panel, this list</dd></dl>
<form method="dialog"><button data-do="tour" class="edits">Tour</button> <button>Close</button></form></dialog>`;
