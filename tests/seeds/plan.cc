#include "tests/seeds/plan.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace nerve::test {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Reader {
 public:
  Reader(const Variables& variables, std::string& error) : variables_{variables}, error_{error} {}

  std::optional<std::string_view> text(const char* name) const {
    const char* value = variables_(name);
    return value != nullptr ? std::optional<std::string_view>{value} : std::nullopt;
  }
  std::optional<std::uint64_t> number_in(const char* name, std::uint64_t least) {
    const auto value = text(name);
    if (!value) return std::nullopt;
    const auto read = number(*value);
    if (!read || *read < least) complain(name, *value);
    return read;
  }
  void complain(const char* name, std::string_view value) {
    error_ = std::string{name} + "=" + std::string{value} + " is not a number of seeds";
  }

 private:
  const Variables& variables_;
  std::string& error_;
};

}  // namespace

std::uint64_t usable_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return static_cast<std::uint64_t>(std::max(CPU_COUNT(&cores), 1));
}

SeedPlan plan_seeds(std::uint64_t count, const Variables& variables, std::string& error) {
  error.clear();
  Reader reader{variables, error};
  SeedPlan plan{.last = count};
  if (const auto range = reader.text("NERVE_SEEDS")) {
    const std::size_t dash = range->find('-');
    const bool whole = dash == std::string_view::npos;
    const auto first = whole ? std::uint64_t{1} : number(range->substr(0, dash));
    const auto last = number(whole ? *range : range->substr(dash + 1));
    if (!first || !last || *first == 0 || *last < *first) {
      reader.complain("NERVE_SEEDS", *range);
      return plan;
    }
    plan.first = *first;
    plan.last = *last;
  }
  if (const auto most = reader.number_in("NERVE_MOST_SEEDS", 1); most && *most < plan.count()) {
    plan.last = plan.first + *most - 1;
  }
  if (const auto only = reader.number_in("NERVE_SEED", 0)) plan.first = plan.last = *only;
  plan.failures = reader.number_in("NERVE_FAILURES", 1).value_or(plan.failures);
  plan.jobs = reader.number_in("NERVE_JOBS", 1).value_or(usable_cores());
  return plan;
}

}  // namespace nerve::test
