// The top of the page: what was traced and between which ends; and how to read the diagram.
import { h } from '../dom.js';
import { s } from './svg.js';
import { summary } from './words.js';

const kMostEnds = 8;

function endElement(end) {
  const where = [end.address, end.device, end.pid >= 0 ? `process ${end.pid}` : ''];
  return h('li', {}, h('span', { class: 'letter' }, end.letter),
    h('strong', {}, end.name || `end ${end.id}`),
    h('small', {}, where.filter(Boolean).join(' · ')));
}

const kHelp = [
  'Choose a message in the list. The diagram shows its way through the NICs: each vertical line ' +
    'is a module. The end that starts the message is on the left; time runs downwards, one row ' +
    'for each step.',
  'Rows are evenly spaced. The time since the message began and the gap since the step before ' +
    'are at the left. A gap that is a large share of the whole is marked.',
  'A work request (WQE) is what a program asks its NIC to do. Long messages are split into ' +
    'packets; each has a packet sequence number (PSN), by which the receiver notices a loss. The ' +
    'receiver acknowledges packets (ACK) or reports an error (NAK). A completion in the completion queue ' +
    '(CQ) reports to the program that its request is done.',
  'Keys: space plays and pauses, ← → step, Esc shows all steps, ↑ ↓ choose the message.',
];

const help = () => h('details', { class: 'help' }, h('summary', {}, 'How to read this'),
  h('div', { class: 'card' }, kHelp.map((text) => h('p', {}, text))));

const sample = (kind, end) => s('svg', { width: 34, height: 12, viewBox: '0 0 34 12' },
  s('g', { class: `arrow ${kind} ${end}` },
    s('line', { class: 'wire', x1: 1, x2: end === 'lost' ? 22 : 27, y1: 6, y2: 6 }),
    end === 'lost' ? s('path', { class: 'cross', d: 'M18 2l8 8m0 -8l-8 8' }) :
      s('path', { class: 'head', d: 'M33 6l-8 -4v8z' })));

const kLegend = [
  ['data', 'arrives', 'packet'], ['answer', 'arrives', 'acknowledgement'],
  ['nak', 'arrives', 'negative acknowledgement'], ['data', 'lost', 'lost packet'],
  ['again', 'arrives', 'retransmission'], ['direct', 'arrives', 'copy between memories'],
  ['cm', 'arrives', 'message of the connection manager'], ['data', 'unknown', 'not received'],
];

// The kinds of arrows that a diagram has.
export function legend(arrows) {
  const has = ([kind, end]) => arrows.some((arrow) =>
    (end === 'arrives' ? arrow.kind === kind && arrow.end === end : arrow.end === end));
  return h('ul', { class: 'legend' }, kLegend.filter(has).map(([kind, end, text]) =>
    h('li', {}, sample(kind, end), text)));
}

export function header(trace) {
  const more = trace.ends.length - kMostEnds;
  return h('header', {},
    h('div', { class: 'title' },
      h('span', { class: 'kicker' }, `Nerve trace${trace.simulated ? ' · simulated' : ''}`),
      h('h1', {}, trace.title), h('p', {}, summary(trace)),
      trace.notes.length ? h('ul', { class: 'notes' },
        trace.notes.map((note) => h('li', {}, `Note: ${note}`))) : ''),
    h('ul', { class: 'ends' }, trace.ends.slice(0, kMostEnds).map(endElement),
      more > 0 ? h('li', {}, `and ${more} more`) : ''),
    help());
}
