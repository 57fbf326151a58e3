// The sentence of each step. The subject is a module or the program; `{at}` is its end.
import { letterOf } from './document.js';
import { hex, shortOpcode, size } from './words.js';

const psn = (event) => (event.psn >= 0 ? ` with PSN ${event.psn}` : '');
const upTo = (event) => (event.psn >= 0 ? ` up to PSN ${event.psn}` : '');
const packet = (event) =>
  `${event.opcode ? `the packet ${shortOpcode(event.opcode)}` : 'a packet'}${psn(event)}`;
const because = (event) => (event.detail ? `: ${event.detail}` : '');
const amount = (event) => (event.bytes >= 0 ? size(event.bytes) : 'the data');

const kStates = {
  RESET: 'new', INIT: 'initialised', RTR: 'ready to receive', RTS: 'ready to send',
  SQD: 'send queue drained', SQE: 'send queue error', ERR: 'error',
};
const kCmMessages = {
  REQ: 'a request for a connection', REP: 'the reply that accepts it', RTU: 'ready to use',
  REJ: 'a rejection', DREQ: 'a request to disconnect', DREP: 'the reply that confirms it',
  MRA: 'a request for more time',
};
const meaning = (meanings, word) => `${word}${meanings[word] ? ` (${meanings[word]})` : ''}`;
const cmMessage = (event) => (event.detail ? meaning(kCmMessages, event.detail) : 'a message');

const kCauses = {
  timeout: 'no acknowledgement has come in time',
  NAK: 'the receiver has reported a missing packet',
  probe: 'a probe for a loss at the end of the message',
  'receiver not ready': 'the receiver had no receive posted',
};
const cause = ({ detail }) => kCauses[detail] ?? (detail || 'the cause is unknown');

function refusal(event) {
  if (/held/.test(event.detail)) {
    return `RX Handler at {at} holds the packet${psn(event)}: a packet before it is missing`;
  }
  if (/^duplicate/.test(event.detail)) {
    return `RX Handler at {at} ignores the packet${psn(event)}: it has arrived before`;
  }
  return `RX Handler at {at} refuses the packet${psn(event)}${because(event)}`;
}

function copy(event) {
  const reads = /READ/i.test(event.opcode);
  return `DMA Engine at {at} copies ${amount(event)} straight ` +
    `${reads ? 'out of' : 'into'} the peer’s memory, without packets`;
}

const kSentences = {
  register: (e) =>
    `DMA Engine at {at} registers ${amount(e)} of memory, so that the NIC may use it`,
  deregister: () => 'DMA Engine at {at} deregisters memory: the NIC may no longer use it',
  create_qp: (e) => `QP Manager at {at} creates queue pair ${hex(e.qpn)}`,
  modify_qp: (e) => `QP Manager at {at} moves queue pair ${hex(e.qpn)} to ` +
    `${e.detail ? meaning(kStates, e.detail) : 'a new state'}`,
  destroy_qp: (e) => `QP Manager at {at} destroys queue pair ${hex(e.qpn)}`,
  cm_send: (e) => `Connection Manager at {at} sends ${cmMessage(e)}`,
  cm_receive: (e) => `Connection Manager at {at} receives ${cmMessage(e)}`,
  post: (e) => `The program at {at} posts a work request${e.opcode ? `, ${e.opcode}` : ''}` +
    `${e.bytes >= 0 ? ` of ${size(e.bytes)}` : ''}: Verbs writes it to the send queue`,
  post_receive: () => 'The program at {at} posts a receive: a buffer for a message to come',
  doorbell: () => 'Verbs at {at} rings the doorbell: the engine learns that there is work',
  fetch: () => 'WQE Engine at {at} fetches the work request from the send queue',
  packet_made: (e) => `WQE Engine at {at} makes ${packet(e)}`,
  packet_sent: (e) => `Ethernet at {at} sends ${packet(e)}`,
  packet_dropped: (e) => `The link loses ${packet(e)}${because(e)}`,
  packet_received: (e) => `Ethernet at {at} receives ${packet(e)}`,
  checked: (e) => `RX Handler at {at} checks the headers, the PSN and the rights of the packet` +
    `${psn(e)}`,
  refused: refusal,
  placed: (e) => `DMA Engine at {at} writes ${amount(e)} of payload to memory`,
  direct: copy,
  ack_sent: (e) => `RX Handler at {at} acknowledges the packets${upTo(e)}`,
  nak_sent: (e) => `RX Handler at {at} makes a negative acknowledgement${psn(e)}${because(e)}`,
  ack_received: (e) => `WQE Engine at {at} receives the acknowledgement of the packets${upTo(e)}`,
  nak_received: (e) =>
    `WQE Engine at {at} receives a negative acknowledgement${psn(e)}${because(e)}`,
  retransmit: (e) => `WQE Engine at {at} retransmits${e.psn >= 0 ? ` from PSN ${e.psn}` : ''}: ` +
    cause(e),
  completion: (e) => `CQ Manager at {at} writes a completion${because(e)}`,
  polled: () => 'The program at {at} polls the completion queue and gets the completion',
};

export function sentence(trace, event) {
  const at = letterOf(trace, event.end);
  const known = kSentences[event.name]?.(event).replace('{at}', at);
  const other = `${event.module || 'An unknown module'} at ${at}: ${event.text || event.name}`;
  return `${known ?? other}.`;
}
