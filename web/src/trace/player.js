// Plays the steps of a diagram one by one: buttons, a slider and a speed. Position -1 is the
// overview, with all steps.
import { h } from '../dom.js';
import { s } from './svg.js';

const kSpeeds = [[0.5, '½ ×'], [1, '1 ×'], [2, '2 ×'], [4, '4 ×'], [16, '16 ×']];
const kStepMs = 900;

const kIcons = {
  play: 'M5 2.5v11l9 -5.5z',
  pause: 'M4 2.5h3v11h-3zM9 2.5h3v11h-3z',
  first: 'M3 3h2v10h-2zM13 3v10l-7 -5z',
  back: 'M11 3v10l-7 -5z',
  forward: 'M5 3v10l7 -5z',
  last: 'M11 3h2v10h-2zM3 3v10l7 -5z',
};
const icon = (name) => s('svg',
  { width: 16, height: 16, viewBox: '0 0 16 16', 'aria-hidden': 'true' },
  s('path', { d: kIcons[name], fill: 'currentColor' }));
const button = (title, name, act) =>
  h('button', { type: 'button', title, 'aria-label': title, onclick: act }, icon(name));

export function player(show) {
  let steps = 0;
  let at = -1;
  let timer;
  let speed = 1;
  const playing = () => timer !== undefined;
  const play = button('Play or pause (space)', 'play', toggle);
  play.className = 'play';
  const slider = h('input', { type: 'range', min: 0, value: 0, 'aria-label': 'Step',
    oninput: () => jump(Number(slider.value)) });
  const position = h('span', { class: 'position' });

  function go(step) {
    at = Math.max(-1, Math.min(steps - 1, step));
    slider.value = at < 0 ? steps : at;
    position.textContent = at < 0 ? `${steps} steps` : `${at + 1} / ${steps}`;
    show(at, playing());
  }
  function jump(step) {
    stop();
    go(step);
  }
  function stop() {
    clearInterval(timer);
    timer = undefined;
    play.replaceChildren(icon('play'));
  }
  function start() {
    timer = setInterval(() => {
      if (at >= steps - 1) stop();
      else go(at + 1);
    }, kStepMs / speed);
    play.replaceChildren(icon('pause'));
  }
  function toggle() {
    if (playing()) return stop();
    start();
    if (at < 0 || at >= steps - 1) go(0);
    return undefined;
  }
  const first = () => jump(0);
  const last = () => jump(steps - 1);
  const forward = () => jump(at + 1);
  const back = () => jump(at < 0 ? steps - 1 : Math.max(0, at - 1));

  const speeds = h('select', { 'aria-label': 'Speed', onchange: () => {
    speed = Number(speeds.value);
    if (playing()) { stop(); start(); }
  } }, kSpeeds.map(([value, text]) => h('option', { value, selected: value === 1 }, text)));

  return {
    element: h('div', { class: 'player' }, button('First step (Home)', 'first', first),
      button('Back (←)', 'back', back), play, button('Forward (→)', 'forward', forward),
      button('Last step (End)', 'last', last), slider, position, speeds),
    toggle,
    first,
    last,
    back,
    forward,
    go: jump,
    load(number, step = -1) {
      steps = number;
      slider.max = Math.max(0, number - 1);
      jump(step);
    },
    position: () => at,
  };
}
