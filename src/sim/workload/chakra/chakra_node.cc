#include "sim/workload/chakra/chakra_node.h"

#include <algorithm>

namespace nerve::sim {
namespace {

constexpr std::size_t kMostDependencies = 1'000'000;
constexpr std::size_t kLongestGroupName = 256;

// The fields of et_def.proto that are read.
enum NodeField : std::uint8_t {
  kId = 1,
  kType = 3,
  kControl = 4,
  kData = 5,
  kDuration = 7,
  kAttribute = 10
};
enum AttributeField : std::uint8_t {
  kName = 1,
  kInt32 = 7,
  kInt64 = 9,
  kUint32 = 11,
  kUint64 = 13,
  kBool = 27,
  kBoolList = 28,
  kString = 29,
};

struct ChakraAttribute {
  std::string_view name;
  std::optional<std::uint64_t> number;
  std::optional<std::string_view> text;
  std::optional<std::string_view> bools;
  std::size_t offset{};
};

std::optional<ChakraDamage> damage_of(const ProtoReader& reader) {
  return ChakraDamage{reader.offset(), reader.error()};
}

std::optional<ChakraDamage> read_attribute(const ProtoField& from, ChakraAttribute& attribute) {
  attribute.offset = from.offset;
  ProtoReader reader{from.bytes, from.offset};
  ProtoField field;
  while (!reader.at_end()) {
    if (!reader.read_field(field)) return damage_of(reader);
    const bool number = field.type == ProtoType::kVarint;
    const bool bytes = field.type == ProtoType::kBytes;
    if (field.number == kName && bytes) attribute.name = field.bytes;
    if (field.number == kString && bytes) attribute.text = field.bytes;
    if (field.number == kBoolList && bytes) attribute.bools = field.bytes;
    if (number && (field.number == kInt32 || field.number == kInt64 || field.number == kUint32 ||
                   field.number == kUint64 || field.number == kBool)) {
      attribute.number = field.value;
    }
  }
  return std::nullopt;
}

// Whether a BoolList has a false. Its values are packed, or fields of their own.
std::optional<ChakraDamage> find_false(const ChakraAttribute& attribute, bool& found) {
  ProtoReader reader{*attribute.bools, attribute.offset};
  ProtoField field;
  while (!reader.at_end()) {
    if (!reader.read_field(field)) return damage_of(reader);
    if (field.number != 1) continue;
    if (field.type == ProtoType::kVarint) found |= field.value == 0;
    if (field.type == ProtoType::kBytes)
      found |= std::ranges::find(field.bytes, '\0') != field.bytes.end();
  }
  return std::nullopt;
}

std::optional<ChakraDamage> read_group(const ChakraAttribute& attribute, std::string& group) {
  if (attribute.text) {
    group = std::string{attribute.text->substr(0, kLongestGroupName)};
  } else if (attribute.number) {
    group = std::to_string(*attribute.number);
  }
  const bool printable =
      std::ranges::all_of(group, [](unsigned char c) { return c >= ' ' && c <= '~'; });
  if (printable && (!attribute.text || attribute.text->size() <= kLongestGroupName)) {
    return std::nullopt;
  }
  return ChakraDamage{attribute.offset, "pg_name is longer than 256 bytes or not printable"};
}

std::optional<ChakraDamage> take_attribute(const ChakraAttribute& attribute, RawChakraNode& node) {
  const auto wants_number = [&](auto& where) -> std::optional<ChakraDamage> {
    if (!attribute.number) {
      return ChakraDamage{attribute.offset, std::string{attribute.name} + " is not a whole number"};
    }
    where = *attribute.number;
    return std::nullopt;
  };
  if (attribute.name == "comm_type") return wants_number(node.comm_type);
  if (attribute.name == "comm_size") return wants_number(node.comm_size);
  if (attribute.name == "comm_src") return wants_number(node.comm_src);
  if (attribute.name == "comm_dst") return wants_number(node.comm_dst);
  if (attribute.name == "comm_tag") return wants_number(node.comm_tag);
  if (attribute.name == "comm_priority") return wants_number(node.comm_priority);
  if (attribute.name == "num_ops") return wants_number(node.num_ops);
  if (attribute.name == "is_cpu_op") {
    node.on_cpu = attribute.number.value_or(0) != 0;
  }
  if (attribute.name == "pg_name") return read_group(attribute, node.group);
  if (attribute.name == "involved_dim" && attribute.bools) {
    return find_false(attribute, node.some_dimensions);
  }
  return std::nullopt;
}

// Packed, or one at a time.
std::optional<ChakraDamage> read_dependencies(const ProtoField& field, RawChakraNode& node) {
  ProtoReader reader{field.bytes, field.offset};
  std::uint64_t id = field.value;
  bool more = field.type == ProtoType::kVarint || !reader.at_end();
  while (more) {
    if (field.type == ProtoType::kBytes && !reader.read_varint(id)) return damage_of(reader);
    if (node.dependencies.size() == kMostDependencies) {
      return ChakraDamage{reader.offset(), "more than 1000000 dependencies of a node"};
    }
    node.dependencies.push_back(id);
    more = !reader.at_end();
  }
  return std::nullopt;
}

}  // namespace

std::optional<ChakraDamage> read_chakra_node(std::string_view bytes, std::size_t offset,
                                             RawChakraNode& node) {
  node = {};
  ProtoReader reader{bytes, offset};
  ProtoField field;
  while (!reader.at_end()) {
    if (!reader.read_field(field)) return damage_of(reader);
    const bool number = field.type == ProtoType::kVarint;
    if (field.number == kId && number) node.id = field.value;
    if (field.number == kType && number) node.type = field.value;
    if (field.number == kDuration && number) node.duration_us = field.value;
    if (field.number == kControl || field.number == kData) {
      if (auto damage = read_dependencies(field, node)) return damage;
    }
    if (field.number != kAttribute || field.type != ProtoType::kBytes) continue;
    ChakraAttribute attribute;
    if (auto damage = read_attribute(field, attribute)) return damage;
    if (auto damage = take_attribute(attribute, node)) return damage;
  }
  return std::nullopt;
}

std::optional<ChakraDamage> read_chakra_metadata(std::string_view bytes, std::size_t offset) {
  ProtoReader reader{bytes, offset};
  ProtoField field;
  while (!reader.at_end()) {
    if (!reader.read_field(field)) return damage_of(reader);
    if (field.type != ProtoType::kBytes) {
      return ChakraDamage{field.offset,
                          "the first message is not a GlobalMetadata; is this a "
                          "Chakra trace of version 0.0.4 or later?"};
    }
  }
  return std::nullopt;
}

}  // namespace nerve::sim
