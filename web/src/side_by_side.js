// Figures of several results in one table: a column for each result, or a row if there are many.
import { h, table } from './dom.js';
import { seriesColour } from './theme.js';

export const kFew = 6;  // beyond this, results are rows, and large drawings show only the first ones

const head = (result) => h('span', { class: 'keyed' },
  h('span', { class: 'key', style: `background:var(${seriesColour(result.index)})` }), result.label);

// rows: [name, [one cell per result]].
export function sideBySide(results, rows) {
  if (results.length <= kFew) {
    return table(['', ...results.map(head)], rows.map(([name, cells]) => [name, ...cells]),
      { class: 'figures' });
  }
  return table(['', ...rows.map(([name]) => name)],
    results.map((result, i) => [head(result), ...rows.map(([, cells]) => cells[i])]),
    { class: 'figures' });
}

// The note if only the first results are shown.
export const onlyFirst = (results) => (results.length > kFew
  ? ` The first ${kFew} of ${results.length} results are shown.` : '');
