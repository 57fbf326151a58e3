// Draws a sequence as SVG. Time runs downwards, one row per step; the times and the gaps between
// steps are at the left.
import { h } from '../dom.js';
import { kLeft } from './arrows.js';
import { endOf } from './document.js';
import { arrowElement, isCrowded, progress } from './diagram_arrows.js';
import { columns, kHead, kRow, labelPlace, rowY } from './layout.js';
import { fitting, s, textWidth } from './svg.js';
import { duration, hex, stamp } from './words.js';

const kTimeX = 70;
const kGapX = 133;
const kBold = 1.12;     // bold text is wider
const kLongGap = 0.08;  // the share of the whole from which a gap is marked

function timeElements(row, index, { begin, total }) {
  const at = rowY(index);
  const between = at - kRow / 2;
  const time = s('text', { class: 'time', x: kTimeX, y: at + 4 },
    stamp(row.event.t - begin, total));
  if (!index) return [time];
  const share = total > 0 && !row.early ? row.gap / total : 0;
  const long = share > kLongGap;
  const text = `+${duration(row.gap)}`;
  const width = textWidth(text) + 6;
  return [time,
    long ? s('rect', { class: 'gapbar', x: kGapX + 4 - width, y: between - 7.5, width, height: 15,
      rx: 4, opacity: (0.25 + 0.75 * Math.min(1, share)).toFixed(2) }) : '',
    s('text', { class: long ? 'gap long' : 'gap', x: kGapX, y: between + 3.5 }, text)];
}

function stepElements(row, index, { places, groups }) {
  const to = places.get(row.to);
  if (to === undefined) return [];
  const at = rowY(index);
  const from = places.get(row.from) ?? to;
  const { tone } = row;
  const elements = [];
  if (from !== to) {
    const direction = Math.sign(to - from);
    elements.push(
      s('line', { class: `step ${tone}`, x1: from, x2: to - 11 * direction, y1: at, y2: at }),
      s('path', { class: `head ${tone}`,
        d: `M${to - 5 * direction} ${at}l${-7 * direction} -3.5v7z` }),
      s('circle', { class: `from ${tone}`, cx: from, cy: at, r: 2.5 }));
  }
  const via = places.get(row.via);
  if (via !== undefined && via !== from) {
    elements.push(s('circle', { class: 'from', cx: via, cy: at, r: 2.5 }));
  }
  elements.push(s('rect', { class: `box ${tone}`, x: to - 5, y: at - 5, width: 10, height: 10,
    rx: 2.5 }));
  if (row.label) {
    const group = groups.find((one) => one.side === row.side);
    const weight = tone ? kBold : 1;
    const wide = textWidth(row.label) * weight;
    const { x, dy, anchor, room } = labelPlace(wide, from, to, group);
    elements.push(s('text', { class: `label ${tone}`, x, y: at + dy, 'text-anchor': anchor },
      fitting(row.label, room / weight), s('title', {}, row.label)));
  }
  return elements;
}

function groupTitle(trace, entry, side) {
  const [id, qpn] = side === kLeft ? [entry.end, entry.qpn] : [entry.peerEnd, entry.peerQpn];
  const end = endOf(trace, id);
  const parts = [end?.name || 'not traced', end?.address, qpn >= 0 ? `QP ${hex(qpn)}` : ''];
  const text = parts.filter(Boolean).join(' · ');
  return { letter: end?.letter ?? '?', even: id % 2 === 1, text };
}

// The lines of a lane's name; on the direct path the lane of the DMA Engine is also the memory.
function laneName({ module }, spacing, direct) {
  const words = module.split(' ');
  const lines = textWidth(module) > spacing - 8 && words.length > 1
    ? [words.slice(0, -1).join(' '), words.at(-1)] : [module];
  return direct && module === 'DMA Engine' ? ['Memory', '(DMA)'] : lines;
}

