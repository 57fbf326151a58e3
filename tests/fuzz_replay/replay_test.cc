// Runs a fuzz target over its committed corpus, and over damaged copies of it, as an ordinary test.
// Linked once for each target; see fuzz/CMakeLists.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/prng.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace nerve {
namespace {

using Input = std::vector<std::uint8_t>;

// In the order of their names, so that a failure is the same everywhere.
std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{NERVE_FUZZ_CORPUS}) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Input read(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
}

}  // namespace

TEST(Replay, TheCorpus) {
  const auto files = corpus();
  ASSERT_FALSE(files.empty()) << NERVE_FUZZ_CORPUS;
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    const Input input = read(file);
    EXPECT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
  }
}

TEST(Replay, NothingAtAll) { EXPECT_EQ(LLVMFuzzerTestOneInput(nullptr, 0), 0); }

TEST(Replay, DamagedCopies) {
  Prng prng{1};
  for (const auto& file : corpus()) {
    SCOPED_TRACE(file.string());
    const Input input = read(file);
    if (input.empty()) continue;
    for (int i = 0; i < 100; ++i) {
      Input damaged = input;
      damaged[prng.below(damaged.size())] = static_cast<std::uint8_t>(prng.next());
      if (prng.chance(300)) damaged.resize(prng.below(damaged.size() + 1));
      EXPECT_EQ(LLVMFuzzerTestOneInput(damaged.data(), damaged.size()), 0);
    }
  }
}

}  // namespace nerve
