// One engine with one of every object that a QP needs, and two such engines connected in memory.
//
// A test uses the public interface (nic/nic.h) and reads the results here: frames, completions,
// events. Time advances only when the test says so.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nic/nic.h"
#include "tests/nic/joined_engines.h"

namespace nerve::test {

// The result of a call: "done", or the error code and reason.
[[nodiscard]] std::string said(const nic::Error& error);
template <class T>
[[nodiscard]] std::string said(const nic::Expected<T>& result) {
  return result ? "done" : said(result.error());
}

struct EndSetup {
  nic::NicConfig config{};
  nic::NicHooks hooks{};
  nic::QpType type{nic::QpType::kRc};
  nic::QpCaps caps{
      .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4, .max_inline = 64};
  std::uint32_t cq_depth{64};
  nic::Mtu mtu{nic::Mtu::k1024};
  bool srq{};
  bool ipv6{};
  bool plain{};
};

struct End {
  End(std::uint8_t number, const EndSetup& setup);

  // Another QP like the first, in RESET.
  [[nodiscard]] nic::QpHandle make_qp();
  // One transition with exactly its required attributes.
  void step(nic::QpState to);
  // From RESET to `to` through every state in between; ERR is reached through RTS.
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

  // Posts a request with one scatter/gather entry; `wr` supplies the rest.
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
  // The attributes that step() uses; a test may change them.
  nic::QpAttributes attributes{};
};

// Connects both QPs to each other and moves them to RTS.
void connect_ends(End& a, End& b);

// A frame as it was transmitted.
struct Seen {
  bool from_a{};
  wire::Flow flow{};
  wire::Headers headers{};
  std::uint32_t payload_length{};
  [[nodiscard]] wire::Operation operation() const { return wire::operation_of(headers.bth.opcode); }
};

class Pair : public JoinedEngines<Pair> {
 public:
  explicit Pair(const EndSetup& both = {});
  Pair(const EndSetup& of_a, const EndSetup& of_b);

  void connect() { connect_ends(a, b); }
  // Logs the frame; it is lost when `lose` returns true.
  bool passes(bool from_a, const wire::Frame& frame);

  End a;
  End b;
  std::vector<Seen> seen;
  std::function<bool(const Seen&)> lose;
};

[[nodiscard]] wire::Gid gid_of(std::uint8_t number, bool ipv6);

}  // namespace nerve::test
