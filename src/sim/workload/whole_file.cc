#include "sim/workload/whole_file.h"

#include <array>
#include <fstream>

#include "sim/workload/words.h"

namespace nerve::sim {

Result<std::string, std::string> read_whole_file(const std::string& file, std::size_t largest) {
  std::ifstream stream{file, std::ios::binary};
  if (!stream) return Unexpected{file + ": cannot be opened"};
  std::string text;
  std::array<char, 65'536> part{};
  while (stream.read(part.data(), part.size()) || stream.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > largest) {
      return Unexpected{file + ": larger than " + bytes_in_words(largest)};
    }
  }
  if (stream.bad()) return Unexpected{file + ": cannot be read"};
  return text;
}

}  // namespace nerve::sim
