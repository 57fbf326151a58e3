// What a trial of --explain has shown, in words.

export function outcome(trial, share) {
  if (trial.error) return `cannot run: ${trial.error}`;
  if (!trial.done) return 'does not finish';
  if (Math.abs(trial.takesAway) < 0.005) return 'changes nothing';
  return `${trial.takesAway < 0 ? 'adds' : 'takes away'} ${share(Math.abs(trial.takesAway))}`;
}
