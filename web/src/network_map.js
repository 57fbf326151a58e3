// A network drawn on a canvas: tiers as rows, links as lines coloured by one of their figures, the
// hottest on top. Pointing at a line or a node shows its details.
import { h } from './dom.js';
import { asked, layout } from './topology.js';
import { colour, heatScale, whenThemeChanges } from './theme.js';
import { hasPackets } from './measures.js';
import { largest, sum } from './stats.js';
import { bitsPerSecond, count, bytes, share, time } from './units.js';

export const kFigures = [
  { key: 'utilisation', name: 'utilisation', show: share, top: 1 },
  { key: 'queued', name: 'deepest queue', show: bytes },
  { key: 'pauses', name: 'pauses', show: count },
  { key: 'paused', name: 'time paused', show: time },
  { key: 'marked', name: 'ECN marks', show: count },
  { key: 'dropped', name: 'drops', show: count },
  { key: 'lost', name: 'losses on the cable', show: count },
];

const kInvitation = 'Point at a cable or a node to see its details.';
const kMargin = 28;
const kRowHeight = 140;
const kWide = 640;  // below this width the column of row names is narrow
const kColumns = { wide: 116, narrow: 80 };
const kDense = 600;  // from this number of lines, cool ones are drawn fainter
const kArc = 50;  // height of an arc between two nodes of a row

// Six pixels per NIC and three per switch; rows with more nodes are drawn in groups.
const room = (width) => (tier) => Math.max(8, Math.floor(width / (tier === 0 ? 6 : 3)));

// Nodes of the same tier are connected by an arc above their row, so that the row does not hide it.
function bend(a, b) {
  if (a.y !== b.y) return undefined;
  return { x: (a.x + b.x) / 2, y: a.y - Math.min(2 * kArc, 14 + Math.abs(a.x - b.x) * 0.25) };
}

class NetworkMap {
  constructor(result) {
    this.result = result;
    this.canvas = h('canvas', { role: 'img',
      'aria-label': `The network of ${result.label}: links coloured by load` });
    this.hint = h('p', { class: 'hint', 'aria-live': 'polite' }, kInvitation);
    this.element = h('div', { class: 'map' }, this.canvas, this.hint);
    this.rows = new Set(result.nodes.map((node) => node.tier)).size;
    const { nodes, links } = result;
    const arcs = links.some(({ from, to }) => nodes[from].tier === nodes[to].tier);
    const top = kMargin + (arcs ? kArc : 0);
    this.height = kMargin + top + Math.max(0.5, this.rows - 1) * kRowHeight;
    this.element.style.setProperty('--map-height', `${this.height}px`);
    new ResizeObserver(() => requestAnimationFrame(() => this.resize())).observe(this.canvas);
    whenThemeChanges(() => this.draw());
    this.canvas.addEventListener('pointermove', (event) => this.point(event));
    this.canvas.addEventListener('pointerleave', () => { this.hint.textContent = kInvitation; });
  }

  // `hottest`: the value of the hottest colour, the same in all maps of a page.
  show(figure, direction, hottest) {
    Object.assign(this, { figure, direction, hottest });
    this.draw();
  }

  resize() {
    const width = this.canvas.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    const scale = Math.max(1, window.devicePixelRatio || 1);
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.scale = scale;
    this.left = width > kWide ? kColumns.wide : kColumns.narrow;
    this.inner = width - this.left;
    this.layout = layout(this.result.nodes, this.result.links, room(this.inner));
    this.points = this.layout.places.map((place) =>
      ({ x: this.left + place.x * this.inner, y: this.rowHeight(place.row) }));
    this.draw();
  }

  rowHeight(row) {
    return this.height - kMargin - row * kRowHeight;
  }

  values(line) {
    return asked(line, this.direction).map((i) => this.result.links[i][this.figure.key]);
  }

  draw() {
    if (!this.layout || !this.figure) return;
    const { points, layout: { lines } } = this;
    const context = this.canvas.getContext('2d');
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const heat = heatScale();
    const width = lines.length > 3000 ? 0.7 : lines.length > 600 ? 1.1 : lines.length > 150 ? 1.6 : 2.4;
    const sorted = lines.map((line) => ({ line, value: largest(this.values(line)) }))
      .sort((a, b) => a.value - b.value);
    for (const { line, value } of sorted) {
      const from = points[line.low];
      const to = points[line.high];
      const over = bend(from, to);
      const part = this.hottest > 0 ? value / this.hottest : 0;
      context.beginPath();
      context.moveTo(from.x, from.y);
      if (over) context.quadraticCurveTo(over.x, over.y, to.x, to.y);
      else context.lineTo(to.x, to.y);
      context.globalAlpha = lines.length > kDense ? 0.4 + 0.6 * part : 1;
      context.strokeStyle = heat(part);
      context.lineWidth = width * (0.75 + 0.75 * part);
      context.stroke();
    }
    context.globalAlpha = 1;
    this.drawNodes(context);
    this.drawRowNames(context);
  }

