// The slowdown of flows relative to an empty network.
import { chart } from '../chart.js';
import { h, panel, section, table } from '../dom.js';
import { bySize, fairness, flowCount, flowsOf, slowdowns } from '../measures.js';
import { aligned, ascending, distribution, largest, percentile } from '../stats.js';
import { seriesColour } from '../theme.js';
import { axisUnit, count, index, ratio, share, time } from '../units.js';

// From the median to p99, on a logarithmic scale shared by all rows.
function range({ p50, p95, p99 }, most) {
  const at = (value) => (100 * Math.log(Math.max(1, value))) / Math.log(Math.max(1.01, most));
  const mark = (value, kind) => h('span', { class: kind, style: `left:${at(value).toFixed(2)}%` });
  return h('span', { class: 'range', 'aria-hidden': 'true' },
    h('span', { class: 'reach', style: `left:${at(p50).toFixed(2)}%;` +
      `width:${Math.max(0, at(p99) - at(p50)).toFixed(2)}%` }),
    mark(p50, 'p50'), mark(p95, 'p95'), mark(p99, 'p99'));
}

function sizes(results) {
  const rows = results.flatMap((result) => bySize(flowsOf(result)).map((size) => ({ result, size })));
  const most = largest(rows.map(({ size }) => size.p99).filter(Number.isFinite));
  // Sorted by size first, so that rows to compare are adjacent.
  rows.sort((a, b) => a.size.order - b.size.order || a.result.index - b.result.index);
  return panel('Slowdown by size', 'Completion time of a flow relative to an empty ' +
    'network. The band reaches from the median to p99, with a tick at p95; its scale is logarithmic.',
  table(['Size', 'Flows', 'p50', 'p95', 'p99', 'Worst', 'Fairness', `1 × to ${ratio(most)}`],
    rows.map(({ result, size }) => [
      h('span', {}, size.name, results.length > 1 ? h('small', { class: 'quiet' }, result.label) : ''),
      count(size.flows.length), ratio(size.p50), ratio(size.p95), ratio(size.p99), ratio(size.most),
      index(fairness(size.flows)), range(size, most),
    ]), { class: 'figures' }));
}

function curves(results) {
  const lines = results.length > 1
    ? results.map((result) => ({ label: result.label, colour: seriesColour(result.index),
      flows: flowsOf(result) }))
    : [{ label: 'all flows', flows: flowsOf(results[0]) },
      ...bySize(flowsOf(results[0])).map(({ name, flows }) => ({ label: name, flows }))];
  // With a single size class, its curve is that of all flows.
  const distinct = results.length === 1 && lines.length === 2 ? lines.slice(0, 1) : lines;
  const shown = distinct.filter(({ flows }) => slowdowns(flows).length > 1);
  if (!shown.length) return undefined;
  const [x, ...columns] = aligned(shown.map(({ flows }) => distribution(slowdowns(flows))));
  return panel('Distribution of slowdown', 'The share of flows with at most this slowdown.',
    chart({
      x,
      xLog: true,
      xLabel: 'slowdown (relative to an empty network)',
      xTick: ratio,
      xName: 'slowdown',
      xShow: ratio,
      yLabel: 'flows (%)',
      yTop: 100,
      yShow: (value) => share(value / 100),
      lines: shown.map(({ label, colour }, i) => ({ label,
        colour,
        values: columns[i].map((value) => (value === null ? null : value * 100)) })),
    }));
}

function completionTimes(results) {
  const shown = results.filter((result) => flowsOf(result).length > 1);
  if (!shown.length) return undefined;
  const times = shown.map((result) => flowsOf(result).map((flow) => flow.time));
  const unit = axisUnit('time', percentile(ascending(times.flat()), 0.5));
  const [x, ...columns] = aligned(times.map((list) =>
    distribution(list.map((value) => value / unit.size))));
  return panel('Distribution of completion times', 'The share of flows that completed within this time.',
    chart({
      x,
      xLog: true,
      xLabel: 'flow completion time',
      xTick: (value) => time(value * unit.size),
      xName: 'time',
      xShow: (value) => time(value * unit.size),
      yLabel: 'flows (%)',
      yTop: 100,
      yShow: (value) => share(value / 100),
      lines: shown.map(({ label, index: place }, i) => ({
        label: results.length > 1 ? label : 'all flows',
        colour: seriesColour(place),
        values: columns[i].map((value) => (value === null ? null : value * 100)) })),
    }));
}

export function flowsSection(results) {
  const shown = results.filter((result) => flowsOf(result).length);
  if (!shown.length) return undefined;
  const held = shown.some((result) => flowCount(result) > flowsOf(result).length);
  return section('flows', 'Flows', held ? 'Only flows that ended and that the result kept.' : '',
    sizes(shown),
    h('div', { class: 'grid' }, [curves(shown), completionTimes(shown)].filter(Boolean)));
}
