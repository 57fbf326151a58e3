// Reads the samples of make_trace_sample.py as the page does.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { parsed } from '../../web/src/trace/document.js';
import { sentence } from '../../web/src/trace/sentences.js';
import { sequence } from '../../web/src/trace/sequence.js';
import { summary } from '../../web/src/trace/words.js';

const folder = join(process.env.NERVE_SAMPLES ?? '.', 'trace');
const read = (name) => parsed(readFileSync(join(folder, `${name}.json`), 'utf8'));

// How many arrows of each kind there are.
function kinds(seq) {
  const found = {};
  for (const { kind, end } of seq.arrows) {
    found[`${kind} ${end}`] = (found[`${kind} ${end}`] ?? 0) + 1;
  }
  return found;
}

test('every event of every sample has a row, a lane and a sentence', () => {
  for (const name of ['write', 'connect', 'direct', 'alone']) {
    const trace = read(name);
    for (const entry of trace.entries) {
      const { rows, lanes } = sequence(trace, entry);
      assert.equal(rows.length, entry.rows.length);
      const keys = new Set(lanes.map((lane) => lane.key));
      for (const row of rows) {
        assert.ok(row.event.name === 'packet_dropped' || keys.has(row.to), row.event.name);
        assert.match(sentence(trace, row.event), /^[A-Z].*\.$/);
        assert.doesNotMatch(sentence(trace, row.event), /undefined|\{at\}|NaN/);
      }
    }
  }
});

test('a pingpong has a packet and an acknowledgement for each SEND', () => {
  const trace = read('send');
  assert.equal(trace.messages.length, 5000);
  assert.match(summary(trace), /^5\u202f000 messages traced, none retransmitted or failed/);
  assert.deepEqual(trace.entries.map((entry) => entry.kind).filter((kind) => kind !== 'message'),
    ['setup', 'other', 'close']);
  for (const message of trace.messages.slice(0, 100)) {
    assert.deepEqual(kinds(sequence(trace, message)), { 'data arrives': 1, 'answer arrives': 1 });
  }
});

test('a WRITE of 16 packets with a lost one has a NAK and one retransmission', () => {
  const trace = read('write');
  assert.deepEqual(kinds(sequence(trace, trace.messages[2])), { 'data arrives': 15, 'data lost': 1,
    'nak arrives': 1, 'again arrives': 1, 'answer arrives': 1 });
  assert.deepEqual(kinds(sequence(trace, trace.messages[0])),
    { 'data arrives': 16, 'answer arrives': 1 });
  assert.match(summary(trace), /2 with retransmissions, 1 failed/);
});

test('a connection has REQ, REP and RTU, and is closed by DREQ and DREP', () => {
  const trace = read('connect');
  const labels = (entry) => sequence(trace, entry).arrows.map((arrow) => arrow.label);
  assert.deepEqual(labels(trace.entries[0]), ['REQ', 'REP', 'RTU']);
  assert.deepEqual(labels(trace.entries.at(-1)), ['DREQ', 'DREP']);
});

test('the direct path has no packets', () => {
  const trace = read('direct');
  for (const message of trace.messages) {
    assert.deepEqual(kinds(sequence(trace, message)), { 'direct arrives': 1 });
  }
});
