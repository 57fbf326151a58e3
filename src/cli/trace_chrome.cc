// A trace document as Chrome trace events, for Perfetto.
#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/trace_document.h"
#include "host/diagnostics/trace_names.h"

namespace nerve::cli {
namespace {

// Steps have no length; arrows begin and end at slices, so each gets a short one.
constexpr std::uint64_t kLengthNs = 100;

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Writer {
 public:
  explicit Writer(const TraceDocument& document) : document_{document} {}

  std::string write() {
    for (std::size_t i = 0; i < document_.ends.size(); ++i) {
      const TraceEnd& end = document_.ends[i];
      add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", i,
                      json_string(fmt::format("{} (pid {})", end.name, end.pid))));
    }
    for (const TraceEvent& event : document_.events) step(event);
    return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + text_ + "\n]}\n";
  }

 private:
  void add(std::string_view line) {
    if (!text_.empty()) text_ += ",\n";
    text_ += line;
  }

  static std::string_view word(const std::vector<std::string>& words, std::int32_t index) {
    return index < 0 ? std::string_view{}
                     : std::string_view{words[static_cast<std::size_t>(index)]};
  }

  void step(const TraceEvent& event) {
    const host::TraceStepName& name = host::name_of(event.step);
    if (tracks_.emplace(event.end, name.module).second) {
      add(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
                      event.end, name.module, json_string(host::kTraceModules[name.module])));
    }
    const std::string place = fmt::format(R"("pid":{},"tid":{},"ts":{:.3f})", event.end,
                                          name.module, static_cast<double>(event.t) / 1000.0);
    std::string arguments;
    const auto argument = [&](std::string_view key, std::int64_t value) {
      if (value >= 0) fmt::format_to(std::back_inserter(arguments), R"("{}":{},)", key, value);
    };
    argument("qpn", event.qpn);
    argument("psn", event.psn);
    argument("bytes", event.bytes);
    argument("message", event.message);
    argument("packet", event.packet);
    add(fmt::format(
        R"({{"ph":"X","name":"{}","cat":"nerve",{},"dur":{:.3f},"args":{{{}"opcode":{},"detail":{}}}}})",
        name.name, place, static_cast<double>(kLengthNs) / 1000.0, arguments,
        json_string(word(document_.opcodes, event.opcode)),
        json_string(word(document_.details, event.detail))));
    if (event.packet < 0) return;
    const bool begins = event.step == nic::TraceStep::kPacketSent;
    add(fmt::format(R"({{"ph":"{}","bp":"e","name":"packet","cat":"packet","id":{},{}}})",
                    begins ? "s" : "f", event.packet, place));
  }

  const TraceDocument& document_;
  std::set<std::pair<std::int32_t, std::uint8_t>> tracks_;
  std::string text_;
};

}  // namespace

std::string chrome_json(const TraceDocument& document) { return Writer{document}.write(); }

}  // namespace nerve::cli
