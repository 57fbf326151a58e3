// Goal: the sequence diagram has the lanes, rows and arrows of what happened.
import assert from 'node:assert/strict';
import test from 'node:test';
import { normalised } from '../../web/src/trace/document.js';
import { columns, labelPlace } from '../../web/src/trace/layout.js';
import { sequence } from '../../web/src/trace/sequence.js';
import { fitting, textWidth } from '../../web/src/trace/svg.js';

const kModules = ['Application', 'Verbs', 'QP Manager', 'WQE Engine', 'DMA Engine', 'Flow Control',
  'Ethernet', 'RX Handler', 'CQ Manager', 'Connection Manager', 'Link'];
const kSteps = {
  cm_send: 9, cm_receive: 9, post: 1, post_receive: 1, doorbell: 1, fetch: 3, packet_made: 3,
  packet_sent: 6, packet_dropped: 10, packet_received: 6, checked: 7, refused: 7, placed: 4,
  direct: 4, ack_sent: 7, nak_sent: 7, ack_received: 3, nak_received: 3, retransmit: 3,
  completion: 8, polled: 1,
};
const kNames = Object.keys(kSteps);

// The sequence of one message from end 0 to end 1. Events: [end, step, more]; 10 ns between them.
function of(events, { message = {}, options } = {}) {
  const opcodes = [];
  const details = [];
  const index = (table, word) => (word ? table.push(word) - 1 : -1);
  const trace = normalised({
    format: 'nerve-trace-1',
    ends: [{ id: 0 }, { id: 1 }],
    modules: kModules,
    steps: kNames.map((name) => ({ name, module: kSteps[name] })),
    messages: [{ end: 0, qpn: 17, op: 'SEND', peer_end: 1, peer_qpn: 18, begin: 0, finish: 90,
      ...message }],
    events: events.map(([end, step, more = {}], i) => [more.t ?? i * 10, end, kNames.indexOf(step),
      more.qpn ?? 17 + end, more.psn ?? -1, -1, 0, more.packet ?? -1, index(opcodes, more.opcode),
      index(details, more.detail)]),
    opcodes,
    details,
  });
  return sequence(trace, trace.messages[0], options);
}
const arrow = ({ from, to, start, finish, end, kind, label }) =>
  [from, to, start, finish, end, kind, label];

const kSend = [
  [1, 'post_receive', { t: -500 }], [0, 'post'], [0, 'doorbell'], [0, 'fetch'],
  [0, 'packet_made', { psn: 7 }],
  [0, 'packet_sent', { psn: 7, packet: 1, opcode: 'RC SEND Only' }],
  [1, 'packet_received', { psn: 7, packet: 1 }], [1, 'checked'], [1, 'placed'],
  [1, 'completion', { detail: 'success' }], [1, 'ack_sent', { psn: 7 }],
  [1, 'packet_sent', { psn: 7, packet: 2, opcode: 'RC ACKNOWLEDGE' }],
  [0, 'packet_received', { psn: 7, packet: 2 }], [0, 'ack_received', { psn: 7 }],
  [0, 'completion', { detail: 'success' }], [0, 'polled'],
];

test('lanes are in the order a message passes them', () => {
  assert.deepEqual(of(kSend).lanes.map((lane) => lane.key), [
    '0/Application', '0/Verbs', '0/CQ Manager', '0/WQE Engine', '0/Ethernet',
    '1/Ethernet', '1/RX Handler', '1/DMA Engine', '1/CQ Manager', '1/Verbs', '1/Application']);
});

test('rows lead from module to module', () => {
  const { rows } = of(kSend);
  const step = (name, nth = 0) => rows.filter((row) => row.event.name === name)[nth];
  const ends = (row) => [row.from, row.to];
  assert.deepEqual(ends(step('post')), ['0/Application', '0/Verbs']);
  assert.deepEqual(ends(step('doorbell')), ['0/Verbs', '0/WQE Engine']);
  assert.deepEqual(ends(step('fetch')), ['0/WQE Engine', '0/WQE Engine']);
  assert.deepEqual(ends(step('packet_sent', 0)), ['0/WQE Engine', '0/Ethernet']);
  assert.deepEqual(ends(step('packet_sent', 1)), ['1/RX Handler', '1/Ethernet']);
  assert.deepEqual(ends(step('completion', 0)), ['1/RX Handler', '1/CQ Manager']);
  assert.deepEqual(ends(step('completion', 1)), ['0/WQE Engine', '0/CQ Manager']);
  assert.deepEqual(ends(step('polled')), ['0/CQ Manager', '0/Application']);
  assert.equal(step('polled').via, '0/Verbs');
});

test('times count from the beginning of the message, not from an early receive', () => {
  const { begin, total, rows } = of(kSend);
  assert.deepEqual([begin, total], [0, 150]);
  assert.deepEqual([rows[0].early, rows[1].early, rows[2].early], [false, true, false]);
  assert.equal(rows[2].gap, 10);
});

test('a packet and its acknowledgement are arrows', () => {
  assert.deepEqual(of(kSend).arrows.map(arrow), [
    [5, 6, '0/Ethernet', '1/Ethernet', 'arrives', 'data', 'SEND Only · PSN 7'],
    [11, 12, '1/Ethernet', '0/Ethernet', 'arrives', 'answer', 'ACK · PSN 7'],
  ]);
});

const packet = (psn, id, opcode = 'RC RDMA WRITE Only') => ({ psn, packet: id, opcode });

