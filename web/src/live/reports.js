// The list of finished reports.
import { h, table } from '../dom.js';
import { bytes } from '../units.js';

const moment = (seconds) => new Date(seconds * 1000).toLocaleString();

const addressOf = (name) => `reports/${name.split('/').map(encodeURIComponent).join('/')}`;

export function reportTable(reports) {
  if (!reports.length) {
    return h('p', { class: 'quiet' }, 'There are no reports yet. Try: ',
      h('code', {}, 'nerve sim examples/fabric/first.toml'));
  }
  return table(['Report', 'Written', 'Size'], reports.map((report) => [
    h('a', { href: addressOf(report.name), target: '_blank', rel: 'noreferrer' }, report.name),
    moment(report.modified), bytes(report.bytes),
  ]));
}
