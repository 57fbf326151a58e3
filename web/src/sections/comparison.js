// Several results beside the first.
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
    `Each result beside the first, ${results[0].label}. ▲ better, ▼ worse; no mark: within a ` +
    'hundredth, or neither is a virtue. Figures that are zero everywhere are left out.',
    sideBySide(results, rows));
}
