// One entry of the list: its heading, diagram, player and table of events.
import { h } from '../dom.js';
import { count } from '../units.js';
import { diagram } from './diagram.js';
import { eventTable } from './event_table.js';
import { isUnfinished } from './filter.js';
import { legend } from './header.js';
import { kHead } from './layout.js';
import { route } from './message_list.js';
import { player } from './player.js';
import { sentence } from './sentences.js';
import { sequence } from './sequence.js';
import { duration, entryTitle, explanation, hex, plural } from './words.js';

const kMostRows = 1500;
const kManyRows = 60;  // from here on, a message is first shown without the steps inside the NICs

// The set-up of one QP if the list is filtered by QP.
function narrowed(trace, entry, qp) {
  if (!qp || entry.kind === 'message') return entry;
  const rows = entry.rows.filter((row) => {
    const values = trace.events[row];
    const [end, qpn] = [values[trace.at.end], values[trace.at.qpn]];
    return qpn < 0 || (end === qp.end && qpn === qp.qpn) ||
      (end === qp.peerEnd && qpn === qp.peerQpn);
  });
  return { ...entry, rows };
}

function facts(trace, entry) {
  const parts = [route(trace, entry)];
  if (entry.kind === 'message') parts.push(`QP ${hex(entry.qpn)}`);
  parts.push(isUnfinished(entry) ? 'not finished' : duration(entry.finish - entry.begin));
  if (entry.status && !isUnfinished(entry)) parts.push(entry.status);
  if (entry.retransmitted > 0) parts.push(`${plural(entry.retransmitted, 'packet')} retransmitted`);
  return parts.join(' · ');
}

export function viewer(trace) {
  let chosen;
  let entry;
  let seq;
  let drawn;
  const heading = h('div', { class: 'about' });
  const stage = h('div', { class: 'stage', tabindex: '0', 'aria-label': 'Sequence diagram' });
  const says = h('p', { class: 'says', 'aria-live': 'polite' });
  const note = h('span', { class: 'quiet' });
  const key = h('div');
  const onlyPackets = h('input', { type: 'checkbox', onchange: () => draw() });

  const table = eventTable(trace, (row) => {
    let index = seq.rows.findIndex((one) => one.event.row === row);
    if (index < 0 && onlyPackets.checked) {  // it is a hidden step
      onlyPackets.checked = false;
      draw();
      index = seq.rows.findIndex((one) => one.event.row === row);
    }
    if (index >= 0) play.go(index);
  });

  const overview = () => (seq.rows.length
    ? `${plural(seq.rows.length, 'step')} in ${duration(seq.total)}. ` +
      'Press play, or the space bar, to see them one by one.'
    : 'This entry has no events.');

  const play = player((step) => {
    drawn?.show(step);
    const event = seq?.rows[step]?.event;
    says.textContent = event ? sentence(trace, event) : overview();
    table.show(event ? event.row : -1);
    if (event) follow(drawn.top(step) + kHead);
  });

  // Scrolls the diagram if the current row is near the edge of what is in view.
  function follow(y) {
    const { scrollTop, clientHeight } = stage;
    if (y < scrollTop + kHead + 30 || y > scrollTop + clientHeight - 40) {
      stage.scrollTo({ top: Math.max(0, y - clientHeight / 2) });
    }
  }

  function draw(step) {
    seq = sequence(trace, entry, { packetsOnly: onlyPackets.checked, limit: kMostRows });
    drawn = diagram(trace, entry, seq, stage.clientWidth, (index) => play.go(index));
    drawn.show(step ?? -1);  // before it is in the page: nothing moves
    stage.replaceChildren(drawn.element);
    key.replaceChildren(legend(seq.arrows));
    onlyPackets.disabled = !seq.inner;
    note.textContent = [
      seq.left ? `${count(seq.left)} more steps are not shown.` : '',
      seq.hidden ? `${plural(seq.hidden, 'step')} inside the NICs hidden` : '',
    ].filter(Boolean).join(' ');
    table.set(entry, seq);
    play.load(seq.rows.length, step);
  }

  // Returns whether the entry was not shown already.
  function choose(next, { qp }) {
    const shown = narrowed(trace, next, qp);
    if (chosen === next && entry.rows.length === shown.rows.length) return false;
    chosen = next;
    entry = shown;
    onlyPackets.checked = entry.kind === 'message' && entry.rows.length > kManyRows;
    stage.scrollTop = 0;
    draw();
    const direct = seq.arrows.some((arrow) => arrow.kind === 'direct');
    heading.replaceChildren(
      h('h2', {}, entryTitle(entry), ' ', h('small', {}, facts(trace, entry))),
      h('p', {}, explanation(entry, direct)));
    return true;
  }

  let width = 0;
  new ResizeObserver(() => {
    if (!entry || Math.abs(stage.clientWidth - width) < 8) return;
    width = stage.clientWidth;
    draw(play.position());
  }).observe(stage);

  return {
    ...play,
    element: h('section', { class: 'panel centre' }, heading, stage, says,
      h('div', { class: 'controls' }, play.element,
        h('label', { class: 'check', title: 'Hides the steps inside the NICs' }, onlyPackets,
          'Packets only'), note),
      key),
    table: table.element,
    choose,
    overview: () => play.go(-1),
  };
}