test('a lost packet ends on the link, and its retransmission has a cause', () => {
  const { arrows, rows } = of([
    [0, 'packet_sent', packet(5, 1)], [0, 'packet_dropped', packet(5, 1)],
    [0, 'retransmit', { psn: 5, detail: 'timeout' }],
    [0, 'packet_sent', packet(5, 2)], [1, 'packet_received', packet(5, 2)],
  ]);
  assert.deepEqual(arrows.map((one) => [one.end, one.kind, one.label]), [
    ['lost', 'data', 'WRITE Only · PSN 5'], ['arrives', 'again', 'PSN 5 resent · timeout']]);
  assert.equal(rows[1].to, undefined);
});

test('a receiver may drop the packet', () => {
  const [one] = of([[0, 'packet_sent', packet(5, 1)], [1, 'packet_dropped', packet(5, 1)]]).arrows;
  assert.deepEqual([one.end, one.to], ['lost', 1]);
});

test('a packet that is never received is unknown', () => {
  const { arrows } = of([[0, 'packet_sent', packet(5, 1)], [0, 'packet_sent', packet(6, 2)],
    [1, 'packet_received', packet(6, 2)]]);
  assert.deepEqual(arrows.map((one) => one.end), ['unknown', 'arrives']);
});

test('an answer is a NAK once for each NAK that was made', () => {
  const answer = (id) => packet(5, id, 'RC ACKNOWLEDGE');
  const { arrows } = of([[1, 'nak_sent', { psn: 5 }], [1, 'packet_sent', answer(1)],
    [0, 'packet_received', answer(1)], [1, 'packet_sent', answer(2)],
    [0, 'packet_received', answer(2)]]);
  assert.deepEqual(arrows.map((one) => [one.kind, one.label]),
    [['nak', 'NAK · PSN 5'], ['answer', 'ACK · PSN 5']]);
});

test('messages of the connection manager are paired by number, or by name', () => {
  for (const number of [{ packet: 3 }, {}]) {
    const { arrows } = of([[0, 'cm_send', { detail: 'REQ', ...number }],
      [1, 'cm_receive', { detail: 'REQ', ...number }]]);
    assert.deepEqual(arrows.map(arrow), [
      [0, 1, '0/Connection Manager', '1/Connection Manager', 'arrives', 'cm', 'REQ']]);
  }
});

test('a direct copy is one arrow between the memories, towards the reader', () => {
  const ends = (op) => of([[0, 'direct']], { message: { op } }).arrows
    .map((one) => [one.start, one.finish, one.kind]);
  assert.deepEqual(ends('WRITE'), [['0/DMA Engine', '1/DMA Engine', 'direct']]);
  assert.deepEqual(ends('READ'), [['1/DMA Engine', '0/DMA Engine', 'direct']]);
});

test('a peer that is not traced is one lane', () => {
  const { lanes, arrows } = of([[0, 'packet_sent', packet(1, 1)],
    [0, 'packet_received', packet(1, 2, 'RC ACKNOWLEDGE')]],
  { message: { peer_end: -1, peer_qpn: -1 } });
  assert.equal(lanes.at(-1).module, 'Remote NIC');
  assert.deepEqual(arrows.map((one) => [one.start, one.finish, one.end]), [
    ['0/Ethernet', '1/Remote NIC', 'arrives'], ['1/Remote NIC', '0/Ethernet', 'arrives']]);
});

test('two QPs of one process are two sides', () => {
  const { lanes } = of([[0, 'post', { qpn: 17 }], [0, 'placed', { qpn: 18 }]],
    { message: { peer_end: 0, peer_qpn: 18 } });
  assert.deepEqual(lanes.map((lane) => lane.key),
    ['0/Application', '0/Verbs', '1/DMA Engine', '1/Application']);
});

test('packets only omits the steps inside the NICs, and a limit the last rows', () => {
  const { rows, hidden, inner } = of(kSend, { options: { packetsOnly: true } });
  assert.deepEqual([rows.length, hidden, inner], [9, 7, 7]);
  const limited = of(kSend, { options: { limit: 6 } });
  assert.deepEqual([limited.rows.length, limited.left], [6, 10]);
  assert.deepEqual(limited.arrows, []);
});

test('lanes do not overlap and fit, down to a narrow page', () => {
  const { lanes } = of(kSend);
  for (const width of [950, 1200, 1900]) {
    const { places, groups, width: drawn } = columns(lanes, width);
    const xs = lanes.map((lane) => places.get(lane.key));
    assert.ok(xs.every((x, i) => i === 0 || x - xs[i - 1] >= 50), `${width}: ${xs}`);
    assert.ok(drawn <= width, `${width}: ${drawn}`);
    assert.ok(groups[1].from - groups[0].to >= 150);
  }
});

test('labels stay inside their group where they can', () => {
  const group = { side: 0, from: 100, to: 400 };
  assert.equal(labelPlace(50, 150, 300, group).anchor, 'middle');
  assert.equal(labelPlace(80, 150, 200, group).anchor, 'start');
  assert.equal(labelPlace(80, 350, 350, group).anchor, 'end');
  assert.equal(labelPlace(900, 350, 350, group).room, 236);
  assert.equal(labelPlace(900, 150, 150, group).room, 296);
});

test('text that does not fit ends with an ellipsis', () => {
  assert.equal(fitting('short', 100), 'short');
  const cut = fitting('a rather long label', 60);
  assert.ok(cut.endsWith('…') && textWidth(cut) <= 60, cut);
});
