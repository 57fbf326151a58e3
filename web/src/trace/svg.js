// Creates SVG elements, as h() creates HTML elements.
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== ''));
  return element;
}

// The width of text of 11 px in the system font, generously.
export const textWidth = (text) => text.length * 6.1;

// Text that ends with an ellipsis if it is wider than `width`.
export function fitting(text, width) {
  if (textWidth(text) <= width) return text;
  return `${text.slice(0, Math.max(1, Math.floor(width / 6.1) - 1))}…`;
}
