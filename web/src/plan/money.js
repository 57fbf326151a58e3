// Amounts of a plan for display: dollars, times, ranges.
import { digits } from '../units.js';

const kSpace = '\u202f';

export function money(dollars) {
  if (!Number.isFinite(dollars)) return '–';
  const size = Math.abs(dollars);
  const sign = dollars < 0 ? '−' : '';
  for (const [worth, name] of [[1e9, 'B'], [1e6, 'M'], [1e3, 'k']]) {
    if (size >= worth * 0.9995) return `${sign}$${digits(size / worth)}${kSpace}${name}`;
  }
  return `${sign}$${digits(size)}`;
}

// Neighbouring ticks differ in the fourth digit.
export function tickMoney(dollars) {
  const [worth, name] = [[1e9, 'B'], [1e6, 'M'], [1e3, 'k'], [0, '']].find(([size]) => dollars >= size);
  const text = String(Number((dollars / (worth || 1)).toPrecision(5)));
  return name ? `$${text}${kSpace}${name}` : `$${text}`;
}

// Costs of a unit differ little: four significant digits.
export function fine(dollars) {
  if (!Number.isFinite(dollars)) return '–';
  return Math.abs(dollars) >= 1000 ? money(dollars) : `$${dollars.toPrecision(4)}`;
}

export const range = ({ low, high }) => `${money(low)} to ${money(high)}`;

export function seconds(value) {
  if (!Number.isFinite(value)) return '–';
  for (const [worth, name] of [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs']]) {
    if (value >= worth * 0.9995) return `${digits(value / worth)}${kSpace}${name}`;
  }
  return `${digits(value * 1e9)}${kSpace}ns`;
}

export const days = (value) => (value >= 1 ? `${digits(value)} days` : `${digits(value * 24)} hours`);
export const watts = (value) => (value >= 1e6 ? `${digits(value / 1e6)}${kSpace}MW`
  : `${digits(value / 1e3)}${kSpace}kW`);

// A range that contains all values, with round ends.
export function niceRange(values, spare = 0.08) {
  let low = Math.min(...values);
  let high = Math.max(...values);
  if (low === high) [low, high] = [low * 0.95, high * 1.05 || 1];
  const room = (high - low) * spare;
  return [Math.max(0, low - room), high + room];
}

// Between 3 and 7 round values within the range.
export function ticks([low, high]) {
  const raw = (high - low) / 5;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * size).find((s) => (high - low) / s <= 6);
  const all = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) all.push(at);
  return all;
}
