// Remarks, and how to repeat the run.
import { h, section, table } from '../dom.js';
import { sideBySide } from '../side_by_side.js';
import { count, digits, bytes, time } from '../units.js';

function remarks(results) {
  return results.filter((result) => result.remarks.length).map((result) => [
    results.length > 1 ? h('h3', {}, result.label) : '',
    h('ul', { class: 'remarks' }, result.remarks.map((remark) => h('li', {}, remark))),
  ]);
}

const perSecond = (result) => (result.wallSeconds > 0
  ? `${count(result.events)}, ${count(result.events / result.wallSeconds)}/s` : count(result.events));

export function repeatSection(results) {
  const rows = [
    ['Scenario', (result) => result.scenario],
    ['Seed', (result) => result.seed],
    ['Hash of the result', (result) => h('code', {}, result.hash || '–')],
    ['Version of Nerve', (result) => result.version || '–'],
    ['Simulated', (result) => time(result.simulated)],
    ['Events', perSecond],
    ['Wall time', (result) => (result.wallSeconds ? `${digits(result.wallSeconds)} s` : '–')],
    ['Memory', (result) => (result.memoryBytes ? bytes(result.memoryBytes) : '–')],
  ].map(([name, of]) => [name, results.map(of)]);
  const seeds = [...new Set(results.map((result) => result.seed))];
  const notes = remarks(results);
  return section('repeat', notes.length ? 'Remarks, and how to repeat this' : 'How to repeat this', '',
    notes,
    h('pre', {}, h('code', {},
      seeds.map((seed) => `./nerve sim SCENARIO.toml --seed ${seed}`).join('\n'))),
    h('p', { class: 'quiet' }, 'The same scenario, seed and version give the same hash on every ' +
      'machine; wall time and memory differ.'),
    results.length > 1 ? sideBySide(results, rows)
      : table(['', ''], rows.map(([name, [cell]]) => [name, cell])));
}
