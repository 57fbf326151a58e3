// A part of the simulation: some switches and NICs with their events. One thread runs it for a
// window of time; between windows it takes in what other parts have sent, and hands out what its
// NICs have to report.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/core/nic_user.h"
#include "sim/fabric/fabric.h"

namespace nerve::sim {

// A callback of NicUser that waits until the programs run.
struct NicReport {
  enum class Kind : std::uint8_t { kReceived, kSent, kFailed };
  Time when{};
  std::uint64_t message{};  // kSent
  std::string_view why;     // kFailed; a literal
  NodeId nic{};
  QpNumber qp{};              // kReceived, kFailed
  std::uint32_t immediate{};  // kReceived
  Kind kind{};

  void tell(NicUser& user) const;
};

class alignas(128) Part final : public NicUser {  // no two threads write to one cache line
 public:
  FabricPart fabric;

  [[nodiscard]] Clockwork& clockwork() { return fabric.clockwork; }

  // One window: begin, take_from() every part that has sent something, run the events, end.
  // Outboxes alternate: what leaves in one window goes into one set of them, and is taken from
  // there in the next.
  void set_parts(std::size_t count);
  void begin(unsigned set);
  // True if there was something.
  bool take_from(Part& other, std::size_t own_number, unsigned set) {
    return other.outboxes_[set][own_number].empty_into(fabric.clockwork);
  }
  void end();
  // What has left for a part of another process.
  [[nodiscard]] Outbox& outbox(std::size_t to, unsigned set) { return outboxes_[set][to]; }
  // What has come from there. It is not empty.
  void take(Outbox& arrivals);
  // An event was added between windows.
  void expect(Time when) { outcome_.here = std::min(outcome_.here, when); }
  // In place of end(), if nothing was taken and nothing happens in the window.
  void end_idle() { outcome_.elsewhere = FabricPart::kNever; }

  // As of end(). What the thread that runs the windows reads of each part is in one cache line.
  [[nodiscard]] Time next_here() const { return outcome_.here; }
  [[nodiscard]] Time next() const { return std::min(outcome_.here, outcome_.elsewhere); }
  [[nodiscard]] bool has_sent() const { return outcome_.elsewhere != FabricPart::kNever; }
  [[nodiscard]] std::uint64_t executed() const { return outcome_.executed; }
  // What has been reported since the last call.
  void collect(std::vector<NicReport>& into);
  [[nodiscard]] bool is_idle() const;  // nothing is left to happen, also since end()

  // A message that a NIC gets at this time.
  void post_at(Time when, NodeId nic, const NicMessage& message);
  [[nodiscard]] NicMessage take_post(std::uint32_t number);
  // A message that cannot be sent.
  void lose(NodeId nic, QpNumber qp) { failed(nic, qp, "the connection is in error"); }

 private:
  void received(NodeId at, QpNumber qp, std::uint32_t immediate) override;
  void sent(NodeId from, std::uint64_t message) override;
  void failed(NodeId at, QpNumber qp, std::string_view why) override;

  struct alignas(128) Outcome {
    Time here{FabricPart::kNever};       // the next event here
    Time elsewhere{FabricPart::kNever};  // the first that was sent to other parts
    std::uint64_t executed{};
    bool has_reports{};
  };

  std::array<std::vector<Outbox>, 2> outboxes_;  // per part
  std::vector<NicReport> reports_;
  std::vector<NicMessage> posts_;
  std::vector<std::uint32_t> free_posts_;
  Outcome outcome_;
};

}  // namespace nerve::sim
