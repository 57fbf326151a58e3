// The parts of the page below the chart.
import { h, meter, panel, section, table } from '../dom.js';
import { count, share } from '../units.js';
import { scale, svg } from './draw.js';
import { networkColour, networkName, wholeTime } from './front.js';
import { fine, money, range, seconds, watts } from './money.js';

const unitName = (plan) => `million ${{ token: 'tokens', run: 'runs' }[plan.unit] ?? 'runs of a GPU'}`;

export function tiles(plan, best) {
  const tile = (name, value, note) => h('div', { class: 'tile' }, h('dt', {}, name),
    h('dd', {}, value, h('small', {}, note)));
  const unit = plan.units_shown;
  const cost = best.cost_per_unit;
  return h('dl', { class: 'tiles' },
    tile(`per ${unitName(plan)}`, fine(cost.typical * unit),
      `${fine(cost.low * unit)} to ${fine(cost.high * unit)}`),
    tile(plan.tokens > 0 ? 'whole job' : 'a run', wholeTime(plan, best),
      plan.tokens > 0 ? `${seconds(best.seconds)} a run` : `bound ${seconds(best.bound_seconds)}`),
    best.idle >= 0 ? tile('GPUs idle', share(best.idle), 'waiting for the network') : '',
    tile('capital', money(best.capital.typical), range(best.capital)),
    tile('of it, network', money(best.network_capital.typical),
      `${share(best.network_capital.typical / best.capital.typical)} of the capital`),
    tile('power', watts(best.watts), `electricity ${money(best.energy.typical)} in ${plan.years} years`));
}

const state = (c) => ({ simulated: `packets, ${c.runs.length} seeds`, scaled: 'packets, scaled',
  estimated: 'flows' })[c.state] ?? c.state;

export function rankingSection(plan, shown, choose) {
  const byNumber = new Map(plan.candidates.map((c) => [c.number, c]));
  const rows = plan.ranking.map((number) => byNumber.get(number));
  // One that is far dearer does not make the others look alike.
  const most = Math.min(Math.max(...rows.map((c) => c.cost_per_unit.high)), 2 * rows[0].cost_per_unit.high);
  return section('finalists', 'Finalists', 'Simulated packet by packet, the best first. Choose one to see what it consists of.',
    table(['candidate', 'network', wholeTimeTitle(plan), 'GPUs idle', 'capital', 'network', 'power',
      `per ${unitName(plan)}`, 'seen with'],
    rows.map((c) => [
      h('button', { class: 'choose', type: 'button', 'aria-pressed': String(c.number === shown.number),
        onclick: () => choose(c.number) }, `${c.number}`),
      h('span', { class: 'keyed' }, h('span', { class: 'key', style: `background:${networkColour(c.network)}` }),
        c.name.split(', ')[0]),
      wholeTime(plan, c), c.idle >= 0 ? share(c.idle) : '–', money(c.capital.typical),
      money(c.network_capital.typical), watts(c.watts), costBar(plan, c, most), state(c)]),
    { class: 'figures' }));
}

const wholeTimeTitle = (plan) => (plan.tokens > 0 ? 'whole job' : 'a run');

// The range of a cost as a bar, its typical value as a mark.
function costBar(plan, c, most) {
  const unit = plan.units_shown;
  const x = (value) => Math.min(100, (value / most) * 100);
  const { low, typical, high } = c.cost_per_unit;
  return h('span', { class: 'cost' }, svg('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', width: 90, height: 10 },
    svg('rect', { x: x(low), width: x(high) - x(low), y: 3, height: 4, fill: networkColour(c.network), opacity: 0.35 }),
    svg('rect', { x: x(typical) - 1, width: 2, y: 0, height: 10, fill: networkColour(c.network) })),
  ` ${fine(typical * unit)}`);
}

const kKinds = { server: 'Servers', nic: 'NICs', switch: 'Switches', cable: 'Cables', transceiver: 'Transceivers' };

export function billSection(plan, c) {
  const all = c.bill.reduce((sum, line) => sum + line.price.typical, 0);
  const rows = c.bill.map((line) => [kKinds[line.kind] ?? line.kind, line.part, line.where || '–', count(line.count),
    line.watts > 0 ? watts(line.watts) : '–', money(line.price.typical), range(line.price),
    meter(line.price.typical / all, share(line.price.typical / all))]);
  const split = c.parallelism ? ` Chosen split of the model: ${c.parallelism.tensor} tensor x ${
    c.parallelism.pipeline} pipeline x data, ${c.parallelism.micro_batches} micro-batches.` : '';
  const how = c.scaled ? ` Packets were simulated with ${c.scaled}; the estimate of the whole cluster was corrected by packets over flows there.` : '';
  return section('bill', `What candidate ${c.number} consists of`, `${c.name}.${split}${how}`,
    table(['', 'part', 'where', 'count', 'power', 'price', 'range', 'of the capital'], rows, { class: 'figures' }),
    c.runs.length ? runTable(c) : '');
}

function runTable(c) {
  const first = c.runs[0];
  return [h('h3', { class: 'below' }, 'Its runs with packets'),
    table(['seed', 'time', 'pauses', 'dropped', 'retransmitted'],
      c.runs.map((run) => [String(run.seed), seconds(run.seconds), count(run.pauses), count(run.dropped),
        count(run.retransmitted)]), { class: 'figures' }),
    first.why ? h('p', { class: 'quiet' }, first.why) : ''];
}

