// The tables of programs and their QPs.
import { h, table } from '../dom.js';
import { bitsPerSecond, bytes, bytesPerSecond, count, perSecond } from '../units.js';
import { pathsOf } from './rates.js';

const stateOf = (program) => (!program.running ? 'ended' : program.answers ? 'running' : 'stopped');

const hex = (number) => `0x${number.toString(16)}`;

const rate = (rates, name, show) => (rates ? show(rates[name]) : '–');

function programRow({ program, totals, rates }) {
  return [
    [program.program, h('small', { class: 'quiet' }, ` pid ${program.pid}`)],
    stateOf(program),
    rate(rates, 'sent', bytesPerSecond),
    rate(rates, 'received', bytesPerSecond),
    rate(rates, 'packets', perSecond),
    bytes(totals.sent),
    bytes(totals.received),
    pathsOf(program),
    count(totals.retransmitted),
    count(totals.naks),
    count(totals.timeouts),
  ];
}

const kProgramHeads = ['Program', 'State', 'Sending', 'Receiving', 'Packets sent', 'Sent in all',
  'Received in all', 'Paths', 'Retransmitted', 'NAKs', 'Timeouts'];

// Programs that run come first, then those that send most.
const byActivity = (a, b) => b.program.running - a.program.running
  || (b.rates?.sent ?? 0) - (a.rates?.sent ?? 0) || a.program.pid - b.program.pid;

export function programTable(rows) {
  if (!rows.length) {
    return h('p', { class: 'quiet' }, 'No program uses Nerve now. Try: ',
      h('code', {}, 'nerve run -- ib_write_bw'));
  }
  return table(kProgramHeads, [...rows].sort(byActivity).map(programRow), { class: 'figures' });
}

const kQpHeads = ['QP', 'Program', 'Device', 'Type', 'State', 'Peer', 'Path', 'Rate limit'];

export function qpTable(rows) {
  const qps = rows.flatMap(({ program }) => program.qps.map((qp) => [
    hex(qp.number), `${program.program} (${program.pid})`, qp.device, qp.type, qp.state,
    qp.peer ? `${hex(qp.peer)} at ${qp.address}` : '–', qp.path === '-' ? '–' : qp.path,
    qp.rate ? bitsPerSecond(qp.rate) : 'none',
  ]));
  return qps.length ? table(kQpHeads, qps, { class: 'figures' })
    : h('p', { class: 'quiet' }, 'No QP is open.');
}
