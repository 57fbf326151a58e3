// The jobs of all results in one list, with unique labels.
export function entries(results) {
  return results.flatMap((result) => result.jobs.map((job) => {
    let label = job.name;
    if (results.length > 1) {
      label = result.jobs.length > 1 ? `${result.label}: ${job.name}` : result.label;
    }
    return { result, job, label };
  }));
}
