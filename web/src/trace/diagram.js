// Draws a sequence as SVG. Time runs downwards, one row per step; the times and the gaps between
// steps are at the left.
import { h } from '../dom.js';
import { endOf } from './document.js';
import { kLeft, kRight } from './sequence.js';
import { fitting, s, textWidth } from './svg.js';
import { duration, hex, stamp } from './words.js';

const kRow = 30;
const kGutter = 142;  // the times
const kEdge = 40;     // between the outermost lanes and the border of their group
const kTop = 14;

// The horizontal places: lanes evenly spaced, with a wide gap for the link.
export function columns(lanes, width) {
  const left = lanes.filter((lane) => lane.side === kLeft).length;
  const right = lanes.length - left;
  const room = Math.max(width - kGutter - 8, 480);
  const links = right ? 1 : 0;
  const link = links * Math.min(260, Math.max(158, room * 0.21));
  const between = Math.max(left - 1, 0) + Math.max(right - 1, 0);
  const spacing = Math.min(150, Math.max(52,
    (room - link - kEdge * (right ? 4 : 2)) / Math.max(between, 1)));
  const places = new Map();
  let x = kGutter + kEdge;
  lanes.forEach((lane, index) => {
    if (index === left) x += link + kEdge * 2 - spacing;
    places.set(lane.key, x);
    x += spacing;
  });
  const last = x - spacing;
  const groups = [{ side: kLeft, from: kGutter, to: kGutter + kEdge * 2 + spacing * (left - 1) }];
  if (right) groups.push({ side: kRight, from: groups[0].to + link, to: last + kEdge });
  return { places, groups, spacing, width: last + kEdge + 8, link };
}

const y = (row) => kTop + kRow * (row + 0.5);

// Where the label of a row goes: above its arrow if it fits there, else beside it, towards the
// middle of the diagram.
export function labelPlace(text, from, to, side, width) {
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  const wide = textWidth(text);
  if (high - low > wide + 14) return { x: (low + high) / 2, dy: -5, anchor: 'middle' };
  const rightwards = { x: high + 10, dy: 4, anchor: 'start' };
  const leftwards = { x: low - 10, dy: 4, anchor: 'end' };
  if (side === kLeft) return rightwards;
  return high + 10 + wide < width - 8 ? rightwards : leftwards;
}

function head(x, at, direction, tone) {
  const d = `M${x} ${at}l${-7 * direction} -3.5v7z`;
  return s('path', { d, class: `head ${tone}` });
}

function rowElement(row, index, { places, width }, total, begin, pick) {
  const at = y(index);
  const group = s('g', { class: 'row', 'data-row': index });
  group.append(s('rect', { class: 'band', x: 0, y: at - kRow / 2, width, height: kRow }));
  const share = total > 0 ? row.gap / total : 0;
  if (share > 0.01) {
    const long = Math.max(2, share * 60);
    group.append(s('rect', { class: 'gapbar', x: 134 - long, y: at - kRow / 2 - 7.5, width: long, height: 15, rx: 3 }));
  }
  group.append(s('text', { class: 'time', x: 68, y: at + 4, 'text-anchor': 'end' }, stamp(row.event.t - begin, total)));
  if (index) {
    group.append(s('text', { class: share > 0.2 ? 'gap long' : 'gap', x: 131, y: at - kRow / 2 + 4, 'text-anchor': 'end' },
      `+${duration(row.gap)}`));
  }
  const to = places.get(row.to);
  if (to !== undefined) {
    const from = places.get(row.from) ?? to;
    if (from !== to) {
      const direction = Math.sign(to - from);
      group.append(s('line', { class: `step ${row.tone}`, x1: from, x2: to - 9 * direction, y1: at, y2: at }),
        head(to - 5 * direction, at, direction, row.tone),
        s('circle', { class: `from ${row.tone}`, cx: from, cy: at, r: 2.5 }));
    }
    if (row.via) group.append(s('circle', { class: 'from', cx: places.get(row.via), cy: at, r: 2.5 }));
    group.append(s('rect', { class: `box ${row.tone}`, x: to - 5, y: at - 5, width: 10, height: 10, rx: 2.5 }));
    if (row.label) {
      const place = labelPlace(row.label, from, to, row.side, width);
      group.append(s('text', { class: `label ${row.tone}`, x: place.x, y: at + place.dy,
        'text-anchor': place.anchor }, row.label));
    }
  }
  group.addEventListener('click', () => pick(index));
  return group;
}