  drawNodes(context) {
    this.layout.places.forEach((place, i) => {
      const { x, y } = this.points[i];
      const space = this.inner / this.layout.rows[place.row].places;
      const size = Math.min(place.isSwitch ? 16 : 9, Math.max(2, space - 2));
      context.fillStyle = colour(place.isSwitch ? '--ink' : '--muted');
      context.strokeStyle = colour('--surface');
      context.beginPath();
      if (place.isSwitch) context.rect(x - size / 2, y - size / 2, size, size);
      else context.arc(x, y, size / 2, 0, 7);
      context.fill();
      context.lineWidth = 1;
      if (size > 4) context.stroke();
      this.drawName(context, place, x, y, space);
    });
  }

  // Below NICs and above switches, if the row has room for all names.
  drawName(context, place, x, y, space) {
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'center';
    if (place.nodes.length > 1 || context.measureText(place.name).width + 6 > space) return;
    const base = place.row ? y - 13 : y + 19;
    context.strokeStyle = colour('--surface');
    context.lineWidth = 4;  // outline over the lines below
    context.strokeText(place.name, x, base);
    context.fillStyle = colour('--muted');
    context.fillText(place.name, x, base);
  }

  drawRowNames(context) {
    context.textAlign = 'left';
    context.fillStyle = colour('--muted');
    this.layout.rows.forEach((row, i) => {
      const y = this.rowHeight(i);
      const grouped = row.places < row.nodes;
      context.font = '600 12px system-ui, sans-serif';
      context.fillText(`${row.name} × ${count(row.nodes)}`, 0, grouped ? y - 3 : y + 4, this.left - 8);
      context.font = '11px system-ui, sans-serif';
      if (grouped) context.fillText(`in ${count(row.places)} groups`, 0, y + 11, this.left - 8);
    });
  }

  point(event) {
    if (!this.layout) return;
    const at = { x: event.offsetX, y: event.offsetY };
    this.hint.textContent = this.nodeAt(at) ?? this.lineAt(at) ?? kInvitation;
  }

  nodeAt(at) {
    const near = this.points.findIndex(({ x, y }) => Math.hypot(x - at.x, y - at.y) < 7);
    return near < 0 ? undefined : this.layout.places[near].name;
  }

  lineAt(at) {
    let best = { distance: 6 };
    for (const line of this.layout.lines) {
      const a = this.points[line.low];
      const b = this.points[line.high];
      const distance = segmentDistance(at, a, bend(a, b) ?? b, b);
      if (distance < best.distance) best = { distance, line };
    }
    return best.line && this.describe(best.line);
  }

  describe(line) {
    const { places } = this.layout;
    const way = (from, to, indices) => {
      if (!indices.length) return undefined;
      const links = indices.map((i) => this.result.links[i]);
      const figures = [
        `${share(sum(links.map((link) => link.utilisation)) / links.length)} used`,
        ...(hasPackets(this.result)
          ? [`queue to ${bytes(largest(links.map((link) => link.queued)))}`] : []),
        ...['pauses', 'marked', 'dropped', 'lost'].map((key) => [key, sum(links.map((link) => link[key]))])
          .filter(([, many]) => many).map(([key, many]) => `${count(many)} ${key}`),
      ];
      const many = links.length > 1 ? `${links.length} × ` : '';
      return `${places[from].name} → ${places[to].name}: ${many}${bitsPerSecond(links[0].rate)}, ` +
        figures.join(', ');
    };
    return [way(line.low, line.high, line.up), way(line.high, line.low, line.down)]
      .filter(Boolean).join('  ·  ');
  }
}

// The distance to a straight line, or to the two lines that approximate an arc.
function segmentDistance(at, a, over, b) {
  const toSegment = (p, q) => {
    const long = (q.x - p.x) ** 2 + (q.y - p.y) ** 2;
    const part = long ? ((at.x - p.x) * (q.x - p.x) + (at.y - p.y) * (q.y - p.y)) / long : 0;
    const inside = Math.min(1, Math.max(0, part));
    return Math.hypot(at.x - p.x - inside * (q.x - p.x), at.y - p.y - inside * (q.y - p.y));
  };
  if (over === b) return toSegment(a, b);
  const middle = { x: over.x, y: (a.y + over.y) / 2 };  // the top of the curve
  return Math.min(toSegment(a, middle), toSegment(middle, b));
}

export const networkMap = (result) => new NetworkMap(result);
