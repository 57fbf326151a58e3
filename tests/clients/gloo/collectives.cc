// Collectives of Gloo over one of its transports, one process for each rank, every result compared
// with the expected one.
//
//   collectives ibverbs|tcp DEVICE RANK RANKS FOLDER [COUNT...]
//
// DEVICE is an RDMA device or, for tcp, a network interface; FOLDER is where the ranks find each
// other (Gloo's FileStore), new for each run. Prints a line for each collective and count of
// elements: its name, the bytes, and the microseconds that one run of it took at this rank. Ends
// with "all right", or with status 1 at the first element that is wrong.
//
// Gloo's ibverbs transport has eight buffers between two ranks, so each collective has its own
// context. It does not allow a buffer to be destroyed before its sends are acknowledged, and most
// collectives do not wait for that: so the ranks synchronise before they leave a context.
#include <gloo/allgather_ring.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/barrier_all_to_one.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/ibverbs/device.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Sums of these are integers below 2^24 in any order: there is exactly one right result.
using Element = float;
using Elements = std::vector<Element>;
constexpr int kModulus = 8191;
constexpr int kRuns = 5;

Element element_of(int rank, std::size_t at, int run) {
  return static_cast<Element>((static_cast<std::size_t>(rank) * 131 + at * 7 + run * 17) %
                              kModulus);
}

Elements elements_of(int rank, std::size_t count, int run) {
  Elements elements(count);
  for (std::size_t at = 0; at < count; ++at) elements[at] = element_of(rank, at, run);
  return elements;
}

// The sum over ranks 0 to ranks - 1.
Elements sum_of(int ranks, std::size_t count, int run) {
  Elements sum(count);
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::size_t at = 0; at < count; ++at) sum[at] += element_of(rank, at, run);
  }
  return sum;
}

class World {
 public:
  World(std::shared_ptr<gloo::transport::Device> device, int rank, int ranks, std::string folder)
      : rank{rank}, ranks{ranks}, device_{std::move(device)}, store_{std::move(folder)} {
    between_ = std::make_unique<gloo::BarrierAllToAll>(connect("between"));
  }
  ~World() = delete;  // see main
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // A collective reads from our memory and writes into a peer's until all ranks are done with it.
  void line_up() { between_->run(); }

  std::shared_ptr<gloo::Context> connect(const std::string& name) {
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    gloo::rendezvous::PrefixStore store{name, store_};
    context->connectFullMesh(store, device_);
    contexts_.push_back(context);
    return context;
  }

  // No rank exits before all are done, or the others would see it as a failure.
  void part() {
    take_leave(*contexts_.front());
    std::vector<std::string> all;
    for (int one = 0; one < ranks; ++one) all.push_back("done" + std::to_string(one));
    store_.set(all[static_cast<std::size_t>(rank)], {'1'});
    store_.wait(all);
  }

  // Returns when each peer has received everything sent to it in this context, and we everything
  // from them.
  void take_leave(gloo::Context& context) const {
    std::vector<char> said(static_cast<std::size_t>(ranks));
    std::vector<char> heard(static_cast<std::size_t>(ranks));
    std::vector<std::unique_ptr<gloo::transport::Buffer>> to;
    std::vector<std::unique_ptr<gloo::transport::Buffer>> from;
    const int slot = static_cast<int>(context.nextSlot());
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      const auto& pair = context.getPair(peer);
      to.push_back(pair->createSendBuffer(slot, &said[static_cast<std::size_t>(peer)], 1));
      from.push_back(pair->createRecvBuffer(slot, &heard[static_cast<std::size_t>(peer)], 1));
    }
    for (const auto& buffer : to) buffer->send();
    for (const auto& buffer : from) buffer->waitRecv();
    for (const auto& buffer : to) buffer->waitSend();
  }

  const int rank;
  const int ranks;

 private:
  std::shared_ptr<gloo::transport::Device> device_;
  gloo::rendezvous::FileStore store_;
  // Kept until the end: a peer may still wait for an acknowledgement.
  std::vector<std::shared_ptr<gloo::Context>> contexts_;
  std::unique_ptr<gloo::Algorithm> between_;
};

// Fills `work` before each run and compares it with `expected` after it.
struct Trial {
  Elements& work;
  std::function<Elements(int run)> before;
  std::function<Elements(int run)> expected;
};

bool right(const Trial& trial, int run) {
  const Elements wanted = trial.expected(run);
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    if (trial.work[at] == wanted[at]) continue;
    std::printf("run %d: element %zu is %.0f and should be %.0f\n", run, at,
                static_cast<double>(trial.work[at]), static_cast<double>(wanted[at]));
    return false;
  }
  return true;
}

