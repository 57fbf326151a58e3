// Goal: numbers and sentences of the trace page are right and readable.
import assert from 'node:assert/strict';
import test from 'node:test';
import { sentence } from '../../web/src/trace/sentences.js';
import {
  duration, entryTitle, explanation, hex, label, shortOpcode, size, stamp, summary,
} from '../../web/src/trace/words.js';

const kSpace = '\u202f';
const spaced = (text) => text.replaceAll(kSpace, ' ');

test('sizes of memory are powers of two where they are exact', () => {
  const sizes = [0, 64, 1000, 1024, 1536, 4096, 65536, 65537, 1 << 20, 3 << 29];
  assert.deepEqual(sizes.map(size).map(spaced),
    ['0 B', '64 B', '1 KB', '1 KiB', '1.5 KiB', '4 KiB', '64 KiB', '65.5 KB', '1 MiB', '1.5 GiB']);
});

test('the times of a message have one unit', () => {
  assert.equal(spaced(stamp(1234, 5000)), '1.234 µs');
  assert.equal(spaced(stamp(0, 5000)), '0.000 µs');
  assert.equal(spaced(stamp(1234, 67e6)), '0.001 ms');
  assert.equal(spaced(stamp(2e9, 3e9)), '2.0000 s');
  assert.equal(spaced(stamp(-12000, 5000)), '−12 µs');
  assert.equal(spaced(duration(0)), '0 ns');
  assert.equal(hex(17), '0x11');
  assert.equal(hex(-1), '–');
});

test('opcodes are short', () => {
  const opcodes = ['RC SEND Only', 'RC RDMA WRITE Middle', 'RC ACKNOWLEDGE', 'WRITE'];
  assert.deepEqual(opcodes.map(shortOpcode),
    ['SEND Only', 'WRITE Middle', 'ACK', 'WRITE']);
});

const message = (more) => ({ kind: 'message', op: 'SEND', bytes: 64, begin: 0, finish: 100,
  status: 'success', retransmitted: 0, ...more });

test('the summary names what was unusual', () => {
  const of = (messages, more) => spaced(summary({ messages, ...more }));
  assert.equal(of([]), 'No message was traced.');
  assert.equal(of([message()]), '1 message traced, none retransmitted or failed.');
  assert.equal(of([message(), message({ retransmitted: 3 }), message({ status: 'flushed' }),
    message({ status: 'unfinished' })]),
  '4 messages traced, 1 with retransmissions, 1 failed, 1 not finished; the median took 100 ns.');
  assert.match(of([message(), message()], { simulated: true }), /100 ns of simulated time\.$/);
});

test('each operation and phase is explained', () => {
  for (const op of ['SEND', 'SEND with immediate', 'WRITE', 'READ', 'COMPARE and SWAP',
    'FETCH and ADD', 'ATOMIC WRITE', 'RECV']) {
    assert.ok(explanation(message({ op })).length > 40, op);
  }
  assert.match(explanation(message({ op: 'WRITE with immediate' })),
    /Both programs get a completion/);
  assert.match(explanation(message({ op: 'WRITE' }), true), /without packets\.$/);
  for (const kind of ['setup', 'close', 'other']) {
    assert.ok(explanation({ kind }).length > 40, kind);
    assert.ok(entryTitle({ kind }));
  }
  assert.equal(spaced(entryTitle(message({ op: 'WRITE', bytes: 65536 }))), 'WRITE 64 KiB');
});

const event = (name, more) => ({ name, end: 1, qpn: 17, psn: -1, bytes: -1, opcode: '', detail: '',
  module: '', text: '', ...more });
const trace = { ends: [{ id: 0, letter: 'A' }, { id: 1, letter: 'B' }] };
const said = (name, more) => spaced(sentence(trace, event(name, more)));

test('a sentence has the module, the end and the values', () => {
  assert.equal(said('checked', { psn: 7 }),
    'RX Handler at B checks the headers, the PSN and the rights of the packet with PSN 7.');
  assert.equal(said('packet_sent', { opcode: 'RC SEND Only', psn: 7 }),
    'Ethernet at B sends the packet SEND Only with PSN 7.');
  assert.equal(said('modify_qp', { detail: 'RTR' }),
    'QP Manager at B moves queue pair 0x11 to RTR (ready to receive).');
  assert.equal(said('retransmit', { detail: 'timeout', psn: 3 }),
    'WQE Engine at B retransmits from PSN 3: no acknowledgement has come in time.');
  assert.equal(said('direct', { opcode: 'READ', bytes: 4096 }),
    'DMA Engine at B copies 4 KiB straight out of the peer’s memory, without packets.');
});

test('a packet that is held or arrives again is not refused', () => {
  assert.match(said('refused', { detail: 'out of order: held until the missing packet arrives' }),
    /holds the packet: a packet before it is missing/);
  assert.match(said('refused', { detail: 'duplicate' }), /ignores the packet/);
  assert.match(said('refused', { detail: 'remote access error: NAK' }),
    /refuses the packet: remote/);
});

test('unknown steps have the words of the document', () => {
  assert.equal(said('teleport', { module: 'Flow Control', text: 'waits for credits' }),
    'Flow Control at B: waits for credits.');
  assert.equal(label(event('teleport')), 'teleport');
});

test('a NAK is not named twice', () => {
  assert.equal(label(event('nak_received', { detail: 'NAK: sequence error' })),
    'NAK: sequence error');
  assert.equal(label(event('nak_sent', { detail: 'selective NAK' })), 'selective NAK');
  assert.equal(label(event('nak_sent', {})), 'NAK');
});
