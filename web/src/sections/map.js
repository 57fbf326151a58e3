// The network as a map, with a choice of what its colours show.
import { h, section } from '../dom.js';
import { hasPackets } from '../measures.js';
import { kFigures, networkMap } from '../network_map.js';
import { kFew, onlyFirst } from '../side_by_side.js';
import { largest } from '../stats.js';

const select = (label, choices, changed) => h('label', {}, `${label} `, h('select', {
  onchange: (event) => changed(event.target.value),
}, choices.map(([value, text]) => h('option', { value }, text))));

function legend() {
  const least = h('span', {});
  const most = h('span', {});
  const note = h('span', { class: 'quiet' });
  const element = h('p', { class: 'legend' }, least, h('span', { class: 'ramp' }), most, note);
  const show = (figure, top) => {
    least.textContent = figure.show(0);
    most.textContent = top > 0 ? figure.show(top) : '';
    note.textContent = top > 0 ? '' : `no ${figure.name} on any link`;
    element.classList.toggle('empty', !(top > 0));
  };
  return { element, show };
}

export function mapSection(results) {
  const shown = results.filter((result) => result.links.length && result.nodes.length)
    .slice(0, kFew);
  if (!shown.length) return undefined;
  const maps = shown.map(networkMap);
  const figures = shown.some(hasPackets) ? kFigures : [kFigures[0]];  // flows have no queues
  const key = legend();
  const chosen = { figure: kFigures[0], direction: 'both' };
  const show = () => {
    const seen = largest(shown.flatMap(({ links }) => links.map((link) => link[chosen.figure.key])));
    const top = chosen.figure.top ?? seen;
    key.show(chosen.figure, top);
    maps.forEach((map) => map.show(chosen.figure, chosen.direction, top));
  };
  const controls = h('div', { class: 'controls' },
    select('Colour by', figures.map(({ key: value, name }) => [value, name]), (value) => {
      chosen.figure = kFigures.find((figure) => figure.key === value);
      show();
    }),
    select('Direction', [['both', 'the hotter of both'], ['up', 'up'], ['down', 'down']], (value) => {
      chosen.direction = value;
      show();
    }), key.element);
  show();
  return section('map', 'Heat map of the network',
    'NICs at the bottom, switches above by tier. A line is a cable. If a row has too many nodes, ' +
    `adjacent ones are merged, and the hottest of their cables sets the colour.${onlyFirst(results)}`,
    controls, h('div', { class: shown.length > 1 ? 'grid maps' : 'maps' }, maps.map((map, i) =>
      h('figure', { class: 'panel' }, shown.length > 1 ? h('h3', {}, shown[i].label) : '',
        map.element))));
}
