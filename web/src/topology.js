// The layout of a network: where nodes are drawn, and which links share a line. Rows are tiers,
// NICs at the bottom. A row with too many nodes is drawn in groups: NICs by their switch, switches
// by their order.
import { ascending, largest, mean } from './stats.js';

// nic12 is a nic, pod3-leaf12 a pod-leaf: names without digits, the two most common.
export function tierName(nodes, tier) {
  const names = new Map();
  for (const node of nodes) {
    if (node.tier !== tier) continue;
    const word = node.name.replace(/\d/g, '').replace(/[\W_]+$/, '');
    if (word) names.set(word, (names.get(word) ?? 0) + 1);
  }
  const words = [...names].sort((a, b) => b[1] - a[1]).slice(0, 2).map(([word]) => word);
  return words.join(' / ') || `tier ${tier}`;
}

// The first switch above the tier of each node; -1 if there is none.
function switchAbove(nodes, links) {
  const above = new Array(nodes.length).fill(-1);
  for (const { from, to } of links) {
    if (nodes[to].tier <= nodes[from].tier) continue;
    if (above[from] < 0 || to < above[from]) above[from] = to;
  }
  return above;
}

// Merges adjacent groups until at most `room` are left.
function merged(groups, room) {
  const width = Math.ceil(groups.length / room);
  const wider = [];
  for (let i = 0; i < groups.length; i += width) wider.push(groups.slice(i, i + width).flat());
  return wider;
}

function rowGroups(members, above, room) {
  const ordered = [...members].sort((a, b) => above[a] - above[b] || a - b);
  if (ordered.length <= room) return ordered.map((node) => [node]);
  const groups = new Map();
  for (const node of ordered) {
    // Nodes without a switch stay separate until the row is merged.
    const key = above[node] < 0 ? `alone ${node}` : above[node];
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(node);
  }
  return merged([...groups.values()], room);
}

// `room(tier)`: the number of places in a row. Places have x from 0 to 1; `row` counts from the
// bottom.
export function layout(nodes, links, room) {
  const above = switchAbove(nodes, links);
  const tiers = [...new Set(nodes.map((node) => node.tier))].sort((a, b) => a - b);
  const places = [];
  const placeOf = new Array(nodes.length);
  const rows = tiers.map((tier, row) => {
    const members = nodes.flatMap((node, i) => (node.tier === tier ? [i] : []));
    // Only the bottom row is sorted by the switches above; switches stay in their order.
    const order = row ? new Array(nodes.length).fill(-1) : above;
    const groups = row && members.length > room(tier)
      ? merged(members.map((node) => [node]), room(tier)) : rowGroups(members, order, room(tier));
    groups.forEach((group, i) => {
      group.forEach((node) => { placeOf[node] = places.length; });
      places.push({
        row,
        x: (i + 0.5) / groups.length,
        nodes: group,
        isSwitch: nodes[group[0]].isSwitch,
        name: groupName(nodes, group),
      });
    });
    return { tier, name: tierName(nodes, tier), nodes: members.length, places: groups.length };
  });
  return { rows, places, lines: lines(links, placeOf, places) };
}

function groupName(nodes, group) {
  const first = nodes[group[0]].name;
  if (group.length === 1) return first;
  return `${first} … ${nodes[group[group.length - 1]].name} (${group.length})`;
}

// One line per pair of places, with the links in both directions. Links within a place have no
// line.
function lines(links, placeOf, places) {
  const found = new Map();
  links.forEach((link, i) => {
    const from = placeOf[link.from];
    const to = placeOf[link.to];
    if (from === to) return;
    const goesUp = places[from].row !== places[to].row ? places[from].row < places[to].row
      : from < to;
    const [low, high] = goesUp ? [from, to] : [to, from];
    const key = low * places.length + high;
    if (!found.has(key)) found.set(key, { low, high, up: [], down: [] });
    found.get(key)[goesUp ? 'up' : 'down'].push(i);
  });
  return [...found.values()];
}

// The links of a line in the given direction.
export function asked(line, direction) {
  if (direction === 'up') return line.up;
  if (direction === 'down') return line.down;
  return [...line.up, ...line.down];
}

// Links grouped by the tiers they connect, from the lowest tier up; for each pair up, then down.
export function linkKinds(nodes, links) {
  const kinds = new Map();
  for (const link of links) {
    const from = nodes[link.from].tier;
    const to = nodes[link.to].tier;
    const key = `${Math.min(from, to)} ${Math.max(from, to)} ${from <= to ? 0 : 1}`;
    if (!kinds.has(key)) {
      kinds.set(key, { key, name: `${tierName(nodes, from)} → ${tierName(nodes, to)}`, links: [] });
    }
    kinds.get(key).links.push(link);
  }
  return [...kinds.values()].sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ name, links: all }) => {
    const used = ascending(all.map((link) => link.utilisation));
    return {
      name,
      count: all.length,
      rate: largest(all.map((link) => link.rate)),
      mean: mean([...used]),
      least: used[0],
      most: used[used.length - 1],
      queued: largest(all.map((link) => link.queued)),
      ...Object.fromEntries(['marked', 'dropped', 'lost', 'pauses', 'paused'].map((key) =>
        [key, all.reduce((soFar, link) => soFar + link[key], 0)])),
    };
  });
}
