// Goal: put, get and notify move the right bytes, over both transports and several lanes, and a
// request that the peer did not allow is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/ai/ranks.h"

namespace ai_test {
namespace {

using nerve::ai::Error;
using Bytes = std::vector<std::byte>;

Bytes pattern(int rank, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((i * 13 + static_cast<std::size_t>(rank) * 101) & 0xff);
  }
  return bytes;
}

// The keys of all ranks' buffers, in the order of ranks.
std::vector<std::string> share(Group& group, const std::string& key) {
  std::string all(key.size() * static_cast<std::size_t>(group.size()), '\0');
  if (!group.all_gather(key.data(), all.data(), key.size())) return {};
  std::vector<std::string> keys;
  for (std::size_t at = 0; at < all.size(); at += key.size()) {
    keys.push_back(all.substr(at, key.size()));
  }
  return keys;
}

std::string put_and_get(Group& group) {
  constexpr std::size_t kSize = 3'000'001;
  const int peer = 1 - group.rank();
  Bytes mine = pattern(group.rank(), kSize);
  Bytes inbox(kSize);
  auto source = group.add_buffer(mine.data(), mine.size());
  auto target = group.add_buffer(inbox.data(), inbox.size());
  if (!source || !target) return "cannot register";
  const auto source_keys = share(group, source->key());
  const auto target_keys = share(group, target->key());
  auto there = group.remote_buffer(peer, target_keys[static_cast<std::size_t>(peer)]);
  auto from = group.remote_buffer(peer, source_keys[static_cast<std::size_t>(peer)]);
  if (!there || !from) return "no remote buffer";

  for (const std::size_t length : {1UL, 64UL, 65UL, 5000UL, 70'000UL, kSize}) {
    auto put = group.put({&*source, 0, length}, {*there, 0}, 7);
    if (!put) return put.error().text;
    if (auto done = group.wait(*put); !done) return done.error().text;
    if (auto came = group.wait_notify(peer, 7); !came) return came.error().text;
    const Bytes wanted = pattern(peer, length);
    if (std::memcmp(inbox.data(), wanted.data(), length) != 0) {
      return "wrong data after a put of " + std::to_string(length);
    }
    if (!group.notify(peer, 8) || !group.wait_notify(peer, 8)) return "no notification";
  }
  std::ranges::fill(inbox, std::byte{});
  auto get = group.get({&*target, 100, 200'000}, {*from, 50});
  if (!get) return get.error().text;
  if (auto done = group.wait(*get); !done) return done.error().text;
  const Bytes wanted = pattern(peer, kSize);
  if (std::memcmp(inbox.data() + 100, wanted.data() + 50, 200'000) != 0) return "wrong data: get";
  if (auto all = group.barrier(); !all) return all.error().text;
  return "";
}

std::string misuse(Group& group) {
  Bytes memory(4096);
  auto buffer = group.add_buffer(memory.data(), memory.size());
  const auto keys = share(group, buffer->key());
  const int peer = 1 - group.rank();
  const auto remote = group.remote_buffer(peer, keys[static_cast<std::size_t>(peer)]);
  if (group.put({&*buffer, 0, 4097}, {*remote, 0})) return "a put beyond the buffer was accepted";
  if (group.put({&*buffer, 0, 10}, {*remote, 4090})) return "a put beyond the peer's was accepted";
  if (group.remote_buffer(peer, "nonsense")) return "an invalid key was accepted";
  if (group.remote_buffer(7, keys[0])) return "rank 7 of 2 was accepted";
  if (group.notify(peer, 1U << 24)) return "a tag of 25 bits was accepted";
  auto all = group.barrier();
  return all ? "" : all.error().text;
}

// Rank 0 writes past the end of rank 1's buffer, with a size that it made up.
std::string forge(Group& group) {
  Bytes memory(8192);
  auto buffer = group.add_buffer(memory.data(), memory.size() / 2);
  const auto keys = share(group, buffer->key());
  if (group.rank() == 1) {
    const auto end = group.wait_notify(0, 1);
    return end ? "the forged put was delivered" : "";
  }
  auto remote = *group.remote_buffer(1, keys[1]);
  remote.size += 4096;
  auto put = group.put({&*buffer, 0, 4096}, {remote, 4096}, 1);
  if (put) (void)group.wait(*put);
  const auto later = group.wait_notify(1, 1);
  return later ? "no error" : "";
}

class OneSided : public ::testing::TestWithParam<Setup> {};

TEST_P(OneSided, MovesTheRightBytes) {
  EXPECT_EQ(complaints(run_ranks(GetParam(), put_and_get)), "");
}

TEST_P(OneSided, ReportsMisuse) { EXPECT_EQ(complaints(run_ranks(GetParam(), misuse)), ""); }

TEST_P(OneSided, RefusesAccessBeyondABuffer) {
  EXPECT_EQ(complaints(run_ranks(GetParam(), forge)), "");
}

INSTANTIATE_TEST_SUITE_P(All, OneSided,
                         ::testing::Values(Setup{}, Setup{.qps_per_peer = 3},
                                           Setup{.transport = "tcp"},
                                           Setup{.transport = "tcp", .qps_per_peer = 2}),
                         [](const auto& info) {
                           return info.param.transport + std::to_string(info.param.qps_per_peer) +
                                  "Lanes";
                         });

}  // namespace
}  // namespace ai_test
