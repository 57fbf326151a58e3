// One end of a reliable connection between two machines: a QP, memory, and a TCP connection over
// which the two programs agree. Nothing but public verbs, so that it runs on any RDMA device.
//
// Whatever goes wrong ends the program with a line that says what: it is a test's tool.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace compare {

inline constexpr std::size_t kMemory = 1U << 20U;

[[noreturn]] void fail(const std::string& what);

struct Options {
  std::string device;
  std::string port{"18515"};
  int gid_index{};
  int mtu{1024};
  bool fences{true};
  std::string server;  // its address, at the client; empty at the server
};

// What an end tells the other about itself.
struct Card {
  std::uint32_t qpn{};
  std::uint32_t psn{};
  ibv_gid gid{};
  std::uint64_t address{};
  std::uint32_t rkey{};
};

class Endpoint {
 public:
  explicit Endpoint(const Options& options);

  // A new QP at each end, connected to the other: after an error the old one is of no use.
  void connect();

  // Both ends arrive here before either goes on; whether both were content.
  bool meet(bool content = true) const;

  [[nodiscard]] std::uint64_t at(std::size_t offset) const;
  [[nodiscard]] std::uint64_t remote(std::size_t offset) const { return peer_.address + offset; }
  [[nodiscard]] std::byte* memory(std::size_t offset = 0) { return memory_.data() + offset; }
  [[nodiscard]] std::uint32_t peer_key() const { return peer_.rkey; }

  void post_receive(std::size_t offset, std::uint32_t length);
  // One request, signalled, from or into `length` bytes at `offset`; the rest is `request`'s own.
  void post(ibv_send_wr request, std::size_t offset, std::uint32_t length);
  // The next completion, whatever it says.
  [[nodiscard]] ibv_wc completion() const;
  // The next completion, which has to be a good one of this kind.
  ibv_wc expect(ibv_wc_opcode opcode) const;

 private:
  void open_device();
  void open_connection();
  void make_qp();
  void modify(int mask, ibv_qp_attr attributes) const;
  void tell(const void* bytes, std::size_t length) const;
  void hear(void* bytes, std::size_t length) const;

  Options options_;
  std::vector<std::byte> memory_;
  ibv_context* context_{};
  ibv_pd* pd_{};
  ibv_cq* cq_{};
  ibv_mr* mr_{};
  ibv_qp* qp_{};
  Card own_{};
  Card peer_{};
  int connection_{-1};
};

}  // namespace compare
