// Where the time above the bound went, and what trials have shown.
import { h, section, table } from '../dom.js';
import { kFew } from '../side_by_side.js';
import { share, time } from '../units.js';
import { outcome } from '../trials.js';

// What it took, a piece for each cause, the rest: as src/sim/results/why_result.cc.
export function pieces(one) {
  const found = { before: [], causes: [], after: [] };
  let rest = one.paragraph;
  for (const { text } of one.causes ?? []) {
    const at = text ? rest.indexOf(text) : -1;
    if (at < 0) continue;
    found[found.causes.length ? 'causes' : 'before'].push(rest.slice(0, at).trim());
    found.causes.push(text);
    rest = rest.slice(at + text.length);
  }
  found[found.causes.length ? 'after' : 'before'].push(rest.trim());
  for (const key of Object.keys(found)) found[key] = found[key].filter(Boolean).map(inUnitsOfPage);
  return found;
}

// The page writes µs, the terminal us.
const inUnitsOfPage = (text) => text.replace(/(\d) us\b/g, '$1\u202fµs');

const title = (result, job, several) => [
  several ? result.label : '', result.why.length > 1 ? job : '',
].filter(Boolean).join(', ');

const explanations = (result, several) => result.why.filter((one) => one.paragraph)
  .map((one) => {
    const { before, causes, after } = pieces(one);
    const name = title(result, one.job, several);
    return [
      h('p', {}, name ? h('strong', {}, name, ': ') : '', before.join(' ')),
      causes.length ? h('ul', { class: 'causes' }, causes.map((text) => h('li', {}, text))) : '',
      after.length ? h('p', {}, after.join(' ')) : '',
    ];
  });

const trials = (result, several) => (result.trials.length ? [
  h('h3', {}, several ? `Tried: ${result.label}` : 'Tried'),
  table(['With', 'It takes', 'Of the time above the bound'], result.trials.map((trial) =>
    [trial.set.join(', '), trial.error || !trial.done ? '–' : time(trial.took),
      outcome(trial, share)])),
] : []);

export function whySection(results) {
  const shown = results.length > kFew ? [] : results;
  const several = results.length > 1;
  return section('why', 'Why it took that long', '',
    shown.map((result) => [explanations(result, several), trials(result, several)]));
}
