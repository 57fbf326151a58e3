// Reads the samples of make_sample.py as the page does.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { comparison } from '../../web/src/comparison.js';
import { bySize, flowsOf, idleShare } from '../../web/src/measures.js';
import { labelled, parsed } from '../../web/src/results.js';
import { layout } from '../../web/src/topology.js';
import { headline, troubles } from '../../web/src/words.js';

const read = (name) =>
  parsed(readFileSync(join(process.env.NERVE_SAMPLES ?? '.', `${name}.json`), 'utf8'));

test('a training job has a bound, ranks and steps', () => {
  const result = read('training');
  assert.ok(idleShare(result.jobs) > 0 && idleShare(result.jobs) < 1);
  assert.match(headline(result), /than its bound; GPUs waited/);
});

test('an incast has flows of one size', () => {
  const result = read('incast');
  assert.deepEqual(bySize(flowsOf(result)).map((size) => [size.name, size.flows.length]),
    [['1 to 10 MB', 64]]);
});

test('a fat tree of 1 024 NICs is grouped to fit', () => {
  const result = read('fat_tree');
  const { rows } = layout(result.nodes, result.links, (tier) => (tier ? 280 : 180));
  assert.deepEqual(rows.map((row) => [row.nodes, row.places]),
    [[1024, 128], [128, 128], [128, 128], [64, 64]]);
  assert.equal(troubles(result).length, 1);
});

test('all samples can be compared', () => {
  const results = labelled(['training', 'training_tcp', 'incast', 'fat_tree'].map(read));
  assert.equal(new Set(results.map((result) => result.label)).size, 4);
  const rows = comparison(results);
  assert.ok(rows.length > 8);
  assert.ok(rows.every((row) => row.cells.length === 4));
});
