// rdma_cm as a program sees it, by the distribution's librdmacm: identifiers, and events that are
// waited for, but not for ever.
#pragma once

#include <rdma/rdma_cma.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace bad_days {

// Says so on stderr, with errno, and ends the process.
[[noreturn]] void fail(const char* what);
void must(bool fine, const char* what);

struct Event {
  rdma_cm_event_type kind{};
  int status{};
  rdma_cm_id* id{};
  std::string said;  // its private data, up to the first zero
};

inline constexpr std::chrono::milliseconds kPatience{30'000};

class Channel {
 public:
  Channel();
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] rdma_event_channel* get() const { return channel_; }
  // Acknowledged already. Nothing when none came.
  [[nodiscard]] std::optional<Event> next(std::chrono::milliseconds patience = kPatience) const;
  // Fails unless it is the next.
  Event expect(rdma_cm_event_type kind) const;

  [[nodiscard]] rdma_cm_id* make(rdma_port_space space = RDMA_PS_TCP) const;
  // At 127.0.0.1 and any port, unless one is named.
  [[nodiscard]] rdma_cm_id* listen(int backlog = 0, std::uint16_t port = 0) const;
  // Up to the resolved route.
  [[nodiscard]] rdma_cm_id* resolve(std::uint16_t port) const;

 private:
  rdma_event_channel* channel_;
};

[[nodiscard]] sockaddr_in loopback(std::uint16_t port);
[[nodiscard]] std::uint16_t port_of(rdma_cm_id* id);
// For an identifier that has no QP of librdmacm's: its events are those of the CM alone.
[[nodiscard]] rdma_conn_param parameters(std::uint32_t qpn, const std::string& said = {});
// Another one each time, that no other process uses.
[[nodiscard]] std::uint32_t fresh_qpn();

[[nodiscard]] std::size_t open_descriptors();
[[nodiscard]] std::size_t resident_kilobytes();

// What the program can do, each with status 0 and a line of what it saw, or not at all.
void errors();
void rejections();
void forks();
void threads();
void churn(int times);
void flood(int requests);
void serve(const std::string& stage, const std::string& then);
void ask(const std::string& stage, const std::string& then, std::uint16_t port);

}  // namespace bad_days
