// The words and numbers of the page.
import { bytes as decimalBytes, count, digits, time } from '../units.js';
import { hasFailed, isUnfinished } from './filter.js';

const kSpace = '\u202f';

export const hex = (value) => (value < 0 ? '–' : `0x${value.toString(16)}`);

export const duration = (nanoseconds) => (nanoseconds === 0 ? `0${kSpace}ns`
  : time(nanoseconds * 1000));

// Sizes of memory: 65536 is 64 KiB, 65537 is 65.5 KB.
export function size(value) {
  let rest = value;
  let unit = -1;
  while (rest >= 1024 && rest % 256 === 0 && unit < 3) {
    rest /= 1024;
    unit += 1;
  }
  if (unit < 0 || rest * 4 !== Math.round(rest * 4)) return decimalBytes(value);
  return `${digits(rest)}${kSpace}${['KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}

// All times of one message in one unit, so that they line up. Before its beginning, each has its
// own.
export function stamp(nanoseconds, total) {
  if (nanoseconds < 0) return `−${duration(-nanoseconds)}`;
  if (total < 1e6) return `${(nanoseconds / 1e3).toFixed(total < 1e5 ? 3 : 2)}${kSpace}µs`;
  if (total < 1e9) return `${(nanoseconds / 1e6).toFixed(total < 1e8 ? 3 : 2)}${kSpace}ms`;
  return `${(nanoseconds / 1e9).toFixed(4)}${kSpace}s`;
}

// `RC RDMA WRITE Only` is `WRITE Only`: the type of the QP is known.
export const shortOpcode = (opcode) => opcode.replace(/^(RC|UC|UD|XRC)[ _]/, '')
  .replace(/^RDMA[ _]/, '').replace(/^ACKNOWLEDGE$/i, 'ACK');

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export function summary(trace) {
  const { messages } = trace;
  if (!messages.length) return 'No message was traced.';
  const number = (test) => messages.filter(test).length;
  const resent = number((message) => message.retransmitted > 0);
  const failed = number(hasFailed);
  const unfinished = number(isUnfinished);
  const parts = [`${plural(messages.length, 'message')} traced`];
  if (resent) parts.push(`${count(resent)} with retransmissions`);
  if (failed) parts.push(`${count(failed)} failed`);
  if (unfinished) parts.push(`${count(unfinished)} not finished`);
  if (parts.length === 1) parts.push('none retransmitted or failed');
  const times = messages.filter((message) => !isUnfinished(message))
    .map((message) => message.finish - message.begin).sort((a, b) => a - b);
  const median = times.length && messages.length > 1 ? `; the median took ${
    duration(times[times.length >> 1])}${trace.simulated ? ' of simulated time' : ''}` : '';
  return `${parts.join(', ')}${median}.`;
}

// What an operation is, for a reader who has never used RDMA.
const kOperations = [
  [/^SEND/i, 'SEND delivers a message into a buffer that the receiving program has posted ' +
    'before. Both programs take part: each gets a completion, and the receiver decides where the ' +
    'data goes.'],
  [/^(RDMA[ _])?WRITE.*IMM/i, 'WRITE with immediate puts data straight into registered memory of ' +
    'the remote program and consumes a receive that it has posted. Both programs get a ' +
    'completion; the receiver’s contains a 4-byte value of the sender.'],
  [/^(RDMA[ _])?WRITE/i, 'WRITE puts data straight into memory that the remote program has ' +
    'registered, at an address that the sender chooses. The remote program does nothing and is ' +
    'not notified: only the sender gets a completion.'],
  [/^(RDMA[ _])?READ/i, 'READ fetches data straight from memory that the remote program has ' +
    'registered. The remote NIC answers by itself: only the reader gets a completion.'],
  [/ATOMIC|FETCH|COMPARE|CMP|SWAP/i, 'An atomic operation changes 8 bytes of remote memory in ' +
    'one step and returns their previous value. The remote NIC does it: its program takes no ' +
    'part.'],
  [/^RECV/i, 'A message that arrived from a program that was not traced.'],
];

const kPhases = {
  setup: 'Before the first message, both programs register the memory that the NIC may use, ' +
    'create queue pairs (QPs) and connect them. A QP moves from RESET to INIT, RTR (ready to ' +
    'receive) and RTS (ready to send).',
  close: 'After the last message, the programs disconnect, destroy their queue pairs and ' +
    'deregister their memory.',
  other: 'Steps of messages that were not traced, and receives that no traced message has used.',
};

const kDirect = ' Both programs are on one machine here, so the NIC copies the data from memory ' +
  'to memory without packets.';

export function explanation(entry, isDirect = false) {
  if (entry.kind !== 'message') return kPhases[entry.kind];
  const found = kOperations.find(([pattern]) => pattern.test(entry.op))?.[1] ?? '';
  return isDirect ? (found + kDirect).trim() : found;
}

export const entryTitle = (entry) => (entry.kind === 'message'
  ? `${entry.op} ${size(entry.bytes)}`
  : { setup: 'Set-up', close: 'Closing', other: 'Other steps' }[entry.kind]);

// A few words for the diagram.
const because = (event) => (event.detail ? `: ${event.detail}` : '');
const nak = (event) => (/NAK/.test(event.detail) ? event.detail : `NAK${because(event)}`);
const amount = (event) => (event.bytes >= 0 ? size(event.bytes) : '');

const kLabels = {
  register: (e) => `register ${amount(e)}`,
  deregister: () => 'deregister',
  create_qp: (e) => `create QP ${hex(e.qpn)}`,
  modify_qp: (e) => `QP ${hex(e.qpn)} → ${e.detail || '?'}`,
  destroy_qp: (e) => `destroy QP ${hex(e.qpn)}`,
  cm_send: () => '',
  cm_receive: () => '',
  post: (e) => `post ${shortOpcode(e.opcode)}`,
  post_receive: () => 'post receive',
  doorbell: () => 'doorbell',
  fetch: () => 'fetch request',
  packet_made: () => 'make packet',
  packet_sent: () => '',
  packet_dropped: () => '',
  packet_received: () => '',
  checked: () => 'check',
  refused: (e) => (e.detail || 'refused').replace(/^out of order: held.*/, 'out of order: held'),
  placed: (e) => `write ${amount(e)}`,
  direct: (e) => `copy ${amount(e)}`,
  ack_sent: () => 'make ACK',
  nak_sent: nak,
  ack_received: () => 'ACK',
  nak_received: nak,
  retransmit: (e) => `resend${because(e)}`,
  completion: (e) => `completion${because(e)}`,
  polled: () => 'poll',
};

export const label = (event) => (kLabels[event.name]?.(event) ?? event.name).trim();
