// Figures of several results in one table: a column for each result, or a row when they are many.
import { h, table } from './dom.js';
import { seriesColour } from './theme.js';

export const kFew = 6;  // more of them are rows, and large drawings are of the first ones only

const head = (result) => h('span', { class: 'keyed' },
  h('span', { class: 'key', style: `background:var(${seriesColour(result.index)})` }), result.label);

// rows: [name, [a cell for each result]].
export function sideBySide(results, rows) {
  if (results.length <= kFew) {
    return table(['', ...results.map(head)], rows.map(([name, cells]) => [name, ...cells]),
      { class: 'figures' });
  }
  return table(['', ...rows.map(([name]) => name)],
    results.map((result, i) => [head(result), ...rows.map(([, cells]) => cells[i])]),
    { class: 'figures' });
}

// What is said where only the first are shown.
export const onlyFirst = (results) => (results.length > kFew
  ? ` The first ${kFew} of ${results.length} results are shown.` : '');
