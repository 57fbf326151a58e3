// Goal: amounts of a plan are shown with few digits and the right unit, and axes have round ticks.
import assert from 'node:assert/strict';
import test from 'node:test';
import { days, fine, money, niceRange, range, seconds, tickMoney, ticks, watts } from '../../web/src/plan/money.js';

const plain = (text) => text.replaceAll('\u202f', ' ');

test('money has a unit for thousands, millions and billions', () => {
  assert.equal(plain(money(12_345_678)), '$12.3 M');
  assert.equal(plain(money(999_960)), '$1 M');
  assert.equal(plain(money(2080)), '$2.08 k');
  assert.equal(plain(money(0.09)), '$0.09');
  assert.equal(plain(money(-34_000)), '−$34 k');
  assert.equal(money(NaN), '–');
  assert.equal(plain(range({ low: 1000, high: 2000 })), '$1 k to $2 k');
});

test('costs of a unit have four digits', () => {
  assert.equal(fine(0.120432), '$0.1204');
  assert.equal(plain(fine(1234)), '$1.23 k');
});

test('ticks keep the digits in which they differ', () => {
  assert.equal(plain(tickMoney(11_750_000)), '$11.75 M');
  assert.equal(plain(tickMoney(12e6)), '$12 M');
  assert.equal(plain(tickMoney(0.5)), '$0.5');
});

test('times and powers', () => {
  assert.equal(plain(seconds(0.348)), '348 ms');
  assert.equal(plain(seconds(1.5)), '1.5 s');
  assert.equal(days(0.5), '12 hours');
  assert.equal(days(4.61), '4.61 days');
  assert.equal(plain(watts(419_000)), '419 kW');
  assert.equal(plain(watts(2_000_000)), '2 MW');
});

test('axes contain all values, with 3 to 7 round ticks', () => {
  for (const values of [[1, 2], [10.11e6, 10.41e6], [0.348], [5, 5], [0, 1]]) {
    const [low, high] = niceRange(values);
    assert.ok(low <= Math.min(...values) && high >= Math.max(...values));
    const at = ticks([low, high]);
    assert.ok(at.length >= 3 && at.length <= 7, `${values}: ${at}`);
    assert.ok(at[0] >= low && at.at(-1) <= high * (1 + 1e-9));
  }
});
