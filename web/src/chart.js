// A line chart: uPlot with our colours, units on both axes, and a responsive width.
import uPlot from 'uplot';
import { h } from './dom.js';
import { colour, seriesColour, seriesDash, whenThemeChanges } from './theme.js';
import { nearestValue } from './stats.js';
import { digits } from './units.js';

const kHeight = 260;
const kWideRange = 20;  // the ratio from which a logarithmic axis has enough labels
const kFont = '12px system-ui, sans-serif';

const axis = (label, extra) => ({
  label,
  labelSize: 20,
  gap: 4,
  labelFont: kFont,
  font: kFont,
  stroke: () => colour('--muted'),
  grid: { stroke: () => colour('--line'), width: 1 },
  ticks: { stroke: () => colour('--line'), width: 1, size: 4 },
  values: (_, splits) => splits.map((split) => (split === null ? '' : digits(split))),
  ...extra,
});

// The legend shows the names of the lines, with their values at the pointer.
const written = (show) => (_, value, series, i) =>
  (value === null || value === undefined ? '' : show(value, i));

function line(one, i, show) {
  const name = one.colour ?? seriesColour(i);
  return {
    label: one.label,
    stroke: () => colour(name),
    fill: one.bars ? () => colour(name) : one.fill ? () => `${colour(name)}22` : undefined,
    width: one.bars ? 0 : one.width ?? 1.75,
    dash: one.dash ?? seriesDash(i),
    spanGaps: true,
    points: { show: Boolean(one.points), size: 6, fill: () => colour(name) },
    paths: one.bars ? uPlot.paths.bars({ size: [0.86, 40] }) : undefined,
    value: written(one.show ?? show),
  };
}

// x: numbers; lines: { label, values, colour, fill, dash, points, bars, show }, later ones on top
// of earlier ones; xLabel and yLabel: with units; xShow and yShow: format a value (and get its
// index); xTick: formats an axis label; yTop: a fixed maximum; xLog: logarithmic x if its range is
// wide; xWhole: only integers as labels; xBars: the width of a bar. The element's update(x, values)
// replaces the data; `values` has an array for each line.
export function chart({
  x, lines, xLabel, yLabel, xName, xShow, xTick, yShow, yTop, xLog, xWhole, xBars, sync,
}) {
  const box = h('div', { class: 'chart', role: 'group', 'aria-label': `${yLabel} by ${xLabel}` });
  const logarithmic = xLog && x[x.length - 1] > kWideRange * x[0];
  const options = {
    width: 640,
    height: kHeight,
    padding: [8, 12, 0, 0],
    scales: {
      x: {
        time: false,
        ...(logarithmic ? { distr: 3, range: logRange } : {}),
        ...(xBars ? { range: (_, low, high) => [low - xBars / 2, high + xBars / 2] } : {}),
      },
      y: { range: (_, low, high) => [0, yTop ?? headroom(high)] },
    },
    axes: [
      axis(xLabel, {
        size: 30,
        values: (_, splits) => splits.map((split) => (split === null ? '' : (xTick ?? digits)(split))),
        ...(logarithmic ? logAxis : {}),
        ...(xWhole || xBars ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000] } : {}),
      }),
      axis(yLabel, { size: 56 }),
    ],
    series: [
      { label: ' ', value: written((value, i) => `${xName} ${xShow(value, i)}`) },
      ...lines.map((one, i) => line(one, i, yShow)),
    ],
    cursor: {
      sync: sync ? { key: sync } : undefined,
      points: { size: 7 },
      y: false,
      dataIdx: (plot, series, at) => nearestValue(plot.data[series], at),
    },
    legend: { live: true, markers: { width: 0, fill: (plot, i) => plot.series[i].stroke() } },
  };
  let data = [x, ...lines.map((one) => one.values)];
  let plot;
  whenWide(box, (width) => (plot = new uPlot({ ...options, width }, data, box)));
  box.update = (newX, values) => {
    data = [newX, ...values];
    plot?.setData(data);
  };
  return box;
}

// Some space above the highest point; a chart of zeroes still has an axis.
const headroom = (high) => (high > 0 ? high * 1.06 : 1);

function logRange(_, low, high) {
  const least = Math.max(low, 1e-9);
  return [least / 1.02, Math.max(high, least * 1.5) * 1.05];
}

// Labels 1, 2 and 5 of each decade if there is room, otherwise only 1; grid lines are at the
// labels.
function roundOnes(plot, splits) {
  const decades = Math.log10(plot.scales.x.max / plot.scales.x.min);
  const firsts = decades * 190 < plot.width ? ['1', '2', '5'] : ['1'];
  return splits.map((split) => {
    const [first, ...rest] = Number((split ?? 3).toPrecision(6)).toExponential();
    return rest[0] === 'e' && firsts.includes(first) ? split : null;
  });
}
const logAxis = {
  space: 1,
  filter: roundOnes,
  grid: { stroke: () => colour('--line'), width: 1, filter: roundOnes },
  ticks: { stroke: () => colour('--line'), width: 1, size: 4, filter: roundOnes },
};

// Creates the chart when its width is known, and resizes it with its container. Waits for the next
// frame, because a resize during the observer's callback would trigger it again.
function whenWide(box, make) {
  let plot;
  const fit = () => {
    const width = Math.max(240, Math.floor(box.clientWidth));
    if (!box.clientWidth || plot?.width === width) return;
    if (plot) plot.setSize({ width, height: kHeight });
    else plot = make(width);
  };
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(box);
  whenThemeChanges(() => {
    if (!plot) return;
    plot.redraw();
    box.querySelectorAll('.u-legend .u-marker').forEach((marker, i) => {
      if (i) marker.style.background = plot.series[i].stroke();
    });
  });
}
