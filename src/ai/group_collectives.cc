// The collectives of a group: where their memory is, and what follows from that.
#include "ai/collectives.h"
#include "ai/group.h"
#include "ai/staged_reduce.h"

namespace nerve::ai {

Collective Group::collective() { return {engine_, *streams_, shares_cpus_, copies_directly_}; }

Result<Staging*, Error> Group::stage(const Memory& in, const Memory& out) {
  if (!staging_) staging_ = std::make_unique<Staging>(streams_->memory());
  Gpu& gpu = in.gpu != nullptr ? *in.gpu : *out.gpu;
  if (Status opened = staging_->open(gpu); !opened) return passed_on(opened);
  return staging_.get();
}

Status Group::all_reduce(void* data, std::size_t count, DataType type, ReduceOp op,
                         Algorithm algorithm) {
  if (engine_.failed()) return Unexpected{*engine_.failed()};
  const Reduction how{type, op};
  auto memory = gpus_.locate(data, count * how.element());
  if (!memory) return passed_on(memory);
  if (memory->gpu == nullptr) {
    return after(ai::all_reduce(collective(), memory->data, count, how, algorithm));
  }
  auto staging = stage(*memory, *memory);
  if (!staging) return passed_on(staging);
  return after(staged_all_reduce(collective(), **staging, *memory, count, how, algorithm));
}

Status Group::reduce_scatter(const void* in, void* out, std::size_t count, DataType type,
                             ReduceOp op) {
  if (engine_.failed()) return Unexpected{*engine_.failed()};
  const Reduction how{type, op};
  const std::size_t bytes = count * how.element();
  auto from = gpus_.locate(in, bytes * static_cast<std::size_t>(size()));
  if (!from) return passed_on(from);
  auto to = gpus_.locate(out, bytes);
  if (!to) return passed_on(to);
  if (from->gpu == nullptr && to->gpu == nullptr) {
    return after(ai::reduce_scatter(collective(), from->data, to->data, count, how));
  }
  auto staging = stage(*from, *to);
  if (!staging) return passed_on(staging);
  return after(staged_reduce_scatter(collective(), **staging, *from, *to, count, how));
}

Status Group::all_gather(const void* in, void* out, std::size_t bytes) {
  if (engine_.failed()) return Unexpected{*engine_.failed()};
  auto from = gpus_.locate(in, bytes);
  if (!from) return passed_on(from);
  auto to = gpus_.locate(out, bytes * static_cast<std::size_t>(size()));
  if (!to) return passed_on(to);
  return after(ai::all_gather(collective(), *from, *to, bytes));
}

Status Group::broadcast(void* data, std::size_t bytes, int root) {
  if (engine_.failed()) return Unexpected{*engine_.failed()};
  if (root < 0 || root >= size()) {
    return failure(Error::Kind::kUsage, "the root, rank " + std::to_string(root) +
                                            ", is not in a group of " + std::to_string(size()));
  }
  auto memory = gpus_.locate(data, bytes);
  if (!memory) return passed_on(memory);
  return after(ai::broadcast(collective(), *memory, bytes, root));
}

Status Group::all_to_all(const void* in, void* out, std::size_t bytes) {
  if (engine_.failed()) return Unexpected{*engine_.failed()};
  const std::size_t whole = bytes * static_cast<std::size_t>(size());
  auto from = gpus_.locate(in, whole);
  if (!from) return passed_on(from);
  auto to = gpus_.locate(out, whole);
  if (!to) return passed_on(to);
  return after(ai::all_to_all(collective(), *from, *to, bytes));
}

Status Group::send(const void* data, std::size_t bytes, int peer) {
  if (Status valid = check_peer(peer); !valid) return valid;
  auto memory = gpus_.locate(data, bytes);
  if (!memory) return passed_on(memory);
  return after(ai::send(collective(), *memory, bytes, peer));
}

Status Group::receive(void* data, std::size_t bytes, int peer) {
  if (Status valid = check_peer(peer); !valid) return valid;
  auto memory = gpus_.locate(data, bytes);
  if (!memory) return passed_on(memory);
  return after(ai::receive(collective(), *memory, bytes, peer));
}

Status Group::barrier() {
  if (engine_.failed()) return Unexpected{*engine_.failed()};
  return after(ai::barrier(collective()));
}

}  // namespace nerve::ai
