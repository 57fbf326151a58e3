// The sequence diagram of one entry as data: lifelines (lanes), a row per step, and arrows between
// rows. Positions in pixels are diagram.js's.
import { eventAt } from './document.js';
import { label, shortOpcode } from './words.js';

// The order in which a message passes the modules: from the program to the link, and from the link
// to the program. Modules that a trace does not know of come first.
const kTowardsLink = ['Application', 'Verbs', 'QP Manager', 'CQ Manager', 'Connection Manager',
  'RX Handler', 'WQE Engine', 'DMA Engine', 'Flow Control', 'Ethernet'];
const kFromLink = ['Ethernet', 'Flow Control', 'RX Handler', 'WQE Engine', 'DMA Engine',
  'CQ Manager', 'Connection Manager', 'QP Manager', 'Verbs', 'Application'];

// Where a step comes from; the arrow of its row starts there if the module has a lane.
const kFrom = {
  register: 'Application', deregister: 'Application', create_qp: 'Application',
  modify_qp: 'Application', destroy_qp: 'Application', post: 'Application',
  post_receive: 'Application', doorbell: 'Verbs', checked: 'Ethernet', refused: 'Ethernet',
  placed: 'RX Handler', ack_received: 'Ethernet', nak_received: 'Ethernet', polled: 'CQ Manager',
};
const kTo = { doorbell: 'WQE Engine', polled: 'Application' };

const kInner = new Set(['doorbell', 'fetch', 'packet_made', 'checked', 'placed', 'ack_sent',
  'ack_received']);
const kMakers = { packet_made: 'WQE Engine', retransmit: 'WQE Engine', ack_sent: 'RX Handler',
  nak_sent: 'RX Handler', cm_send: 'Connection Manager' };
const isAnswer = (opcode) => /ack|nak|cnp/i.test(opcode);

export const kLeft = 0;
export const kRight = 1;

// The side of an event. Two QPs of one process have the same end: their numbers tell them apart.
function sideOf(entry, event) {
  if (entry.end !== entry.peerEnd) return event.end === entry.end ? kLeft : kRight;
  return event.qpn === entry.peerQpn && event.qpn !== entry.qpn ? kRight : kLeft;
}

const keyOf = (side, module) => `${side}/${module}`;

