// Percentiles, distributions and fairness: plain arithmetic on arrays of numbers.

export const sum = (values) => values.reduce((total, value) => total + value, 0);

export const mean = (values) => (values.length ? sum(values) / values.length : NaN);

export const ascending = (values) => Float64Array.from(values).sort();

// Without spreading: an array of flows may be too long to be arguments.
export const largest = (values) => values.reduce((most, value) => Math.max(most, value), 0);

// The nearest rank of sorted values: always one that was seen.
export function percentile(sorted, share) {
  if (!sorted.length) return NaN;
  const rank = Math.ceil(share * sorted.length) - 1;
  return sorted[Math.min(sorted.length - 1, Math.max(0, rank))];
}

// Jain's index: 1 when all have the same, 1/n when one has everything.
export function jain(values) {
  const squares = sum(values.map((value) => value * value));
  if (!values.length || squares === 0) return NaN;
  return sum(values) ** 2 / (values.length * squares);
}

// Points of a distribution, at most `limit` of them: the share of values not above x. The ends are
// kept, for the tail is what people look for.
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

// Several distributions on one list of x, as the charts want them: null where one has no point.
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

// Neighbours put together until at most `limit` are left: their means, and who they were.
export function binned(values, limit) {
  const width = Math.max(1, Math.ceil(values.length / limit));
  const bins = [];
  for (let first = 0; first < values.length; first += width) {
    const part = values.slice(first, first + width);
    bins.push({ first, last: first + part.length - 1, mean: mean(part) });
  }
  return bins;
}

// Where the value next to `at` is; `at` itself when it has one, or when nothing has.
export function nearestValue(values, at) {
  for (let away = 0; away < values.length; away += 1) {
    if (values[at - away] !== null && values[at - away] !== undefined) return at - away;
    if (values[at + away] !== null && values[at + away] !== undefined) return at + away;
  }
  return at;
}
