#include "ai/staged_reduce.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace nerve::ai {
namespace {

Status finish_reads_of(const Memory& memory) {
  return memory.gpu != nullptr ? memory.gpu->finish_reads() : Done{};
}
Status finish_writes_of(const Memory& memory) {
  return memory.gpu != nullptr ? memory.gpu->finish_writes() : Done{};
}

// Three blocks are in use at a time: one is read, one is reduced, one is written.
template <class BeginRead, class Reduce, class BeginWrite>
Status run_pipeline(std::size_t blocks, const Memory& in, const Memory& out, BeginRead begin_read,
                    Reduce reduce, BeginWrite begin_write) {
  if (Status begun = begin_read(0); !begun) return begun;
  for (std::size_t i = 0; i < blocks; ++i) {
    if (Status here = finish_reads_of(in); !here) return here;
    if (Status away = finish_writes_of(out); !away) return away;
    if (i + 1 < blocks) {
      if (Status begun = begin_read(i + 1); !begun) return begun;
    }
    if (i > 0) {
      if (Status begun = begin_write(i - 1); !begun) return begun;
    }
    if (Status reduced = reduce(i); !reduced) return reduced;
  }
  return begin_write(blocks - 1);
}

// No copy is under way when a call returns, also if it failed.
Status settled(Status result, const Memory& in, const Memory& out) {
  Status read = finish_reads_of(in);
  Status written = finish_writes_of(out);
  if (!result) return result;
  return read ? written : read;
}

}  // namespace

Staging::~Staging() {
  if (registration_ != nullptr) cache_.remove_buffer(registration_);
  if (memory_ == nullptr) return;
  pinned_by_->unpin(memory_);
  ::munmap(memory_, kBlock * kBlocks);
}

Status Staging::open(Gpu& gpu) {
  if (registration_ != nullptr) return Done{};
  const std::size_t bytes = kBlock * kBlocks;
  if (memory_ == nullptr) {
    void* mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      return failure(Error::Kind::kSystem, "cannot allocate " + std::to_string(bytes) +
                                               " bytes: " + std::strerror(errno));
    }
    // In the child of a fork, copy-on-write would separate the process from the GPU.
    (void)::madvise(mapped, bytes, MADV_DONTFORK);
    memory_ = static_cast<std::byte*>(mapped);
    pinned_by_ = &gpu;
    gpu.pin(memory_, bytes);
  }
  auto registered = cache_.add_buffer(host_memory(memory_), bytes, Lifetime::kFixed);
  if (!registered) return passed_on(registered);
  registration_ = *registered;
  return Done{};
}

Status staged_all_reduce(const Collective& c, Staging& staging, const Memory& data,
                         std::size_t count, Reduction how, Algorithm algorithm) {
  if (count == 0 || c.size() == 1) return Done{};
  const std::size_t element = how.element();
  const std::size_t block = Staging::kBlock / element;
  const auto part = [&](std::size_t index) { return data.at(index * block * element); };
  const auto length = [&](std::size_t index) { return std::min(block, count - index * block); };
  const auto begin_read = [&](std::size_t index) {
    return begin_copy(host_memory(staging.block(index)), part(index), length(index) * element);
  };
  const auto reduce = [&](std::size_t index) {
    return all_reduce(c, staging.block(index), length(index), how, algorithm);
  };
  const auto begin_write = [&](std::size_t index) {
    return begin_copy(part(index), host_memory(staging.block(index)), length(index) * element);
  };
  const std::size_t blocks = (count + block - 1) / block;
  return settled(run_pipeline(blocks, data, data, begin_read, reduce, begin_write), data, data);
}

// A block has the same elements of every rank's part, then room for the result.
Status staged_reduce_scatter(const Collective& c, Staging& staging, const Memory& in,
                             const Memory& out, std::size_t count, Reduction how) {
  if (count == 0) return Done{};
  const std::size_t element = how.element();
  const auto ranks = static_cast<std::size_t>(c.size());
  const std::size_t block = Staging::kBlock / (ranks + 1) / element;
  const auto length = [&](std::size_t index) { return std::min(block, count - index * block); };
  const auto result = [&](std::size_t index) {
    return staging.block(index) + ranks * length(index) * element;
  };
  const auto begin_read = [&](std::size_t index) -> Status {
    const std::size_t bytes = length(index) * element;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      Status begun = begin_copy(host_memory(staging.block(index) + rank * bytes),
                                in.at((rank * count + index * block) * element), bytes);
      if (!begun) return begun;
    }
    return Done{};
  };
  const auto reduce = [&](std::size_t index) {
    return reduce_scatter(c, staging.block(index), result(index), length(index), how);
  };
  const auto begin_write = [&](std::size_t index) {
    return begin_copy(out.at(index * block * element), host_memory(result(index)),
                      length(index) * element);
  };
  const std::size_t blocks = (count + block - 1) / block;
  return settled(run_pipeline(blocks, in, out, begin_read, reduce, begin_write), in, out);
}

}  // namespace nerve::ai
