import assert from 'node:assert/strict';
import test from 'node:test';
import * as units from '../../web/src/units.js';

// Replaces the thin space, for readable tests.
const plain = (text) => text.replaceAll('\u202f', ' ');

test('three significant digits', () => {
  assert.equal(units.digits(0), '0');
  assert.equal(units.digits(2), '2');
  assert.equal(units.digits(2.5), '2.5');
  assert.equal(units.digits(1.2345), '1.23');
  assert.equal(units.digits(12.345), '12.3');
  assert.equal(units.digits(123.45), '123');
  assert.equal(units.digits(9.999), '10');
  assert.equal(units.digits(100), '100');
  assert.equal(units.digits(0.00123), '0.0012');
  assert.equal(units.digits(NaN), '–');
});

test('times use a fitting unit', () => {
  assert.equal(plain(units.time(0)), '0 s');
  assert.equal(plain(units.time(999)), '999 ps');
  assert.equal(plain(units.time(1500)), '1.5 ns');
  assert.equal(plain(units.time(412_300_000_000)), '412 ms');
  assert.equal(plain(units.time(999_999)), '1 µs');
  assert.equal(plain(units.time(7.2e15)), '7200 s');
  assert.equal(units.time(undefined), '–');
});

test('bytes and rates are decimal', () => {
  assert.equal(plain(units.bytes(29_433_000)), '29.4 MB');
  assert.equal(plain(units.bitsPerSecond(400e9)), '400 Gb/s');
  assert.equal(plain(units.bytesPerSecond(42.3e9)), '42.3 GB/s');
});

test('small shares are not rounded to zero', () => {
  assert.equal(plain(units.share(0)), '0 %');
  assert.equal(plain(units.share(0.0004)), '< 0.1 %');
  assert.equal(plain(units.share(0.1426)), '14.3 %');
  assert.equal(plain(units.share(1)), '100 %');
});

test('counts are grouped, then shortened', () => {
  assert.equal(plain(units.count(0)), '0');
  assert.equal(plain(units.count(1024)), '1 024');
  assert.equal(plain(units.count(999_999)), '999 999');
  assert.equal(plain(units.count(11_804_512)), '11.8 M');
});

test('a change is a percentage, a large one a ratio', () => {
  assert.equal(plain(units.change(1.12, 1)), '+12 %');
  assert.equal(plain(units.change(0.97, 1)), '−3 %');
  assert.equal(plain(units.change(4.2, 1)), '4.2 ×');
  assert.equal(plain(units.change(0.25, 1)), '0.25 ×');
  assert.equal(units.change(5, 5), '=');
  assert.equal(units.change(5, 0), 'from none');
  assert.equal(units.change(NaN, 1), '');
});

test('an axis has one unit', () => {
  assert.deepEqual(units.axisUnit('time', 4.2e11), { size: 1e9, name: 'ms' });
  assert.deepEqual(units.axisUnit('bytes', 0), { size: 1, name: 'B' });
});
