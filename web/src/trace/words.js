// The sentences of the page.
import { bytes, count, time } from '../units.js';
import { letterOf } from './document.js';
import { hasFailed } from './filter.js';

export const hex = (value) => (value < 0 ? '–' : `0x${value.toString(16)}`);
export const duration = (nanoseconds) => (nanoseconds === 0 ? '0\u202fns' : time(nanoseconds * 1000));

// All times of one message in one unit, so that they line up.
export function stamp(nanoseconds, total) {
  if (total < 1e6) return `${(nanoseconds / 1e3).toFixed(total < 1e5 ? 3 : 2)}\u202fµs`;
  if (total < 1e9) return `${(nanoseconds / 1e6).toFixed(total < 1e8 ? 3 : 2)}\u202fms`;
  return `${(nanoseconds / 1e9).toFixed(4)}\u202fs`;
}

// `RC SEND Only` is `SEND Only` where the type of the QP is known already.
export const shortOpcode = (opcode) => opcode.replace(/^(RC|UC|UD|XRC)[ _]/, '');

const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export function summary(trace) {
  const { messages } = trace;
  if (!messages.length) return 'No message was traced.';
  const retransmitted = messages.filter((message) => message.retransmitted > 0).length;
  const failed = messages.filter(hasFailed).length;
  const parts = [`${plural(messages.length, 'message')} traced`,
    retransmitted ? `${count(retransmitted)} with retransmissions` : 'none retransmitted',
    failed ? `${count(failed)} failed` : 'none failed'];
  const times = messages.filter((message) => message.finish >= 0)
    .map((message) => message.finish - message.begin).sort((a, b) => a - b);
  const middle = times.length ? ` The median message took ${duration(times[times.length >> 1])}` +
    `${trace.simulated ? ' of simulated time' : ''}.` : '';
  return `${parts.join(', ')}.${middle}`;
}

// What an operation is, for a reader who has never used RDMA.
const kOperations = [
  [/^SEND/i, 'SEND delivers a message into a buffer that the receiving program has posted before. ' +
    'Both programs take part: each gets a completion, and the receiver decides where the data goes.'],
  [/^(RDMA[ _])?WRITE/i, 'WRITE puts data straight into memory that the remote program has ' +
    'registered, at an address that the sender chooses. The remote program does nothing and is ' +
    'not notified; only the sender gets a completion.'],
  [/^(RDMA[ _])?READ/i, 'READ fetches data straight from memory that the remote program has ' +
    'registered. The remote NIC answers by itself; only the reader gets a completion.'],
  [/ATOMIC|FETCH|COMPARE|CMP|SWAP/i, 'An atomic operation changes 8 bytes of remote memory in one ' +
    'step and returns their previous value. The remote NIC does it; its program takes no part.'],
];

const kWithImmediate = 'WRITE with immediate puts data straight into registered remote memory and ' +
  'then consumes a posted receive. Both programs get a completion; the receiver also gets a 4-byte value.';

const kPhases = {
  setup: 'Before the first message, both programs register the memory that the NIC may use, create ' +
    'queue pairs (QPs) and connect them. A QP moves from RESET to INIT, RTR (ready to receive) and ' +
    'RTS (ready to send).',
  close: 'After the last message, the programs disconnect, destroy their queue pairs and ' +
    'deregister their memory.',
};

export function explanation(entry) {
  if (entry.kind !== 'message') return kPhases[entry.kind];
  if (/WRITE.*IMM/i.test(entry.op)) return kWithImmediate;
  return kOperations.find(([pattern]) => pattern.test(entry.op))?.[1] ?? '';
}

export const entryTitle = (entry) => (entry.kind === 'message' ? `${entry.op} ${bytes(entry.bytes)}` :
  { setup: 'Set-up', close: 'Closing' }[entry.kind]);

const psn = (event) => (event.psn >= 0 ? ` with PSN ${event.psn}` : '');
const packet = (event) => `${event.opcode ? `the packet ${shortOpcode(event.opcode)}` : 'a packet'}${psn(event)}`;
const because = (event) => (event.detail ? `: ${event.detail}` : '');
const size = (event) => (event.bytes >= 0 ? bytes(event.bytes) : 'the data');

