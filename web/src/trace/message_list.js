// The list of messages, with its filters. Set-up and closing are entries too.
import { h } from '../dom.js';
import { count } from '../units.js';
import { letterOf } from './document.js';
import {
  filtered, hasFailed, isNotable, isUnfinished, opChoices, qpChoices,
} from './filter.js';
import { duration, entryTitle, hex, plural } from './words.js';
import { virtualList } from './virtual.js';

const kRowHeight = 50;

export const route = (trace, entry) => (entry.peerEnd >= 0
  ? [letterOf(trace, entry.end), entry.kind === 'message' ? '→' : '↔',
    letterOf(trace, entry.peerEnd)].join(' ')
  : letterOf(trace, entry.end));

// The second line: where, and what was unusual.
function place(trace, entry) {
  const parts = [route(trace, entry), entry.kind === 'message' ? `QP ${hex(entry.qpn)}`
    : plural(entry.rows.length, 'event')];
  return [parts.join(' · '), entry.retransmitted > 0
    ? [' · ', h('span', { class: 'resent' }, `${count(entry.retransmitted)} resent`)] : ''];
}

function rowElement(trace, entry, chosen, choose) {
  const isMessage = entry.kind === 'message';
  return h('div', {
    class: `entry ${entry.kind}${chosen ? ' chosen' : ''}`,
    role: 'option',
    'aria-selected': String(chosen),
    onclick: choose,
  },
  h('span', { class: 'what' }, isMessage ? h('small', {}, String(entry.index + 1)) : '',
    entryTitle(entry),
    hasFailed(entry) ? h('span', { class: 'chip', title: entry.status },
      entry.status.replace(/ error$/, '')) : ''),
  h('span', { class: 'took' }, isUnfinished(entry) ? 'not finished'
    : duration(entry.finish - entry.begin)),
  h('span', { class: 'where' }, place(trace, entry)),
  h('span', { class: 'when' }, `at ${duration(entry.begin)}`));
}

const select = (name, choices, change) => h('label', {}, h('span', {}, name),
  h('select', { onchange: change }, choices.map(([value, text]) => h('option', { value }, text))));

export function messageList(trace, choose) {
  let chosen;
  let shown = [];
  const filter = { qp: undefined, op: '', notable: false };
  const list = virtualList({
    rowHeight: kRowHeight,
    attributes: { class: 'entries', role: 'listbox', tabindex: '0', 'aria-label': 'Messages' },
    render: (entry) => rowElement(trace, entry, entry === chosen, () => pick(entry)),
  });
  const number = h('p', { class: 'quiet number' });

  function pick(entry) {
    chosen = entry;
    list.reveal(shown.indexOf(entry));
    choose(entry, filter);
  }
  function apply() {
    shown = filtered(trace.entries, filter);
    const messages = shown.filter((entry) => entry.kind === 'message').length;
    number.textContent = messages === trace.messages.length ? plural(messages, 'message')
      : `${count(messages)} of ${plural(trace.messages.length, 'message')}`;
    list.set(shown);
    const first = shown.find((entry) => entry.kind === 'message') ?? shown[0];
    if (!shown.includes(chosen) && first) pick(first);
    else if (chosen) pick(chosen);
  }

  const qps = qpChoices(trace);
  const qpName = (qp) => [`${letterOf(trace, qp.end)} ${hex(qp.qpn)}`,
    qp.peerEnd >= 0 ? `↔ ${letterOf(trace, qp.peerEnd)} ${hex(qp.peerQpn)}` : '',
    qp.type].filter(Boolean).join(' ');
  const controls = h('div', { class: 'filters' },
    select('QP', [['', 'all'], ...qps.map((qp, i) => [String(i), qpName(qp)])], (event) => {
      filter.qp = event.target.value === '' ? undefined : qps[Number(event.target.value)];
      apply();
    }),
    select('Operation', [['', 'all'], ...opChoices(trace).map((op) => [op, op])], (event) => {
      filter.op = event.target.value;
      apply();
    }),
    h('label', { class: 'check' }, h('input', {
      type: 'checkbox',
      disabled: !trace.entries.some(isNotable),
      onchange: (event) => {
        filter.notable = event.target.checked;
        apply();
      },
    }), 'Only retransmitted or failed'));

  return {
    element: h('aside', {}, controls, number, list.element),
    apply,
    pick,
    // Moves the choice by some entries, as the arrow keys do.
    move(by) {
      const index = Math.min(shown.length - 1, Math.max(0, shown.indexOf(chosen) + by));
      if (shown[index]) pick(shown[index]);
    },
  };
}
