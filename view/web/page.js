// SPDX-License-Identifier: Apache-2.0
(() => {
  'use strict';
  const root = document.documentElement;
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const pause_at_end = 0.9; // seconds

  // State for tests: data-error, data-pictures, and data-frame of each figure.
  addEventListener('error', event => { root.dataset.error = event.message || 'error'; });

  // ---- films

  function player(figure) {
    const { frames, fps, width, height, across } = Object.fromEntries(
      Object.entries(figure.dataset).map(([key, value]) => [key, Number(value)]));
    const names = JSON.parse(figure.dataset.names);
    const [slider, label, button] = ['input', 'output', 'button'].map(name => figure.querySelector(name));
    const views = [...figure.querySelectorAll('.view')].map(view => (
      { sheet: view.querySelector('img'), canvas: view.querySelector('canvas') }));
    // Small pictures are enlarged by the browser's best filter.
    const scale = Math.max(1, Math.ceil(320 / Math.max(width, height)));
    // a canvas of one frame, so that filtering does not mix in the neighbouring frames
    const small = document.createElement('canvas');
    Object.assign(small, { width, height });
    slider.max = frames - 1;
    let frame = -1, playing = false, visible = true, clock = 0, last = 0;

    function show(index) {
      if (index === frame) return;
      frame = index;
      for (const { sheet, canvas } of views) {
        const context = canvas.getContext('2d');
        small.getContext('2d').drawImage(sheet, index % across * -width, Math.floor(index / across) * -height);
        context.imageSmoothingQuality = 'high';
        context.drawImage(small, 0, 0, canvas.width, canvas.height);
      }
      slider.value = index;
      slider.setAttribute('aria-valuetext', names[index]);
      label.textContent = names[index];
      figure.dataset.frame = index;
    }

    function play(on) {
      playing = on;
      if (on) {
        clock = frame >= frames - 1 ? 0 : frame / fps;
        figure.dataset.playing = '';
      } else {
        delete figure.dataset.playing;
      }
      button.setAttribute('aria-label', on ? 'Pause' : 'Play');
    }

    function tick(now) {
      const passed = Math.min((now - last) / 1000, 0.25);
      last = now;
      if (!playing || !visible) return;
      clock = (clock + passed) % (frames / fps + pause_at_end);
      show(Math.min(frames - 1, Math.floor(clock * fps)));
    }

    function start() {
      for (const { sheet, canvas } of views) {
        canvas.width = width * scale;
        canvas.height = height * scale;
        if (sheet.naturalWidth !== across * width) throw new Error('a sheet of pictures is damaged');
      }
      show(0);
      figure.dataset.ready = '';
      play(!still && frames > 1);
      last = performance.now();
      button.addEventListener('click', () => play(!playing));
      for (const { canvas } of views) canvas.addEventListener('click', () => play(!playing));
      slider.addEventListener('input', () => { play(false); show(Number(slider.value)); });
      new IntersectionObserver(seen => { visible = seen.at(-1).isIntersecting; }).observe(figure);
      return views.length;
    }
    return { start, tick };
  }

  const players = [...document.querySelectorAll('.moving')].map(player);
  addEventListener('load', () => {
    root.dataset.pictures = players.reduce((sum, each) => sum + each.start(), 0);
    setInterval(() => { for (const each of players) each.tick(performance.now()); }, 20);
  });

  // ---- commands to copy

  for (const block of document.querySelectorAll('.command')) {
    const button = block.querySelector('button');
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.querySelector('pre').textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
  }
})();
