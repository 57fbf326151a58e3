// Reads a trace document (format nerve-trace-1). Events stay rows of numbers until one entry of the
// list is shown: a document may have a million of them.

const list = (value) => (Array.isArray(value) ? value : []);
const number = (value, otherwise = -1) =>
  (value !== null && Number.isFinite(Number(value)) ? Number(value) : otherwise);
const text = (value) => (value === undefined || value === null ? '' : String(value));

const kColumns = ['t', 'end', 'step', 'qpn', 'psn', 'bytes', 'message', 'packet', 'opcode',
  'detail'];

// A, B, ... Z, then E26, E27, ...
export const letter = (index) => (index < 26 ? String.fromCharCode(65 + index) : `E${index}`);

const end = (from, index) => ({
  id: number(from.id, index),
  letter: letter(index),
  name: text(from.name),
  pid: number(from.pid),
  device: text(from.device),
  address: text(from.address),
});

const qp = (from) => ({
  end: number(from.end),
  qpn: number(from.qpn),
  type: text(from.type),
  peerEnd: number(from.peer_end),
  peerQpn: number(from.peer_qpn),
  messages: number(from.messages, 0),
  traced: number(from.traced, 0),
});

const message = (from, index) => ({
  kind: 'message',
  index,
  end: number(from.end),
  qpn: number(from.qpn),
  op: text(from.op) || 'message',
  bytes: number(from.bytes, 0),
  peerEnd: number(from.peer_end),
  peerQpn: number(from.peer_qpn),
  begin: number(from.begin, 0),
  finish: number(from.finish),
  status: text(from.status),
  retransmitted: number(from.retransmitted, 0),
  rows: [],
});

export function normalised(from) {
  if (from.format !== 'nerve-trace-1') {
    throw new Error(`its format is ${text(from.format) || 'missing'}, not nerve-trace-1`);
  }
  const columns = list(from.columns).length ? list(from.columns) : kColumns;
  const trace = {
    title: text(from.title) || 'a program',
    simulated: Boolean(from.simulated),
    ends: list(from.ends).map(end),
    qps: list(from.qps).map(qp),
    modules: list(from.modules).map(text),
    steps: list(from.steps).map((step) => ({
      name: text(step.name), module: number(step.module), text: text(step.text),
    })),
    opcodes: list(from.opcodes).map(text),
    details: list(from.details).map(text),
    messages: list(from.messages).map(message),
    events: list(from.events),
    at: Object.fromEntries(kColumns.map((name) => [name, columns.indexOf(name)])),
    notes: list(from.notes).map(text),
  };
  trace.entries = entriesOf(trace);
  return trace;
}

export const parsed = (json) => normalised(JSON.parse(json));

export const endOf = (trace, id) => trace.ends.find((one) => one.id === id);
export const letterOf = (trace, id) => endOf(trace, id)?.letter ?? '?';

// An event with its names; indexes that the document does not define become empty strings.
export function eventAt(trace, row) {
  const values = trace.events[row];
  const value = (name) => number(values[trace.at[name]]);
  const step = trace.steps[value('step')];
  return {
    row,
    t: value('t'),
    end: value('end'),
    name: step?.name ?? '',
    text: step?.text ?? '',
    module: trace.modules[step?.module] ?? '',
    qpn: value('qpn'),
    psn: value('psn'),
    bytes: value('bytes'),
    packet: value('packet'),
    opcode: trace.opcodes[value('opcode')] ?? '',
    detail: trace.details[value('detail')] ?? '',
  };
}

const kSetUp = new Set(['register', 'create_qp', 'modify_qp', 'cm_send', 'cm_receive']);
const kClosing = new Set(['destroy_qp', 'deregister']);
const kClosingDetails = new Set(['DREQ', 'DREP', 'ERR']);

// The entry of an event that belongs to no message.
function kindOf({ name, detail }) {
  if (kClosing.has(name) || (kSetUp.has(name) && kClosingDetails.has(detail))) return 'close';
  return kSetUp.has(name) ? 'setup' : 'other';
}

// The ends that belong together: an end and the peer of its first connected QP.
function peers(trace) {
  const found = new Map();
  for (const one of [...trace.qps, ...trace.messages]) {
    if (one.peerEnd < 0 || one.peerEnd === one.end) continue;
    if (!found.has(one.end)) found.set(one.end, one.peerEnd);
    if (!found.has(one.peerEnd)) found.set(one.peerEnd, one.end);
  }
  return found;
}

// What the list shows: the set-up of each pair of ends, the messages by time, what belongs to none
// of them, and the closing.
function entriesOf(trace) {
  const peer = peers(trace);
  const other = { setup: new Map(), other: new Map(), close: new Map() };
  const place = (event) => {
    const { end: id, row } = event;
    const kind = kindOf(event);
    const mutual = peer.get(peer.get(id)) === id;
    const first = mutual ? Math.min(id, peer.get(id)) : id;
    if (!other[kind].has(first)) {
      other[kind].set(first, {
        kind, end: first, peerEnd: peer.get(first) ?? -1, qpn: -1, peerQpn: -1, rows: [],
      });
    }
    other[kind].get(first).rows.push(row);
  };
  trace.events.forEach((values, row) => {
    if (!Array.isArray(values)) return;
    const owner = trace.messages[number(values[trace.at.message])];
    if (owner) owner.rows.push(row);
    else place(eventAt(trace, row));
  });
  const timed = (entry) => ({
    ...entry,
    begin: eventAt(trace, entry.rows[0]).t,
    finish: eventAt(trace, entry.rows.at(-1)).t,
  });
  return [
    ...[...other.setup.values()].map(timed),
    ...[...trace.messages].sort((a, b) => a.begin - b.begin || a.index - b.index),
    ...[...other.other.values()].map(timed),
    ...[...other.close.values()].map(timed),
  ];
}
