// The page: reads the embedded results and shows the sections in the order of a reader's questions:
// how long, where the time went, flows, the network, how to repeat it.
import 'uplot/dist/uPlot.min.css';
import './base.css';
import './style.css';
import { h } from './dom.js';
import { labelled, parsed } from './results.js';
import { watchTheme } from './theme.js';
import { comparisonSection } from './sections/comparison.js';
import { eventsSection } from './sections/events.js';
import { flowsSection } from './sections/flows.js';
import { headlineSection } from './sections/headline.js';
import { jobsSection } from './sections/jobs.js';
import { linksSection } from './sections/links.js';
import { mapSection } from './sections/map.js';
import { repeatSection } from './sections/repeat.js';
import { timeSection } from './sections/time.js';
import { whySection } from './sections/why.js';

function read() {
  const results = [];
  const broken = [];
  document.querySelectorAll('script.nerve-result').forEach((script, i) => {
    try {
      results.push(parsed(script.textContent));
    } catch (error) {
      broken.push(`Result ${i + 1} cannot be read: ${error.message}`);
    }
  });
  return { results: labelled(results), broken };
}

const kParts = [
  comparisonSection, whySection, jobsSection, flowsSection, timeSection, mapSection, eventsSection,
  linksSection, repeatSection,
];

function show(page) {
  const { results, broken } = read();
  page.append(...broken.map((text) => h('p', { class: 'trouble', role: 'alert' }, text)));
  if (!results.length) {
    page.append(h('p', {}, 'This page contains no result.'));
    return;
  }
  document.title = `${results.map((result) => result.label).join(' · ')} · Nerve`;
  const parts = kParts.map((part) => part(results)).filter(Boolean);
  page.append(headlineSection(results), contents(parts), ...parts);
}

const contents = (parts) => h('nav', { 'aria-label': 'On this page' }, parts.map((part) =>
  h('a', { href: `#${part.id}` }, part.querySelector('h2').textContent)));

watchTheme();
show(document.querySelector('main'));
