// A group of processes ("ranks") that move tensors between each other: the interface of the
// library.
//
// Group::join() returns the group once all ranks have come; docs/ai-library.md has an example.
//
// A group is used by one thread at a time. Every call that waits ends with an error when a rank
// dies; the error names the rank, and later calls return it again.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ai/engine.h"
#include "ai/error.h"
#include "ai/rendezvous.h"
#include "ai/streams.h"
#include "ai/types.h"

namespace nerve::ai {

struct GroupOptions {
  int rank{};
  int size{1};
  std::string rendezvous{};        // tcp://host:port, rdma://host:port or file:///folder
  std::shared_ptr<Store> store{};  // instead of `rendezvous`
  std::string host{};  // the address of this host for the peers; empty: as the rendezvous knows it
  std::string transport{"rdma"};       // or tcp
  std::vector<std::string> devices{};  // of rdma; empty: all with an active port
  int qps_per_peer{1};                 // on each device; of tcp: connections
  std::chrono::milliseconds timeout{300'000};
  std::function<bool()> interrupted{};  // asked while waiting; true ends the wait
};

// Memory of this process that its peers may access. Registered until it is destroyed, which must
// happen before the group is.
class Buffer {
 public:
  Buffer(const Registration* memory, std::function<void()> remove)
      : memory_{memory}, remove_{std::move(remove)} {}
  Buffer(Buffer&& from) noexcept
      : memory_{from.memory_}, remove_{std::exchange(from.remove_, nullptr)} {}
  Buffer& operator=(Buffer&&) = delete;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (remove_) remove_();
  }

  [[nodiscard]] std::byte* data() const { return memory_->address; }
  [[nodiscard]] std::size_t size() const { return memory_->length; }
  // What a peer needs to access this buffer, to be sent there by any means.
  [[nodiscard]] std::string key() const;
  [[nodiscard]] const Registration& memory() const { return *memory_; }

 private:
  const Registration* memory_;
  std::function<void()> remove_;
};

struct RemoteBuffer {
  int rank{};
  std::uint64_t address{};
  std::uint64_t size{};
  Keys keys{};
  bool gpu{};
};

// A range of a buffer.
struct Slice {
  const Buffer* buffer;
  std::size_t offset;
  std::size_t length;
};
struct RemoteSlice {
  RemoteBuffer buffer;
  std::size_t offset;
};

struct Transfer {
  Counter counter;
  int rank{};
};

struct Collective;
class Staging;

// Memory is that of the process or of a GPU (CUDA). Work of the program that produces data on a GPU
// must have ended before a call; a call returns when its own copies have ended.
class Group {
 public:
  static Result<std::unique_ptr<Group>, Error> join(const GroupOptions& options);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

  [[nodiscard]] int rank() const { return engine_.rank(); }
  [[nodiscard]] int size() const { return engine_.size(); }
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] const Traffic& traffic() const;

  // --- one-sided transfers
  Result<Buffer, Error> add_buffer(void* address, std::size_t length);
  Result<RemoteBuffer, Error> remote_buffer(int peer, const std::string& key) const;
  // Writes to the peer. With `notify` the peer gets a notification with this tag, at most kMaxTag,
  // once all the data is there; it covers this put only.
  Result<Transfer, Error> put(Slice from, RemoteSlice to, std::optional<std::uint32_t> notify = {});
  Result<Transfer, Error> get(Slice to, RemoteSlice from);
  // Until the memory of a put may be changed, or the data of a get is there.
  Status wait(Transfer transfer);
  [[nodiscard]] bool done(Transfer transfer);
  Status notify(int peer, std::uint32_t tag);
  // Waits for one notification with this tag.
  Status wait_notify(int peer, std::uint32_t tag);

  // --- collectives: all ranks call them in the same order, with the same sizes
  Status all_reduce(void* data, std::size_t count, DataType type, ReduceOp op,
                    Algorithm algorithm = Algorithm::kAuto);
  Status reduce_scatter(const void* in, void* out, std::size_t count, DataType type, ReduceOp op);
  Status all_gather(const void* in, void* out, std::size_t bytes);
  Status broadcast(void* data, std::size_t bytes, int root);
  Status all_to_all(const void* in, void* out, std::size_t bytes);
  Status barrier();
  // Two ranks of the group: one sends, the other receives as many bytes. In the same order with
  // each other, and with the collectives, on both ranks. A long send waits for its receiver.
  Status send(const void* data, std::size_t bytes, int peer);
  Status receive(void* data, std::size_t bytes, int peer);

  // Leaves, once the peers have received what was sent. Waits up to two seconds for the peers to
  // leave as well. Later calls fail.
  void close();

 private:
  Group(Mesh mesh, const GroupOptions& options);
  Status connect(const GroupOptions& options, const Patience& patience);
  Status try_direct_copies(const Patience& patience);
  void flush();
  Collective collective();
  Status check_peer(int peer) const;
  static Status check_exists(const Registration& memory);
  Status after(Status status);
  // Staging memory for a reduction with this memory.
  Result<Staging*, Error> stage(const Memory& in, const Memory& out);
  Result<Transfer, Error> start(bool is_put, Slice local, const RemoteSlice& remote,
                                std::optional<std::uint32_t> notify);
  Status post_part(bool is_put, const Request& request, Counter counter);

  Gpus gpus_;
  Engine engine_;
  std::unique_ptr<Streams> streams_;
  std::unique_ptr<Staging> staging_;  // of reductions on GPUs
  bool shares_cpus_{};
  bool copies_directly_{};
  bool closed_{};
};

}  // namespace nerve::ai
