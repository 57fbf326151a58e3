// The trace file of a shard: FOLDER/PID-SLOT.trace, mapped and shared (trace_layout.h).
//
// The file is sparse, and each megabyte of it is allocated before a record is written there: a full
// disk ends the trace, not the program.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/config/config.h"
#include "host/diagnostics/trace_layout.h"
#include "link/descriptor.h"
#include "link/tap/fault_tap.h"

namespace nerve::host {

class TraceFile {
 public:
  // Null, with a sentence in `problems`, if the file cannot be made.
  [[nodiscard]] static std::unique_ptr<TraceFile> make(const Config& config, std::uint32_t slot,
                                                       std::vector<std::string>& problems);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  [[nodiscard]] nic::Trace& trace() { return trace_; }
  void add(const Device& device);
  // Records the packets that fault injection drops.
  [[nodiscard]] link::FaultTap::OnLoss on_loss();

 private:
  TraceFile(link::Descriptor file, void* memory, std::uint64_t messages);
  std::uint64_t extend(std::uint64_t record);
  [[nodiscard]] nic::TraceRoom room();

  link::Descriptor file_;
  std::byte* memory_;
  std::mutex extending_;
  std::size_t allocated_{};  // bytes
  nic::Trace trace_;
};

}  // namespace nerve::host
