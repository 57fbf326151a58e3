// Several results in one table: a row for each measure that any of them has, a column for each
// result, and the change relative to the first.
import {
  bestBandwidth, busiest, completion, deepest, fairness, flowsOf, hasPackets, idleShare, slowdownAt,
  worstAboveBound,
} from './measures.js';
import { change, count, index, bytes, bytesPerSecond, ratio, share, time } from './units.js';

// `better`: -1 if lower is better, 1 if higher is better, 0 if neither.
const total = (key) => (result) => (hasPackets(result) ? result.totals[key] : NaN);
const kMeasures = [
  { name: 'Completion time', of: completion, show: time, better: -1 },
  { name: 'GPU idle share', of: (result) => idleShare(result.jobs), show: share, better: -1 },
  { name: 'Above the bound', of: worstAboveBound, show: share, better: -1 },
  { name: 'Bus bandwidth', of: bestBandwidth, show: bytesPerSecond, better: 1 },
  { name: 'Slowdown, median', of: (r) => slowdownAt(r, 0.5), show: ratio, better: -1 },
  { name: 'Slowdown, p99', of: (r) => slowdownAt(r, 0.99), show: ratio, better: -1 },
  { name: 'Fairness (Jain)', of: (r) => fairness(flowsOf(r)), show: index, better: 1 },
  { name: 'Busiest link', of: busiest, show: share, better: 0 },
  { name: 'Deepest queue', of: deepest, show: bytes, better: -1 },
  { name: 'PFC pauses', of: total('pauses'), show: count, better: -1 },
  { name: 'Time paused, all ports', of: total('paused_ps'), show: time, better: -1 },
  { name: 'ECN marks', of: total('marked'), show: count, better: 0 },
  { name: 'CNPs', of: total('congestion_notices'), show: count, better: 0 },
  { name: 'Dropped by switches', of: total('dropped'), show: count, better: -1 },
  { name: 'Lost on cables', of: total('lost'), show: count, better: -1 },
  { name: 'Retransmitted', of: total('retransmitted'), show: count, better: -1 },
  { name: 'Timeouts', of: total('timeouts'), show: count, better: -1 },
  { name: 'TCP CPU time', of: total('cpu_ps'), show: time, better: -1 },
  { name: 'Failed messages', of: (result) => result.totals.failed_messages, show: count, better: -1 },
];

// 'better', 'worse' or '': differences up to one percent count as equal.
export function verdict(value, first, better) {
  if (!better || !Number.isFinite(value) || !Number.isFinite(first)) return '';
  const difference = (value - first) * better;
  if (Math.abs(difference) <= 0.01 * Math.abs(first)) return '';
  return difference > 0 ? 'better' : 'worse';
}

// Rows that are empty or zero for all results are omitted.
export function comparison(results) {
  return kMeasures.flatMap(({ name, of, show, better }) => {
    const values = results.map(of);
    if (!values.some((value) => Number.isFinite(value) && value !== 0)) return [];
    const cells = values.map((value, i) => ({
      text: show(value),
      beside: i && Number.isFinite(value) ? change(value, values[0]) : '',
      verdict: i ? verdict(value, values[0], better) : '',
    }));
    return [{ name, cells }];
  });
}
