// The page of a trace: a list of messages, the sequence diagram of one of them, and its events.
import '../base.css';
import './trace.css';
import './diagram.css';
import { h } from '../dom.js';
import { watchTheme } from '../theme.js';
import { header } from './header.js';
import { messageList } from './message_list.js';
import { parsed } from './document.js';
import { viewer } from './viewer.js';

function read() {
  const script = document.querySelector('script.nerve-trace');
  if (!script) throw new Error('it contains no trace');
  return parsed(script.textContent);
}

function onKeys(view, list) {
  const keys = {
    ' ': view.toggle, ArrowRight: view.forward, ArrowLeft: view.back, Home: view.first,
    End: view.last, Escape: view.overview, ArrowDown: () => list.move(1),
    ArrowUp: () => list.move(-1), PageDown: () => list.move(10), PageUp: () => list.move(-10),
  };
  addEventListener('keydown', (event) => {
    const act = keys[event.key];
    const inside = (elements) => event.target.closest?.(elements);
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    if (inside('select, input[type=range]')) return;
    if (event.key === ' ' && inside('button, summary, input')) return;
    event.preventDefault();
    act();
  });
}

// `#entry=3&step=5` opens the page with that entry of the list at that step.
function show(trace, page) {
  const hash = new URLSearchParams(location.hash.slice(1));
  const view = viewer(trace);
  const list = messageList(trace, (entry, filter) => {
    if (view.choose(entry, filter)) {
      history.replaceState(null, '', `#entry=${trace.entries.indexOf(entry)}`);
    }
  });
  const top = header(trace);
  page.append(top, h('div', { class: 'work' }, list.element, view.element, view.table));
  new ResizeObserver(() => page.style.setProperty('--top', `${top.offsetHeight}px`)).observe(top);
  page.style.setProperty('--top', `${top.offsetHeight}px`);
  list.apply();
  const wanted = hash.has('entry') ? trace.entries[Number(hash.get('entry'))] : undefined;
  if (wanted) list.pick(wanted);
  if (hash.has('step')) view.go(Number(hash.get('step')));
  onKeys(view, list);
}

const page = document.querySelector('main');
watchTheme();
try {
  const trace = read();
  document.title = `${trace.title} · Nerve trace`;
  show(trace, page);
} catch (error) {
  page.append(h('p', { class: 'trouble', role: 'alert' },
    `This trace cannot be read: ${error.message}`));
  throw error;
}
