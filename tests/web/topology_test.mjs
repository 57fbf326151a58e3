import assert from 'node:assert/strict';
import test from 'node:test';
import { asked, layout, linkKinds, tierName } from '../../web/src/topology.js';

// Leaves with NICs, each leaf connected to each spine, both directions of every cable.
function leafSpine(leaves, spines, nicsPerLeaf) {
  const nodes = [];
  const links = [];
  const add = (name, tier) => nodes.push({ name, tier, isSwitch: tier > 0 }) - 1;
  const cable = (a, b) => {
    for (const [from, to] of [[a, b], [b, a]]) {
      links.push({ from, to, rate: 1e11, utilisation: from === a ? 0.5 : 0.25, queued: 10, marked: 1,
        dropped: 0, lost: 0, pauses: 2, paused: 3 });
    }
  };
  const nics = Array.from({ length: leaves * nicsPerLeaf }, (_, i) => add(`nic${i}`, 0));
  const leaf = Array.from({ length: leaves }, (_, i) => add(`leaf${i}`, 1));
  const spine = Array.from({ length: spines }, (_, i) => add(`spine${i}`, 2));
  nics.forEach((nic, i) => cable(nic, leaf[Math.floor(i / nicsPerLeaf)]));
  leaf.forEach((one) => spine.forEach((other) => cable(one, other)));
  return { nodes, links };
}

test('a small network is drawn without groups', () => {
  const { nodes, links } = leafSpine(2, 2, 4);
  const { rows, places, lines } = layout(nodes, links, () => 100);
  assert.deepEqual(rows.map((row) => [row.name, row.nodes, row.places]),
    [['nic', 8, 8], ['leaf', 2, 2], ['spine', 2, 2]]);
  assert.equal(places.length, nodes.length);
  assert.equal(lines.length, links.length / 2);
  assert.ok(places.every(({ x }) => x > 0 && x < 1));
});

test('a line has the links of both directions', () => {
  const { nodes, links } = leafSpine(1, 1, 1);
  const [line] = layout(nodes, links, () => 100).lines;
  const used = (direction) => asked(line, direction).map((i) => links[i].utilisation);
  assert.deepEqual(used('up'), [0.5]);
  assert.deepEqual(used('down'), [0.25]);
  assert.deepEqual(used('both'), [0.5, 0.25]);
});

test('too many NICs are grouped by their switch', () => {
  const { nodes, links } = leafSpine(16, 4, 32);
  const { rows, places, lines } = layout(nodes, links, (tier) => (tier === 0 ? 100 : 50));
  assert.deepEqual(rows.map((row) => row.places), [16, 16, 4]);
  assert.deepEqual(places[0].nodes, Array.from({ length: 32 }, (_, i) => i));
  assert.equal(places[0].name, 'nic0 … nic31 (32)');
  assert.equal(lines.find((line) => line.low === 0).up.length, 32);
});

test('every link is part of a line, for any room', () => {
  const { nodes, links } = leafSpine(40, 10, 3);
  for (const room of [1, 2, 7, 39, 40, 200]) {
    const { lines, rows } = layout(nodes, links, () => room);
    assert.ok(rows.every((row) => row.places <= Math.max(1, room)), `room ${room}`);
    assert.equal(lines.reduce((all, line) => all + line.up.length + line.down.length, 0), links.length);
  }
});

test('switches of one tier may be connected', () => {
  const nodes = [0, 1, 2].map((i) => ({ name: `r${i}`, tier: 1, isSwitch: true }));
  const links = [{ from: 0, to: 1 }, { from: 1, to: 0 }, { from: 2, to: 0 }];
  const { lines } = layout(nodes, links, () => 10);
  assert.deepEqual(lines.map(({ low, high, up, down }) => [low, high, up, down]),
    [[0, 1, [0], [1]], [0, 2, [], [2]]]);
});

test('link kinds are ordered by tier, up before down', () => {
  const { nodes, links } = leafSpine(2, 2, 4);
  const kinds = linkKinds(nodes, links);
  assert.deepEqual(kinds.map(({ name, count, mean }) => [name, count, mean]), [
    ['nic → leaf', 8, 0.5], ['leaf → nic', 8, 0.25], ['leaf → spine', 4, 0.5],
    ['spine → leaf', 4, 0.25]]);
  assert.equal(kinds[0].pauses, 16);
});

test('a tier is named after its nodes', () => {
  const named = (...names) => tierName(names.map((name) => ({ name, tier: 1 })), 1);
  assert.equal(named('leaf0', 'leaf1'), 'leaf');
  assert.equal(named('rail_switch_3'), 'rail_switch');
  assert.equal(named('pod3-leaf12'), 'pod-leaf');
  assert.equal(named('a0', 'b0', 'b1'), 'b / a');
  assert.equal(named('0', '1'), 'tier 1');
});
