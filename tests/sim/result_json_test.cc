// Goal: a result is read, hashed and documented as it was written, and invalid files are rejected
// with a reason. Method: a result with every field; each of its values is changed in turn.
#include "sim/results/result_json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/results/fields.h"
#include "tests/sim/sample_result.h"

namespace nerve::sim {
namespace {

using nlohmann::json;

// Changes value number `which` of a result, in the order of its fields.
class Change {
 public:
  explicit Change(int which) : left_{which} {}

  template <class T>
  void operator()(const char*, T& value) {
    change(value);
  }
  template <class T>
  void aside(const char* name, T& value) {
    const bool before = done();
    change(value);
    if (!before && done()) aside_ = name;
  }
  template <class T>
  void later(const char*, T& value) {
    change(value);
  }
  template <class T>
  void comment(const char* name, T& value) {
    aside(name, value);
  }
  void unless_empty(const char*, std::string& value) { change(value); }
  [[nodiscard]] bool done() const { return left_ < 0; }
  [[nodiscard]] const std::string& was_aside() const { return aside_; }

 private:
  [[nodiscard]] bool mine() { return left_-- == 0; }

  template <class T>
  void change(T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      if (mine()) value = static_cast<T>(value == 0);
    } else {
      each_field(value, *this);
    }
  }
  void change(Time& value) {
    if (mine()) value += Duration{1};
  }
  void change(Duration& value) {
    if (mine()) value += Duration{1};
  }
  void change(std::string& value) {
    if (mine()) value += "x";
  }
  template <class T>
  void change(std::vector<T>& values) {
    for (T& value : values) change(value);
    if (!values.empty() && !done() && mine()) values.pop_back();
  }

