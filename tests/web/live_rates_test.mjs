// Goal: the rates of the live page are right for programs that come, go and are replaced.
import assert from 'node:assert/strict';
import test from 'node:test';
import { History, pathsOf, programRates, sumOfRates, totalsOf } from '../../web/src/live/rates.js';

const program = (pid, counters, name = 'p') =>
  ({ pid, program: name, running: true, answers: true, counters, qps: [] });

test('totals add up paths and kinds of NAKs', () => {
  const totals = totalsOf(program(1, {
    shm_bytes_sent: 10, udp_bytes_sent: 5, direct_bytes: 1, rnr_naks_sent: 2, error_naks_received: 3,
  }));
  assert.equal(totals.sent, 16);
  assert.equal(totals.naks, 5);
  assert.equal(totals.received, 0);
});

test('paths are those that carried something', () => {
  assert.equal(pathsOf(program(1, { shm_bytes_sent: 1, direct_bytes: 2 })), 'shm + direct');
  assert.equal(pathsOf(program(1, {})), '–');
});

test('rates are per second, and absent for a new program', () => {
  const before = { at: 10, programs: [program(1, { bytes_received: 100 })] };
  const now = { at: 12, programs: [program(1, { bytes_received: 300 }), program(2, {})] };
  const [old, young] = programRates(before, now);
  assert.equal(old.rates.received, 100);
  assert.equal(young.rates, null);
  assert.equal(sumOfRates([old, young]).received, 100);
  assert.equal(programRates(undefined, now)[0].rates, null);
});

test('another program with the same pid is new, and counters do not run backwards', () => {
  const before = { at: 0, programs: [program(1, { bytes_received: 100 }, 'a'),
    program(2, { bytes_received: 100 })] };
  const now = { at: 1, programs: [program(1, { bytes_received: 5 }, 'b'),
    program(2, { bytes_received: 5 })] };
  const [replaced, reset] = programRates(before, now);
  assert.equal(replaced.rates, null);
  assert.equal(reset.rates.received, 0);
});

test('a history keeps the last points', () => {
  const history = new History(['a'], 3);
  for (let i = 0; i < 5; ++i) history.add(i, { a: 10 * i });
  assert.deepEqual(history.times, [2, 3, 4]);
  assert.deepEqual(history.lines, [[20, 30, 40]]);
  history.add(5, {});
  assert.deepEqual(history.lines, [[30, 40, 0]]);
});
