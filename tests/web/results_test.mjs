import assert from 'node:assert/strict';
import test from 'node:test';
import { comparison } from '../../web/src/comparison.js';
import { entries } from '../../web/src/entries.js';
import { labelled, normalised, parsed } from '../../web/src/results.js';
import { outcome } from '../../web/src/trials.js';
import { share } from '../../web/src/units.js';
import { headline } from '../../web/src/words.js';

test('missing fields are empty', () => {
  const result = normalised({});
  for (const key of ['jobs', 'nodes', 'links', 'series', 'remarks', 'why', 'trials']) assert.deepEqual(result[key], []);
  assert.equal(result.totals.dropped, 0);
  assert.notEqual(result.scenario, '');
  const job = normalised({ jobs: [{ name: 'x' }] }).jobs[0];
  assert.deepEqual([job.steps, job.ranks, job.flows], [[], [], []]);
  assert.equal(job.done, true);
});

test('explanations and trials are read', () => {
  const result = normalised({
    why: [{ job: 'a', paragraph: 'Because.', causes: [{ kind: 'incast', share: 0.5 }] }],
    trials: [{ set: ['a=1'], done: true, took_ps: 5, takes_away: 0.5 },
      { set: [], done: true, takes_away: -0.25 }, { error: 'no' }, { done: false },
      { done: true, takes_away: 0.001 }],
  });
  assert.equal(result.why[0].paragraph, 'Because.');
  assert.equal(result.why[0].causes[0].share, 0.5);
  assert.deepEqual(result.trials.map((trial) => outcome(trial, share)),
    [`takes away ${share(0.5)}`, `adds ${share(0.25)}`, 'cannot run: no', 'does not finish',
      'changes nothing']);
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
  const packets = normalised({ scenario: 'a', seed: 1 });
  const flows = normalised({ scenario: 'a', seed: 1, fidelity: 'flow' });
  assert.deepEqual(names([packets, flows]), ['a (packets)', 'a (flows)']);
});

test('a run of flows has no figures of packets', () => {
  const flows = normalised({ fidelity: 'flow', nodes: [{}, {}], links: [{ from: 0, to: 1 }] });
  const packets = normalised({ nodes: [{}, {}], links: [{ from: 0, to: 1, most_queued: 5 }],
    totals: { pauses: 3 } });
  const rows = comparison([packets, flows]);
  for (const name of ['Deepest queue', 'PFC pauses']) {
    const row = rows.find((one) => one.name === name);
    assert.notEqual(row.cells[0].text, row.cells[1].text);
    assert.equal(row.cells[1].beside, '');
  }
  assert.match(headline(flows), /simulated as flows/);
});

test('jobs have unique labels', () => {
  const one = { label: 'x', jobs: [{ name: 'train' }] };
  const two = { label: 'y', jobs: [{ name: 'train' }, { name: 'save' }] };
  assert.deepEqual(entries([one]).map((entry) => entry.label), ['train']);
  assert.deepEqual(entries([one, two]).map((entry) => entry.label), ['x', 'y: train', 'y: save']);
});
