// The captures of this folder: their names, bytes and expected contents.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nerve::golden {

struct Expected {
  std::string file;
  std::size_t packets{};
  std::size_t good{};
  std::size_t bad{};
};

// The rows of expected.txt.
std::vector<Expected> expected_captures();

// All bytes of captures/<file>; empty when it cannot be read.
std::vector<std::byte> read_capture(const std::string& file);

}  // namespace nerve::golden
