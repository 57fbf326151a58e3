// Samples for the tests of what is made from them.
#pragma once

#include <string>

#include "cli/sample.h"

namespace nerve::test {

inline host::ProcessReport process_report(pid_t pid, const std::string& text) {
  host::ProcessReport report;
  report.pid = pid;
  report.answered = true;
  host::read_report(text, report);
  return report;
}

inline host::ProcessRecord process_record(pid_t pid, const std::string& program) {
  host::ProcessRecord record;
  record.pid = pid;
  record.program = program;
  record.alive = true;
  return record;
}

// A sender over shared memory with one QP, a receiver, and one that is stopped.
inline cli::Sample busy_sample(double at = 1) {
  cli::Sample sample;
  sample.at = std::chrono::duration<double>{at};
  sample.processes.push_back(process_report(
      11,
      "program sender\nqps 1\npeers 1\nlowest_rate 2500000000\nshm_bytes_sent 1000000\n"
      "direct_bytes 500000\nshm_packets_sent 300\ndirect_times 5\npackets_sent 300\n"
      "retransmitted 4\ntimeouts 2\nrnr_naks_received 1\nselective_naks_sent 2\n"
      "qp nerve0 4660 RC RTS 4661 10.0.0.7 shm 2500000000\n"));
  sample.processes.push_back(process_report(
      12,
      "program receiver\nqps 2\npeers 1\nbytes_received 1000000\nqp nerve0 9 UD RTS 0 - - 0\n"));
  host::ProcessReport stopped;
  stopped.pid = 13;
  stopped.program = "stopped";
  sample.processes.push_back(stopped);
  return sample;
}

}  // namespace nerve::test
