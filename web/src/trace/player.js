// Plays the steps of a diagram one by one: buttons, a slider and the sentence of the current step.
import { h } from '../dom.js';

const kSpeeds = [[0.5, '½ ×'], [1, '1 ×'], [2, '2 ×'], [4, '4 ×'], [16, '16 ×']];
const kStepMs = 900;

export function player(show) {
  let steps = 0;
  let at = 0;
  let timer;
  let speed = 1;
  const playing = () => timer !== undefined;
  const button = (title, text, act) => h('button', { type: 'button', title, 'aria-label': title, onclick: act }, text);
  const play = button('Play or pause (space)', '▶', toggle);
  play.className = 'play';
  const slider = h('input', { type: 'range', min: 0, value: 0, 'aria-label': 'Step',
    oninput: () => { stop(); go(Number(slider.value)); } });
  const position = h('span', { class: 'position' });

  function go(step) {
    at = Math.min(steps - 1, Math.max(0, step));
    slider.value = at;
    slider.style.setProperty('--done', steps > 1 ? at / (steps - 1) : 1);
    position.textContent = steps ? `${at + 1} / ${steps}` : '';
    show(at, playing());
  }
  function stop() {
    clearInterval(timer);
    timer = undefined;
    play.textContent = '▶';
    play.classList.remove('on');
  }
  function start() {
    timer = setInterval(() => {
      if (at >= steps - 1) stop();
      else go(at + 1);
    }, kStepMs / speed);
    play.textContent = '❚❚';
    play.classList.add('on');
  }
  function toggle() {
    if (playing()) return stop();
    const again = at >= steps - 1;
    start();
    if (again) go(0);
    return undefined;
  }
  const step = (by) => () => { stop(); go(at + by); };

  const speeds = h('select', { 'aria-label': 'Speed', onchange: () => {
    speed = Number(speeds.value);
    if (playing()) { stop(); start(); }
  } }, kSpeeds.map(([value, text]) => h('option', { value, selected: value === 1 }, text)));

  return {
    element: h('div', { class: 'player' }, button('First step (Home)', '⏮', () => { stop(); go(0); }),
      button('Back (←)', '‹', step(-1)), play, button('Forward (→)', '›', step(1)),
      button('Last step (End)', '⏭', () => { stop(); go(steps - 1); }), slider, position, speeds),
    toggle,
    back: step(-1),
    forward: step(1),
    // Shows the diagram as a whole until it is played.
    load(number, step0 = number - 1) {
      stop();
      steps = number;
      slider.max = Math.max(0, number - 1);
      go(step0);
    },
    go(index) { stop(); go(index); },
    last: () => { stop(); go(steps - 1); },
    position: () => at,
  };
}