// The names of the ends and lanes; stays at the top while the rows scroll.
function headElement(trace, entry, seq, { places, groups, width }) {
  const direct = seq.arrows.some((arrow) => arrow.kind === 'direct');
  const head = s('svg', { class: 'lanes', width, height: kHead, viewBox: `0 0 ${width} ${kHead}` });
  head.append(s('text', { class: 'heading', x: kTimeX, y: 60, 'text-anchor': 'end' }, 'time'),
    s('text', { class: 'heading', x: kGapX, y: 60, 'text-anchor': 'end' }, 'gap'));
  for (const { side, from, to } of groups) {
    const { letter, even, text } = groupTitle(trace, entry, side);
    head.append(
      s('rect', { class: 'group', x: from, y: 4, width: to - from, height: kHead + 10, rx: 8 }),
      s('rect', {
        class: even ? 'badge even' : 'badge', x: from + 10, y: 11, width: 20, height: 18, rx: 4,
      }),
      s('text', { class: 'badgetext', x: from + 20, y: 24.5, 'text-anchor': 'middle' }, letter),
      s('text', { class: 'endname', x: from + 37, y: 24.5 }, fitting(text, (to - from - 46) / 1.1),
        s('title', {}, text)));
  }
  if (groups.length > 1) {
    head.append(s('text', { class: 'heading', x: (groups[0].to + groups[1].from) / 2, y: 60,
      'text-anchor': 'middle' }, direct ? 'shared memory' : 'link'));
  }
  const names = new Map(seq.lanes.map((lane) => {
    const { spacing } = groups.find((group) => group.side === lane.side);
    const lines = laneName(lane, spacing, direct);
    const x = places.get(lane.key);
    const name = s('text', { class: 'lanename', y: 60 - 13 * (lines.length - 1),
      'text-anchor': 'middle' }, lines.map((line, i) => s('tspan', { x, dy: i ? 13 : 0 }, line)));
    return [lane.key, name];
  }));
  head.append(...names.values());
  return { head, names };
}

// The diagram and `show(step)`: the steps up to it are drawn, later ones are faint. With -1 all of
// them are drawn.
export function diagram(trace, entry, seq, available, pick) {
  const place = columns(seq.lanes, available);
  const { width } = place;
  const height = rowY(seq.rows.length) + 4;
  const body = s('svg', { class: 'steps', width, height, viewBox: `0 0 ${width} ${height}` });
  const bands = seq.rows.map((_, index) => s('rect', { class: 'band', x: 0,
    y: rowY(index) - kRow / 2, width, height: kRow }));
  bands.forEach((band, index) => band.addEventListener('click', () => pick(index)));
  const rows = seq.rows.map((row, index) => s('g', { class: 'row' },
    timeElements(row, index, seq), stepElements(row, index, place)));
  const crowded = isCrowded(seq.arrows);
  const arrows = seq.arrows.map((arrow) => arrowElement(arrow, place, crowded));
  body.append(
    s('g', {}, place.groups.map(({ from, to }) => s('rect', { class: 'group', x: from, y: -20,
      width: to - from, height: height + 14, rx: 8 }))),
    s('g', {}, seq.lanes.map(({ key }) => s('line', { class: 'lane', x1: place.places.get(key),
      x2: place.places.get(key), y1: 0, y2: height - 14 }))),
    s('g', {}, bands), s('g', {}, arrows.map((arrow) => arrow.group)), s('g', {}, rows),
    s('g', {}, arrows.map((arrow) => arrow.words)));
  const { head, names } = headElement(trace, entry, seq, place);

  let current = -1;
  function mark(step, on) {
    const row = seq.rows[step];
    if (!row) return;
    bands[step].classList.toggle('current', on);
    rows[step].classList.toggle('current', on);
    names.get(row.to)?.classList.toggle('current', on);
  }
  function show(step) {
    rows.forEach((row, index) => row.classList.toggle('later', step >= 0 && index > step));
    mark(current, false);
    mark(step, true);
    for (const arrow of arrows) progress(arrow, step);
    current = step;
  }
  return { element: h('div', { class: 'sequence' }, head, body), show, top: rowY };
}
