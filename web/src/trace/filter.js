// The filter of the list: by QP, by operation, and only what went wrong.

const kFine = /^(success|sent|received|unfinished)$/i;

export const hasFailed = (entry) =>
  entry.kind === 'message' && Boolean(entry.status) && !kFine.test(entry.status);
export const isUnfinished = (entry) =>
  entry.kind === 'message' && (entry.finish < 0 || /^unfinished$/i.test(entry.status));

export const isNotable = (entry) => entry.kind === 'message' &&
  (entry.retransmitted > 0 || hasFailed(entry) || isUnfinished(entry));

const uses = (entry, end, qpn) => (entry.end === end && entry.qpn === qpn) ||
  (entry.peerEnd === end && entry.peerQpn === qpn);

// `qp` is an element of trace.qps, `op` a name; undefined and empty mean any. The set-up and
// closing stay in the list: they explain the QP.
export function filtered(entries, { qp, op, notable } = {}) {
  return entries.filter((entry) => {
    if (entry.kind !== 'message') {
      return !qp || entry.end === qp.end || entry.peerEnd === qp.end;
    }
    return (!qp || uses(entry, qp.end, qp.qpn)) && (!op || entry.op === op) &&
      (!notable || isNotable(entry));
  });
}

// The QPs to choose from: one per connection, and the operations in the order they first occur.
export function qpChoices(trace) {
  const seen = new Set();
  return trace.qps.filter((qp) => {
    if (seen.has(`${qp.end}/${qp.qpn}`)) return false;
    if (qp.peerEnd >= 0) seen.add(`${qp.peerEnd}/${qp.peerQpn}`);
    return true;
  });
}

export const opChoices = (trace) => [...new Set(trace.messages.map((message) => message.op))];
