// The sampled series: queues, utilisation and others.
import { chart } from '../chart.js';
import { h, panel, section } from '../dom.js';
import { groups, highest, isFlat, kindOf, overlaid, sampleTimes, shortName } from '../series.js';
import { aligned, largest } from '../stats.js';
import { seriesColour } from '../theme.js';
import {
  axisUnit, bitsPerSecond, digits, bytes, bytesPerSecond, perSecond, share, time,
} from '../units.js';

const kMostLines = 8;
// Per subject: the title, the axis label, the title of its envelope.
const kSubjects = {
  goodput: ['Goodput of all NICs', 'goodput'],
  utilisation: ['Link utilisation, mean of a tier', 'utilisation', 'Link utilisation, busiest tier'],
  busiest: ['Busiest link of a tier', 'utilisation', 'Busiest link'],
  queue: ['Queue depth of the deepest queues', 'queue depth', 'Queue depth, deepest queue'],
  deepest: ['Deepest queue of a tier', 'queue depth', 'Deepest queue'],
  queued: ['All queues of a tier together', 'queued', 'All queues of the fullest tier'],
  paused: ['Paused ports', 'paused'],
  marks: ['ECN marks', 'marks'],
  drops: ['Packets dropped by switches', 'drops'],
  losses: ['Packets lost on cables', 'losses'],
};
const called = (subject) => kSubjects[subject] ?? [subject, subject];

// How values of a unit are drawn: divisor, name, format.
function vertical(unit, most) {
  const { kind, factor } = kindOf(unit);
  if (kind === 'share') {
    return { size: 0.01, name: '%', show: share, top: most <= 1 ? 100 : undefined };
  }
  if (kind === 'plain') {
    return { size: 1, name: unit, show: (value) => `${digits(value)} ${unit}`.trim() };
  }
  const { size, name } = axisUnit(kind, most * factor);
  const write = { bytes, bytesPerSecond, bitsPerSecond, perSecond }[kind];
  return { size: size / factor, name, show: (value) => write(value * factor) };
}

// All charts of the page share one time axis and its cursor.
function drawn(results, { subject, title, caption, unit, lines }) {
  const end = largest(results.map((result) =>
    result.sampleEvery * largest(result.series.map((series) => series.values.length))));
  const across = axisUnit('time', end);
  const up = vertical(unit, largest(lines.map((line) => largest(line.values))));
  const { x, columns } = onOneAxis(lines, across.size);
  return panel(title, caption, chart({
    x,
    xLabel: `time (${across.name})`,
    xName: 'time',
    xShow: (value) => time(value * across.size),
    yLabel: `${called(subject)[1]} (${up.name || 'count'})`,
    yTop: up.top,
    yShow: (value) => up.show(value * up.size),
    sync: 'time',
    lines: lines.map((line, i) => ({ ...line, values: columns[i].map((value) =>
      (value === null ? null : value / up.size)) })),
  }));
}

// Results may be sampled at different intervals: uses all times, with points where a line has a
// sample.
function onOneAxis(lines, size) {
  const [x, ...columns] = aligned(lines.map(({ values, result }) => ({
    x: sampleTimes(values.length, result.sampleEvery, result.simulated),
    y: values,
  })));
  return { x: x.map((at) => at / size), columns };
}

function ofOne(result) {
  return groups(result.series).filter((group) => !isFlat(group.series)).map((group) => {
    const kept = highest(group.series, kMostLines);
    const left = group.series.length - kept.length;
    return drawn([result], {
      subject: group.subject,
      title: called(group.subject)[0],
      caption: left ? `The ${kept.length} with the highest peaks; ${left} more were recorded.` : '',
      unit: group.unit,
      lines: kept.map((series) => ({ label: shortName(series, group), values: series.values,
        result, fill: kept.length === 1 })),
    });
  });
}

function ofSeveral(results) {
  const some = overlaid(results).filter(({ lines }) => !isFlat(lines.map((values) => ({ values }))));
  return some.map(({ subject, unit, name, many, lines }) => drawn(results, {
    subject,
    title: name ? `${called(subject)[0]}: ${name}` : called(subject)[many ? 2 : 0] ?? subject,
    caption: many ? 'The maximum of all recorded series at each time.' : '',
    unit,
    lines: lines.map((values, i) => ({ label: results[i].label, values, result: results[i],
      colour: seriesColour(i) })).filter(({ values }) => values.length),
  }));
}

// Series that are zero in every result.
function silence(results) {
  const all = groups(results.flatMap((result) => result.series));
  const names = all.filter((group) => isFlat(group.series)).map(({ subject }) => called(subject)[0]);
  return names.length ? h('p', { class: 'quiet' }, `Zero throughout: ${names.join('; ')}.`) : undefined;
}

export function timeSection(results) {
  const charts = results.length === 1 ? ofOne(results[0]) : ofSeveral(results);
  return section('time', 'Over time', 'Drag across a chart to zoom in, double-click to zoom out.',
    charts.length ? h('div', { class: 'grid' }, charts) : undefined, silence(results));
}
