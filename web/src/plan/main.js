// The page of a plan: the advice, time against cost, the finalists, what one of them consists of, how
// the answer depends on prices, what was left out.
import '../base.css';
import '../style.css';
import './plan.css';
import { h } from '../dom.js';
import { watchTheme } from '../theme.js';
import { frontPanel } from './front.js';
import { billSection, leftOutSection, marketSection, pricesSection, rankingSection, sensitivitySection,
  tiles } from './sections.js';

function read() {
  const script = document.querySelector('script.nerve-plan');
  const plan = JSON.parse(script.textContent);
  if (plan.nerve_plan !== 1) throw new Error('it is of another version');
  return plan;
}

const words = (plan) => [plan.gpus ? `${plan.gpus} GPUs` : `a budget of $${(plan.budget / 1e6).toFixed(1)} M`,
  `${plan.candidates.length} candidates`, `${plan.seeds} ${plan.seeds === 1 ? 'seed' : 'seeds'}`, `${plan.years} years`].join(' · ');

function show(page, plan, number) {
  const best = plan.candidates.find((c) => c.number === plan.best);
  const shown = plan.candidates.find((c) => c.number === number && c.bill) ?? best;
  const choose = (other) => {
    show(page, plan, other);
    page.querySelector('#bill')?.scrollIntoView({ behavior: 'smooth', block: 'nearest' });
  };
  const parts = [
    rankingSection(plan, shown ?? {}, choose),
    shown ? billSection(plan, shown) : undefined,
    sensitivitySection(plan), leftOutSection(plan), marketSection(plan), pricesSection(plan),
  ].filter(Boolean);
  page.replaceChildren(
    h('p', { class: 'kicker' }, `Plan of a cluster · ${words(plan)}`),
    h('h1', {}, plan.name),
    plan.description ? h('p', { class: 'description' }, plan.description) : '',
    h('p', { class: 'answer' }, plan.advice),
    best ? tiles(plan, best) : '',
    plan.reasons.length ? h('ul', { class: 'remarks' }, plan.reasons.map((reason) => h('li', {}, reason))) : '',
    h('nav', { 'aria-label': 'On this page' }, parts.map((part) =>
      h('a', { href: `#${part.id}` }, part.querySelector('h2').textContent))),
    plan.candidates.some((c) => c.seconds > 0)
      ? h('section', { id: 'front' }, frontPanel(plan, choose)) : '',
    ...parts);
}

watchTheme();
const page = document.querySelector('main');
try {
  const plan = read();
  document.title = `${plan.name} · Nerve plan`;
  show(page, plan, plan.best);
} catch (error) {
  page.append(h('p', { class: 'trouble', role: 'alert' }, `The plan cannot be read: ${error.message}`));
}
