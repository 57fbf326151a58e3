// The sequence diagram of one entry as data: lifelines (lanes), a row per step, and arrows between
// rows. Positions in pixels are diagram.js's.
import { arrowsOf, keyOf, kLeft, kRight } from './arrows.js';
import { eventAt } from './document.js';
import { label } from './words.js';

// The order in which a message passes the modules: from the program to the link, and from the link
// to the program. Unknown modules come first.
const kTowardsLink = ['Application', 'Verbs', 'QP Manager', 'CQ Manager', 'Connection Manager',
  'RX Handler', 'WQE Engine', 'DMA Engine', 'Flow Control', 'Ethernet'];
const kFromLink = ['Ethernet', 'Flow Control', 'RX Handler', 'WQE Engine', 'DMA Engine',
  'CQ Manager', 'Connection Manager', 'QP Manager', 'Verbs', 'Application'];

// Where a step comes from: the arrow of its row starts at the first of these that has a lane.
const kFrom = {
  register: ['Application'], deregister: ['Application'], create_qp: ['Application'],
  modify_qp: ['Application'], destroy_qp: ['Application'],
  post: ['Application'], post_receive: ['Application'], doorbell: ['Verbs'],
  checked: ['Ethernet'], refused: ['Ethernet'], placed: ['RX Handler', 'Ethernet'],
  direct: ['WQE Engine'], ack_received: ['Ethernet'], nak_received: ['Ethernet'],
  polled: ['CQ Manager'],
};
// The same for steps that the requester (left) and the responder do in different modules.
const kFromEngine = new Set(['packet_sent', 'completion']);
const kTo = { doorbell: 'WQE Engine', polled: 'Application' };

// Steps that "packets only" omits.
const kInner = new Set(['doorbell', 'fetch', 'packet_made', 'checked', 'placed', 'ack_sent',
  'ack_received']);
const isHeld = (event) => event.name === 'refused' && /held|duplicate/i.test(event.detail);
const isInner = (event) => kInner.has(event.name) || isHeld(event);

// The side of an event. Two QPs of one process have the same end: their numbers tell them apart.
function sideOf(entry, event) {
  if (entry.end !== entry.peerEnd) return event.end === entry.end ? kLeft : kRight;
  return event.qpn === entry.peerQpn && event.qpn !== entry.qpn ? kRight : kLeft;
}

function lanesOf(entry, steps) {
  const used = [new Set(['Application']), new Set(entry.peerEnd >= 0 ? ['Application'] : [])];
  for (const { event, side } of steps) {
    if (event.module && event.module !== 'Link') used[side].add(event.module);
    if (event.name === 'direct') used[1 - side].add(event.module);
  }
  const sorted = (side, order) => [...used[side]]
    .sort((a, b) => order.indexOf(a) - order.indexOf(b))
    .map((module) => ({ key: keyOf(side, module), side, module }));
  const right = sorted(kRight, kFromLink);
  if (!right.length && steps.some(({ event }) => event.packet >= 0)) {
    right.push({ key: keyOf(kRight, 'Remote NIC'), side: kRight, module: 'Remote NIC' });
  }
  return [...sorted(kLeft, kTowardsLink), ...right];
}

// What a row looks like: `from` and `to` are lanes, equal where the step stays in its module.
// `via` is a lane that the arrow passes and that does the step.
function rowOf({ event, side }, has) {
  const own = event.name === 'packet_dropped' ? undefined : has(side, event.module);
  const to = has(side, kTo[event.name]) ?? own;
  let sources = kFrom[event.name] ?? [];
  if (kFromEngine.has(event.name)) sources = [side === kLeft ? 'WQE Engine' : 'RX Handler'];
  const from = sources.map((module) => has(side, module)).find(Boolean);
  return {
    event,
    side,
    from: from ?? to,
    to,
    via: to === own ? undefined : own,
    label: event.name === 'direct' ? '' : label(event),
    tone: toneOf(event),
  };
}

function toneOf(event) {
  if (event.name === 'refused') return isHeld(event) ? 'again' : 'bad';
  if (event.name === 'packet_dropped' || event.name.startsWith('nak_')) return 'bad';
  if (event.name === 'completion' && !/^(success|)$/i.test(event.detail)) return 'bad';
  return event.name === 'retransmit' ? 'again' : '';
}

// `packetsOnly` omits the steps inside a NIC; at most `limit` rows are laid out. Times count from
// the beginning of the message: a receive may have been posted long before it.
export function sequence(trace, entry, { packetsOnly = false, limit = Infinity } = {}) {
  const all = entry.rows.map((row) => eventAt(trace, row));
  const wanted = packetsOnly ? all.filter((event) => !isInner(event)) : all;
  const sided = (events) => events.map((event) => ({ event, side: sideOf(entry, event) }));
  const steps = sided(wanted.slice(0, limit));
  const lanes = lanesOf(entry, sided(all));
  const keys = new Set(lanes.map((lane) => lane.key));
  const has = (side, module) => (keys.has(keyOf(side, module)) ? keyOf(side, module) : undefined);

  const begin = entry.kind === 'message' ? entry.begin : all[0]?.t ?? 0;
  const rows = steps.map((step, index) => {
    const row = rowOf(step, has);
    row.gap = index ? step.event.t - steps[index - 1].event.t : 0;
    row.early = index > 0 && steps[index - 1].event.t < begin;
    return row;
  });
  return {
    lanes,
    rows,
    arrows: arrowsOf(entry, steps, has, steps.length < wanted.length),
    begin,
    total: Math.max(0, (all.at(-1)?.t ?? 0) - begin),
    left: wanted.length - steps.length,
    hidden: all.length - wanted.length,
    inner: all.filter(isInner).length,
  };
}
