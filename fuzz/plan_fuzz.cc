// Bytes as a plan, and after a zero byte as a price file: both are read to the end, errors have a
// position within their file, and what is accepted has no value that a plan cannot handle.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "sim/plan/plan_file.h"
#include "sim/plan/prices.h"
#include "sim/plan/study.h"

namespace {

using namespace nerve;
using namespace nerve::sim;
using namespace nerve::sim::plan;

void check_errors(const std::vector<ScenarioError>& errors, std::string_view text) {
  const auto lines = std::ranges::count(text, '\n') + 2;
  CHECK(!errors.empty());
  for (const ScenarioError& error : errors) {
    CHECK(!error.message.empty() && error.line <= lines);
  }
}

void check_plan(const PlanSpec& spec) {
  CHECK((spec.gpus == 0) != (spec.budget == 0));
  CHECK(spec.gpus <= kMostGpus && spec.years > 0 && spec.seeds > 0 && spec.finalists > 0);
  CHECK(!spec.vary.gpus_per_server.empty() && !spec.vary.nic_rate.empty());
  CHECK(!spec.vary.oversubscription.empty() && !spec.vary.network.empty());
  CHECK(spec.scenario.find("job") != nullptr && spec.scenario.find("plan") == nullptr);
}

void check_prices(const Prices& prices) {
  for (const Part& part : prices.parts) {
    CHECK(part.price.low <= part.price.typical && part.price.typical <= part.price.high);
    CHECK(part.kind != PartKind::kSwitch || (part.ports > 0 && part.rate > Rate{}));
    CHECK(part.kind != PartKind::kServer || part.gpus > 0);
    CHECK(part.reach > 0);
  }
  CHECK(prices.site.racks_per_row > 0 && prices.site.pue >= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const std::size_t zero = input.find('\0');
  const std::string_view text = input.substr(0, zero);
  const auto spec = read_plan(text, "fuzz.toml");
  if (spec) {
    check_plan(*spec);
    // Whatever its jobs are: candidates are built or refused. Large ones take too long here.
    if (spec->gpus > 0 && spec->gpus <= 64 && combinations(*spec, default_prices()).size() < 40) {
      const auto study = make_study(*spec, default_prices());
      if (!study) check_errors(study.error(), text);
    }
  } else {
    check_errors(spec.error(), text);
  }
  if (zero == std::string_view::npos) return 0;
  const std::string_view rest = input.substr(zero + 1);
  const auto prices = read_prices(rest, "prices.toml", default_prices());
  if (prices) {
    check_prices(*prices);
  } else {
    check_errors(prices.error(), rest);
  }
  return 0;
}