// An arrow over several rows. A lost packet ends in a cross in the middle of the link.
function arrowElement(arrow, { places, link }) {
  const start = places.get(arrow.start);
  const direction = arrow.side === kLeft ? 1 : -1;
  const lost = arrow.end === 'lost';
  const short = lost || arrow.end === 'unknown';
  const full = places.get(arrow.finish) ?? start + direction * (link + kEdge * 2);
  const gap = 8 * direction;
  const x1 = start + gap;
  const x2 = short ? start + (full - start) * (lost ? 0.62 : 0.5) : full - gap;
  const y1 = y(arrow.from);
  const y2 = arrow.to === arrow.from && !['direct'].includes(arrow.kind) ? y1 + 10 : y(arrow.to);
  const tone = `${arrow.kind} ${arrow.end}`;
  const group = s('g', { class: `arrow ${tone}` });
  const line = s('line', { class: 'wire', x1, y1, x2, y2, pathLength: 1 });
  group.append(line);
  const tip = s('g', { class: 'tip' });
  if (lost) tip.append(s('path', { class: 'cross', d: `M${x2 - 6} ${y2 - 6}l12 12m0 -12l-12 12` }));
  else if (arrow.end === 'unknown') tip.append(s('text', { class: 'label', x: x2 + 4 * direction, y: y2 + 8, 'text-anchor': 'middle' }, '?'));
  else tip.append(headAlong(x1, y1, x2, y2, arrow.kind === 'direct' ? 12 : 8));
  const packet = s('rect', { class: 'packet', x: -7, y: -4.5, width: 14, height: 9, rx: 2 });
  group.append(tip, packet);
  const middle = arrow.kind === 'direct' || arrow.kind === 'cm';
  const text = arrow.cause ? `${arrow.label} · ${arrow.cause}` : arrow.label;
  const room = Math.abs(full - start) - 24;
  const label = s('text', { class: 'label', 'text-anchor': middle ? 'middle' : direction > 0 ? 'start' : 'end',
    x: middle ? (start + full) / 2 : x1 + 8 * direction, y: y1 - 6 - (arrow.kind === 'direct' ? 4 : 0) },
    fitting(text, room), s('title', {}, text));
  group.append(label);
  return { ...arrow, group, line, packet, x1, y1, x2, y2 };
}

function headAlong(x1, y1, x2, y2, size) {
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  return s('path', { class: 'head', d: `M0 0l${-size} ${-size / 2}v${size}z`,
    transform: `translate(${x2} ${y2}) rotate(${angle})` });
}

function groupTitle(trace, entry, side) {
  const id = side === kLeft ? entry.end : entry.peerEnd;
  const qpn = side === kLeft ? entry.qpn : entry.peerQpn;
  const end = endOf(trace, id);
  return { letter: end?.letter ?? '?', text: [end?.name || 'not traced', end?.address,
    qpn >= 0 ? `QP ${hex(qpn)}` : ''].filter(Boolean).join(' · ') };
}

