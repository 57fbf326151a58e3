// A scrolled list that creates only the rows in view. All rows have one height.
import { h } from '../dom.js';

// The rows to create: those in view and a few around them.
export function visible(top, viewHeight, rowHeight, count, around = 6) {
  const first = Math.max(0, Math.floor(top / rowHeight) - around);
  const last = Math.min(count, Math.ceil((top + viewHeight) / rowHeight) + around);
  return [first, Math.max(first, last)];
}

export function virtualList({ rowHeight, render, attributes = {} }) {
  const inner = h('div', { class: 'rows' });
  const outer = h('div', attributes, inner);
  let items = [];
  let all = false;
  function draw() {
    const [first, last] = all ? [0, items.length] :
      visible(outer.scrollTop, outer.clientHeight || 800, rowHeight, items.length);
    inner.style.height = `${items.length * rowHeight}px`;
    inner.replaceChildren(...items.slice(first, last).map((item, index) => {
      const element = render(item, first + index);
      element.style.transform = `translateY(${(first + index) * rowHeight}px)`;
      return element;
    }));
  }
  outer.addEventListener('scroll', draw, { passive: true });
  new ResizeObserver(draw).observe(outer);
  return {
    element: outer,
    draw,
    set(list) {
      items = list;
      outer.scrollTop = 0;
      draw();
    },
    // Paper has no scroll bar.
    print(on, limit) {
      all = on && items.length <= limit;
      draw();
    },
    reveal(index) {
      const top = index * rowHeight;
      const room = outer.clientHeight;
      if (top < outer.scrollTop) outer.scrollTop = top;
      else if (top + rowHeight > outer.scrollTop + room) outer.scrollTop = top + rowHeight - room;
      draw();
    },
  };
}
