// Several results compared with the first.
import { comparison } from '../comparison.js';
import { h, section } from '../dom.js';
import { sideBySide } from '../side_by_side.js';

const kMark = { better: '▲ ', worse: '▼ ', '': '' };

const cell = ({ text, beside, verdict }) => h('span', { class: 'compared inline' }, text,
  h('small', { class: verdict }, `${kMark[verdict]}${beside}`));

export function comparisonSection(results) {
  if (results.length < 2) return undefined;
  const rows = comparison(results).map(({ name, cells }) => [name, cells.map(cell)]);
  return section('comparison', 'Comparison',
    `Each result compared with the first, ${results[0].label}. ▲ better, ▼ worse; no mark: within ` +
    'one percent, or neither direction is better. Figures that are zero everywhere are omitted.',
    sideBySide(results, rows));
}
