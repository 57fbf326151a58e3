import assert from 'node:assert/strict';
import test from 'node:test';
import { comparison, verdict } from '../../web/src/comparison.js';
import * as measures from '../../web/src/measures.js';
import { normalised } from '../../web/src/results.js';
import { headline, troubles } from '../../web/src/words.js';

const plain = (text) => text.replaceAll('\u202f', ' ');

const training = (more = {}) => normalised({
  scenario: 'x',
  jobs: [{
    name: 'train', start_ps: 1e9, end_ps: 5e9, steps_ps: [2e9, 2e9], bound_ps: 1.6e9,
    bus_bandwidth: 40e9, ranks: [{ compute: 3e9, exposed: 1e9 }, { compute: 2e9, exposed: 2e9 }],
    ...more,
  }],
});
const flows = (times) => normalised({ jobs: [{ end_ps: 100, flows: times.map((time) => ({
  bytes: 5000, start_ps: 0, end_ps: time, ideal_ps: 10 })) }] });

test('figures of a training job', () => {
  const result = training();
  assert.equal(measures.completion(result), 4e9);
  assert.equal(measures.idleShare(result.jobs), 3 / 8);
  assert.equal(measures.worstAboveBound(result), 0.25);
  assert.deepEqual(measures.bandwidth(result.jobs[0]), { achieved: 40e9, bound: 50e9 });
});

test('missing figures are NaN', () => {
  const empty = normalised({});
  for (const of of [measures.completion, measures.worstAboveBound, measures.bestBandwidth,
    measures.busiest, measures.deepest]) {
    assert.ok(Number.isNaN(of(empty)), of.name);
  }
  assert.ok(Number.isNaN(measures.idleShare([])));
  assert.ok(Number.isNaN(measures.slowdownAt(empty, 0.5)));
  assert.ok(Number.isNaN(measures.fairness([])));
});

test('without steps, nothing is above the bound', () => {
  const { jobs: [job] } = training({ steps_ps: [] });
  assert.ok(Number.isNaN(measures.aboveBound(job)));
  assert.ok(Number.isNaN(measures.bandwidth(job).bound));
});

test('flows are grouped by size class', () => {
  const found = measures.bySize([
    { bytes: 9_999, time: 20, ideal: 10 }, { bytes: 10_000, time: 30, ideal: 10 },
    { bytes: 5e9, time: 40, ideal: 10 }, { bytes: 100, time: 60, ideal: 10 },
  ]);
  assert.deepEqual(found.map(({ name, p50, p99, most }) => [name, p50, p99, most]), [
    ['under 10 KB', 2, 6, 6], ['10 to 100 KB', 3, 3, 3], ['10 MB and more', 4, 4, 4]]);
});

test('fairness uses throughput', () => {
  assert.equal(measures.fairness(measures.flowsOf(flows([20, 20]))), 1);
  assert.ok(measures.fairness(measures.flowsOf(flows([20, 40]))) < 1);
});

test('the headline has the time, the idle share and the losses', () => {
  assert.equal(plain(headline(training())),
    'The job took 4 ms; a step took 25 % longer than its bound; GPUs waited 37.5 % of their time. ' +
    'Nothing was lost, no link was paused.');
  const result = flows([20, 30]);
  result.totals.dropped = 1;
  result.totals.pauses = 288;
  assert.match(plain(headline(result)),
    /Half of the 2 flows took up to 2 × their time in an empty network, one in a hundred 3 × or more\. 1 packet was lost, 288 pauses stopped links\.$/);
});

test('an unfinished job is reported first', () => {
  assert.deepEqual(troubles(training({ done: false, trouble: 'given up' })),
    ['train did not finish: given up']);
  assert.deepEqual(troubles(training()), []);
});

test('a comparison marks better and worse values', () => {
  assert.equal(verdict(2, 1, -1), 'worse');
  assert.equal(verdict(2, 1, 1), 'better');
  assert.equal(verdict(1.005, 1, -1), '');
  assert.equal(verdict(3, 0, -1), 'worse');
  assert.equal(verdict(NaN, 1, 1), '');
  const rows = comparison([training(), training({ end_ps: 9e9 })]);
  const time = rows.find((row) => row.name === 'Completion time');
  assert.deepEqual(time.cells.map((cell) => [plain(cell.text), plain(cell.beside), cell.verdict]),
    [['4 ms', '', ''], ['8 ms', '2 ×', 'worse']]);
  assert.equal(rows.some((row) => row.name === 'Dropped by switches'), false);
});
