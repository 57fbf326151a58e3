// Creates elements. Strings become text nodes: nothing from a result is interpreted as HTML.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== ''));
  return element;
}

// A section of the page; undefined if it has no content.
export function section(id, title, lead, ...children) {
  const shown = children.flat(Infinity).filter(Boolean);
  if (!shown.length) return undefined;
  return h('section', { id }, h('h2', {}, title), lead ? h('p', { class: 'lead' }, lead) : '', shown);
}

// A figure with a heading and a caption.
export const panel = (title, caption, ...children) => h('figure', { class: 'panel' },
  h('h3', {}, title), ...children, caption ? h('figcaption', {}, caption) : '');

// A table whose first column has the row names. Cells are text or elements.
export function table(heads, rows, attributes = {}) {
  return h('div', { class: 'scroll' }, h('table', attributes,
    h('thead', {}, h('tr', {}, heads.map((head) => h('th', { scope: 'col' }, head)))),
    h('tbody', {}, rows.map(([first, ...cells]) => h('tr', {},
      h('th', { scope: 'row' }, first), cells.map((cell) => h('td', {}, cell)))))));
}

// A bar with a label; its width is the fraction.
export const meter = (fraction, text, colour = 'var(--c1)') => h('span', { class: 'meter' },
  h('span', { class: 'track' }, h('span', {
    class: 'fill',
    style: `width:${Math.min(100, Math.max(0, fraction * 100)).toFixed(2)}%;background:${colour}`,
  })), h('span', { class: 'value' }, text));