function lanesOf(entry, steps) {
  const used = [new Set(['Application']), new Set(entry.peerEnd >= 0 ? ['Application'] : [])];
  for (const { event, side } of steps) {
    if (event.module && event.module !== 'Link') used[side].add(event.module);
    if (event.name === 'direct') used[kLeft + kRight - side].add(event.module);
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

// Pairs each sending with its reception or loss: by packet id, and CM messages by name and order.
// Returns sender row -> receiver row.
function pairs(steps) {
  const found = new Map();
  const byPacket = new Map();
  const byName = new Map();
  steps.forEach(({ event, side }, row) => {
    const { name, packet } = event;
    if (name === 'packet_sent' && packet >= 0) byPacket.set(packet, row);
    if ((name === 'packet_received' || name === 'packet_dropped') && byPacket.has(packet)) {
      found.set(byPacket.get(packet), row);
      byPacket.delete(packet);
    }
    const key = `${event.detail}/${name === 'cm_send' ? side : 1 - side}`;
    if (name === 'cm_send') byName.set(key, [...(byName.get(key) ?? []), row]);
    if (name === 'cm_receive' && byName.get(key)?.length) found.set(byName.get(key).shift(), row);
  });
  return found;
}

// Arrows of packets. `end` is how one ends: arrives, is lost, or unknown (the other end has no
// event for it).
function arrowsOf(entry, steps, has) {
  const matched = pairs(steps);
  const received = new Set(matched.values());
  const sent = new Set();
  const causes = ['', ''];
  const arrows = [];
  steps.forEach(({ event, side }, row) => {
    const { name } = event;
    if (name === 'retransmit') causes[side] = event.detail || 'unknown cause';
    const module = name.startsWith('cm_') ? 'Connection Manager' : 'Ethernet';
    if (name === 'packet_sent' || name === 'cm_send') {
      const psnKey = `${side}/${event.psn}`;
      const again = name === 'packet_sent' && event.psn >= 0 && !isAnswer(event.opcode) &&
        sent.has(psnKey);
      sent.add(psnKey);
      const target = matched.get(row);
      const lost = target !== undefined && steps[target].event.name === 'packet_dropped';
      const far = has(1 - side, module) ?? has(1 - side, 'Remote NIC');
      if (!far && !lost) return;
      const foreign = has(1 - side, 'Remote NIC') !== undefined;
      arrows.push({
        from: row,
        to: target ?? row,
        side,
        start: keyOf(side, module),
        finish: far,
        end: lost ? 'lost' : target !== undefined || foreign ? 'arrives' : 'unknown',
        kind: name === 'cm_send' ? 'cm' : again ? 'again' : isAnswer(event.opcode) ? 'answer' : 'data',
        label: arrowLabel(event),
        cause: again ? causes[side] : '',
      });
    } else if (name === 'packet_received' && !received.has(row)) {
      const far = has(1 - side, 'Ethernet') ?? has(1 - side, 'Remote NIC');
      if (far) {
        arrows.push({ from: row, to: row, side: 1 - side, start: far, finish: keyOf(side, module),
          end: 'arrives', kind: isAnswer(event.opcode) ? 'answer' : 'data', label: arrowLabel(event),
          cause: '' });
      }
    } else if (name === 'direct') {
      const [from, to] = /READ/i.test(entry.op ?? '') ? [kRight, kLeft] : [kLeft, kRight];
      arrows.push({ from: row, to: row, side: from, start: keyOf(from, event.module),
        finish: keyOf(to, event.module), end: 'arrives', kind: 'direct', label: label(event), cause: '' });
    }
  });
  return arrows;
}

const arrowLabel = (event) => (event.name === 'cm_send' ? event.detail :
  [shortOpcode(event.opcode), event.psn >= 0 ? `PSN ${event.psn}` : ''].filter(Boolean).join(' · '));

// What a row looks like: `from` and `to` are lanes; equal where the step stays in its module.
function rowOf(entry, step, maker, has) {
  const { event, side } = step;
  const own = event.name === 'packet_dropped' ? undefined : has(side, event.module);
  const to = has(side, kTo[event.name]) ?? own;
  let module = kFrom[event.name];
  if (event.name === 'packet_sent') module = maker ?? (side === kLeft ? 'WQE Engine' : 'RX Handler');
  if (event.name === 'completion') module = side === kLeft ? 'WQE Engine' : 'RX Handler';
  return {
    event,
    side,
    from: has(side, module) ?? to,
    to,
    via: to === own ? undefined : own,
    label: event.name === 'direct' ? '' : label(event),
    tone: toneOf(event),
  };
}

function toneOf(event) {
  if (event.name === 'packet_dropped' || event.name === 'refused') return 'bad';
  if (event.name === 'completion' && !/^(success|)$/i.test(event.detail)) return 'bad';
  if (event.name.startsWith('nak_')) return 'bad';
  return event.name === 'retransmit' ? 'again' : '';
}

// `packetsOnly` omits the steps inside a NIC; at most `limit` rows are laid out.
export function sequence(trace, entry, { packetsOnly = false, limit = Infinity } = {}) {
  const all = entry.rows.map((row) => eventAt(trace, row));
  const wanted = packetsOnly ? all.filter((event) => !kInner.has(event.name)) : all;
  const steps = wanted.slice(0, limit).map((event) => ({ event, side: sideOf(entry, event) }));
  const lanes = lanesOf(entry, steps);
  const keys = new Set(lanes.map((lane) => lane.key));
  const has = (side, module) => (keys.has(keyOf(side, module)) ? keyOf(side, module) : undefined);

  const makers = [];
  const rows = steps.map((step, index) => {
    makers[step.side] = kMakers[step.event.name] ?? makers[step.side];
    const row = rowOf(entry, step, makers[step.side], has);
    row.gap = index ? step.event.t - steps[index - 1].event.t : 0;
    return row;
  });
  const begin = all[0]?.t ?? 0;
  return {
    lanes,
    rows,
    arrows: arrowsOf(entry, steps, has),
    begin,
    total: (all.at(-1)?.t ?? 0) - begin,
    left: wanted.length - steps.length,
    hidden: all.length - wanted.length,
  };
}
