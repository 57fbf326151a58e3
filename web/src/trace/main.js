// The page of a trace: a list of messages, the sequence diagram of one of them, and its events.
import '../base.css';
import './trace.css';
import { h } from '../dom.js';
import { count } from '../units.js';
import { diagram } from './diagram.js';
import { parsed } from './document.js';
import { eventTable } from './event_table.js';
import { header, legend } from './header.js';
import { messageList, route } from './message_list.js';
import { player } from './player.js';
import { sequence } from './sequence.js';
import { duration, entryTitle, explanation, hex, sentence } from './words.js';

const kMostRows = 1500;
const kManyRows = 120;  // from here on, a message is first shown without the steps inside the NICs

function read() {
  const script = document.querySelector('script.nerve-trace');
  if (!script) throw new Error('it contains no trace');
  return parsed(script.textContent);
}

// The set-up of one QP if the list is filtered by QP.
function narrowed(trace, entry, { qp } = {}) {
  if (!qp || entry.kind === 'message') return entry;
  const mine = new Set([-1]);
  const rows = entry.rows.filter((row) => {
    const values = trace.events[row];
    const [end, qpn] = [values[trace.at.end], values[trace.at.qpn]];
    return mine.has(qpn) || (end === qp.end && qpn === qp.qpn) || (end === qp.peerEnd && qpn === qp.peerQpn);
  });
  return { ...entry, rows };
}

function show(trace, page) {
  let entry;
  let seq;
  let drawn;
  const hash = new URLSearchParams(location.hash.slice(1));
  const heading = h('div', { class: 'about' });
  const stage = h('div', { class: 'stage', tabindex: '0', 'aria-label': 'Sequence diagram' });
  const says = h('p', { class: 'says', 'aria-live': 'polite' });
  const note = h('span', { class: 'quiet' });
  const onlyPackets = h('input', { type: 'checkbox', onchange: () => draw() });

  const table = eventTable(trace, (row) => {
    const index = seq.rows.findIndex((one) => one.event.row === row);
    if (index >= 0) play.go(index);
  });
  const play = player((step, moving) => {
    drawn?.show(step);
    const row = seq?.rows[step];
    says.textContent = row ? sentence(trace, row.event) : 'This entry has no events.';
    if (!row) return;
    table.show(row.event.row);
    if (moving || !settled) follow(drawn.top(step));
  });
  let settled = true;

  // Scrolls the diagram so that the current row is in the middle half of it.
  function follow(top) {
    const y = top + 74;
    if (y < stage.scrollTop + 150 || y > stage.scrollTop + stage.clientHeight - 90) {
      stage.scrollTo({ top: Math.max(0, y - stage.clientHeight / 2) });
    }
  }
  const moved = (act) => () => { settled = false; act(); settled = true; };

  function draw(step) {
    seq = sequence(trace, entry, { packetsOnly: onlyPackets.checked, limit: kMostRows });
    drawn = diagram(trace, entry, seq, stage.clientWidth, (index) => play.go(index));
    stage.replaceChildren(drawn.element);
    note.textContent = [
      seq.left ? `The first ${count(seq.rows.length)} steps are shown; ${count(seq.left)} are not.` : '',
      seq.hidden ? `${count(seq.hidden)} steps inside the NICs are hidden.` : '',
    ].filter(Boolean).join(' ');
    table.set(entry, seq);
    play.load(seq.rows.length, step);
  }

  function choose(chosen, filter) {
    const again = entry !== undefined && entry.rows === chosen.rows;
    if (again) return;
    entry = narrowed(trace, chosen, filter);
    onlyPackets.checked = entry.kind === 'message' && entry.rows.length > kManyRows;
    heading.replaceChildren(h('h2', {}, entryTitle(entry), ' ', h('small', {}, facts(trace, entry))),
      h('p', {}, explanation(entry)));
    stage.scrollTop = 0;
    draw();
    history.replaceState(null, '', `#entry=${trace.entries.indexOf(chosen)}`);
  }

  const list = messageList(trace, choose);
  const centre = h('section', { class: 'panel centre' }, heading, stage, says,
    h('div', { class: 'controls' }, play.element,
      h('label', { class: 'check', title: 'Hides the steps inside the NICs' }, onlyPackets, 'Packets only'), note),
    legend());
  page.append(header(trace), h('div', { class: 'work' }, list.element, centre, table.element));
  onlyPackets.checked = false;
  list.apply();
  const wanted = trace.entries[Number(hash.get('entry') ?? -1)];
  if (wanted) list.pick(wanted);
  if (hash.has('step')) moved(() => play.go(Number(hash.get('step'))))();

  let width = stage.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(stage.clientWidth - width) < 8) return;
    width = stage.clientWidth;
    draw(play.position());
  }).observe(stage);

  const keys = {
    ' ': play.toggle, ArrowRight: moved(play.forward), ArrowLeft: moved(play.back),
    ArrowDown: () => list.move(1), ArrowUp: () => list.move(-1), PageDown: () => list.move(10),
    PageUp: () => list.move(-10), Home: moved(() => play.go(0)), End: moved(play.last),
  };
  addEventListener('keydown', (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey ||
        event.target.closest?.('select, input[type=range]')) return;
    if (event.key === ' ' && event.target.closest?.('button, summary, input')) return;
    event.preventDefault();
    act();
  });
}

function facts(trace, entry) {
  const parts = [route(trace, entry)];
  if (entry.kind === 'message') parts.push(`QP ${hex(entry.qpn)}`);
  parts.push(entry.finish >= 0 ? duration(entry.finish - entry.begin) : 'not finished');
  if (entry.status) parts.push(entry.status);
  if (entry.retransmitted) parts.push(`${count(entry.retransmitted)} packets retransmitted`);
  return parts.join(' · ');
}

const page = document.querySelector('main');
try {
  const trace = read();
  document.title = `${trace.title} · Nerve trace`;
  show(trace, page);
} catch (error) {
  page.append(h('p', { class: 'trouble', role: 'alert' }, `This trace cannot be read: ${error.message}`));
  throw error;
}
const paper = (on) => () => document.documentElement.classList.toggle('paper', on);
addEventListener('beforeprint', paper(true));
addEventListener('afterprint', paper(false));
