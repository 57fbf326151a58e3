// One engine with one of everything that a QP needs, and two of them joined by memory.
//
// A test tells its story through the door (nic/nic.h) and reads here what came of it: frames that
// crossed, completions, events. Time stands still unless the story lets it pass.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nic/nic.h"

namespace nerve::test {

// What a call said: "done", or the code and the reason of its refusal.
[[nodiscard]] std::string said(const nic::Error& error);
template <class T>
[[nodiscard]] std::string said(const nic::Expected<T>& result) {
  return result ? "done" : said(result.error());
}

struct EndSetup {
  nic::NicConfig config{};
  nic::QpType type{nic::QpType::kRc};
  nic::QpCaps caps{
      .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4, .max_inline = 64};
  std::uint32_t cq_depth{64};
  nic::Mtu mtu{nic::Mtu::k1024};
  bool srq{};
  bool ipv6{};
};

struct End {
  End(std::uint8_t number, const EndSetup& setup);

  // Another QP like the first, in RESET.
  [[nodiscard]] nic::QpHandle make_qp();
  // One step of the state machine with exactly the attributes that it must carry.
  void step(nic::QpState to);
  // RESET to `to`, through every state between; ERR goes by way of RTS.
  void bring_to(nic::QpState to);
  [[nodiscard]] nic::QpState state() const { return nic.query_qp(qp)->state; }
  [[nodiscard]] Qpn qpn() const { return nic.query_qp(qp)->qpn; }

  [[nodiscard]] std::uint64_t at(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t>(memory.data()) + offset;
  }
  [[nodiscard]] nic::Sge sge(std::size_t offset, std::uint32_t length) const {
    return {at(offset), length, keys.lkey};
  }
  void fill(std::size_t offset, std::size_t length, std::uint8_t seed);
  [[nodiscard]] std::vector<std::byte> bytes(std::size_t offset, std::size_t length) const;
  [[nodiscard]] std::uint64_t word(std::size_t offset) const;

  // Work of one scatter/gather entry; `wr` says the rest.
  nic::Status post(nic::SendWr wr, std::size_t offset, std::uint32_t length);
  nic::Status post_receive(std::uint64_t wr_id, std::size_t offset, std::uint32_t length);
  [[nodiscard]] std::vector<nic::Completion> completions();
  [[nodiscard]] std::vector<nic::EventKind> events();

  nic::Nic nic;
  EndSetup setup;
  wire::Gid gid;
  nic::PdHandle pd;
  nic::CqHandle cq;
  nic::SrqHandle srq;
  nic::QpHandle qp;
  nic::MrHandle mr;
  nic::MrKeys keys;
  std::vector<std::byte> memory;
  // What step() gives; a test changes what its story needs.
  nic::QpAttributes attributes{};
};

// A frame as it was seen crossing.
struct Seen {
  bool from_a{};
  wire::Flow flow{};
  wire::Headers headers{};
  std::uint32_t payload_length{};
  [[nodiscard]] wire::Operation operation() const { return wire::operation_of(headers.bth.opcode); }
};

class Pair {
 public:
  explicit Pair(const EndSetup& both = {});
  Pair(const EndSetup& of_a, const EndSetup& of_b);

  // Each knows the other; both reach RTS.
  void connect();
  // Until neither has anything to say. Frames for which `lose` says true go nowhere.
  void exchange();
  // Lets time pass, timers fire and frames cross.
  void wait(Duration time);

  End a;
  End b;
  Time now{Duration{1}};
  std::vector<Seen> seen;
  std::function<bool(const Seen&)> lose;

 private:
  bool carry(End& from, End& to);
  nic::TxBurst burst_{64};
};

[[nodiscard]] wire::Gid gid_of(std::uint8_t number, bool ipv6);

}  // namespace nerve::test