bool measure(World& world, gloo::Context& context, const std::string& name, std::size_t count,
             gloo::Algorithm& algorithm, const Trial& trial) {
  std::chrono::nanoseconds spent{};
  for (int run = 0; run < kRuns; ++run) {
    world.line_up();  // all have received our data, so it may be overwritten
    std::ranges::copy(trial.before(run), trial.work.begin());
    world.line_up();  // all are ready to be written to
    const auto start = std::chrono::steady_clock::now();
    algorithm.run();
    if (run > 0) spent += std::chrono::steady_clock::now() - start;  // the first run is a warm-up
    if (!right(trial, run)) return false;
  }
  world.take_leave(context);
  std::printf("%s %zu %.0f us\n", name.c_str(), count * sizeof(Element),
              std::chrono::duration<double, std::micro>(spent).count() / (kRuns - 1));
  return true;
}

template <template <class> class Allreduce>
bool allreduce(World& world, const std::string& name, std::size_t count) {
  const auto context = world.connect(name + std::to_string(count));
  Elements work(count);
  Allreduce<Element> algorithm{context, {work.data()}, static_cast<int>(count)};
  return measure(world, *context, name, count, algorithm,
                 {.work = work,
                  .before = [&](int run) { return elements_of(world.rank, count, run); },
                  .expected = [&](int run) { return sum_of(world.ranks, count, run); }});
}

bool broadcast(World& world, std::size_t count) {
  const auto context = world.connect("broadcast" + std::to_string(count));
  const int root = world.ranks - 1;
  Elements work(count);
  gloo::BroadcastOneToAll<Element> algorithm{context, {work.data()}, count, root};
  return measure(world, *context, "broadcast_one_to_all", count, algorithm,
                 {.work = work,
                  .before = [&](int run) { return elements_of(world.rank, count, run); },
                  .expected = [&](int run) { return elements_of(root, count, run); }});
}

bool allgather(World& world, std::size_t count) {
  const auto context = world.connect("allgather" + std::to_string(count));
  Elements mine(count);
  Elements work(count * static_cast<std::size_t>(world.ranks));
  gloo::AllgatherRing<Element> algorithm{
      context, {mine.data()}, work.data(), static_cast<int>(count)};
  const auto before = [&](int run) {
    std::ranges::copy(elements_of(world.rank, count, run), mine.begin());
    return Elements(work.size(), -1);
  };
  const auto expected = [&](int run) {
    Elements all;
    for (int rank = 0; rank < world.ranks; ++rank) {
      const Elements one = elements_of(rank, count, run);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  };
  return measure(world, *context, "allgather_ring", count, algorithm,
                 {.work = work, .before = before, .expected = expected});
}

template <class Barrier>
bool barrier(World& world, const std::string& name) {
  const auto context = world.connect(name);
  Barrier algorithm{context};
  Elements none;
  const auto nothing = [](int) { return Elements{}; };
  return measure(world, *context, name, 0, algorithm,
                 {.work = none, .before = nothing, .expected = nothing});
}

bool run_all(World& world, const std::vector<std::size_t>& counts) {
  if (!barrier<gloo::BarrierAllToAll>(world, "barrier_all_to_all")) return false;
  if (!barrier<gloo::BarrierAllToOne>(world, "barrier_all_to_one")) return false;
  for (const std::size_t count : counts) {
    if (!allreduce<gloo::AllreduceRing>(world, "allreduce_ring", count)) return false;
    if (!allreduce<gloo::AllreduceRingChunked>(world, "allreduce_ring_chunked", count))
      return false;
    if (!allreduce<gloo::AllreduceHalvingDoubling>(world, "allreduce_halving_doubling", count)) {
      return false;
    }
    // With fewer elements than ranks this one modifies data that it is still sending.
    if (count >= static_cast<std::size_t>(world.ranks) &&
        !allreduce<gloo::AllreduceBcube>(world, "allreduce_bcube", count)) {
      return false;
    }
    if (!broadcast(world, count) || !allgather(world, count)) return false;
  }
  return true;
}

std::shared_ptr<gloo::transport::Device> device_of(std::string_view transport,
                                                   const std::string& name) {
  if (transport == "ibverbs") {
    return gloo::transport::ibverbs::CreateDevice({.name = name, .port = 1, .index = 0});
  }
  gloo::transport::tcp::attr attr;
  attr.iface = name;
  return gloo::transport::tcp::CreateDevice(attr);
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that the lines are there after a hang, too
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 6) {
    std::fprintf(stderr, "usage: collectives ibverbs|tcp DEVICE RANK RANKS FOLDER [COUNT...]\n");
    return 2;
  }
  try {
    std::vector<std::size_t> counts;
    for (std::size_t at = 6; at < words.size(); ++at) counts.push_back(std::stoul(words[at]));
    // Never destroyed: Gloo's thread may still handle an event of a pair meanwhile.
    World& world = *new World{device_of(words[1], words[2]), std::stoi(words[3]),
                              std::stoi(words[4]), words[5]};
    if (!run_all(world, counts)) return 1;
    world.part();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::printf("all right\n");
  return 0;
}
