// Colours come from the style sheet, so that canvases follow the light, dark and print themes.

let style;

export const colour = (name) => {
  style ??= getComputedStyle(document.documentElement);
  return style.getPropertyValue(name).trim();
};

// Eight colours that most readers can distinguish; from the ninth series on they repeat with
// dashes.
const kSeriesColours = 8;
export const seriesColour = (i) => `--c${(i % kSeriesColours) + 1}`;
export const seriesDash = (i) => (i < kSeriesColours ? undefined : [6, 4]);

const listeners = new Set();
export const whenThemeChanges = (redraw) => listeners.add(redraw);
const changed = () => listeners.forEach((redraw) => redraw());

// Print is always on white.
export function watchTheme() {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  const paper = (on) => () => {
    document.documentElement.classList.toggle('paper', on);
    changed();
  };
  addEventListener('beforeprint', paper(true));
  addEventListener('afterprint', paper(false));
}

// The colour of a fraction, from cool to hot with monotonic lightness, so that it also works in
// grey. Call it again after a theme change.
export function heatScale() {
  const stops = [0, 1, 2, 3, 4].map((i) => rgb(colour(`--heat${i}`)));
  return (fraction) => {
    const at = Math.min(1, Math.max(0, fraction)) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(at));
    const mixed = stops[low].map((from, i) => from + (stops[low + 1][i] - from) * (at - low));
    return `rgb(${mixed.map(Math.round).join(' ')})`;
  };
}

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
