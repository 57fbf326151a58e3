// Links as tables: by tier, and the extreme ones.
import { h, meter, panel, section, table } from '../dom.js';
import { hasPackets } from '../measures.js';
import { kFew, onlyFirst } from '../side_by_side.js';
import { linkKinds } from '../topology.js';
import { bitsPerSecond, count, bytes, share, time } from '../units.js';

const kRows = 12;
const orNone = (value, show) => (value ? show(value) : h('span', { class: 'quiet' }, 'none'));

function kinds(result, many) {
  const rows = linkKinds(result.nodes, result.links).map((kind) => [
    kind.name, count(kind.count), bitsPerSecond(kind.rate), meter(kind.mean, share(kind.mean)),
    `${share(kind.least)} to ${share(kind.most)}`, ...(hasPackets(result) ? [
      orNone(kind.queued, bytes), orNone(kind.marked, count), orNone(kind.dropped, count),
      orNone(kind.lost, count), orNone(kind.pauses, count), orNone(kind.paused, time),
    ] : []),
  ]);
  const ofPackets = ['Deepest queue', 'ECN marks', 'Drops', 'Lost', 'Pauses', 'Time paused'];
  return panel(many ? `By tier: ${result.label}` : 'By tier', '', table(['Direction', 'Links', 'Rate',
    'Mean utilisation', 'Least to most', ...(hasPackets(result) ? ofPackets : [])], rows,
  { class: 'figures' }));
}

const kOfFlows = 2;  // the first columns, which do not depend on packets
const kColumns = [
  { name: 'Utilisation', key: 'utilisation', show: (value) => meter(value, share(value)) },
  { name: 'Carried', key: 'bytes', show: bytes },
  { name: 'Deepest queue', key: 'queued', show: (value) => orNone(value, bytes) },
  { name: 'ECN marks', key: 'marked', show: (value) => orNone(value, count) },
  { name: 'Drops', key: 'dropped', show: (value) => orNone(value, count) },
  { name: 'Lost', key: 'lost', show: (value) => orNone(value, count) },
  { name: 'Pauses', key: 'pauses', show: (value) => orNone(value, count) },
  { name: 'Time paused', key: 'paused', show: (value) => orNone(value, time) },
];

// The top rows by any column; clicking a column head selects it.
function busiest(result, many) {
  const holder = h('div', { class: 'ranking' });
  const columns = hasPackets(result) ? kColumns : kColumns.slice(0, kOfFlows);
  const fill = (by) => {
    const first = [...result.links].sort((a, b) => b[by] - a[by]).slice(0, kRows);
    const heads = columns.map(({ name, key }) => h('button', {
      type: 'button', 'aria-pressed': String(key === by), onclick: () => fill(key),
    }, name));
    holder.replaceChildren(table(['Link', 'Rate', ...heads], first.map((link) => [
      `${result.nodes[link.from].name} → ${result.nodes[link.to].name}`, bitsPerSecond(link.rate),
      ...columns.map(({ key, show }) => show(link[key])),
    ]), { class: 'figures' }));
  };
  fill('utilisation');
  return panel(many ? `Busiest links: ${result.label}` : 'Busiest links',
    `The first ${Math.min(kRows, result.links.length)} of ${count(result.links.length)}. ` +
    'Choose a column to rank them by it.', holder);
}

export function linksSection(results) {
  const many = results.length > 1;
  const shown = results.filter((result) => result.links.length).slice(0, kFew);
  return section('links', 'Links',
    `Each direction of a cable is a link, counted at its sending end.${onlyFirst(results)}`,
    shown.map((result) => [kinds(result, many), busiest(result, many)]));
}
