// The arrows of a sequence diagram: packets, messages of the connection manager, direct copies.
import { label, shortOpcode } from './words.js';

export const kLeft = 0;
export const kRight = 1;
export const keyOf = (side, module) => `${side}/${module}`;

const isAnswer = (opcode) => /ack|nak|cnp/i.test(opcode);
const isSending = (name) => name === 'packet_sent' || name === 'cm_send';
const isArrival = (name) =>
  name === 'packet_received' || name === 'packet_dropped' || name === 'cm_receive';

// Pairs each sending with its arrival or loss: by packet number, and messages of the connection
// manager without a number by name and order. Returns sender row -> receiver row.
function pairs(steps) {
  const found = new Map();
  const waiting = new Map();
  steps.forEach(({ event, side }, row) => {
    const { name, packet } = event;
    const sends = isSending(name);
    if (!sends && !isArrival(name)) return;
    if (packet < 0 && !name.startsWith('cm_')) return;
    const key = packet >= 0 ? String(packet) : `${event.detail}/${sends ? side : 1 - side}`;
    if (sends) waiting.set(key, [...(waiting.get(key) ?? []), row]);
    else if (waiting.get(key)?.length) found.set(waiting.get(key).shift(), row);
  });
  return found;
}

function packetLabel(event, isNak) {
  if (event.name.startsWith('cm_')) return event.detail;
  const opcode = isNak ? 'NAK' : shortOpcode(event.opcode);
  return [opcode, event.psn >= 0 ? `PSN ${event.psn}` : ''].filter(Boolean).join(' · ');
}

// `end` is how an arrow ends: it arrives, is lost, or unknown (the other end is traced and has no
// event for it). `kind` is its colour. One that is `alone` has the link to itself.
// If the steps were cut off, arrows that go on after them are omitted.
export function arrowsOf(entry, steps, has, isCut = false) {
  const matched = pairs(steps);
  const arrived = new Set(matched.values());
  const sent = new Set();
  const naks = new Set();
  const causes = ['', ''];
  const arrows = [];

  function sending({ event, side }, row, module) {
    const isCm = event.name === 'cm_send';
    const key = `${side}/${event.psn}`;
    const answers = isAnswer(event.opcode);
    const again = !isCm && event.psn >= 0 && !answers && sent.has(key);
    sent.add(key);
    const target = matched.get(row);
    const lost = target !== undefined && steps[target].event.name === 'packet_dropped';
    const foreign = has(1 - side, 'Remote NIC');
    const far = has(1 - side, module) ?? foreign;
    if (!far && !lost) return;
    if (isCut && target === undefined && !foreign) return;
    const isNak = answers && (naks.delete(key) || /nak/i.test(event.opcode));
    arrows.push({
      from: row,
      to: target ?? row,
      side,
      start: keyOf(side, module),
      finish: far,
      end: lost ? 'lost' : target !== undefined || foreign ? 'arrives' : 'unknown',
      kind: isCm ? 'cm' : again ? 'again' : isNak ? 'nak' : answers ? 'answer' : 'data',
      label: again ? `PSN ${event.psn} resent · ${causes[side] || 'unknown cause'}`
        : packetLabel(event, isNak),
      title: again ? packetLabel(event) : '',
      alone: isCm || Boolean(foreign),
    });
  }

  // A packet whose sender is not traced.
  function arrival({ event, side }, row, module) {
    const far = has(1 - side, module) ?? has(1 - side, 'Remote NIC');
    if (!far || event.name === 'packet_dropped') return;
    arrows.push({
      from: row,
      to: row,
      side: 1 - side,
      start: far,
      finish: keyOf(side, module),
      end: 'arrives',
      kind: event.name === 'cm_receive' ? 'cm' : isAnswer(event.opcode) ? 'answer' : 'data',
      label: packetLabel(event),
      title: '',
      alone: true,
    });
  }

  function copy({ event, side }, row) {
    const [from, to] = /READ/i.test(entry.op ?? '') ? [1 - side, side] : [side, 1 - side];
    arrows.push({
      from: row,
      to: row,
      side: from,
      start: keyOf(from, event.module),
      finish: keyOf(to, event.module),
      end: 'arrives',
      kind: 'direct',
      label: label(event),
      title: '',
      alone: true,
    });
  }

  steps.forEach((step, row) => {
    const { event: { name, psn, detail }, side } = step;
    const module = name.startsWith('cm_') ? 'Connection Manager' : 'Ethernet';
    if (name === 'retransmit') causes[side] = detail;
    if (name === 'nak_sent') naks.add(`${side}/${psn}`);
    if (isSending(name)) sending(step, row, module);
    else if (isArrival(name) && !arrived.has(row)) arrival(step, row, module);
    else if (name === 'direct') copy(step, row);
  });
  return arrows;
}
