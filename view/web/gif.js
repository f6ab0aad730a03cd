// SPDX-License-Identifier: Apache-2.0
// Pictures as an animated GIF: 255 colours chosen by median cut, and one that leaves what was there.

const CLEAR = 256, END = 257, LAST = 4096; // codes
const UNCHANGED = 255; // colour

// Colours are 15 bits here: five of red, green and blue each.
function count_colours(frames) {
  const counts = new Uint32Array(1 << 15);
  for (const { data } of frames) for (let i = 0; i < data.length; i += 4) counts[colour_of(data, i)]++;
  return counts;
}
const colour_of = (data, i) => data[i] >> 3 << 10 | data[i + 1] >> 3 << 5 | data[i + 2] >> 3;
const part_of = (colour, c) => colour >> 10 - 5 * c & 31;

function split(box, counts) {
  const { c } = box, sorted = box.colours.sort((a, b) => part_of(a, c) - part_of(b, c));
  let sum = 0, at = 0;
  while (at < sorted.length - 1 && (at === 0 || sum + counts[sorted[at]] <= box.pixels / 2)) sum += counts[sorted[at++]];
  return [make_box(sorted.slice(0, at), counts), make_box(sorted.slice(at), counts)];
}

// The widest channel, and how much would be won by a cut.
function make_box(list, counts) {
  const wide = [0, 1, 2].map(c => {
    const parts = list.map(colour => part_of(colour, c));
    return Math.max(...parts) - Math.min(...parts);
  });
  const pixels = list.reduce((sum, colour) => sum + counts[colour], 0), most = Math.max(...wide);
  return { colours: list, pixels, c: wide.indexOf(most), worth: list.length > 1 ? most * most * Math.sqrt(pixels) : 0 };
}

// Bytes of the palette, and the number in it of each 15-bit colour.
function palette(frames) {
  const counts = count_colours(frames), all = [...counts.keys()].filter(colour => counts[colour]);
  const boxes = [make_box(all, counts)], bytes = new Uint8Array(768), numbers = new Uint8Array(1 << 15);
  while (boxes.length < UNCHANGED) {
    const best = boxes.reduce((a, b, i) => b.worth > boxes[a].worth ? i : a, 0);
    if (!boxes[best].worth) break;
    boxes.push(...split(boxes.splice(best, 1)[0], counts));
  }
  boxes.forEach((box, number) => {
    for (const colour of box.colours) numbers[colour] = number;
    for (let c = 0; c < 3; c++)
      bytes[3 * number + c] = box.colours.reduce((sum, colour) => sum + counts[colour] * (part_of(colour, c) * 8 + 4), 0) / box.pixels;
  });
  return { bytes, numbers };
}

// LZW codes, in blocks of at most 255 bytes.
function compress(pixels) {
  const out = [8], table = new Uint16Array(LAST << 8);
  let block = [], bits = 0, count = 0, size = 9, next = END + 1, prefix = pixels[0];
  const flush = () => { if (block.length) out.push(block.length, ...block); block = []; };
  const byte = () => { block.push(bits & 255); if (block.length === 255) flush(); bits >>>= 8; count -= 8; };
  const put = code => { bits |= code << count; count += size; while (count >= 8) byte(); };
  put(CLEAR);
  for (let i = 1; i < pixels.length; i++) {
    const key = prefix << 8 | pixels[i];
    if (table[key]) {
      prefix = table[key];
      continue;
    }
    put(prefix);
    if (next < LAST) {
      table[key] = next;
      if (next++ === 1 << size) size++;
    } else {
      put(CLEAR);
      table.fill(0);
      [size, next] = [9, END + 1];
    }
    prefix = pixels[i];
  }
  put(prefix);
  put(END);
  if (count > 0) byte();
  flush();
  return [...out, 0];
}

// `delay`: hundredths of a second of each frame (ImageData).
export function make_gif(frames, delay) {
  const { width, height } = frames[0], { bytes, numbers } = palette(frames), two = n => [n & 255, n >> 8];
  const parts = [Uint8Array.from([...'GIF89a'].map(c => c.charCodeAt(0)).concat(two(width), two(height), [0xf7, 0, 0], ...bytes,
    [0x21, 0xff, 11], [...'NETSCAPE2.0'].map(c => c.charCodeAt(0)), [3, 1, 0, 0, 0]))];
  let before = null;
  for (const { data } of frames) {
    const now = Uint8Array.from({ length: width * height }, (_, i) => numbers[colour_of(data, 4 * i)]);
    parts.push(Uint8Array.from([0x21, 0xf9, 4, 5, ...two(delay), UNCHANGED, 0, 0x2c, 0, 0, 0, 0, ...two(width), ...two(height), 0]),
      Uint8Array.from(compress(before ? now.map((number, i) => number === before[i] ? UNCHANGED : number) : now)));
    before = now;
  }
  return new Blob([...parts, Uint8Array.of(0x3b)], { type: 'image/gif' });
}
