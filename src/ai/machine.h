// The machine that a rank runs on, as far as its peers need to know it.
#pragma once

#include <string>
#include <vector>

#include "ai/error.h"

namespace nerve::ai {

struct Machine {
  std::string id;  // the same for all processes that share its CPUs
  int cpus{};      // that this process may use

  static Machine here();
  static Result<Machine, Error> read(const std::string& text, int rank);
  [[nodiscard]] std::string as_text() const;
};

// True if there are more ranks than CPUs on some machine. All ranks get the same answer.
bool more_ranks_than_cpus(const std::vector<Machine>& machines);

}  // namespace nerve::ai
