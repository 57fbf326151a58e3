// Which series share a chart, and how several results are combined.
import { largest } from './stats.js';

// The units of results: the kind of axis, and the factor to its base unit.
const kKinds = new Map([
  ['bytes', ['bytes', 1]],
  ['share', ['share', 1]],
  ['b/s', ['bitsPerSecond', 1]],
  ['Gb/s', ['bitsPerSecond', 1e9]],
  ['bytes/s', ['bytesPerSecond', 1]],
  ['1/s', ['perSecond', 1]],
]);
export function kindOf(unit) {
  const [kind, factor] = kKinds.get(unit) ?? ['plain', 1];
  return { kind, factor };
}

// A sample is drawn at the end of its interval; the end of the run may cut the last one short.
export function sampleTimes(count, every, end) {
  return Array.from({ length: count }, (_, i) =>
    (i + 1 === count && end > i * every ? Math.min(end, (i + 1) * every) : (i + 1) * every));
}

// "queue:leaf0>nic3" and "queue:leaf1>nic9" share a chart: same subject, same unit.
const subjectOf = (series) => series.name.split(/[\s:]/)[0];

// In the order of a reader's questions; unknown subjects come last, in their order.
const kOrder = ['goodput', 'utilisation', 'busiest', 'queue', 'deepest', 'queued', 'paused', 'marks',
  'drops', 'losses'];
const rank = ({ subject }) =>
  (kOrder.includes(subject) ? kOrder.indexOf(subject) : kOrder.length);
const inOrder = (list) => list.sort((a, b) => rank(a) - rank(b));

// Charts that are zero everywhere are replaced by a sentence.
export const isFlat = (seriesList) => seriesList.every((series) => largest(series.values) <= 0);

export function groups(seriesList) {
  const found = new Map();
  for (const series of seriesList) {
    const key = `${subjectOf(series)} ${series.unit}`;
    if (!found.has(key)) {
      found.set(key, { subject: subjectOf(series), unit: series.unit, series: [] });
    }
    found.get(key).series.push(series);
  }
  return inOrder([...found.values()]);
}

// The part after the subject: the port or the tier.
export function shortName(series, group) {
  const rest = series.name.slice(group.subject.length).replace(/^[\s:]+/, '');
  return rest || series.name;
}

// The maximum of all series at each sample.
export function envelope(seriesList) {
  const length = largest(seriesList.map((series) => series.values.length));
  return Array.from({ length }, (_, i) =>
    largest(seriesList.map((series) => series.values[i] ?? 0)));
}

// The series with the highest peaks, in their order; a chart of sixteen lines is unreadable.
export function highest(seriesList, limit) {
  if (seriesList.length <= limit) return seriesList;
  const peaks = seriesList.map((series) => largest(series.values));
  const order = peaks.map((_, i) => i).sort((a, b) => peaks[b] - peaks[a] || a - b);
  const kept = new Set(order.slice(0, limit));
  return seriesList.filter((_, i) => kept.has(i));
}

// Charts for several results. Series per tier get a chart for each tier with a line for each
// result, if all results have the same few tiers; everything else is shown as its envelope.
const kByName = new Set(['utilisation', 'deepest']);
const kMostNames = 4;

export function overlaid(results) {
  const perResult = results.map((result) => groups(result.series));
  const keys = new Map();
  perResult.flat().forEach((group) => keys.set(`${group.subject} ${group.unit}`, group));
  return inOrder([...keys.values()]).flatMap(({ subject, unit }) => {
    const mine = perResult.map((list) =>
      list.find((group) => group.subject === subject && group.unit === unit)?.series ?? []);
    const names = [...new Set(mine.flat().map((series) => series.name))];
    const shared = names.filter((name) =>
      mine.every((list) => !list.length || list.some((series) => series.name === name)));
    const apart = kByName.has(subject) && shared.length === names.length;
    if (!apart || names.length > kMostNames) {
      return [{ subject, unit, name: '', many: names.length > 1,
        lines: mine.map((list) => envelope(list)) }];
    }
    return names.map((name) => ({
      subject,
      unit,
      name: shortName({ name }, { subject }),
      lines: mine.map((list) => list.find((series) => series.name === name)?.values ?? []),
    }));
  });
}
