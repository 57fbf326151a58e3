// Any bytes are refused with a sentence, or are a message that survives writing and reading, and
// that a planner may hear. The first byte chooses the kind of message.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "controller/messages.h"
#include "controller/path_planner.h"
#include "controller/settings_file.h"

namespace {

using namespace nerve;
using namespace nerve::controller;

void check_report(std::string_view text) {
  const auto report = read_report(text);
  if (!report) return CHECK(!report.error().empty());
  const auto again = read_report(to_text(*report));
  CHECK(again && *again == *report);
  PathPlanner planner{{}};
  Time now{std::chrono::seconds{1}};
  for (int i = 0; i < 3; ++i) {
    planner.hear(1, *report, now);
    const Orders orders = planner.orders_for(1, now);
    const auto read = read_orders(to_text(orders));
    CHECK(read && *read == orders);
    now += std::chrono::milliseconds{500};
  }
  planner.forget(1);
  CHECK(planner.loads().all().empty());
}

void check_orders(std::string_view text) {
  const auto orders = read_orders(text);
  if (!orders) return CHECK(!orders.error().empty());
  const auto again = read_orders(to_text(*orders));
  CHECK(again && *again == *orders);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text{reinterpret_cast<const char*>(data) + 1, size - 1};
  switch (data[0] % 3) {
    case 0:
      check_report(text);
      break;
    case 1:
      check_orders(text);
      break;
    default: {
      const auto settings = read_settings(text, "fuzz.toml");
      CHECK(settings || settings.error().starts_with("fuzz.toml:"));
    }
  }
  return 0;
}
