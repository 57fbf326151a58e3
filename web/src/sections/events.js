// Events in the network: pauses, marks, losses, retransmissions.
import { h, section } from '../dom.js';
import { hasPackets } from '../measures.js';
import { sideBySide } from '../side_by_side.js';
import { count, bytes, share, time } from '../units.js';

const kEvents = [
  ['PFC pauses', 'pauses', (t) => `${time(t.paused_ps)} in total`],
  ['ECN marks', 'marked', (t) => (t.data_packets
    ? `${share(t.marked / t.data_packets)} of data packets` : '')],
  ['CNPs', 'congestion_notices', () => 'received by senders'],
  ['Dropped by switches', 'dropped', (t) => (t.data_packets
    ? `${share(t.dropped / t.data_packets)} of data packets` : '')],
  ['Lost on cables', 'lost', () => 'failed cables, bit errors'],
  ['Retransmitted', 'retransmitted', (t) => (t.data_packets
    ? `${share(t.retransmitted / t.data_packets)} of data packets` : '')],
  ['Timeouts', 'timeouts', () => 'of senders'],
  ['Failed messages', 'failed_messages', () => 'retries exhausted'],
];

const tile = (name, value, note) => h('div', { class: value ? 'tile' : 'tile none' },
  h('dt', {}, name), h('dd', {}, value ? count(value) : 'none',
    h('small', {}, value ? note : '\u00a0')));

// Runs of flows have no such events, and no place in this section.
export function eventsSection(all) {
  const title = 'Pauses, marks and losses';
  const results = all.filter(hasPackets);
  if (!results.length) {
    return section('events', title, 'Messages were simulated as flows, without packets.');
  }
  if (results.length === 1) {
    const { totals } = results[0];
    const sent = totals.data_packets ? `NICs sent ${count(totals.data_packets)} data packets, ` +
      `${bytes(totals.data_bytes)}, with retransmissions.` : '';
    return section('events', title, sent, h('dl', { class: 'tiles small' },
      kEvents.map(([name, key, note]) => tile(name, totals[key], note(totals)))));
  }
  const row = ([name, key, note]) => [name, results.map(({ totals }) => (totals[key]
    ? h('span', { class: 'compared' }, count(totals[key]), h('small', {}, note(totals)))
    : h('span', { class: 'quiet' }, 'none')))];
  const sent = ['Data packets', results.map(({ totals }) => count(totals.data_packets))];
  return section('events', title, '', sideBySide(results, [sent, ...kEvents.map(row)]));
}
