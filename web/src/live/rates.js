// Pure functions of samples (src/cli/sample_json.h): totals of each program, and rates between two
// samples.

const kNakKinds = ['sequence', 'selective', 'rnr', 'error'];

const sum = (values) => values.reduce((total, value) => total + value, 0);

// The counters that the page shows. Counters that a program does not have count as zero.
export function totalsOf(program) {
  const counter = (name) => program.counters[name] ?? 0;
  const paths = {
    shm: counter('shm_bytes_sent'),
    udp: counter('udp_bytes_sent'),
    direct: counter('direct_bytes'),
  };
  return {
    ...paths,
    sent: sum(Object.values(paths)),
    received: counter('bytes_received'),
    packets: counter('packets_sent'),
    retransmitted: counter('retransmitted'),
    timeouts: counter('timeouts'),
    naks: sum(kNakKinds.map((kind) => counter(`${kind}_naks_sent`) + counter(`${kind}_naks_received`))),
  };
}

export const pathsOf = (program) => {
  const totals = totalsOf(program);
  return ['shm', 'udp', 'direct'].filter((path) => totals[path] > 0).join(' + ') || '–';
};

// A pid can be used again by another program.
const keyOf = (program) => `${program.pid} ${program.program}`;

// Per second, for each program of the later sample: { program, totals, rates }. Rates are null for
// a program that the earlier sample does not have; a counter never runs backwards.
export function programRates(before, now) {
  const earlier = new Map((before?.programs ?? []).map((one) => [keyOf(one), totalsOf(one)]));
  const seconds = before ? now.at - before.at : 0;
  return now.programs.map((program) => {
    const totals = totalsOf(program);
    const from = earlier.get(keyOf(program));
    const rates = from && seconds > 0
      ? Object.fromEntries(Object.keys(totals).map((name) =>
        [name, Math.max(0, totals[name] - from[name]) / seconds]))
      : null;
    return { program, totals, rates };
  });
}

// The rates of all programs together.
export function sumOfRates(rows) {
  const total = {};
  for (const { rates } of rows) {
    for (const [name, value] of Object.entries(rates ?? {})) total[name] = (total[name] ?? 0) + value;
  }
  return total;
}

// The last `most` points of some named lines over time.
export class History {
  constructor(names, most = 300) {
    this.names = names;
    this.most = most;
    this.times = [];
    this.lines = names.map(() => []);
  }

  add(time, values) {
    this.times.push(time);
    this.lines.forEach((line, i) => line.push(values[this.names[i]] ?? 0));
    if (this.times.length <= this.most) return;
    this.times.shift();
    this.lines.forEach((line) => line.shift());
  }
}
