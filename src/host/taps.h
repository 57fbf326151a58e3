// The taps that a configuration asks for, between the engines of this process and its links.
//
//    engines -> fault -> capture -> link        link -> capture -> engine
//
// The capture stands next to the link and shows what really left, damage included. Without taps
// egress() is the link itself, and nothing is in the way.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "host/config.h"
#include "link/tap/fault_tap.h"
#include "link/tap/pcap_tap.h"

namespace nerve::host {

class Taps {
 public:
  // `link` must outlive the taps. What cannot be had (a file that cannot be opened) is told in
  // problem() and left out.
  Taps(const Config& config, link::Egress& link, link::PcapSink::IsLocal is_local);

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] link::Egress& egress() const { return *egress_; }
  // A sink that captures what it delivers to `engine`; null when nothing is captured.
  [[nodiscard]] std::unique_ptr<link::FrameSink> capture(link::FrameSink& engine) const;

  // Held-back packets have deadlines as engines do.
  [[nodiscard]] std::optional<Time> next_deadline() const;
  void expire(Time now);

  // When idle, and at the end: what was captured reaches the file.
  void flush();

  [[nodiscard]] const link::FaultCounters* faults() const;
  [[nodiscard]] const link::PcapFile* file() const { return file_.get(); }

 private:
  std::string problem_;
  link::Egress* egress_;
  link::PcapSink::IsLocal is_local_;
  link::PcapDirection direction_;
  std::shared_ptr<link::PcapFile> file_;
  std::optional<link::PcapEgress> captured_;
  std::optional<link::FaultTap> faulty_;
};

// For `nerve run`, before the program starts: empties the capture of an earlier run, unless a
// living process writes to it. Empty when all is well, else what is wrong.
[[nodiscard]] std::string start_capture(const std::string& file);

}  // namespace nerve::host
