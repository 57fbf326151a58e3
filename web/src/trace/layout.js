// Where the parts of a diagram are, in pixels.
import { kLeft, kRight } from './arrows.js';

export const kRow = 24;
export const kHead = 70;   // the names of the lanes
export const kEdge = 37;   // between the outermost lanes and the border of their group
const kTop = 4;
const kGutter = 144;       // the times
const kMargin = 8;
const kNarrowest = 50;     // between lanes
const kWidest = 150;
const kSmallestGroup = 200;
const kSpill = 60;         // of a label onto the link

export const rowY = (row) => kTop + kRow * (row + 0.5);

// The lanes of each end are evenly spaced, with room for the link between the ends.
export function columns(lanes, available) {
  const sides = [kLeft, kRight].map((side) => lanes.filter((lane) => lane.side === side))
    .filter((side) => side.length);
  const room = Math.max(available - kGutter - kMargin, 480);
  const link = sides.length > 1 ? Math.min(280, Math.max(150, room * 0.2)) : 0;
  const gaps = sides.reduce((n, side) => n + side.length - 1, 0);
  const ideal = (room - link - kEdge * 2 * sides.length) / Math.max(gaps, 1);
  const spacing = Math.min(kWidest, Math.max(kNarrowest, ideal));
  const wanted = sides.map((side) => kEdge * 2 + spacing * (side.length - 1));
  // A group with few lanes is widened at the cost of the other.
  const widths = wanted.map((width, i) => {
    const other = Math.max(0, kSmallestGroup - (wanted[1 - i] ?? kSmallestGroup));
    const least = kEdge * 2 + kNarrowest * (sides[i].length - 1);
    return Math.max(kSmallestGroup, Math.max(least, width - other));
  });
  const places = new Map();
  let from = kGutter;
  const groups = sides.map((side, i) => {
    const inside = (widths[i] - kEdge * 2) / Math.max(side.length - 1, 1);
    side.forEach((lane, n) => {
      places.set(lane.key, side.length > 1 ? from + kEdge + inside * n : from + widths[i] / 2);
    });
    const group = { side: side[0].side, from, to: from + widths[i], spacing: inside };
    from = group.to + link;
    return group;
  });
  return { places, groups, link, width: groups.at(-1).to + kMargin };
}

// Where the label of a row goes: above its arrow if it fits there, else beside it, inside its group
// if possible. `room` is the width it may have.
export function labelPlace(wide, from, to, group) {
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  if (high - low > wide + 14) return { x: (low + high) / 2, dy: -5, anchor: 'middle', room: wide };
  const right = group.to - high - 14;
  const left = low - group.from - 14;
  if (wide <= right || (wide > left && right >= left)) {
    const room = right + (group.side === kLeft ? kSpill : 0);
    return { x: high + 10, dy: 4, anchor: 'start', room };
  }
  const room = left + (group.side === kRight ? kSpill : 0);
  return { x: low - 10, dy: 4, anchor: 'end', room };
}
