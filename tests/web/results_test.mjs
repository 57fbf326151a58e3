import assert from 'node:assert/strict';
import test from 'node:test';
import { entries } from '../../web/src/entries.js';
import { labelled, normalised, parsed } from '../../web/src/results.js';

test('missing fields are empty', () => {
  const result = normalised({});
  for (const key of ['jobs', 'nodes', 'links', 'series', 'remarks']) assert.deepEqual(result[key], []);
  assert.equal(result.totals.dropped, 0);
  assert.notEqual(result.scenario, '');
  const job = normalised({ jobs: [{ name: 'x' }] }).jobs[0];
  assert.deepEqual([job.steps, job.ranks, job.flows], [[], [], []]);
  assert.equal(job.done, true);
});

test('links to unknown nodes and unfinished flows are omitted', () => {
  const result = normalised({
    nodes: [{ name: 'a' }, { name: 'b' }],
    links: [{ from: 0, to: 1 }, { from: 0, to: 7 }],
    jobs: [{ flows: [{ start_ps: 5, end_ps: 9 }, { start_ps: 5, end_ps: 0 }] }],
  });
  assert.equal(result.links.length, 1);
  assert.equal(result.jobs[0].flows.length, 1);
  assert.equal(result.jobs[0].flows[0].time, 4);
});

test('a seed of 64 bits keeps its digits', () => {
  assert.equal(parsed('{"seed": 18446744073709551615}').seed, '18446744073709551615');
  assert.equal(parsed('{"seed":7}').seed, '7');
  assert.throws(() => parsed('{'));
});

test('results of one scenario have different labels', () => {
  const names = (list) => labelled(list).map((result) => result.label);
  assert.deepEqual(names([{ scenario: 'a', seed: '1' }, { scenario: 'b', seed: '1' }]), ['a', 'b']);
  assert.deepEqual(names([{ scenario: 'a', seed: '1' }, { scenario: 'a', seed: '2' }]),
    ['a, seed 1', 'a, seed 2']);
  assert.deepEqual(names([{ scenario: 'a', seed: '1' }, { scenario: 'a', seed: '1' }]),
    ['a (1)', 'a (2)']);
});

test('jobs have unique labels', () => {
  const one = { label: 'x', jobs: [{ name: 'train' }] };
  const two = { label: 'y', jobs: [{ name: 'train' }, { name: 'save' }] };
  assert.deepEqual(entries([one]).map((entry) => entry.label), ['train']);
  assert.deepEqual(entries([one, two]).map((entry) => entry.label), ['x', 'y: train', 'y: save']);
});