// What each step does. The subject is the module; `{at}` in the sentence is its end.
const kSentences = {
  register: (e) => `DMA Engine at {at} registers ${size(e)} of memory, so that the NIC may use it`,
  deregister: () => 'DMA Engine at {at} deregisters memory; the NIC may no longer use it',
  create_qp: (e) => `QP Manager at {at} creates queue pair ${hex(e.qpn)}`,
  modify_qp: (e) => `QP Manager at {at} moves queue pair ${hex(e.qpn)} to ${e.detail || 'a new state'}`,
  destroy_qp: (e) => `QP Manager at {at} destroys queue pair ${hex(e.qpn)}`,
  cm_send: (e) => `Connection Manager at {at} sends ${e.detail || 'a message'}${cmMeaning(e.detail)}`,
  cm_receive: (e) => `Connection Manager at {at} receives ${e.detail || 'a message'}${cmMeaning(e.detail)}`,
  post: (e) => `The program at {at} posts a work request${e.bytes >= 0 ? ` for ${bytes(e.bytes)}` : ''}: ` +
    'Verbs writes it to the send queue',
  post_receive: () => 'The program at {at} posts a receive: a buffer for a message to come',
  doorbell: () => 'Verbs at {at} rings the doorbell: the engine learns that there is work',
  fetch: () => 'WQE Engine at {at} fetches the work request from the send queue',
  packet_made: (e) => `WQE Engine at {at} makes ${packet(e)}`,
  packet_sent: (e) => `Ethernet at {at} sends ${packet(e)}`,
  packet_dropped: (e) => `The link loses ${packet(e)}${because(e)}`,
  packet_received: (e) => `Ethernet at {at} receives ${packet(e)}`,
  checked: (e) => `RX Handler at {at} checks the headers, the PSN and the rights of the packet${psn(e)}`,
  refused: (e) => `RX Handler at {at} refuses the packet${psn(e)}${because(e)}`,
  placed: (e) => `DMA Engine at {at} writes ${size(e)} of payload to memory`,
  direct: (e) => `DMA Engine at {at} copies ${size(e)} straight between the memories of the two programs, ` +
    'without packets',
  ack_sent: (e) => `RX Handler at {at} acknowledges the packets up to PSN ${e.psn}`,
  nak_sent: (e) => `RX Handler at {at} sends a negative acknowledgement${psn(e)}${because(e)}`,
  ack_received: (e) => `WQE Engine at {at} receives the acknowledgement up to PSN ${e.psn}`,
  nak_received: (e) => `WQE Engine at {at} receives a negative acknowledgement${psn(e)}${because(e)}`,
  retransmit: (e) => `WQE Engine at {at} retransmits${e.psn >= 0 ? ` from PSN ${e.psn}` : ''}; the cause: ` +
    `${e.detail || 'unknown'}`,
  completion: (e) => `CQ Manager at {at} writes a completion${because(e)}`,
  polled: () => 'The program at {at} polls the completion queue and gets the completion',
};

const kCmMeanings = {
  REQ: 'asks for a connection', REP: 'accepts it', RTU: 'ready to use', REJ: 'rejects it',
  DREQ: 'asks to disconnect', DREP: 'confirms it', MRA: 'asks for more time',
};
const cmMeaning = (detail) => (kCmMeanings[detail] ? ` (${kCmMeanings[detail]})` : '');

export function sentence(trace, event) {
  const at = letterOf(trace, event.end);
  const own = kSentences[event.name]?.(event).replace('{at}', at);
  return `${own ?? `${event.module || 'Unknown module'} at ${at}: ${event.text || event.name}`}.`;
}

// A few words for the diagram.
const kLabels = {
  register: (e) => `register ${size(e)}`,
  deregister: () => 'deregister',
  create_qp: (e) => `create QP ${hex(e.qpn)}`,
  modify_qp: (e) => `QP ${hex(e.qpn)} → ${e.detail}`,
  destroy_qp: (e) => `destroy QP ${hex(e.qpn)}`,
  cm_send: (e) => e.detail,
  cm_receive: () => '',
  post: (e) => `post${e.opcode ? ` ${shortOpcode(e.opcode)}` : ''}`,
  post_receive: () => 'post receive',
  doorbell: () => 'doorbell',
  fetch: () => 'fetch work request',
  packet_made: (e) => `make packet${e.psn >= 0 ? ` ${e.psn}` : ''}`,
  packet_sent: () => '',
  packet_dropped: () => 'lost',
  packet_received: () => '',
  checked: () => 'check',
  refused: (e) => `refused${because(e)}`,
  placed: (e) => `write ${size(e)}`,
  direct: (e) => `copy ${size(e)}`,
  ack_sent: () => 'make ACK',
  nak_sent: (e) => `make NAK${because(e)}`,
  ack_received: (e) => `ACK ${e.psn >= 0 ? e.psn : ''}`,
  nak_received: (e) => `NAK${because(e)}`,
  retransmit: (e) => `retransmit${because(e)}`,
  completion: (e) => `completion${because(e)}`,
  polled: () => 'poll',
};

export const label = (event) => kLabels[event.name]?.(event) ?? event.name;
