// The list of messages, with its filters. Set-up and closing are entries too.
import { h } from '../dom.js';
import { count } from '../units.js';
import { letterOf } from './document.js';
import { filtered, hasFailed, isNotable, opChoices, qpChoices } from './filter.js';
import { duration, entryTitle, hex } from './words.js';
import { virtualList } from './virtual.js';

const kRowHeight = 50;

export const route = (trace, entry) => (entry.peerEnd >= 0
  ? `${letterOf(trace, entry.end)} ${entry.kind === 'message' ? '→' : '↔'} ${letterOf(trace, entry.peerEnd)}`
  : letterOf(trace, entry.end));

function chip(entry) {
  if (hasFailed(entry)) return h('span', { class: 'chip bad', title: entry.status }, entry.status);
  if (entry.retransmitted) {
    return h('span', { class: 'chip again' }, `${count(entry.retransmitted)} retransmitted`);
  }
  return '';
}

function rowElement(trace, entry, chosen, choose) {
  const isMessage = entry.kind === 'message';
  const took = entry.finish >= 0 ? duration(entry.finish - entry.begin) : 'not finished';
  const place = isMessage ? `${route(trace, entry)} · QP ${hex(entry.qpn)}` :
    `${route(trace, entry)} · ${count(entry.rows.length)} events`;
  return h('div', {
    class: `entry ${entry.kind}${chosen ? ' chosen' : ''}`, role: 'option', 'aria-selected': String(chosen),
    onclick: choose,
  },
  h('span', { class: 'what' }, isMessage ? h('small', {}, `${entry.index + 1}`) : '', entryTitle(entry)),
  h('span', { class: 'took' }, took),
  h('span', { class: 'where' }, place, ' ', chip(entry)),
  h('span', { class: 'when' }, `at ${duration(entry.begin)}`));
}

const select = (name, choices, change) => h('label', {}, h('span', {}, name), h('select', { onchange: change },
  choices.map(([value, text]) => h('option', { value }, text))));

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
    number.textContent = messages === trace.messages.length ? `${count(messages)} messages` :
      `${count(messages)} of ${count(trace.messages.length)} messages`;
    list.set(shown);
    const first = shown.find((entry) => entry.kind === 'message') ?? shown[0];
    if (!shown.includes(chosen) && first) pick(first);
    else if (chosen) pick(chosen);
  }

  const qps = qpChoices(trace);
  const qpName = (qp) => `${letterOf(trace, qp.end)} ${hex(qp.qpn)}${qp.peerEnd >= 0
    ? ` ↔ ${letterOf(trace, qp.peerEnd)} ${hex(qp.peerQpn)}` : ''}`;
  const controls = h('div', { class: 'filters' },
    select('QP', [['', 'all'], ...qps.map((qp, i) => [String(i), `${qpName(qp)} ${qp.type}`])], (event) => {
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
