// The top of the page: what was traced and between whom; and how to read the diagram.
import { h } from '../dom.js';
import { s } from './svg.js';
import { summary } from './words.js';

const kMostEnds = 8;

const endElement = (end) => h('li', {}, h('span', { class: 'letter' }, end.letter), h('span', {},
  h('strong', {}, end.name || `end ${end.id}`), ' ',
  h('small', {}, [end.address, end.device, end.pid >= 0 ? `process ${end.pid}` : ''].filter(Boolean).join(' · '))));

const help = () => h('details', { class: 'help' }, h('summary', {}, 'How to read this'),
  h('div', { class: 'card' },
    h('p', {}, 'Choose a message in the list. The diagram shows its way through the NICs: each vertical line ' +
      'is a module, the end that starts the message is on the left, and time runs downwards, one row for each step.'),
    h('p', {}, 'Rows are evenly spaced. The time since the start of the message and the gap since the step before ' +
      'are at the left; the longer the bar behind a gap, the larger its share of the whole.'),
    h('p', {}, 'A work request (WQE) is what a program asks its NIC to do. Long messages are split into packets; ' +
      'each has a packet sequence number (PSN), by which the receiver notices a loss. The receiver acknowledges ' +
      'packets (ACK) or reports an error (NAK). A completion in the completion queue (CQ) tells the program that ' +
      'its request is done.'),
    h('p', {}, 'Keys: space plays and pauses, ← → step, ↑ ↓ choose the message.')));

const sample = (kind, end) => s('svg', { class: 'sample', width: 34, height: 12, viewBox: '0 0 34 12' },
  s('g', { class: `arrow ${kind} ${end}` },
    s('line', { class: 'wire', x1: 1, x2: end === 'lost' ? 22 : 27, y1: 6, y2: 6 }),
    end === 'lost' ? s('path', { class: 'cross', d: 'M18 2l8 8m0 -8l-8 8' }) :
      s('path', { class: 'head', d: 'M33 6l-8 -4v8z' })));

export const legend = () => h('ul', { class: 'legend' }, [
  ['data', 'arrives', 'packet'], ['answer', 'arrives', 'acknowledgement'], ['again', 'arrives', 'retransmission'],
  ['data', 'lost', 'lost packet'], ['direct', 'arrives', 'copy between memories'], ['cm', 'arrives', 'connection message'],
].map(([kind, end, text]) => h('li', {}, sample(kind, end), text)));

export function header(trace) {
  const more = trace.ends.length - kMostEnds;
  return h('header', {},
    h('div', { class: 'title' }, h('span', { class: 'kicker' }, 'Nerve trace'), h('h1', {}, trace.title),
      h('p', {}, summary(trace)),
      trace.notes.length ? h('ul', { class: 'notes' }, trace.notes.map((note) => h('li', {}, note))) : ''),
    h('ul', { class: 'ends' }, trace.ends.slice(0, kMostEnds).map(endElement),
      more > 0 ? h('li', {}, `and ${more} more`) : ''),
    help());
}
