// Runs a fuzz target once for each file of its corpus, in a build that has no fuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    std::error_code none;  // a missing folder is an empty corpus
    for (const auto& entry : std::filesystem::directory_iterator(argv[i], none)) {
      std::printf("%s\n", entry.path().c_str());  // the last file printed is the one that crashed
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++files;
    }
  }
  if (files == 0) std::fprintf(stderr, "replay: no corpus; put a few small inputs there\n");
  return files == 0 ? 1 : 0;
}
