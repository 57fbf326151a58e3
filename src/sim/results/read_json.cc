// from_json: reads each field by name and checks it before use.
#include <fmt/format.h>

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/results/fields.h"
#include "sim/results/json_key.h"
#include "sim/results/result_json.h"

namespace nerve::sim {
namespace {

using Json = nlohmann::json;

// Integers that JSON readers keep exactly: two and a half hours of simulated time.
constexpr std::uint64_t kLongest = (std::uint64_t{1} << 53U) - 1;

// The position in the file, formatted only for an error.
struct Place {
  const Place* within{};
  std::string_view key;
  std::size_t index{};

  [[nodiscard]] std::string text() const {
    if (within == nullptr) return std::string{key};
    if (key.empty()) return fmt::format("{}[{}]", within->text(), index);
    return within->key.empty() && within->within == nullptr
               ? std::string{key}
               : fmt::format("{}.{}", within->text(), key);
  }
};

class Reader {
 public:
  Reader(const Json& object, const Place& place, bool packets, std::string& wrong)
      : object_{object}, place_{place}, packets_{packets}, wrong_{wrong} {}

  template <class T>
  void operator()(const char* name, T& value) {
    if (!wrong_.empty() || (!packets_ && is_of_packets(name))) return;
    const std::string key = json_key<T>(name);
    const Place there{&place_, key};
    const auto found = object_.find(key);
    if (found == object_.end()) return fail(there, "is missing");
    read(*found, there, value);
  }
  template <class T>
  void aside(const char* name, T& value) {
    (*this)(name, value);
  }
  template <class T>
  void later(const char* name, T& value) {
    if (object_.contains(json_key<T>(name))) (*this)(name, value);
  }
  template <class T>
  void comment(const char* name, T& value) {
    if (object_.contains(name)) (*this)(name, value);
  }
  void unless_empty(const char* name, std::string& value) {
    if (object_.contains(name)) (*this)(name, value);
  }

 private:
  void fail(const Place& there, std::string_view why) {
    if (wrong_.empty()) wrong_ = fmt::format("{} {}", there.text(), why);
  }

  void read(const Json& json, const Place& there, bool& value) {
    if (!json.is_boolean()) return fail(there, "must be true or false");
    value = json.get<bool>();
  }
  template <std::unsigned_integral T>
  void read(const Json& json, const Place& there, T& value) {
    constexpr std::uint64_t most = std::numeric_limits<T>::max();
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most) {
      return fail(there, fmt::format("must be a whole number up to {}", most));
    }
    value = json.get<T>();
  }
  void read(const Json& json, const Place& there, double& value) {
    if (!json.is_number()) return fail(there, "must be a number");
    value = json.get<double>();
  }
  void read(const Json& json, const Place& there, Duration& value) {
    std::uint64_t picoseconds = 0;
    read(json, there, picoseconds);
    if (picoseconds > kLongest) {
      return fail(there, fmt::format("must be at most {} picoseconds", kLongest));
    }
    value = Duration{static_cast<std::int64_t>(picoseconds)};
  }
  void read(const Json& json, const Place& there, Time& value) {
    Duration since_start{};
    read(json, there, since_start);
    value = Time{since_start};
  }
  void read(const Json& json, const Place& there, std::string& value) {
    if (!json.is_string()) return fail(there, "must be a string");
    value = json.get<std::string>();
  }
  template <class T>
  void read(const Json& json, const Place& there, std::vector<T>& values) {
    if (!json.is_array()) return fail(there, "must be a list");
    values.resize(json.size());
    for (std::size_t i = 0; i < values.size() && wrong_.empty(); ++i) {
      read(json[i], {&there, {}, i}, values[i]);
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void read(const Json& json, const Place& there, T& value) {
    if (!json.is_object()) return fail(there, "must be an object");
    each_field(value, Reader{json, there, packets_, wrong_});
  }

  const Json& object_;
  const Place& place_;
  bool packets_;
  std::string& wrong_;
};

// Checks the consistency between fields that the rest of the code relies on.
std::string contradiction(const RunResult& result) {
  for (std::size_t i = 0; i < result.links.size(); ++i) {
    for (const std::uint32_t node : {result.links[i].from, result.links[i].to}) {
      if (node < result.nodes.size()) continue;
      return fmt::format("links[{}] is at node {}, but there are {} nodes", i, node,
                         result.nodes.size());
    }
  }
  for (const Series& series : result.series) {
    if (series.values.size() == result.series[0].values.size()) continue;
    return fmt::format("series {} has {} values, the first has {}", series.name,
                       series.values.size(), result.series[0].values.size());
  }
  return {};
}

}  // namespace

Result<RunResult, std::string> from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Unexpected{std::string{"not JSON"}};
  if (!json.is_object() || !json.contains("nerve_result")) {
    return Unexpected{std::string{"not a result of nerve sim: nerve_result is missing"}};
  }
  if (json["nerve_result"] != kResultVersion) {
    return Unexpected{fmt::format(
        "nerve_result must be {}: this file was written by another version", kResultVersion)};
  }
  RunResult result;
  std::string wrong;
  const bool packets = !json.contains("fidelity") || json["fidelity"] != kFlowFidelity;
  each_field(result, Reader{json, Place{}, packets, wrong});
  if (wrong.empty()) wrong = contradiction(result);
  if (!wrong.empty()) return Unexpected{std::move(wrong)};
  return result;
}

}  // namespace nerve::sim