  int left_;
  std::string aside_;
};

TEST(ResultHash, DependsOnEveryHashedField) {
  const std::uint64_t hash = hash_of(test::sample_result());
  std::set<std::uint64_t> hashes{hash};
  std::set<std::string> aside;
  int values = 0;
  for (;; ++values) {
    RunResult result = test::sample_result();
    Change change{values};
    each_field(result, change);
    if (!change.done()) break;
    if (change.was_aside().empty()) {
      EXPECT_TRUE(hashes.insert(hash_of(result)).second) << "value " << values;
    } else {
      EXPECT_EQ(hash_of(result), hash);
      aside.insert(change.was_aside());
    }
  }
  EXPECT_GT(values, 150);
  EXPECT_EQ(aside,
            (std::set<std::string>{"version", "wall_seconds", "memory_bytes", "why", "trials"}));
}

// The same on every machine and in every build; it changes with the fields.
TEST(ResultHash, IsPinned) { EXPECT_EQ(hash_of(test::sample_result()), 10350371467207308676U); }

TEST(ResultJson, RoundTripsEveryField) {
  for (int i = 0;; ++i) {
    RunResult result = test::sample_result();
    Change change{i};
    each_field(result, change);
    if (!change.done()) break;
    // A link to an unknown node or a series of another length makes the result invalid.
    if (result.nodes.size() < 3) continue;
    if (result.series.size() == 2 &&
        result.series[0].values.size() != result.series[1].values.size()) {
      continue;
    }
    const std::string text = to_json(result);
    const auto read = from_json(text);
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(to_json(*read), text);
  }
}

TEST(ResultJson, ContainsTheHashAndTheSchemaVersion) {
  const json read = json::parse(to_json(test::sample_result()));
  EXPECT_EQ(read["nerve_result"], 1);
  const std::string hash = read["hash"];
  EXPECT_EQ(hash.size(), 16U);
  EXPECT_EQ(std::stoull(hash, nullptr, 16), hash_of(test::sample_result()));
  EXPECT_EQ(read["simulated_ps"], 310'000'000U);
  EXPECT_EQ(read["jobs"][0]["steps_ps"], json::parse("[90000000,110000000,100000000]"));
}

TEST(ResultJson, ReadsFilesFromBeforeAFieldWasAdded) {
  json older = json::parse(to_json(test::sample_result()));
  ASSERT_EQ(older["totals"].erase("watchdog_trips"), 1U);
  ASSERT_EQ(older.erase("why"), 1U);
  ASSERT_EQ(older.erase("trials"), 1U);
  const auto read = from_json(older.dump());
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(hash_of(*read), hash_of(test::sample_result()));
}

TEST(ResultJson, AcceptsTextThatIsNotUtf8) {
  RunResult result = test::sample_result();
  result.scenario = "caf\xe9";
  EXPECT_TRUE(from_json(to_json(result)));
}

void collect_keys(const json& value, std::set<std::string>& keys) {
  for (const auto& [key, inner] : value.items()) {
    if (value.is_object()) keys.insert(key);
    if (inner.is_structured()) collect_keys(inner, keys);
  }
}

TEST(ResultJson, EveryFieldIsDocumented) {
  std::ifstream file{NERVE_SOURCE_DIR "/docs/results.md"};
  const std::string page{std::istreambuf_iterator<char>{file}, {}};
  std::set<std::string> keys;
  collect_keys(json::parse(to_json(test::sample_result())), keys);
  EXPECT_GT(keys.size(), 70U);
  for (const std::string& key : keys) {
    EXPECT_NE(page.find("`" + key + "`"), std::string::npos) << key;
  }
}

// --- untrusted files -----------------------------------------------------------------------------

std::string error_of(const std::string& text) {
  const auto read = from_json(text);
  return read ? "none" : read.error();
}

TEST(ResultJson, ErrorsNameTheFieldAndTheReason) {
  const json good = json::parse(to_json(test::sample_result()));
  const auto with = [&](const char* pointer, const json& value) {
    json bad = good;
    bad[json::json_pointer{pointer}] = value;
    return error_of(bad.dump());
  };
  EXPECT_EQ(error_of(""), "not JSON");
  EXPECT_EQ(error_of("{\"nerve_result\": 1"), "not JSON");
  EXPECT_EQ(error_of("[]"), "not a result of nerve sim: nerve_result is missing");
  EXPECT_EQ(error_of("{}"), "not a result of nerve sim: nerve_result is missing");
  EXPECT_EQ(with("/nerve_result", 2),
            "nerve_result must be 1: this file was written by another version");
  EXPECT_EQ(with("/seed", -1), "seed must be a whole number up to 18446744073709551615");
  EXPECT_EQ(with("/simulated_ps", 1.5),
            "simulated_ps must be a whole number up to " + std::to_string(UINT64_MAX));
  EXPECT_EQ(with("/simulated_ps", UINT64_MAX),
            "simulated_ps must be at most 9007199254740991 picoseconds");
  EXPECT_EQ(with("/jobs", json::object()), "jobs must be a list");
  EXPECT_EQ(with("/jobs/1", 3), "jobs[1] must be an object");
  EXPECT_EQ(with("/jobs/0/ranks/1/exposed", "much"),
            "jobs[0].ranks[1].exposed must be a whole number up to 18446744073709551615");
  EXPECT_EQ(with("/jobs/0/done", 1), "jobs[0].done must be true or false");
  EXPECT_EQ(with("/nodes/2/tier", 65'536), "nodes[2].tier must be a whole number up to 65535");
  EXPECT_EQ(with("/remarks/1", nullptr), "remarks[1] must be a string");
  EXPECT_EQ(with("/links/3/to", 3), "links[3] is at node 3, but there are 3 nodes");
  EXPECT_EQ(with("/series/1/values", json::array()),
            "series deepest:leaf has 0 values, the first has 3");
  json bad = good;
  bad["totals"].erase("paused_ps");
  EXPECT_EQ(error_of(bad.dump()), "totals.paused_ps is missing");
}

TEST(ResultJson, IgnoresUnknownFields) {
  json more = json::parse(to_json(test::sample_result()));
  more["jobs"][0]["colour"] = "blue";
  more.erase("derived");
  EXPECT_EQ(error_of(more.dump()), "none");
}

TEST(ResultJson, EveryTruncationIsRefused) {
  const std::string text = to_json(test::sample_result());
  for (std::size_t i = 0; i + 2 < text.size(); i += 7) EXPECT_FALSE(from_json(text.substr(0, i)));
}

TEST(ResultJson, SurvivesDeepNesting) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(error_of(deep), "not JSON");
  EXPECT_EQ(error_of("{\"nerve_result\":1,\"scenario\":" + deep + std::string(100'000, ']') + "}"),
            "scenario must be a string");
}

}  // namespace
}  // namespace nerve::sim
