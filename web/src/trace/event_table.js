// The raw events of an entry.
import { h } from '../dom.js';
import { count } from '../units.js';
import { eventAt, letterOf } from './document.js';
import { hex, shortOpcode, stamp } from './words.js';
import { virtualList } from './virtual.js';

const kRowHeight = 26;
const kMostPrinted = 400;
const kHeads = ['Time', 'End', 'Module', 'Step', 'QP', 'PSN', 'Bytes', 'Opcode', 'Detail'];

const known = (value) => (value >= 0 ? String(value) : '');

const cells = (trace, event, begin, total) => [
  stamp(event.t - begin, total), letterOf(trace, event.end), event.module,
  event.name.replaceAll('_', ' '), event.qpn >= 0 ? hex(event.qpn) : '', known(event.psn),
  event.bytes >= 0 ? count(event.bytes) : '', shortOpcode(event.opcode), event.detail,
];

export function eventTable(trace, pick) {
  let current = -1;
  let begin = 0;
  let total = 0;
  const title = h('h2', {}, 'Events');
  const list = virtualList({
    rowHeight: kRowHeight,
    attributes: { class: 'events', role: 'rowgroup', tabindex: '0' },
    render: (row) => {
      const event = eventAt(trace, row);
      return h('div', {
        class: `event${row === current ? ' current' : ''}`, role: 'row', onclick: () => pick(row),
      }, cells(trace, event, begin, total)
        .map((cell) => h('span', { role: 'cell', title: cell }, cell)));
    },
  });
  addEventListener('beforeprint', () => list.print(true, kMostPrinted));
  addEventListener('afterprint', () => list.print(false));
  let rows = [];
  return {
    element: h('section', { class: 'panel table' }, title,
      h('div', { class: 'grid', role: 'table' },
        h('div', { class: 'event heads', role: 'row' },
          kHeads.map((head) => h('span', { role: 'columnheader' }, head))), list.element)),
    set(entry, seq) {
      rows = entry.rows;
      ({ begin, total } = seq);
      title.textContent = `Events (${count(rows.length)})`;
      list.set(rows);
    },
    // Marks an event; -1: none.
    show(row) {
      current = row;
      if (row < 0) list.draw();
      else list.reveal(rows.indexOf(row));
    },
  };
}
