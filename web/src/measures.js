// The main figures of a result. NaN: not applicable.
import { ascending, jain, largest, mean, percentile, sum } from './stats.js';

// From the start of the first job to the end of the last.
export function completion(result) {
  if (!result.jobs.length) return result.simulated || NaN;
  const first = Math.min(...result.jobs.map((job) => job.start));
  return largest(result.jobs.map((job) => job.end)) - first;
}

// The share of the ranks' time spent waiting for messages with nothing to compute.
export function idleShare(jobs) {
  const ranks = jobs.flatMap((job) => job.ranks);
  const exposed = sum(ranks.map((rank) => rank.exposed));
  const all = exposed + sum(ranks.map((rank) => rank.compute));
  return all > 0 ? exposed / all : NaN;
}

export const stepTime = (job) => mean(job.steps);

// How much longer a step took than its bound: 0.25 is a quarter.
export const aboveBound = (job) =>
  (job.bound > 0 && job.steps.length ? stepTime(job) / job.bound - 1 : NaN);

export function worstAboveBound(result) {
  const known = result.jobs.map(aboveBound).filter(Number.isFinite);
  return known.length ? Math.max(...known) : NaN;
}

// Bus bandwidth is work over time: at the bound, the same work takes the bound.
export function bandwidth(job) {
  if (!(job.busBandwidth > 0)) return undefined;
  return { achieved: job.busBandwidth, bound: job.busBandwidth * (1 + aboveBound(job)) };
}

export const bestBandwidth = (result) =>
  largest(result.jobs.map((job) => job.busBandwidth)) || NaN;

// Completion time relative to an empty network; flows with an unknown ideal are skipped.
export const slowdowns = (flows) =>
  flows.filter((flow) => flow.ideal > 0).map((flow) => flow.time / flow.ideal);

export const flowsOf = (result) => result.jobs.flatMap((job) => job.flows);

// A large result keeps only some flows; this is the number before that.
export const flowCount = (result) => sum(result.jobs.map((job) => job.flowCount));

export function slowdownAt(result, share) {
  return percentile(ascending(slowdowns(flowsOf(result))), share);
}

// Of the throughput of each flow, in bytes/s.
export const fairness = (flows) => jain(flows.map((flow) => flow.bytes / flow.time));

export const busiest = (result) => largest(result.links.map((link) => link.utilisation)) || NaN;

// Whether the run had packets: queues, marks, pauses, losses. A run of flows has none of these.
export const hasPackets = (result) => result.packets !== false;

export const deepest = (result) => (result.links.length && hasPackets(result)
  ? largest(result.links.map((link) => link.queued)) : NaN);

// Flows are compared within a size class, since short flows suffer from delays that long ones do
// not notice.
const kSizes = [
  { below: 1e4, name: 'under 10 KB' },
  { below: 1e5, name: '10 to 100 KB' },
  { below: 1e6, name: '100 KB to 1 MB' },
  { below: 1e7, name: '1 to 10 MB' },
  { below: Infinity, name: '10 MB and more' },
];

export function bySize(flows) {
  const classes = kSizes.map((size, order) => ({ name: size.name, order, flows: [] }));
  for (const flow of flows) {
    classes[kSizes.findIndex((size) => flow.bytes < size.below)].flows.push(flow);
  }
  return classes.filter((one) => one.flows.length).map((one) => {
    const sorted = ascending(slowdowns(one.flows));
    return {
      ...one,
      p50: percentile(sorted, 0.5),
      p95: percentile(sorted, 0.95),
      p99: percentile(sorted, 0.99),
      most: sorted.length ? sorted[sorted.length - 1] : NaN,
    };
  });
}
