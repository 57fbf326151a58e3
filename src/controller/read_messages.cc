// read_report, read_orders: each field is read by name and checked before use.
#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>

#include "controller/address.h"
#include "controller/messages.h"

namespace nerve::controller {
namespace {

using Json = nlohmann::json;

// What a text may make the parser build: some gigabytes of empty lists fit into 16 MiB of brackets.
constexpr std::size_t kMaxValues = 4'000'000;
constexpr std::size_t kMaxDepth = 8;
constexpr std::size_t kMaxPaths = kMaxFlows;
constexpr std::size_t kMaxProbes = kMaxFlows;
constexpr std::size_t kMaxHostName = 255;
constexpr std::uint64_t kMaxQpn = Qpn::kMask;
constexpr std::uint64_t kMaxPort = 0xffff;

// The error, and the place in the text that it is about.
struct Problem {
  std::string text;

  void set(const std::string& place, std::string_view name, std::string_view why) {
    if (!text.empty()) return;
    text = fmt::format("{}{}{} {}", place, place.empty() || name.empty() ? "" : ".", name, why);
  }
};

// As a message shows what it complains about.
std::string shown(const Json& json) {
  constexpr std::size_t kLongest = 40;
  if (json.is_structured()) return json.is_object() ? "an object" : "a list";
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

// The fields of one object. After the first problem it reads nothing more.
class Fields {
 public:
  Fields(const Json& object, std::string place, Problem& problem)
      : object_{object}, place_{std::move(place)}, problem_{problem} {
    if (!object.is_object()) fail("", fmt::format("is {}; an object is wanted", shown(object)));
  }

  [[nodiscard]] std::uint64_t number(const char* name, std::uint64_t limit) {
    const Json* const json = find(name);
    if (json == nullptr) return 0;
    return number_of(*json, name, 0, limit);
  }
  [[nodiscard]] std::uint16_t ordered_port(const char* name) {
    const auto port = static_cast<std::uint16_t>(number(name, kMaxPort));
    if (port != 0 && port < kFirstSourcePort) {
      fail(name, fmt::format("is {}; source ports begin at {}", port, kFirstSourcePort));
    }
    return port;
  }
  [[nodiscard]] Qpn qpn(const char* name) {
    return Qpn{static_cast<std::uint32_t>(number(name, kMaxQpn))};
  }
  [[nodiscard]] bool flag(const char* name) {
    const Json* const json = find(name);
    if (json == nullptr) return false;
    const bool* const value = json->get_ptr<const bool*>();
    if (value == nullptr) fail(name, fmt::format("is {}; true or false is wanted", shown(*json)));
    return value != nullptr && *value;
  }
  [[nodiscard]] wire::Gid address(const char* name) {
    const Json* const json = find(name);
    if (json == nullptr) return {};
    const wire::Gid gid = gid_of(*json, name);
    if (gid.is_zero() || gid.is_multicast()) {
      fail(name, fmt::format("is {}; the address of a host is wanted", shown(*json)));
    }
    return gid;
  }
  [[nodiscard]] std::string printable(const char* name) {
    const Json* const json = find(name);
    if (json == nullptr) return {};
    const auto* const text = json->get_ptr<const std::string*>();
    const auto prints = [](char c) { return c >= ' ' && c <= '~'; };
    if (text == nullptr || text->size() > kMaxHostName || !std::ranges::all_of(*text, prints)) {
      fail(name, fmt::format("is {}; at most {} printable characters are wanted", shown(*json),
                             kMaxHostName));
      return {};
    }
    return *text;
  }
  [[nodiscard]] std::vector<wire::Gid> hops(const char* name) {
    std::vector<wire::Gid> result;
    each(name, kMaxHops, [&](const Json& one) { result.push_back(gid_of(one, name)); });
    return result;
  }
  [[nodiscard]] std::vector<std::uint16_t> source_ports(const char* name) {
    std::vector<std::uint16_t> result;
    each(name, kMaxProbePorts, [&](const Json& one) {
      result.push_back(
          static_cast<std::uint16_t>(number_of(one, name, kFirstSourcePort, kMaxPort)));
    });
    return result;
  }
  template <class T, class Read>
  [[nodiscard]] std::vector<T> objects(const char* name, std::size_t limit, const Read& read) {
    std::vector<T> result;
    each(name, limit, [&](const Json& one) {
      Fields fields{one, fmt::format("{}[{}]", name, result.size()), problem_};
      result.push_back(read(fields));
    });
    return result;
  }

 private:
  void fail(std::string_view name, std::string_view why) { problem_.set(place_, name, why); }

  [[nodiscard]] const Json* find(const char* name) {
    if (!problem_.text.empty() || !object_.is_object()) return nullptr;
    const auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    fail(name, "is missing");
    return nullptr;
  }

  [[nodiscard]] std::uint64_t number_of(const Json& json, const char* name, std::uint64_t least,
                                        std::uint64_t limit) {
    const auto* const value = json.get_ptr<const std::uint64_t*>();
    if (value != nullptr && *value >= least && *value <= limit) return *value;
    fail(name, fmt::format("is {}; a number from {} to {} is wanted", shown(json), least, limit));
    return least;
  }

  [[nodiscard]] wire::Gid gid_of(const Json& json, const char* name) {
    const auto* const text = json.get_ptr<const std::string*>();
    const auto gid = text == nullptr ? std::nullopt : parse_address(*text);
    if (!gid) fail(name, fmt::format("is {}; an IP address is wanted", shown(json)));
    return gid.value_or(wire::Gid{});
  }

  template <class Visit>
  void each(const char* name, std::size_t limit, const Visit& visit) {
    const Json* const json = find(name);
    if (json == nullptr) return;
    if (!json->is_array()) return fail(name, fmt::format("is {}; a list is wanted", shown(*json)));
    if (json->size() > limit) {
      return fail(name, fmt::format("has {} entries; the limit is {}", json->size(), limit));
    }
    for (const Json& one : *json) {
      if (!problem_.text.empty()) return;
      visit(one);
    }
  }

  const Json& object_;
  std::string place_;
  Problem& problem_;
};

// Counts what a text would make the parser build, and stops when that is too much.
class Counter : public nlohmann::json_sax<Json> {
 public:
  [[nodiscard]] bool too_much() const { return values_ > kMaxValues || depth_ > kMaxDepth; }

  bool null() override { return count(); }
  bool boolean(bool /*value*/) override { return count(); }
  bool number_integer(number_integer_t /*value*/) override { return count(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return count(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return count(); }
  bool string(string_t& /*value*/) override { return count(); }
  bool binary(binary_t& /*value*/) override { return count(); }
  bool key(string_t& /*value*/) override { return count(); }
  bool start_object(std::size_t /*elements*/) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t /*elements*/) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*last*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  [[nodiscard]] bool count() {
    ++values_;
    return !too_much();
  }
  [[nodiscard]] bool enter() {
    ++depth_;
    return count();
  }
  [[nodiscard]] bool leave() {
    --depth_;
    return true;
  }

  std::size_t values_{};
  std::size_t depth_{};
};

Result<Json, std::string> parse(std::string_view text) {
  Counter counter;
  const bool good = Json::sax_parse(text, &counter);
  if (counter.too_much()) {
    return Unexpected{fmt::format("the message has more than {} values, or is {} levels deep",
                                  kMaxValues, kMaxDepth + 1)};
  }
  Json json = good ? Json::parse(text, nullptr, false) : Json{};
  if (!good || json.is_discarded()) return Unexpected{std::string{"the message is not JSON"}};
  return json;
}

LiveFlow read_flow(Fields& fields) {
  return {.qpn = fields.qpn("qpn"),
          .peer = fields.qpn("peer"),
          .source = fields.address("source"),
          .destination = fields.address("destination"),
          .port = static_cast<std::uint16_t>(fields.number("port", kMaxPort)),
          .traffic_class = static_cast<std::uint8_t>(fields.number("traffic_class", 0xff)),
          .bytes = fields.number("bytes", ~std::uint64_t{}),
          .retransmitted = fields.number("retransmitted", ~std::uint64_t{})};
}

MeasuredPath read_path(Fields& fields) {
  return {.source = fields.address("source"),
          .destination = fields.address("destination"),
          .port = static_cast<std::uint16_t>(fields.number("port", kMaxPort)),
          .hops = fields.hops("hops"),
          .lost = fields.flag("lost")};
}

ProbeOrder read_probe(Fields& fields) {
  return {.source = fields.address("source"),
          .destination = fields.address("destination"),
          .ports = fields.source_ports("ports")};
}

FlowOrder read_flow_order(Fields& fields) {
  return {.qpn = fields.qpn("qpn"),
          .peer = fields.qpn("peer"),
          .port = fields.ordered_port("port"),
          .rate_limit = fields.number("rate_limit", ~std::uint64_t{})};
}

template <class T, class Read>
Result<T, std::string> read_message(std::string_view text, const Read& read) {
  const auto json = parse(text);
  if (!json) return Unexpected{json.error()};
  Problem problem;
  if (!json->is_object()) return Unexpected{"the message is " + shown(*json)};
  Fields fields{*json, "", problem};
  T message = read(fields);
  if (!problem.text.empty()) return Unexpected{problem.text};
  return message;
}

}  // namespace

Result<Report, std::string> read_report(std::string_view text) {
  return read_message<Report>(text, [](Fields& fields) {
    return Report{.host = fields.printable("host"),
                  .flows = fields.objects<LiveFlow>("flows", kMaxFlows, read_flow),
                  .paths = fields.objects<MeasuredPath>("paths", kMaxPaths, read_path)};
  });
}

Result<Orders, std::string> read_orders(std::string_view text) {
  return read_message<Orders>(text, [](Fields& fields) {
    return Orders{.probes = fields.objects<ProbeOrder>("probes", kMaxProbes, read_probe),
                  .flows = fields.objects<FlowOrder>("flows", kMaxFlows, read_flow_order)};
  });
}

}  // namespace nerve::controller
