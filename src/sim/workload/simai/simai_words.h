// The words of a SimAI workload file, line by line, and the errors about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/simai/simai_file.h"

namespace nerve::sim {

class SimaiWords {
 public:
  SimaiWords(std::string_view text, std::string_view file) : rest_{text}, file_{file} {}

  // Proceeds to the next line that is not blank; false at the end of the file or after an error.
  bool next_line();
  [[nodiscard]] std::size_t size() const { return words_.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t at) const { return words_[at]; }

  // At most 40 characters, without control characters.
  [[nodiscard]] static std::string printable(std::string_view word);
  // All return false. The first error is kept.
  bool fail(const std::string& why) { return fail_at(line_, why); }
  bool fail_at(std::uint64_t line, const std::string& why);
  bool wrong(std::string_view name, std::string_view word, const std::string& expected);
  // Returns whether the word at this place is a number within these limits.
  bool number(std::size_t at, std::string_view name, std::uint64_t least, std::uint64_t most,
              std::uint64_t& value);
  [[nodiscard]] std::uint64_t line() const { return line_; }
  [[nodiscard]] bool failed() const { return !error_.empty(); }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  std::string_view rest_;
  std::string_view file_;
  std::uint64_t line_{};
  std::vector<std::string_view> words_;
  std::string error_;
};

struct SimaiGroups {
  SimaiGroup plain{};  // of a word without a suffix
  bool experts{};      // whether the first line has ep, which _EP and _DP_EP need
};
// Reads a collective, as in ALLTOALL_EP 1048576. NONE and zero bytes are none.
bool read_simai_collective(SimaiWords& words, std::size_t at, std::string_view name,
                           const SimaiGroups& groups, std::optional<SimaiCollective>& collective);

}  // namespace nerve::sim
