// The scatter of time against cost, with the Pareto front.
import { h, panel } from '../dom.js';
import { seriesColour } from '../theme.js';
import { share } from '../units.js';
import { scale, svg } from './draw.js';
import { days, money, niceRange, seconds, tickMoney, ticks } from './money.js';

const kNetworks = ['infiniband', 'roce', 'roce-lossy', 'tcp'];
const kNames = { infiniband: 'InfiniBand', roce: 'RoCE, PFC and DCQCN',
  'roce-lossy': 'RoCE without PFC', tcp: 'TCP' };
export const networkColour = (network) => `var(${seriesColour(kNetworks.indexOf(network))})`;
export const networkName = (network) => kNames[network] ?? network;

// Time of the whole job where the plan has a number of tokens, else of a run.
const timeOf = (plan) => (candidate) => (plan.tokens > 0 ? candidate.days : candidate.seconds);
const timeText = (plan) => (value) => (plan.tokens > 0 ? days(value) : seconds(value));

const kWidth = 1000;
const kHeight = 470;
const kBox = { left: 78, right: 24, top: 16, bottom: 52 };

function axes(x, y, xRange, yRange, plan) {
  const bottom = kHeight - kBox.bottom;
  const parts = [];
  for (const tick of ticks(xRange)) {
    parts.push(svg('line', { class: 'grid-line', x1: x(tick), x2: x(tick), y1: kBox.top, y2: bottom }),
      svg('text', { class: 'tick', x: x(tick), y: bottom + 20, 'text-anchor': 'middle' }, tickMoney(tick)));
  }
  for (const tick of ticks(yRange)) {
    parts.push(svg('line', { class: 'grid-line', x1: kBox.left, x2: kWidth - kBox.right, y1: y(tick), y2: y(tick) }),
      svg('text', { class: 'tick', x: kBox.left - 10, y: y(tick) + 4, 'text-anchor': 'end' },
        timeText(plan)(tick)));
  }
  parts.push(svg('text', { class: 'axis', x: (kBox.left + kWidth - kBox.right) / 2, y: kHeight - 8,
    'text-anchor': 'middle' }, `cost over ${plan.years} years: capital and electricity`));
  return parts;
}

const tooltip = (plan, c) => [c.name,
  `${timeText(plan)(timeOf(plan)(c))}, ${money(c.total.typical)} (${money(c.total.low)} to ${money(c.total.high)})`,
  c.idle >= 0 ? `GPUs idle ${share(c.idle)}` : '',
  c.state === 'estimated' ? 'messages as flows' : c.state === 'scaled' ? 'packets, scaled' : 'packets',
].filter(Boolean).join('\n');

const labelOf = (c) => `${c.number}  ${c.topology}${c.oversubscription > 1 ? ` ${c.oversubscription}:1` : ''}`;

// Places the labels where they cover neither each other nor a dot; what has no room has a tooltip only.
function placed(points) {
  const kLetter = 6.6;
  const kHigh = 15;
  const dots = points.map(({ px, py }) => ({ left: px - 7, right: px + 7, top: py - 7, bottom: py + 7 }));
  const shown = [];
  const taken = (box) => [...dots, ...shown.map((one) => one.box)].some((other) =>
    box.left < other.right && box.right > other.left && box.top < other.bottom && box.bottom > other.top);
  for (const { c, px, py, best } of points) {
    const text = labelOf(c);
    const width = text.length * kLetter * (best ? 1.1 : 1);
    const gap = best ? 19 : 12;
    const places = [[px + gap, py + 4], [px - gap - width, py + 4],
      ...[-16, 24].map((dy) => [px - 6, py + dy])];
    for (const [left, base] of places) {
      const box = { left, right: left + width, top: base - kHigh + 3, bottom: base + 3 };
      if (left < kBox.left || box.right > kWidth || box.top < 0 || box.bottom > kHeight - kBox.bottom) continue;
      if (taken(box)) continue;
      shown.push({ text, left, base, best, box });
      break;
    }
  }
  return shown;
}