// The names of the ends and lanes; stays at the top while the rows scroll.
function headElement(trace, entry, { places, groups, spacing, width }, lanes, direct) {
  const head = s('svg', { class: 'lanes', width, height: 74, viewBox: `0 0 ${width} 74` });
  head.append(s('text', { class: 'heading', x: 68, y: 60, 'text-anchor': 'end' }, 'time'),
    s('text', { class: 'heading', x: 131, y: 60, 'text-anchor': 'end' }, 'gap'));
  for (const group of groups) {
    const { letter, text } = groupTitle(trace, entry, group.side);
    const room = group.to - group.from - 44;
    head.append(s('rect', { class: 'group', x: group.from, y: 6, width: group.to - group.from, height: 74, rx: 8 }),
      s('rect', { class: `badge side${group.side}`, x: group.from + 10, y: 12, width: 20, height: 18, rx: 4 }),
      s('text', { class: 'badgetext', x: group.from + 20, y: 25.5, 'text-anchor': 'middle' }, letter),
      s('text', { class: 'endname', x: group.from + 37, y: 25.5 }, fitting(text, room), s('title', {}, text)));
  }
  if (groups.length > 1) {
    head.append(s('text', { class: 'heading', x: (groups[0].to + groups[1].from) / 2, y: 60, 'text-anchor': 'middle' },
      direct ? 'shared memory' : 'link'));
  }
  for (const lane of lanes) {
    const words = lane.module.split(' ');
    const lines = textWidth(lane.module) > spacing - 6 && words.length > 1
      ? [words.slice(0, -1).join(' '), words.at(-1)] : [lane.module];
    lines.forEach((line, index) => head.append(s('text', { class: 'lanename', x: places.get(lane.key),
      y: 60 + (index - (lines.length - 1)) * 13 , 'text-anchor': 'middle' }, line)));
  }
  return head;
}

// The diagram and `show(step, animate)`: the steps up to it are drawn, later ones are faint.
export function diagram(trace, entry, seq, available, pick) {
  const place = columns(seq.lanes, available);
  const height = kTop * 2 + kRow * seq.rows.length;
  const body = s('svg', { class: 'steps', width: place.width, height, viewBox: `0 0 ${place.width} ${height}` });
  for (const group of place.groups) {
    body.append(s('rect', { class: 'group', x: group.from, y: -20, width: group.to - group.from, height: height + 14, rx: 8 }));
  }
  for (const lane of seq.lanes) {
    const x = place.places.get(lane.key);
    body.append(s('line', { class: 'lane', x1: x, x2: x, y1: 0, y2: height - 14 }));
  }
  const rows = seq.rows.map((row, index) => rowElement(row, index, place, seq.total, seq.begin, pick));
  const arrows = seq.arrows.map((arrow) => arrowElement(arrow, place));
  const bands = s('g', {}, rows.map((row) => row.firstChild));
  body.append(bands, s('g', {}, arrows.map((arrow) => arrow.group)), s('g', {}, rows));
  rows.forEach((row, index) => bands.children[index].addEventListener('click', () => pick(index)));
  const direct = seq.arrows.some((arrow) => arrow.kind === 'direct');
  const element = h('div', { class: 'sequence' }, headElement(trace, entry, place, seq.lanes, direct), body);
  let current = -1;
  function show(step) {
    rows.forEach((row, index) => row.classList.toggle('later', index > step));
    bands.children[current]?.classList.remove('current');
    bands.children[step]?.classList.add('current');
    for (const arrow of arrows) progress(arrow, step);
    current = step;
  }
  return { element, show, top: (step) => y(step), height: kRow };
}

// Before its first row an arrow is faint; until its last row it is as long as the rows passed.
function progress(arrow, step) {
  const span = arrow.to - arrow.from;
  const part = step < arrow.from ? 0 : span ? Math.min(1, (step - arrow.from + 0.35) / (span + 0.35)) : 1;
  arrow.group.classList.toggle('later', part === 0);
  arrow.group.classList.toggle('flying', part > 0 && part < 1);
  arrow.line.style.strokeDasharray = part > 0 && part < 1 ? `${part} 2` : '';
  arrow.packet.style.transform =
    `translate(${arrow.x1 + (arrow.x2 - arrow.x1) * part}px, ${arrow.y1 + (arrow.y2 - arrow.y1) * part}px)`;
}
