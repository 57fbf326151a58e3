// What carries the data of a group: RDMA verbs, or TCP sockets behind the same interface.
//
// A transport has one or more lanes to every peer. Puts on one lane arrive in order; there is no
// order between lanes. It is used by one thread at a time, and moves data only inside its calls;
// only RDMA serves gets and puts of a peer while this process is doing something else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ai/error.h"
#include "ai/gpu.h"
#include "ai/mesh.h"

namespace nerve::ai {

inline constexpr std::size_t kMaxDevices = 8;
inline constexpr int kMaxLanes = 16;
// Puts up to this length are copied when they are posted: their memory needs no registration.
inline constexpr std::size_t kInline = 64;

using Keys = std::array<std::uint32_t, kMaxDevices>;  // one for each device

// Memory that the transport can read from and, by its remote keys, that peers can access.
struct Registration {
  std::byte* address{};
  std::size_t length{};
  Keys local_keys{};
  Keys remote_keys{};
  std::array<void*, kMaxDevices> handles{};
  Gpu* gpu{};  // null: memory of the process
  std::uint64_t allocation{};

  [[nodiscard]] Memory memory() const { return {address, gpu, allocation}; }
  [[nodiscard]] bool contains(const void* start, std::size_t size) const {
    const auto* first = static_cast<const std::byte*>(start);
    return first >= address && size <= length &&
           static_cast<std::size_t>(first - address) <= length - size;
  }
};

enum class Lifetime {
  kFixed,      // stays mapped until it is removed
  kMayChange,  // the program may unmap it, and map other memory at the same address
};

struct Request {
  int peer{};
  int lane{};
  std::byte* local{};
  std::size_t length{};
  const Registration* registration{};  // of `local`; none is needed up to kInline bytes
  std::uint64_t remote{};
  Keys keys{};
  std::optional<std::uint32_t> immediate{};  // notifies the peer once the data is there
  std::uint64_t id{};                        // of the completion event; 0: none is needed
  bool bulk{};  // not in order with requests that are not; has an id and no immediate
  bool gpu{};   // the remote memory is a GPU's; that of `local` is known from its registration

  [[nodiscard]] Gpu* local_gpu() const { return registration ? registration->gpu : nullptr; }
  [[nodiscard]] bool uses_gpu() const { return gpu || local_gpu() != nullptr; }
};

struct Event {
  enum class Kind : std::uint8_t {
    kCompleted,  // of a put: `local` may be changed; of a get: the data is there
    kNotified,
    kFailed,     // the connection to `peer` is unusable; `text` says why
    kAbandoned,  // follows kFailed for each request that had not completed
  };
  Kind kind{};
  int peer{};
  int lane{};
  std::uint32_t immediate{};
  std::uint64_t id{};
  std::string text{};
  bool refused{};  // the peer is alive and did not accept a request
  bool local{};    // this rank's memory is the reason
};

struct Traffic {
  std::uint64_t bytes_put{};
  std::uint64_t bytes_got{};
  std::uint64_t messages{};
};

class Transport {
 public:
  virtual ~Transport() = default;

  [[nodiscard]] virtual int lanes() const = 0;
  [[nodiscard]] virtual std::string describe() const = 0;
  // What the peer needs to connect to this rank, and the connection with what the peer sent.
  virtual std::string address_for(int peer) = 0;
  virtual Status connect(int peer, const std::string& address) = 0;

  virtual Result<std::unique_ptr<Registration>, Error> add_memory(const Memory& memory,
                                                                  std::size_t length,
                                                                  Lifetime lifetime) = 0;
  virtual void remove_memory(Registration& memory) = 0;
  // Whether a registration stays right when the program unmaps its memory and maps other memory at
  // the same address, so that registrations can be kept. Of GPU memory none does.
  [[nodiscard]] virtual bool memory_may_change() const = 0;

  // Whether the lane accepts another request now. A lane that failed does, and drops it.
  [[nodiscard]] virtual bool has_room(int peer, int lane) const = 0;
  [[nodiscard]] virtual bool failed(int peer, int lane) const = 0;
  virtual Status put(const Request& request) = 0;
  virtual Status get(const Request& request) = 0;
  // Appends what has happened; returns without waiting.
  virtual void progress(std::vector<Event>& events) = 0;
  // Nothing has happened for a while: may wait up to a millisecond for something to happen.
  virtual void rest() = 0;
  // Ranks share CPUs: one that waits must not keep its CPU.
  virtual void share_cpus() {}
  // It was found to copy directly between memory of this process and of the peer's.
  virtual void set_direct(int /*peer*/) {}
  // Whether it may copy directly between the memories of two processes.
  [[nodiscard]] virtual bool may_copy_directly() const = 0;

  [[nodiscard]] const Traffic& traffic() const { return traffic_; }

 protected:
  Traffic traffic_;
};

struct TransportOptions {
  std::vector<std::string> devices;  // of RDMA; empty: all with an active port
  int qps_per_peer{1};
};

Result<std::unique_ptr<Transport>, Error> open_verbs_transport(Place place,
                                                               const TransportOptions& options);
// Uses the links of the mesh after the first.
std::unique_ptr<Transport> open_tcp_transport(Mesh& mesh, int lanes);

}  // namespace nerve::ai
