// A result summarised in sentences, for the top of the page.
import { completion, flowCount, hasPackets, idleShare, slowdownAt, worstAboveBound } from './measures.js';
import { count, ratio, share, time } from './units.js';

export const plural = (many, one, more = `${one}s`) => `${count(many)} ${many === 1 ? one : more}`;

function howLong(result) {
  const took = time(completion(result));
  if (!result.jobs.length) return `The run took ${took}`;
  const left = troubles(result).length;
  if (left && result.jobs.length === 1) return `The job did not finish in ${took}`;
  if (left) return `${count(left)} of ${count(result.jobs.length)} jobs did not finish in ${took}`;
  const who = result.jobs.length === 1 ? 'The job' : `The ${count(result.jobs.length)} jobs`;
  const above = worstAboveBound(result);
  if (!Number.isFinite(above)) return `${who} took ${took}`;
  const whose = result.jobs.length === 1 ? 'a step' : 'at worst a step';
  const beside = above < 0 ? 'less' : 'longer';
  return `${who} took ${took}; ${whose} took ${share(Math.abs(above))} ${beside} than its bound`;
}

function whatFlowsSaw(result) {
  const flows = flowCount(result);
  const half = slowdownAt(result, 0.5);
  if (!flows || !Number.isFinite(half)) return '';
  if (flows === 1) return `Its flow took ${ratio(half)} its time in an empty network.`;
  return `Half of the ${count(flows)} flows took up to ${ratio(half)} their time in an ` +
    `empty network, one in a hundred ${ratio(slowdownAt(result, 0.99))} or more.`;
}

function whatTheNetworkDid(result) {
  if (!hasPackets(result)) {
    return 'Messages were simulated as flows: there are no queues, pauses or losses.';
  }
  const { totals } = result;
  const lost = totals.dropped + totals.lost;
  const drops = lost ? `${plural(lost, 'packet was', 'packets were')} lost` : 'Nothing was lost';
  const pauses = totals.pauses ? `${plural(totals.pauses, 'pause')} stopped links`
    : 'no link was paused';
  return `${drops}, ${pauses}.`;
}

// Two or three sentences: how long, how much waiting, what happened in the network.
export function headline(result) {
  const sentences = [];
  const idle = idleShare(result.jobs);
  const waited = Number.isFinite(idle) ? `; GPUs waited ${share(idle)} of their time` : '';
  sentences.push(`${howLong(result)}${waited}.`, whatFlowsSaw(result), whatTheNetworkDid(result));
  return sentences.filter(Boolean).join(' ');
}

// Shown before any figure: jobs that did not finish.
export const troubles = (result) => result.jobs.filter((job) => !job.done)
  .map((job) => `${job.name} did not finish${job.trouble ? `: ${job.trouble}` : ''}`);
