// All-reduces of Gloo: one rank of `./nerve bench ai`.
//
//   nerve_ai_gloo ibverbs|tcp DEVICE RANK RANKS FOLDER MILLISECONDS BYTES...
//
// For each size the fastest of its algorithms: ring, chunked ring, halving and doubling. Prints
// "BYTES MICROSECONDS" for each size.
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/ibverbs/device.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "bench/ai/batches.h"

namespace {

struct World {
  std::shared_ptr<gloo::transport::Device> device;
  int rank;
  int ranks;
  gloo::rendezvous::FileStore store;
  std::vector<std::shared_ptr<gloo::Context>> contexts{};

  // Kept to the end: peers may still wait for its acknowledgements.
  std::shared_ptr<gloo::Context> connect(const std::string& name) {
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    gloo::rendezvous::PrefixStore prefixed{name, store};
    context->connectFullMesh(prefixed, device);
    contexts.push_back(context);
    return context;
  }
};

template <template <class> class Allreduce>
double measure(World& world, const std::string& name, std::size_t bytes, double milliseconds) {
  // Never destroyed, for the same reason.
  auto& data = *new std::vector<float>(bytes / sizeof(float), 1.0F);
  auto& most = *new std::vector<double>(1);
  const std::string key = name + std::to_string(bytes);
  const int count = static_cast<int>(data.size());
  auto* algorithm = new Allreduce<float>{
      world.connect(key), {data.data()}, count, gloo::ReductionFunction<float>::max};
  auto* largest = new gloo::AllreduceRing<double>{
      world.connect(key + "m"), {most.data()}, 1, gloo::ReductionFunction<double>::max};
  return bench_ai::Batches{milliseconds}.measure([&] { algorithm->run(); },
                                                 [&](double value) {
                                                   most[0] = value;
                                                   largest->run();
                                                   return most[0];
                                                 });
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 8) return 2;
  try {
    std::shared_ptr<gloo::transport::Device> device;
    if (words[1] == "ibverbs") {
      device = gloo::transport::ibverbs::CreateDevice({.name = words[2], .port = 1, .index = 0});
    } else {
      gloo::transport::tcp::attr attr;
      attr.iface = words[2];
      device = gloo::transport::tcp::CreateDevice(attr);
    }
    World& world = *new World{std::move(device), std::stoi(words[3]), std::stoi(words[4]),
                              gloo::rendezvous::FileStore{words[5]}};
    const double milliseconds = std::stod(words[6]) / 3;
    for (std::size_t i = 7; i < words.size(); ++i) {
      const std::size_t bytes = std::stoul(words[i]);
      double best = measure<gloo::AllreduceRing>(world, "r", bytes, milliseconds);
      best = std::min(best, measure<gloo::AllreduceRingChunked>(world, "c", bytes, milliseconds));
      best =
          std::min(best, measure<gloo::AllreduceHalvingDoubling>(world, "h", bytes, milliseconds));
      if (world.rank == 0) std::printf("%zu %.2f\n", bytes, best);
      std::fflush(stdout);
    }
    const std::string mine = "done" + std::to_string(world.rank);
    world.store.set(mine, {'1'});
    std::vector<std::string> all;
    for (int rank = 0; rank < world.ranks; ++rank) all.push_back("done" + std::to_string(rank));
    world.store.wait(all);
    std::_Exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
