// The page of `nerve web`: asks the server for a sample every second and shows what changed.
import 'uplot/dist/uPlot.min.css';
import '../style.css';
import './live.css';
import { chart } from '../chart.js';
import { h, panel, section } from '../dom.js';
import { watchTheme } from '../theme.js';
import { bytesPerSecond, perSecond, share } from '../units.js';
import { programTable, qpTable } from './programs.js';
import { History, programRates, sumOfRates } from './rates.js';
import { reportTable } from './reports.js';

const kSampleEvery = 1000;  // milliseconds
const kReportsEvery = 5000;

const kCharts = [
  {
    title: 'Sent, by path',
    caption: 'shm: shared memory; udp: RoCEv2 packets; direct: copied straight into or out of the '
      + 'memory of a peer on this machine.',
    unit: 'MB/s', scale: 1e6, show: (value) => bytesPerSecond(value * 1e6),
    lines: ['shm', 'udp', 'direct'],
  },
  {
    title: 'Received', caption: 'Payload that arrived in packets.',
    unit: 'MB/s', scale: 1e6, show: (value) => bytesPerSecond(value * 1e6), lines: ['received'],
  },
  {
    title: 'Packets sent', caption: 'The direct path needs none.',
    unit: 'k/s', scale: 1e3, show: (value) => perSecond(value * 1e3), lines: ['packets'],
  },
  {
    title: 'Trouble', caption: 'Packets retransmitted, NAKs sent and received, ACK timers expired.',
    unit: '1/s', scale: 1, show: perSecond, lines: ['retransmitted', 'naks', 'timeouts'],
  },
];

function makeChart({ title, caption, unit, scale, show, lines }) {
  const history = new History(lines);
  const box = chart({
    x: [], lines: lines.map((label) => ({ label, values: [] })),
    xLabel: 'seconds', yLabel: unit, xName: 'at', xShow: (value) => `${value.toFixed(0)} s`,
    yShow: show, sync: 'live',
  });
  const add = (time, totals) => {
    history.add(time, Object.fromEntries(lines.map((name) => [name, (totals[name] ?? 0) / scale])));
    box.update(history.times, history.lines);
  };
  return { panel: panel(title, caption, box), add };
}

// Content that is replaced at each sample. A selection in it is left alone.
function changing() {
  const box = h('div');
  const show = (content) => {
    const selected = getSelection();
    if (selected && !selected.isCollapsed && box.contains(selected.anchorNode)) return;
    box.replaceChildren(content);
  };
  return { box, show };
}

const tile = (name, value) => h('div', { class: 'tile' }, h('dt', {}, name), h('dd', {}, value));

function tiles(sample, rows, total) {
  const running = rows.filter(({ program }) => program.running);
  const packets = total.packets ?? 0;
  const up = sample.devices.filter((device) => device.up).length;
  return h('dl', { class: 'tiles' },
    tile('Programs', String(running.length)),
    tile('QPs', String(running.reduce((n, { program }) => n + (program.counters.qps ?? 0), 0))),
    tile('Sending', bytesPerSecond(total.sent ?? 0)),
    tile('Receiving', bytesPerSecond(total.received ?? 0)),
    tile('Retransmitted', packets > 0 ? share(total.retransmitted / packets) : '–'),
    tile('Devices up', `${up} of ${sample.devices.length}`));
}

async function fetched(name) {
  const answer = await fetch(name, { cache: 'no-store' });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer.json();
}

// Calls `step` for ever, each time `pause` milliseconds after the last has ended.
function forever(pause, step) {
  const again = async () => {
    await step();
    setTimeout(again, document.hidden ? 4 * pause : pause);
  };
  again();
}

function show(page) {
  const charts = kCharts.map(makeChart);
  const [top, programs, qps, reports] = [changing(), changing(), changing(), changing()];
  const trouble = h('p', { class: 'trouble', role: 'alert', hidden: true });
  page.append(
    h('p', { class: 'kicker' }, 'Nerve · live'), h('h1', {}, 'RDMA on this machine'), trouble,
    top.box,
    section('programs', 'Programs', 'All programs of yours that use Nerve, and the last that ended.',
      programs.box),
    section('traffic', 'Traffic', 'All programs together, the last five minutes.',
      h('div', { class: 'grid' }, charts.map((one) => one.panel))),
    section('qps', 'Queue pairs', '', qps.box),
    section('reports', 'Reports', 'Simulated runs and traces that have finished.', reports.box));

  let before;
  let began;
  const fail = (error) => {
    trouble.textContent = `nerve web does not answer (${error.message}). Is it still running?`;
    trouble.hidden = false;
  };
  forever(kSampleEvery, async () => {
    try {
      const now = await fetched('sample.json');
      began ??= now.at;
      const rows = programRates(before, now);
      const total = sumOfRates(rows);
      top.show(tiles(now, rows, total));
      programs.show(programTable(rows));
      qps.show(qpTable(rows));
      if (before) charts.forEach((one) => one.add(now.at - began, total));
      before = now;
      trouble.hidden = true;
    } catch (error) {
      fail(error);
    }
  });
  forever(kReportsEvery, async () => {
    try {
      reports.show(reportTable(await fetched('reports.json')));
    } catch (error) {
      fail(error);
    }
  });
}

watchTheme();
show(document.querySelector('main'));
