#include "tests/golden/captures.h"

#include <fstream>
#include <iterator>
#include <sstream>

namespace nerve::golden {
namespace {
const std::string kFolder = NERVE_SOURCE_DIR "/tests/golden/";
}  // namespace

std::vector<Expected> expected_captures() {
  std::vector<Expected> rows;
  std::ifstream in{kFolder + "expected.txt"};
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    Expected row;
    std::istringstream{line} >> row.file >> row.packets >> row.good >> row.bad;
    rows.push_back(row);
  }
  return rows;
}

std::vector<std::byte> read_capture(const std::string& file) {
  std::ifstream in{kFolder + "captures/" + file, std::ios::binary};
  std::vector<std::byte> bytes;
  for (std::istreambuf_iterator<char> it{in}, end; it != end; ++it) {
    bytes.push_back(static_cast<std::byte>(*it));
  }
  return bytes;
}

}  // namespace nerve::golden
