// Goal: a trace document is read as it was written, also where parts of it are missing or wrong.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  endOf, eventAt, letter, letterOf, normalised, parsed,
} from '../../web/src/trace/document.js';
import { filtered, hasFailed, isNotable, qpChoices } from '../../web/src/trace/filter.js';
import { visible } from '../../web/src/trace/virtual.js';

const kColumns = ['t', 'end', 'step', 'qpn', 'psn', 'bytes', 'message', 'packet', 'opcode',
  'detail'];
const kSteps = ['register', 'create_qp', 'modify_qp', 'post', 'retransmit', 'destroy_qp',
  'cm_send'];

// Events: [t, end, step name, message, detail].
const trace = (events, messages = [], more = {}) => {
  const details = [...new Set(events.map((event) => event[4]).filter(Boolean))];
  return normalised({
    format: 'nerve-trace-1',
    ends: [{ id: 0, name: 'a' }, { id: 1, name: 'b' }],
    qps: [{ end: 0, qpn: 17, peer_end: 1, peer_qpn: 18 },
      { end: 1, qpn: 18, peer_end: 0, peer_qpn: 17 }],
    modules: ['Verbs'],
    steps: kSteps.map((name) => ({ name, module: 0 })),
    details,
    messages,
    columns: kColumns,
    events: events.map(([t, end, step, message = -1, detail]) =>
      [t, end, kSteps.indexOf(step), 17, -1, -1, message, -1, -1, details.indexOf(detail)]),
    ...more,
  });
};
const send = (more) => ({ end: 0, qpn: 17, op: 'SEND', peer_end: 1, peer_qpn: 18, begin: 5,
  finish: 9, status: 'success', retransmitted: 0, ...more });

test('another format is refused with its name', () => {
  assert.throws(() => parsed('{"format":"nerve-trace-9"}'), /nerve-trace-9, not nerve-trace-1/);
  assert.throws(() => parsed('{}'), /missing/);
});

test('an empty document has no entries', () => {
  const { entries, messages, ends } = parsed('{"format":"nerve-trace-1"}');
  assert.deepEqual([entries, messages, ends], [[], [], []]);
});

test('events are read by the names of the columns', () => {
  const columns = [...kColumns].reverse();
  const one = normalised({ format: 'nerve-trace-1', columns, modules: ['x', 'DMA Engine'],
    steps: [{ name: 'placed', module: 1, text: 'written' }], opcodes: ['RC SEND Only'],
    details: ['why'], events: [[0, 0, 3, -1, 64, 7, 18, 0, 1, 900]] });
  assert.deepEqual(eventAt(one, 0), { row: 0, t: 900, end: 1, name: 'placed', text: 'written',
    module: 'DMA Engine', qpn: 18, psn: 7, bytes: 64, packet: 3, opcode: 'RC SEND Only',
    detail: 'why' });
});

test('indexes outside the tables become empty words', () => {
  const one = normalised({ format: 'nerve-trace-1',
    events: [[1, 0, 99, 1, 1, 1, 99, 1, 99, 99], 'x'] });
  const { name, module, opcode, detail } = eventAt(one, 0);
  assert.deepEqual([name, module, opcode, detail], ['', '', '', '']);
  assert.deepEqual(one.entries.map((entry) => entry.kind), ['other']);
});

test('ends have letters', () => {
  const one = trace([]);
  assert.equal(letterOf(one, 1), 'B');
  assert.equal(letterOf(one, 7), '?');
  assert.equal(endOf(one, 0).name, 'a');
  assert.deepEqual([0, 25, 26].map(letter), ['A', 'Z', 'E26']);
});

test('entries are the set-up, messages by time, other steps and the closing', () => {
  const { entries } = trace([
    [0, 0, 'register'], [1, 1, 'create_qp'], [2, 0, 'modify_qp', -1, 'RTS'],
    [3, 0, 'cm_send', -1, 'REQ'], [5, 0, 'post', 1], [6, 0, 'post', 0],
    [7, 1, 'retransmit'], [8, 0, 'cm_send', -1, 'DREQ'],
    [9, 1, 'modify_qp', -1, 'ERR'], [10, 1, 'destroy_qp'],
  ], [send({ begin: 6 }), send({ begin: 5 })]);
  assert.deepEqual(entries.map((entry) => [entry.kind, entry.rows]), [
    ['setup', [0, 1, 2, 3]], ['message', [4]], ['message', [5]], ['other', [6]],
    ['close', [7, 8, 9]]]);
  assert.deepEqual([entries[0].begin, entries[0].finish], [0, 3]);
});

test('an end whose peer has another peer has its own set-up', () => {
  const { entries } = trace([[0, 0, 'register'], [1, 1, 'register'], [2, 2, 'register']], [], {
    qps: [{ end: 0, qpn: 1, peer_end: 1, peer_qpn: 1 },
      { end: 2, qpn: 1, peer_end: 0, peer_qpn: 2 }],
  });
  assert.deepEqual(entries.map((entry) => [entry.end, entry.peerEnd, entry.rows]),
    [[0, 1, [0, 1]], [2, 0, [2]]]);
});

test('failed, unfinished and retransmitted messages are notable', () => {
  const { messages } = trace([], [send({}), send({ status: 'remote access error' }),
    send({ retransmitted: 2 }), send({ status: 'unfinished' }), send({ status: 'sent' })]);
  assert.deepEqual(messages.map(hasFailed), [false, true, false, false, false]);
  assert.deepEqual(messages.map(isNotable), [false, true, true, true, false]);
});

test('filters combine, and keep the set-up of the QP', () => {
  const one = trace([[0, 0, 'register'], [1, 2, 'register']], [send({}),
    send({ op: 'WRITE', retransmitted: 1 }), send({ qpn: 40, peer_qpn: 41 }),
    send({ end: 1, qpn: 18, peer_end: 0, peer_qpn: 17 })]);
  const kept = (filter) => filtered(one.entries, filter).map((entry) => entry.index ?? entry.kind);
  assert.deepEqual(kept({}), ['setup', 'setup', 0, 1, 2, 3]);
  assert.deepEqual(kept({ qp: one.qps[0] }), ['setup', 0, 1, 3]);
  assert.deepEqual(kept({ qp: one.qps[0], op: 'WRITE', notable: true }), ['setup', 1]);
  assert.equal(qpChoices(one).length, 1);
});

test('a long list creates the rows in view only', () => {
  assert.deepEqual(visible(0, 500, 50, 5000), [0, 16]);
  assert.deepEqual(visible(100000, 500, 50, 5000), [1994, 2016]);
  assert.deepEqual(visible(0, 500, 50, 3), [0, 3]);
  assert.deepEqual(visible(0, 500, 50, 0), [0, 0]);
});
