// Numbers for display: three significant digits, a unit, and a thin space between them. A missing
// value (null, NaN) is shown as a dash.

const kNone = '–';
const kSpace = '\u202f';

const exists = (value) => typeof value === 'number' && Number.isFinite(value);

// Three significant digits: 1.23, 12.3, 123, 1234.
export function digits(value) {
  if (!exists(value)) return kNone;
  const size = Math.abs(value);
  if (size === 0) return '0';
  const places = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  if (size < 0.01) return value.toPrecision(2);
  return trimmed(value.toFixed(places));
}

// 2.50 becomes 2.5, and 2.00 becomes 2.
function trimmed(text) {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

function scaled(value, base, units) {
  if (!exists(value)) return kNone;
  let step = 0;
  let rest = value;
  while (step + 1 < units.length && Math.abs(rest) >= base * 0.9995) {
    rest /= base;
    step += 1;
  }
  return `${digits(rest)}${kSpace}${units[step]}`;
}

export function time(picoseconds) {
  if (!exists(picoseconds)) return kNone;
  if (picoseconds === 0) return `0${kSpace}s`;
  return scaled(picoseconds, 1000, ['ps', 'ns', 'µs', 'ms', 's']);
}

// Decimal units, as in networking.
export const bytes = (value) => scaled(value, 1000, ['B', 'KB', 'MB', 'GB', 'TB', 'PB']);
export const bytesPerSecond = (value) =>
  scaled(value, 1000, ['B/s', 'KB/s', 'MB/s', 'GB/s', 'TB/s']);
export const perSecond = (value) => scaled(value, 1000, ['/s', 'k/s', 'M/s', 'G/s']);
export const bitsPerSecond = (value) =>
  scaled(value, 1000, ['b/s', 'kb/s', 'Mb/s', 'Gb/s', 'Tb/s']);

export function share(fraction) {
  if (!exists(fraction)) return kNone;
  const percent = fraction * 100;
  return `${percent !== 0 && Math.abs(percent) < 0.1 ? '< 0.1' : trimmed(percent.toFixed(1))}${kSpace}%`;
}

// Integers with grouped thousands; large ones are shortened.
export function count(value) {
  if (!exists(value)) return kNone;
  if (Math.abs(value) >= 1e6) return scaled(value, 1000, ['', 'k', 'M', 'G', 'T']);
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, kSpace);
}

// An index between 0 and 1, with three decimals.
export const index = (value) => (exists(value) ? value.toFixed(3) : kNone);

export function ratio(value) {
  if (!exists(value)) return kNone;
  return `${digits(value)}${kSpace}×`;
}

// The change relative to another value: +12 %, −3 %, 4.2 ×.
export function change(value, first) {
  if (!exists(value) || !exists(first)) return '';
  if (value === first) return '=';
  if (first === 0) return 'from none';
  const times = value / first;
  if (times >= 2 || times <= 0.5) return ratio(times);
  const percent = (times - 1) * 100;
  const sign = percent < 0 ? '−' : '+';
  const size = Math.abs(percent);
  return size < 0.05 ? '≈' : `${sign}${trimmed(size.toFixed(1))}${kSpace}%`;
}

// A unit for a whole axis: its name and its factor to the base unit.
const kAxisUnits = {
  time: [[1, 'ps'], [1e3, 'ns'], [1e6, 'µs'], [1e9, 'ms'], [1e12, 's']],
  bytes: [[1, 'B'], [1e3, 'KB'], [1e6, 'MB'], [1e9, 'GB'], [1e12, 'TB']],
  bytesPerSecond: [[1, 'B/s'], [1e3, 'KB/s'], [1e6, 'MB/s'], [1e9, 'GB/s'], [1e12, 'TB/s']],
  perSecond: [[1, '1/s'], [1e3, 'k/s'], [1e6, 'M/s'], [1e9, 'G/s']],
  bitsPerSecond: [[1, 'b/s'], [1e3, 'kb/s'], [1e6, 'Mb/s'], [1e9, 'Gb/s'], [1e12, 'Tb/s']],
};

export function axisUnit(kind, largest) {
  let found = kAxisUnits[kind][0];
  for (const unit of kAxisUnits[kind]) {
    if (largest >= unit[0]) found = unit;
  }
  return { size: found[0], name: found[1] };
}
