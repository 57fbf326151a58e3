// Normalises a result for the page: every array exists, every number is a number, names are unique.
// Files of other versions may lack parts; these are empty here, and charts omit them.

const list = (value) => (Array.isArray(value) ? value : []);
const number = (value) => (Number.isFinite(Number(value)) ? Number(value) : 0);
const text = (value) => (value === undefined || value === null ? '' : String(value));

function flow(from) {
  const start = number(from.start_ps);
  return {
    from: number(from.from),
    to: number(from.to),
    bytes: number(from.bytes),
    start,
    time: number(from.end_ps) - start,
    ideal: number(from.ideal_ps),
  };
}

function job(from, index) {
  return {
    name: text(from.name) || `job ${index}`,
    work: text(from.work),
    done: from.done !== false,
    trouble: text(from.trouble),
    start: number(from.start_ps),
    end: number(from.end_ps),
    time: number(from.end_ps) - number(from.start_ps),
    steps: list(from.steps_ps).map(number),
    bound: number(from.bound_ps),
    boundIs: text(from.bound_is),
    bytesMoved: number(from.bytes_moved),
    busBandwidth: number(from.bus_bandwidth),
    ranks: list(from.ranks).map((rank) => ({
      compute: number(rank.compute ?? rank.compute_ps),
      exposed: number(rank.exposed ?? rank.exposed_ps),
    })),
    // A flow that did not end has no completion time.
    flows: list(from.flows).map(flow).filter((one) => one.time > 0),
    flowCount: number(from.flow_count) || list(from.flows).length,
  };
}

function why(from) {
  return {
    job: text(from.job),
    took: number(from.took_ps),
    excess: number(from.excess_ps),
    causes: list(from.causes).map((cause) => ({
      kind: text(cause.kind),
      time: number(cause.time_ps),
      share: number(cause.share),
      atMost: Boolean(cause.at_most),
      text: text(cause.text),
    })),
    paragraph: text(from.paragraph),
  };
}

function trial(from) {
  return {
    set: list(from.set).map(text),
    job: text(from.job),
    done: from.done !== false,
    took: number(from.took_ps),
    takesAway: number(from.takes_away),
    error: text(from.error),
  };
}

function link(from) {
  return {
    from: number(from.from),
    to: number(from.to),
    rate: number(from.rate_bps),
    bytes: number(from.bytes),
    utilisation: number(from.utilisation),
    queued: number(from.most_queued),
    marked: number(from.marked),
    dropped: number(from.dropped),
    lost: number(from.lost),
    pauses: number(from.pauses),
    paused: number(from.paused_ps),
  };
}

function node(from, index) {
  return {
    name: text(from.name) || `node ${index}`,
    tier: number(from.tier),
    isSwitch: Boolean(from.is_switch),
  };
}

const kTotals = [
  'data_packets', 'data_bytes', 'marked', 'dropped', 'lost', 'pauses', 'paused_ps',
  'retransmitted', 'timeouts', 'congestion_notices', 'failed_messages', 'cpu_ps',
];

// `hash` is a string of hex digits; older files have a number, which has lost digits.
export function normalised(from) {
  const nodes = list(from.nodes).map(node);
  const exists = (end) => end >= 0 && end < nodes.length;
  return {
    scenario: text(from.scenario) || 'a run without a name',
    description: text(from.description),
    version: text(from.version),
    // A run of flows has no packets, and nothing that only packets have.
    packets: from.fidelity !== 'flow',
    seed: text(from.seed),
    hash: text(from.hash),
    simulated: number(from.simulated_ps),
    events: number(from.events),
    wallSeconds: number(from.wall_seconds),
    memoryBytes: number(from.memory_bytes),
    jobs: list(from.jobs).map(job),
    totals: Object.fromEntries(kTotals.map((key) => [key, number(from.totals?.[key])])),
    nodes,
    links: list(from.links).map(link).filter((one) => exists(one.from) && exists(one.to)),
    sampleEvery: number(from.sample_every_ps),
    series: list(from.series).map((one) => ({
      name: text(one.name),
      unit: text(one.unit),
      values: list(one.values).map(number),
    })),
    remarks: list(from.remarks).map(text),
    why: list(from.why).map(why),
    trials: list(from.trials).map(trial),
  };
}

// Runs of the same scenario are labelled by what differs: the fidelity, the seed, or their index. `index` is
// also the colour of a result in all charts.
export function labelled(results) {
  return results.map((result, index) => {
    const others = results.filter((other) => other !== result && other.scenario === result.scenario);
    let label = result.scenario;
    const same = others.filter((other) => other.seed === result.seed);
    if (same.length === 1 && same[0].packets !== result.packets) {
      label += result.packets ? ' (packets)' : ' (flows)';
    } else if (same.length) label += ` (${index + 1})`;
    else if (others.length) label += `, seed ${result.seed}`;
    return { ...result, label, index };
  });
}

// Numbers that a double cannot represent are kept as strings: seeds have 64 bits. A reviver would
// see them too late, so the text is changed before parsing.
export function parsed(json) {
  const whole = json.replace(/("seed"\s*:\s*)(\d{16,})/g, '$1"$2"');
  return normalised(JSON.parse(whole));
}
