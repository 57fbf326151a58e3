// Jobs: their time, their bound, and how their ranks spent the time.
import { chart } from '../chart.js';
import { h, panel, section, table } from '../dom.js';
import { entries } from '../entries.js';
import { aboveBound, bandwidth, idleShare, stepTime } from '../measures.js';
import { binned, largest, mean } from '../stats.js';
import { seriesColour } from '../theme.js';
import { axisUnit, count, digits, bytes, bytesPerSecond, share, time } from '../units.js';

const kMostBars = 96;  // ranks, before adjacent ones are merged
const kMostRankCharts = 6;

// Columns that are empty for all jobs are omitted.
function overview(all) {
  const columns = [
    ['Completion', (job) => (job.done ? time(job.time)
      : h('span', { class: 'worse' }, 'not finished'))],
    ['Steps', (job) => (job.steps.length ? count(job.steps.length) : '–')],
    ['Mean step', (job) => time(stepTime(job))],
    ['Bound of a step', (job) => (job.bound ? time(job.bound) : '–')],
    ['Above it', (job) => share(aboveBound(job))],
    ['Ranks idle', (job) => share(idleShare([job]))],
    ['Payload moved', (job) => (job.bytesMoved ? bytes(job.bytesMoved) : '–')],
  ].filter(([, of]) => all.some(({ job }) => of(job) !== '–'));
  const rows = all.map(({ job, label }) => [
    h('span', {}, label, job.work ? h('small', { class: 'quiet' }, job.work) : ''),
    ...columns.map(([, of]) => of(job)),
  ]);
  return table(['Job', ...columns.map(([name]) => name)], rows, { class: 'figures' });
}

const boundNotes = (all) => [...new Set(all.map(({ job }) => job.boundIs).filter(Boolean))]
  .map((how) => h('p', { class: 'quiet' }, `Bound: ${how}.`));

// A single bar needs no name.
const named = (label, all) => (all.length > 1 ? h('span', { class: 'name' }, label) : '');

// One bar for each job, for the mean rank, on a common time scale.
function breakdown(all) {
  const shown = all.filter(({ job }) => job.ranks.length);
  if (!shown.length) return undefined;
  const rows = shown.map(({ job, label }) => ({
    label,
    compute: mean(job.ranks.map((rank) => rank.compute)),
    exposed: mean(job.ranks.map((rank) => rank.exposed)),
  }));
  const longest = largest(rows.map((row) => row.compute + row.exposed));
  const part = (name, value, kind) => (value > 0 ? h('span', {
    class: kind, style: `width:${((value / longest) * 100).toFixed(3)}%`, title: `${name}: ${time(value)}`,
  }) : '');
  const bars = rows.map(({ label, compute, exposed }) => h('div', { class: 'split' },
    named(label, all),
    h('span', { class: 'bar' }, part('compute', compute, 'compute'),
      part('exposed communication', exposed, 'exposed')),
    h('span', { class: 'value' }, `${time(compute)} compute, ${time(exposed)} exposed ` +
      `(${share(exposed / (compute + exposed))})`)));
  return panel('Where the time went, mean of all ranks',
    h('span', {}, h('span', { class: 'key compute' }), 'compute ', h('span', { class: 'key exposed' }),
      'exposed communication: waiting for messages with nothing to compute'), ...bars);
}

// The same for each rank: shows stragglers and slow rails.
function perRank({ job, label }) {
  const compute = binned(job.ranks.map((rank) => rank.compute), kMostBars);
  const exposed = binned(job.ranks.map((rank) => rank.exposed), kMostBars);
  const totals = compute.map((bin, i) => bin.mean + exposed[i].mean);
  const unit = axisUnit('time', largest(totals));
  const width = compute[0].last - compute[0].first + 1;
  const who = (i) => (compute[i].first === compute[i].last ? `${compute[i].first}`
    : `${compute[i].first} to ${compute[i].last}`);
  return panel(`Rank by rank: ${label}`,
    width > 1 ? `Each bar is the mean of ${count(width)} ranks.` :
      'If one rank computes longer, the others wait for it.', chart({
      x: compute.map((bin) => (bin.first + bin.last) / 2),
      xLabel: 'rank',
      xName: 'rank',
      xShow: (_, i) => who(i),
      xBars: width,
      yLabel: `time (${unit.name})`,
      yShow: (value) => time(value * unit.size),
      lines: [
        { label: 'exposed', values: totals.map((value) => value / unit.size), bars: true,
          colour: '--exposed', show: (_, i) => time(exposed[i].mean) },
        { label: 'compute', values: compute.map((bin) => bin.mean / unit.size), bars: true,
          colour: '--compute' },
      ],
    }));
}

// The achieved bandwidth as a bar, the bound as a mark.
function bandwidths(all) {
  const shown = all.flatMap((entry) => {
    const found = bandwidth(entry.job);
    return found ? [{ ...entry, ...found }] : [];
  });
  if (!shown.length) return undefined;
  const most = largest(shown.map(({ achieved, bound }) => Math.max(achieved, bound || 0))) * 1.02;
  const rows = shown.map(({ label, achieved, bound }) => h('div', { class: 'split' },
    named(label, all),
    h('span', { class: 'bar bullet' },
      h('span', { class: 'achieved', style: `width:${((achieved / most) * 100).toFixed(3)}%` }),
      bound ? h('span', { class: 'mark', style: `left:${((bound / most) * 100).toFixed(3)}%` }) : ''),
    h('span', { class: 'value' }, bytesPerSecond(achieved) +
      (bound ? ` of ${bytesPerSecond(bound)} (${share(achieved / bound)})` : ''))));
  return panel('Bus bandwidth and its bound', 'Bytes per second and rank, as in nccl-tests. ' +
    'The mark is the line-rate bound.', ...rows);
}

function steps(all) {
  const shown = all.filter(({ job }) => job.steps.length > 1);
  if (!shown.length) return undefined;
  const most = largest(shown.flatMap(({ job }) => [...job.steps, job.bound]));
  const unit = axisUnit('time', most);
  const length = largest(shown.map(({ job }) => job.steps.length));
  const oneEach = new Set(shown.map(({ result }) => result)).size === shown.length;
  const lines = shown.map(({ job, label, result }, i) => ({
    label,
    colour: seriesColour(oneEach ? result.index : i),
    values: Array.from({ length }, (_, i) => (i in job.steps ? job.steps[i] / unit.size : null)),
    points: length <= 64,
  }));
  const bounds = [...new Set(shown.map(({ job }) => job.bound).filter(Boolean))];
  if (bounds.length === 1) {
    lines.push({ label: 'bound', values: new Array(length).fill(bounds[0] / unit.size), dash: [4, 4],
      colour: '--muted', width: 1.25 });
  }
  return panel('Step by step', 'The time of the slowest rank in each step.', chart({
    x: Array.from({ length }, (_, i) => i + 1),
    xLabel: 'step',
    xName: 'step',
    xShow: digits,
    xWhole: true,
    yLabel: `time of a step (${unit.name})`,
    yShow: (value) => time(value * unit.size),
    lines,
  }));
}

export function jobsSection(results) {
  const all = entries(results);
  if (!all.length) return undefined;
  const ranked = all.filter(({ job }) => job.ranks.length > 1).slice(0, kMostRankCharts);
  return section('jobs', all.length === 1 ? 'The job' : 'Jobs',
    'How long the jobs took, and how close that is to their bounds.',
    overview(all), boundNotes(all), h('div', { class: 'grid' },
      [breakdown(all), bandwidths(all), steps(all), ...ranked.map(perRank)].filter(Boolean)));
}
