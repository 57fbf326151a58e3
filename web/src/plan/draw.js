// SVG elements; text becomes text nodes, so nothing of a plan is interpreted as markup.
const kNamespace = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(kNamespace, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== ''));
  return element;
}

// Maps the range to pixels.
export const scale = ([low, high], [from, to]) => (value) =>
  from + ((value - low) / (high - low)) * (to - from);