export function frontPanel(plan, choose) {
  const known = plan.candidates.filter((c) => c.seconds > 0 && c.total);
  const time = timeOf(plan);
  const measured = known.filter((c) => c.state !== 'estimated');
  // Estimates far off would squeeze what matters into a corner.
  const certain = measured.length ? measured : known;
  const onFront = certain.filter((c) => plan.front.includes(c.number)).map(time);
  const slowest = Math.max(Math.min(...certain.map(time)) * 1.5, ...onFront);
  const dearest = Math.max(...certain.map((c) => c.total.typical)) * 1.03;
  const shown = known.filter((c) => time(c) <= slowest && c.total.typical <= dearest);
  const xRange = niceRange(shown.map((c) => c.total.typical));
  const yRange = niceRange(shown.map(time));
  const x = scale(xRange, [kBox.left, kWidth - kBox.right]);
  const y = scale(yRange, [kHeight - kBox.bottom, kBox.top]);
  const byNumber = new Map(known.map((c) => [c.number, c]));
  const front = plan.front.map((number) => byNumber.get(number)).filter(Boolean);
  const steps = front.flatMap((c, i) => {
    const before = front[i - 1];
    return before ? [[x(c.total.typical), y(time(before))], [x(c.total.typical), y(time(c))]]
      : [[x(c.total.typical), y(time(c))]];
  });
  const order = [...shown].sort((a, b) => (a.state !== 'estimated') - (b.state !== 'estimated')
    || (a.number === plan.best) - (b.number === plan.best));
  const unit = (c) => time(c) / c.seconds;
  const dots = order.map((c) => {
    const light = c.state === 'estimated';
    const best = c.number === plan.best;
    const at = { cx: x(c.total.typical), cy: y(time(c)) };
    return svg('g', { class: 'candidate', tabindex: light ? undefined : 0, role: light ? undefined : 'button',
      onclick: () => choose(c.number), onkeydown: (event) => event.key === 'Enter' && choose(c.number) },
    svg('title', {}, tooltip(plan, c)),
    light || c.least_seconds === c.most_seconds ? '' : svg('line', { class: 'spread', x1: at.cx, x2: at.cx,
      y1: y(c.least_seconds * unit(c)), y2: y(c.most_seconds * unit(c)), stroke: networkColour(c.network) }),
    best ? svg('circle', { ...at, r: 14, class: 'ring', stroke: networkColour(c.network) }) : '',
    svg('circle', { ...at, r: light ? 4.5 : 8, fill: light ? 'var(--surface)' : networkColour(c.network),
      stroke: networkColour(c.network), 'stroke-width': 1.6, opacity: light ? 0.65 : 1 }));
  });
  const texts = placed(order.filter((c) => c.state !== 'estimated').reverse()
    .map((c) => ({ c, px: x(c.total.typical), py: y(time(c)), best: c.number === plan.best })))
    .map(({ text, left, base, best }) => svg('text', { class: best ? 'label best' : 'label', x: left, y: base }, text));
  const chart = svg('svg', { viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'img',
    'aria-label': 'Time against cost of all candidates' },
  axes(x, y, xRange, yRange, plan),
  svg('polyline', { class: 'front-line', points: steps.map((p) => p.join(',')).join(' ') }),
  dots, texts);
  const used = kNetworks.filter((network) => shown.some((c) => c.network === network));
  const legend = h('p', { class: 'keys' }, used.map((network) => h('span', {},
    h('span', { class: 'key', style: `background:${networkColour(network)}` }), networkName(network))),
  h('span', { class: 'quiet' }, 'filled: packet by packet, the line through it is the range of the seeds; ',
    'open: estimated with messages as flows'));
  const hidden = known.length - shown.length;
  return panel(plan.tokens > 0 ? 'Time of the whole job against cost' : 'Time of a run against cost',
    `The line is the Pareto front: to the left and below it there is nothing.${hidden
      ? ` ${hidden} candidates that are far slower or dearer are not drawn.` : ''}`, legend, chart);
}

export const wholeTime = (plan, c) => timeText(plan)(timeOf(plan)(c));
