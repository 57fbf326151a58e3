import assert from 'node:assert/strict';
import test from 'node:test';
import {
  aligned, ascending, binned, distribution, jain, largest, nearestValue, percentile,
} from '../../web/src/stats.js';

test('a percentile is one of the values', () => {
  const sorted = ascending([5, 1, 4, 2, 3]);
  assert.equal(percentile(sorted, 0.5), 3);
  assert.equal(percentile(sorted, 0.99), 5);
  assert.equal(percentile(sorted, 0), 1);
  assert.ok(Number.isNaN(percentile([], 0.5)));
});

test('Jain: 1 for equal values, 1/n for a single owner', () => {
  assert.equal(jain([7, 7, 7]), 1);
  assert.equal(jain([9, 0, 0]), 1 / 3);
  assert.ok(Number.isNaN(jain([])));
  assert.ok(Number.isNaN(jain([0, 0])));
});

test('a distribution keeps both ends', () => {
  const { x, y } = distribution(Array.from({ length: 10_000 }, (_, i) => i), 100);
  assert.equal(x.length, 100);
  assert.equal(x[0], 0);
  assert.equal(x.at(-1), 9999);
  assert.equal(y.at(-1), 1);
  assert.deepEqual(distribution([], 100), { x: [], y: [] });
  assert.deepEqual(distribution([3], 100), { x: [3], y: [1] });
});

test('curves share one x', () => {
  assert.deepEqual(aligned([{ x: [1, 3], y: [0.5, 1] }, { x: [2, 3], y: [0.4, 1] }]),
    [[1, 2, 3], [0.5, null, 1], [null, 0.4, 1]]);
  // Of equal values the last counts: it has the share of values that are at most x.
  assert.deepEqual(aligned([{ x: [1, 1], y: [0.5, 1] }]), [[1], [1]]);
});

test('adjacent values are merged until they fit', () => {
  assert.deepEqual(binned([1, 3, 5, 7, 9], 3), [
    { first: 0, last: 1, mean: 2 }, { first: 2, last: 3, mean: 6 }, { first: 4, last: 4, mean: 9 }]);
  assert.equal(binned(new Array(64).fill(1), 96).length, 64);
});

test('the largest of very many values', () => {
  assert.equal(largest(Array.from({ length: 500_000 }, (_, i) => i)), 499_999);
  assert.equal(largest([]), 0);
});

test('the nearest value is found on either side', () => {
  assert.equal(nearestValue([1, null, null, 4], 1), 0);
  assert.equal(nearestValue([1, null, null, 4], 2), 3);
  assert.equal(nearestValue([null, null], 1), 1);
});