export function sensitivitySection(plan) {
  const rows = plan.sensitivity.filter((one) => one.high_change - one.low_change > 1e-5).slice(0, 10);
  if (!rows.length) return undefined;
  const most = Math.max(...rows.flatMap((one) => [Math.abs(one.low_change), Math.abs(one.high_change)]));
  const x = scale([-most, most], [0, 240]);
  const percent = (value) => `${value < 0 ? '−' : '+'}${(Math.abs(value) * 100).toFixed(1)}\u202f%`;
  const bars = (one) => svg('svg', { viewBox: '0 0 240 16', width: 240, height: 16 },
    svg('line', { x1: x(0), x2: x(0), y1: 0, y2: 16, stroke: 'var(--line)' }),
    svg('rect', { x: x(one.low_change), width: Math.max(0, x(0) - x(one.low_change)), y: 3, height: 10, rx: 2, fill: 'var(--good)' }),
    svg('rect', { x: x(0), width: Math.max(0, x(one.high_change) - x(0)), y: 3, height: 10, rx: 2, fill: 'var(--exposed)' }));
  const other = (one) => {
    const texts = [[one.best_at_low, one.price.low], [one.best_at_high, one.price.high]]
      .filter(([number]) => number !== plan.best).map(([number, price]) => `${number} at ${money(price)}`);
    return texts.length ? texts.join(', ') : 'no';
  };
  return section('sensitivity', 'How it depends on each price',
    `What happens to the cost of candidate ${plan.best} when one price goes to the ends of its range, and whether another candidate would then be better.`,
    table(['price of', 'range', 'change of the cost', '', 'another better?'],
      rows.map((one) => [one.part, `${money(one.price.low)} – ${money(one.price.typical)} – ${money(one.price.high)}`,
        bars(one), `${percent(one.low_change)} to ${percent(one.high_change)}`, other(one)]), { class: 'figures' }));
}

export function leftOutSection(plan) {
  const pruned = plan.candidates.filter((c) => c.state === 'pruned');
  const failed = plan.candidates.filter((c) => c.state === 'failed');
  const rows = plan.left_out.map((one) => [String(one.candidates), one.reason])
    .sort((a, b) => Number(b[0]) - Number(a[0]));
  if (!rows.length && !pruned.length && !failed.length) return undefined;
  const estimated = plan.candidates.filter((c) => c.state === 'estimated').length;
  const parts = [`${plan.candidates.length} candidates: ${plan.ranking.length} finalists, ${estimated} estimated only`,
    pruned.length ? `${pruned.length} pruned, because they cost no less than another and their bound is not shorter` : '',
    failed.length ? `${failed.length} failed` : ''].filter(Boolean).join('; ');
  return section('left-out', 'What was left out', `${parts}.`,
    failed.length ? table(['candidate', 'why it failed'], failed.map((c) => [String(c.number), `${c.name}: ${c.reason}`])) : '',
    rows.length ? table(['candidates', 'cannot be built or exceed a limit'], rows) : '');
}

export function marketSection(plan) {
  if (!plan.market) return undefined;
  const { years, by_network: rows, source } = plan.market;
  const names = Object.keys(rows);
  const sums = years.map((_, i) => names.reduce((sum, name) => sum + rows[name][i], 0));
  const y = scale([0, Math.max(...sums)], [180, 12]);
  const x = (i) => 46 + i * 62;
  const colours = { Ethernet: networkColour('roce'), InfiniBand: networkColour('infiniband') };
  const columns = years.flatMap((year, i) => {
    let below = 0;
    const bars = names.map((name) => {
      const from = below;
      below += rows[name][i];
      return svg('rect', { x: x(i), width: 40, y: y(below), height: y(from) - y(below), fill: colours[name] ?? 'var(--c5)' },
        svg('title', {}, `${name} ${year}: $${rows[name][i]} B`));
    });
    return [...bars, svg('text', { class: 'tick', x: x(i) + 20, y: 198, 'text-anchor': 'middle' }, String(year)),
      svg('text', { class: 'tick', x: x(i) + 20, y: y(below) - 4, 'text-anchor': 'middle' }, below.toFixed(1))];
  });
  return section('market', 'How common the choice is', plan.common || 'The forecast says nothing about TCP.',
    panel('Forecast revenue of RDMA networks, $B', `Source: ${source}. It has no influence on the advice.`,
      h('p', { class: 'keys' }, names.map((name) => h('span', {}, h('span', { class: 'key',
        style: `background:${colours[name] ?? 'var(--c5)'}` }), name))),
      svg('svg', { viewBox: '0 0 560 206', class: 'market', role: 'img', 'aria-label': 'Forecast revenue by year' }, columns)));
}

export function pricesSection(plan) {
  return section('prices', 'Prices', 'What the figures rest on. Listed: read in a published price or data sheet. Estimated: from prices of similar parts. Remembered: check it before you rely on it.',
    table(['part', 'price', 'range', 'power each', 'year', 'basis', 'source'],
      plan.prices.map((one) => [one.part, money(one.price.typical), range(one.price),
        one.watts > 0 ? (one.watts >= 1000 ? watts(one.watts) : `${one.watts}\u202fW`) : '–', String(one.year),
        h('span', { class: `basis ${one.basis}` }, one.basis), h('small', {}, one.source)])));
}
