// The top of the page: what ran, a summary in sentences, the main figures.
import { h } from '../dom.js';
import {
  bestBandwidth, bySize, completion, fairness, flowsOf, idleShare, slowdownAt, stepTime, worstAboveBound,
} from '../measures.js';
import { kFew } from '../side_by_side.js';
import { seriesColour } from '../theme.js';
import { count, index, bytesPerSecond, ratio, share, time } from '../units.js';
import { headline, plural, troubles } from '../words.js';

const tile = (name, value, note) => h('div', { class: 'tile' },
  h('dt', {}, name), h('dd', {}, value, note ? h('small', {}, note) : ''));

function howMany(jobs) {
  if (!jobs.length) return '';
  if (jobs.length > 1) return `${count(jobs.length)} jobs, first start to last end`;
  const [{ steps }] = jobs;
  return steps.length > 1 ? `${count(steps.length)} steps of ${time(stepTime(jobs[0]))}` : 'one job';
}

// Only if all flows are of one size class: short and long flows never get equal throughput.
const alike = (result) => {
  const flows = flowsOf(result);
  return bySize(flows).length === 1 ? fairness(flows) : NaN;
};

function tiles(result) {
  const known = [
    ['Job completion time', completion(result), time, howMany(result.jobs)],
    ['GPU idle share', idleShare(result.jobs), share, 'waiting for messages'],
    ['Above the bound', worstAboveBound(result), share, 'mean step relative to its bound'],
    ['Bus bandwidth', bestBandwidth(result), bytesPerSecond, 'per rank, as in nccl-tests'],
    ['FCT slowdown, p99', slowdownAt(result, 0.99), ratio,
      `median ${ratio(slowdownAt(result, 0.5))}`],
    ['Fairness', alike(result), index, 'Jain’s index of throughput'],
  ];
  return h('dl', { class: 'tiles' }, known.filter(([, value]) => Number.isFinite(value))
    .map(([name, value, show, note]) => tile(name, show(value), note)));
}

const shape = (result) => {
  const switches = result.nodes.filter((node) => node.isSwitch).length;
  const nics = result.nodes.length - switches;
  return nics ? [plural(nics, 'NIC'), plural(switches, 'switch', 'switches'),
    plural(result.links.length / 2, 'cable')].join(', ') : '';
};

const one = (result) => [
  h('h1', {}, result.scenario),
  result.description ? h('p', { class: 'description' }, result.description) : '',
  h('p', { class: 'answer' }, headline(result)),
  tiles(result),
  h('p', { class: 'quiet' }, [shape(result), `${time(result.simulated)} simulated`,
    `seed ${result.seed}`].filter(Boolean).join(' · ')),
];

// For many results, the comparison is the better list.
const several = (results) => [
  h('h1', {}, `${count(results.length)} results side by side`),
  results.length > kFew ? '' : h('ul', { class: 'results' }, results.map((result, i) => h('li', {},
    h('span', { class: 'key', style: `background:var(${seriesColour(i)})` }),
    h('div', {}, h('strong', {}, result.label),
      result.description ? h('span', { class: 'quiet' }, ` ${result.description}`) : '',
      h('p', {}, headline(result)))))),
];

export function headlineSection(results) {
  const alarms = results.flatMap((result) => troubles(result).map((trouble) =>
    (results.length > 1 ? `${result.label}: ${trouble}` : trouble)));
  return h('header', {}, h('p', { class: 'kicker' }, 'Nerve · simulated fabric'),
    results.length === 1 ? one(results[0]) : several(results),
    alarms.map((alarm) => h('p', { class: 'trouble', role: 'alert' }, alarm)));
}
