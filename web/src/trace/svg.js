// Creates SVG elements, as h() creates HTML elements.
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== ''));
  return element;
}

const kGuess = 6.4;  // pixels per character
let context;
const widths = new Map();

// The width of text of 11 px in the font of the page; a guess where there is no page.
export function textWidth(text) {
  if (typeof document === 'undefined') return text.length * kGuess;
  if (!widths.has(text)) {
    if (!context) {
      context = document.createElement('canvas').getContext('2d');
      context.font = `500 11px ${getComputedStyle(document.body).fontFamily}`;
    }
    if (widths.size > 10000) widths.clear();
    widths.set(text, context.measureText(text).width);
  }
  return widths.get(text);
}

// Text that ends with an ellipsis if it is wider than `width`.
export function fitting(text, width) {
  if (textWidth(text) <= width) return text;
  let length = Math.floor((text.length * width) / textWidth(text));
  while (length > 1 && textWidth(`${text.slice(0, length)}…`) > width) length -= 1;
  return `${text.slice(0, Math.max(1, length)).trimEnd()}…`;
}
