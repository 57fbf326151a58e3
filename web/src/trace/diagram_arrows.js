// Arrows between the ends, and how far they are drawn while the diagram plays.
import { kLeft } from './arrows.js';
import { kEdge, rowY } from './layout.js';
import { fitting, s } from './svg.js';

const kShortOfArrival = 0.5;

function headAlong({ x1, y1, x2, y2 }, size) {
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  return s('path', { class: 'head', d: `M0 0l${-size} ${-size / 2}v${size}z`,
    transform: `translate(${x2} ${y2}) rotate(${angle})` });
}

// The ends of the line. A lost packet stops on the link.
function geometry(arrow, { places, link }, direction) {
  const start = places.get(arrow.start);
  const finish = places.get(arrow.finish) ?? start + direction * (link + kEdge * 2);
  const part = arrow.end === 'arrives' ? 0 : kShortOfArrival;
  const direct = arrow.kind === 'direct';
  const y1 = rowY(arrow.from);
  const flat = arrow.to === arrow.from && !direct;
  return {
    x1: start + 8 * direction,
    y1,
    x2: part ? start + (finish - start) * part : finish - 8 * direction,
    y2: flat ? y1 + 9 : rowY(arrow.to),
    middle: (start + finish) / 2,
    room: Math.abs(finish - start) - 20,
  };
}

function tipOf(arrow, place, direction) {
  const { x2, y2 } = place;
  if (arrow.end === 'lost') {
    return s('path', { class: 'cross', d: `M${x2 - 5.5} ${y2 - 5.5}l11 11m0 -11l-11 11` });
  }
  if (arrow.end === 'unknown') {
    return s('circle', { class: 'end', cx: x2 + 3 * direction, cy: y2, r: 3 });
  }
  return headAlong(place, arrow.kind === 'direct' ? 14 : 8);
}

// What is written at the end of an arrow that does not arrive.
const kEndings = { lost: 'lost', unknown: 'not received' };

// Whether arrows cross on the link, so that there is no room for their labels.
export const isCrowded = (arrows) => arrows.some((arrow, i) => arrow.to - arrow.from > 3 &&
  arrows.slice(i + 1, i + 4).some((next) => next.from < arrow.to));

// The label is above the beginning of the arrow: on the link or, if that is crowded, on the side
// of the sender. Arrows that are alone on the link have it in the middle.
function labelOf(arrow, place, direction, crowded) {
  const { x1, y1, y2, middle } = place;
  if (arrow.alone) {
    const y = (y1 + y2) / 2 - (arrow.kind === 'direct' ? 9 : 6);
    return { class: 'label', x: middle, y, 'text-anchor': 'middle' };
  }
  const rightwards = (direction > 0) !== crowded;
  return {
    class: crowded ? 'label inside' : 'label',
    x: x1 + (crowded ? -17 : 6) * direction,
    y: y1 - (crowded ? 5 : 6),
    'text-anchor': rightwards ? 'start' : 'end',
  };
}

function wordsOf(arrow, place, direction, crowded) {
  const { x2, y2, room } = place;
  const text = [arrow.label, arrow.title].filter(Boolean).join(' · ');
  const main = s('text', labelOf(arrow, place, direction, crowded),
    fitting(arrow.label, room), s('title', {}, text));
  const ending = kEndings[arrow.end];
  if (!ending) return [main];
  return [main, s('text', { class: 'label', 'text-anchor': direction > 0 ? 'start' : 'end',
    x: x2 + 11 * direction, y: y2 + 4 }, ending)];
}

// `group` has the line, `words` the labels, which are above all lines.
export function arrowElement(arrow, layout, crowded) {
  const direction = arrow.side === kLeft ? 1 : -1;
  const place = geometry(arrow, layout, direction);
  const { x1, y1, x2, y2 } = place;
  const short = arrow.kind === 'direct' ? 10 * direction : 0;  // its head is wider than its line
  const classes = `arrow ${arrow.kind} ${arrow.end}`;
  const line = s('line', { class: 'wire', x1, y1, x2: x2 - short, y2, pathLength: 1 });
  const packet = s('rect', { class: 'packet', x: -7, y: -4.5, width: 14, height: 9, rx: 2 });
  return {
    ...arrow,
    ...place,
    line,
    packet,
    group: s('g', { class: classes }, line,
      s('g', { class: 'tip' }, tipOf(arrow, place, direction)), packet),
    words: s('g', { class: classes }, wordsOf(arrow, place, direction, crowded)),
  };
}

// Before its first row an arrow is faint; until its last row it is as long as the rows passed.
export function progress(arrow, step) {
  const span = arrow.to - arrow.from;
  let part = 1;
  if (step >= 0 && step < arrow.from) part = 0;
  else if (step >= 0 && span) part = Math.min(1, (step - arrow.from + 0.35) / (span + 0.35));
  const flying = part > 0 && part < 1;
  for (const element of [arrow.group, arrow.words]) {
    element.classList.toggle('later', part === 0);
    element.classList.toggle('flying', flying);
  }
  arrow.line.style.strokeDasharray = flying ? `${part} 2` : '';
  const x = arrow.x1 + (arrow.x2 - arrow.x1) * part;
  const y = arrow.y1 + (arrow.y2 - arrow.y1) * part;
  arrow.packet.style.transform = `translate(${x}px, ${y}px)`;
}
