// Goal: put, get, send and receive move the right bytes between GPU and host memory, and memory
// that is not there any more is an error that names it.
#include <algorithm>
#include <cstring>

#include "tests/ai_gpu/tensors.h"

namespace ai_gpu_test {
namespace {

using nerve::ai::Status;

std::vector<std::string> share(Group& group, const std::string& key) {
  std::string all(key.size() * static_cast<std::size_t>(group.size()), '\0');
  if (!group.all_gather(key.data(), all.data(), key.size())) return {};
  std::vector<std::string> keys;
  for (std::size_t at = 0; at < all.size(); at += key.size()) {
    keys.push_back(all.substr(at, key.size()));
  }
  return keys;
}

// Each rank writes to its peer, compares what the peer wrote, and reads it back.
std::string put_and_get(Group& group, Where from, Where to) {
  constexpr std::size_t kSize = 1'500'001;
  const int peer = 1 - group.rank();
  const auto other = static_cast<std::size_t>(peer);
  Tensor mine{from, kSize};
  Tensor inbox{to, kSize};
  auto source = group.add_buffer(mine.data(), kSize);
  auto target = group.add_buffer(inbox.data(), kSize);
  if (!source || !target) return "cannot register";
  auto there = group.remote_buffer(peer, share(group, target->key())[other]);
  auto back = group.remote_buffer(peer, share(group, source->key())[other]);
  if (!there || !back) return "no remote buffer";
  std::size_t call = 0;
  for (const std::size_t length : {1UL, 64UL, 65UL, 5000UL, 70'000UL, kSize}) {
    mine.fill(bytes_of(group.rank(), kSize, ++call));
    auto put = group.put({&*source, 0, length}, {*there, 0}, 7);
    if (!put) return put.error().text;
    if (auto done = group.wait(*put); !done) return done.error().text;
    if (auto came = group.wait_notify(peer, 7); !came) return came.error().text;
    const Buffer wanted = bytes_of(peer, kSize, call);
    const Buffer got = inbox.contents();
    if (!std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(length),
                    wanted.begin())) {
      return "wrong data after a put of " + std::to_string(length);
    }
    if (auto all = group.barrier(); !all) return all.error().text;
  }
  auto get = group.get({&*target, 100, 200'000}, {*back, 50});
  if (!get) return get.error().text;
  if (auto done = group.wait(*get); !done) return done.error().text;
  const Buffer wanted = bytes_of(peer, kSize, call);
  const Buffer got = inbox.contents();
  if (!std::equal(got.begin() + 100, got.begin() + 200'100, wanted.begin() + 50)) {
    return "wrong data: get";
  }
  auto all = group.barrier();
  return all ? "" : all.error().text;
}

// Both ranks send each other tensors of all lengths, from and to both kinds of memory.
std::string send_and_receive(Group& group) {
  const int peer = 1 - group.rank();
  std::size_t call = 0;
  for (const std::size_t length : {1UL, 64UL, 5000UL, 300'000UL, 3'000'000UL}) {
    for (const auto& [from, to] : {std::pair{Where::kGpu, Where::kGpu},
                                   {Where::kGpu, Where::kHost},
                                   {Where::kHost, Where::kOtherGpu}}) {
      Tensor mine{from, bytes_of(group.rank(), length, ++call)};
      Tensor theirs{to, length};
      for (const int sender : {0, 1}) {
        Status done = sender == group.rank() ? group.send(mine.data(), length, peer)
                                             : group.receive(theirs.data(), length, peer);
        if (!done) return done.error().text;
      }
      if (theirs.contents() != bytes_of(peer, length, call)) {
        return "wrong data after a send of " + std::to_string(length);
      }
    }
  }
  return "";
}

std::string expect(const Status& status, const std::string& words) {
  if (status) return "no error: " + words;
  return status.error().text.find(words) != std::string::npos ? "" : status.error().text;
}

std::string freed_and_exceeded(Group& group) {
  Tensor tensor{Where::kGpu, 4096};
  const std::string address = nerve::ai::address_text(tensor.data());
  std::string wrong = expect(group.send(tensor.data(), 4097, 1 - group.rank()),
                             address + " with 4097 bytes exceeds its allocation");
  auto buffer = group.add_buffer(tensor.data(), 4096);
  if (!buffer) return buffer.error().text;
  auto remote = group.remote_buffer(1 - group.rank(), buffer->key());
  void* const data = tensor.data();
  tensor.gpu().free();
  auto put = group.put({&*buffer, 0, 10}, {*remote, 0});
  const std::string freed = "the GPU memory at " + address + " with 4096 bytes was freed";
  if (put || put.error().text.find(freed) == std::string::npos) wrong += "put of freed memory";
  wrong +=
      expect(group.all_gather(data, data, 100), address + " with 100 bytes is memory of neither");
  if (group.add_buffer(data, 100)) wrong += "freed memory was registered";
  // The group is still usable.
  auto all = group.barrier();
  return all ? wrong : wrong + all.error().text;
}

class OneSidedGpu : public ::testing::TestWithParam<Case> {};

TEST_P(OneSidedGpu, PutAndGetBetweenGpus) {
  EXPECT_EQ(
      run_gpu_ranks(GetParam(), 2,
                    [](Group& group) { return put_and_get(group, Where::kGpu, Where::kGpu); }),
      "");
}

TEST_P(OneSidedGpu, PutAndGetBetweenHostAndGpu) {
  EXPECT_EQ(run_gpu_ranks(
                GetParam(), 2,
                [](Group& group) { return put_and_get(group, Where::kHost, Where::kOtherGpu); }),
            "");
}

TEST_P(OneSidedGpu, PutAndGetBetweenGpuAndHost) {
  EXPECT_EQ(
      run_gpu_ranks(GetParam(), 2,
                    [](Group& group) { return put_and_get(group, Where::kGpu, Where::kHost); }),
      "");
}

TEST_P(OneSidedGpu, SendAndReceive) {
  EXPECT_EQ(run_gpu_ranks(GetParam(), 2, send_and_receive), "");
}

TEST_P(OneSidedGpu, FreedMemoryIsNamed) {
  EXPECT_EQ(run_gpu_ranks(GetParam(), 2, freed_and_exceeded), "");
}

INSTANTIATE_TEST_SUITE_P(All, OneSidedGpu, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ai_gpu_test
