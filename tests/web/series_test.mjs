import assert from 'node:assert/strict';
import test from 'node:test';
import {
  envelope, groups, highest, isFlat, kindOf, overlaid, sampleTimes, shortName,
} from '../../web/src/series.js';

const one = (name, values, unit = 'bytes') => ({ name, unit, values });

test('series of one subject and unit share a chart', () => {
  const found = groups([one('x', [1]), one('queue:a>b', [1]), one('utilisation:nic>leaf', [1], 'share'),
    one('queue:c>d', [2])]);
  assert.deepEqual(found.map(({ subject, series }) => [subject, series.length]),
    [['utilisation', 1], ['queue', 2], ['x', 1]]);
  assert.equal(shortName(found[1].series[0], found[1]), 'a>b');
  assert.equal(shortName(one('goodput', []), { subject: 'goodput' }), 'goodput');
});

test('units have kinds; unknown units are drawn unscaled', () => {
  assert.deepEqual(kindOf('share'), { kind: 'share', factor: 1 });
  assert.deepEqual(kindOf('Gb/s'), { kind: 'bitsPerSecond', factor: 1e9 });
  assert.deepEqual(kindOf('ports'), { kind: 'plain', factor: 1 });
});

test('the last sample is at the end of the run', () => {
  assert.deepEqual(sampleTimes(3, 100, 250), [100, 200, 250]);
  assert.deepEqual(sampleTimes(2, 100, 0), [100, 200]);
  assert.deepEqual(sampleTimes(0, 100, 250), []);
});

test('the series with the highest peaks are kept, in their order', () => {
  const list = [one('a', [1]), one('b', [9]), one('c', [5])];
  assert.deepEqual(highest(list, 2).map(({ name }) => name), ['b', 'c']);
  assert.equal(highest(list, 3), list);
});

test('an envelope is the maximum at each sample', () => {
  assert.deepEqual(envelope([one('a', [1, 5]), one('b', [3, 2, 4])]), [3, 5, 4]);
  assert.deepEqual(envelope([]), []);
});

test('results share a chart per common tier, and an envelope for other names', () => {
  const charts = overlaid([
    { series: [one('queue:p1', [1, 7]), one('utilisation:a>b', [0.5], 'share')] },
    { series: [one('queue:p2', [3, 2]), one('utilisation:a>b', [0.6], 'share')] },
  ]);
  assert.deepEqual(charts.map(({ subject, name, lines }) => [subject, name, lines]), [
    ['utilisation', 'a>b', [[0.5], [0.6]]], ['queue', '', [[1, 7], [3, 2]]]]);
});

test('a subject missing in one result is an empty line', () => {
  const [chart] = overlaid([{ series: [one('drops', [1, 2], '1/s')] }, { series: [] }]);
  assert.deepEqual(chart.lines, [[1, 2], []]);
});

test('a series of zeroes is flat', () => {
  assert.equal(isFlat([one('a', [0, 0]), one('b', [])]), true);
  assert.equal(isFlat([one('a', [0, 0.1])]), false);
});
