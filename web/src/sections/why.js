// Where the time above the bound went, and what trials have shown.
import { h, section, table } from '../dom.js';
import { kFew } from '../side_by_side.js';
import { share, time } from '../units.js';
import { outcome } from '../trials.js';

const paragraphs = (result, several) => result.why.filter((one) => one.paragraph)
  .map((one) => h('p', {},
    several || result.why.length > 1 ? h('strong', {}, [
      several ? result.label : '', result.why.length > 1 ? one.job : '',
    ].filter(Boolean).join(', '), ': ') : '', one.paragraph));

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
    shown.map((result) => [paragraphs(result, several), trials(result, several)]));
}
