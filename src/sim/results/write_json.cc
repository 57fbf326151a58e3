// to_json: writes text directly, since a tree of a large fabric's result would need much more
// memory.
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/results/fields.h"
#include "sim/results/json_key.h"
#include "sim/results/result_json.h"

namespace nerve::sim {
namespace {

class Writer {
 public:
  // Fields of the outermost object are on their own lines.
  Writer(std::string& out, bool outermost, bool packets)
      : out_{out}, outermost_{outermost}, packets_{packets} {}

  template <class T>
  void operator()(const char* name, const T& value) {
    if (!packets_ && is_of_packets(name)) return;
    begin(json_key<T>(name));
    write(value);
  }
  template <class T>
  void aside(const char* name, const T& value) {
    (*this)(name, value);
  }
  template <class T>
  void later(const char* name, const T& value) {
    (*this)(name, value);
  }
  template <class T>
  void comment(const char* name, const std::vector<T>& values) {
    if (!values.empty()) (*this)(name, values);
  }
  void unless_empty(const char* name, const std::string& value) {
    if (!value.empty()) (*this)(name, value);
  }

 private:
  void begin(const std::string& key) {
    out_ += first_ ? "" : outermost_ ? ",\n" : ",";
    first_ = false;
    out_ += '"' + key + "\":";
  }

  template <class T>
  void write(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, double>) {
      fmt::format_to(std::back_inserter(out_), "{}", std::isfinite(value) ? value : 0);
    } else if constexpr (std::is_integral_v<T>) {
      fmt::format_to(std::back_inserter(out_), "{}", value);
    } else {
      out_ += '{';
      each_field(value, Writer{out_, false, packets_});
      out_ += '}';
    }
  }
  void write(Time value) { write(value.picoseconds()); }
  void write(Duration value) { write(value.count()); }
  // A name from a file may be any bytes; a JSON string must be UTF-8.
  void write(const std::string& text) {
    out_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  template <class T>
  void write(const std::vector<T>& values) {
    constexpr bool objects = std::is_class_v<T> && !std::is_same_v<T, Duration>;
    out_ += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ',';
      if (objects) out_ += '\n';
      write(values[i]);
    }
    out_ += ']';
  }

  std::string& out_;
  bool outermost_;
  bool packets_;
  bool first_{true};
};

}  // namespace

std::string to_json(const RunResult& result) {
  std::string out = "{";
  Writer writer{out, true, has_packets(result)};
  writer("nerve_result", kResultVersion);
  writer("hash", fmt::format("{:016x}", hash_of(result)));
  each_field(result, writer);
  writer("derived", derive(result));
  out += "}\n";
  return out;
}

}  // namespace nerve::sim
