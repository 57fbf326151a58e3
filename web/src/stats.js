// Percentiles, distributions and fairness: plain arithmetic on arrays of numbers.

export const sum = (values) => values.reduce((total, value) => total + value, 0);

export const mean = (values) => (values.length ? sum(values) / values.length : NaN);

export const ascending = (values) => Float64Array.from(values).sort();

// Without spread syntax: the array may be too long for an argument list.
export const largest = (values) => values.reduce((most, value) => Math.max(most, value), 0);

// The nearest-rank percentile of sorted values: always one of the values.
export function percentile(sorted, share) {
  if (!sorted.length) return NaN;
  const rank = Math.ceil(share * sorted.length) - 1;
  return sorted[Math.min(sorted.length - 1, Math.max(0, rank))];
}

// Jain's fairness index: 1 when all are equal, 1/n when one has everything.
export function jain(values) {
  const squares = sum(values.map((value) => value * value));
  if (!values.length || squares === 0) return NaN;
  return sum(values) ** 2 / (values.length * squares);
}

// Points of the cumulative distribution, at most `limit`: the share of values that are at most x.
// Keeps both ends, since the tail matters.
export function distribution(values, limit = 400) {
  const sorted = ascending(values);
  const points = { x: [], y: [] };
  const steps = Math.min(limit, sorted.length);
  for (let i = 0; i < steps; i += 1) {
    const at = steps === 1 ? 0 : Math.round((i * (sorted.length - 1)) / (steps - 1));
    points.x.push(sorted[at]);
    points.y.push((at + 1) / sorted.length);
  }
  return points;
}

// Several distributions on one list of x, for the charts: null where one has no point.
export function aligned(curves) {
  const all = [...new Set(curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
  const place = new Map(all.map((x, i) => [x, i]));
  const columns = curves.map((curve) => {
    const column = new Array(all.length).fill(null);
    curve.x.forEach((x, i) => { column[place.get(x)] = curve.y[i]; });
    return column;
  });
  return [all, ...columns];
}

// Merges adjacent values into at most `limit` bins, with their mean and index range.
export function binned(values, limit) {
  const width = Math.max(1, Math.ceil(values.length / limit));
  const bins = [];
  for (let first = 0; first < values.length; first += width) {
    const part = values.slice(first, first + width);
    bins.push({ first, last: first + part.length - 1, mean: mean(part) });
  }
  return bins;
}

// The index of the value nearest to `at`; `at` itself if it has a value, or if none has.
export function nearestValue(values, at) {
  for (let away = 0; away < values.length; away += 1) {
    if (values[at - away] !== null && values[at - away] !== undefined) return at - away;
    if (values[at + away] !== null && values[at + away] !== undefined) return at + away;
  }
  return at;
}
