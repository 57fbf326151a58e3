// Writes Chakra traces for tests: protobuf messages, each after its length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nerve::sim::test {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
  return bytes + static_cast<char>(value);
}
inline std::string number_field(std::uint32_t number, std::uint64_t value) {
  return varint(number << 3U) + varint(value);
}
inline std::string bytes_field(std::uint32_t number, std::string_view bytes) {
  return varint((number << 3U) | 2U) + varint(bytes.size()) + std::string{bytes};
}
inline std::string message(std::string_view bytes) {
  return varint(bytes.size()) + std::string{bytes};
}

// Types of nodes and collectives, as in et_def.proto.
enum ChakraConstant : std::uint8_t {
  kMetadata = 1,
  kLoad = 2,
  kComp = 4,
  kSendTo = 5,
  kReceiveFrom = 6,
  kColl = 7,

  kChakraAllReduce = 0,
  kChakraAllGather = 2,
  kChakraBroadcast = 5,
  kChakraAllToAll = 6,
  kChakraReduceScatter = 7,
  kChakraBarrier = 9,
};

class ChakraNodeBytes {
 public:
  ChakraNodeBytes(std::uint64_t id, std::uint64_t type)
      : bytes_{number_field(1, id) + bytes_field(2, "n") + number_field(3, type)} {}

  ChakraNodeBytes& after(const std::vector<std::uint64_t>& ids) {
    std::string packed;
    for (const std::uint64_t id : ids) packed += varint(id);
    bytes_ += bytes_field(5, packed);
    return *this;
  }
  // A control dependency that is not packed.
  ChakraNodeBytes& after_control(std::uint64_t id) { return add(number_field(4, id)); }
  ChakraNodeBytes& takes(std::uint64_t micros) { return add(number_field(7, micros)); }
  // int64_val
  ChakraNodeBytes& has(std::string_view name, std::uint64_t value) {
    return add(bytes_field(10, bytes_field(1, name) + number_field(9, value)));
  }
  ChakraNodeBytes& has(std::string_view name, std::string_view value) {
    return add(bytes_field(10, bytes_field(1, name) + bytes_field(29, value)));
  }
  ChakraNodeBytes& on_cpu() {
    return add(bytes_field(10, bytes_field(1, "is_cpu_op") + number_field(27, 1)));
  }
  ChakraNodeBytes& add(const std::string& bytes) {
    bytes_ += bytes;
    return *this;
  }
  [[nodiscard]] std::string bytes() const { return message(bytes_); }

 private:
  std::string bytes_;
};

inline std::string chakra_trace(const std::vector<ChakraNodeBytes>& nodes) {
  std::string bytes = message(bytes_field(1, "0.0.4"));
  for (const ChakraNodeBytes& node : nodes) bytes += node.bytes();
  return bytes;
}

inline ChakraNodeBytes compute_node(std::uint64_t id, std::uint64_t micros) {
  return ChakraNodeBytes{id, kComp}.takes(micros);
}
inline ChakraNodeBytes collective_node(std::uint64_t id, std::uint64_t kind, std::uint64_t bytes) {
  return ChakraNodeBytes{id, kColl}.has("comm_type", kind).has("comm_size", bytes);
}
inline ChakraNodeBytes send_node(std::uint64_t id, std::uint64_t to, std::uint64_t bytes,
                                 std::uint64_t tag = 0) {
  return ChakraNodeBytes{id, kSendTo}
      .has("comm_dst", to)
      .has("comm_size", bytes)
      .has("comm_tag", tag);
}
inline ChakraNodeBytes receive_node(std::uint64_t id, std::uint64_t from, std::uint64_t bytes,
                                    std::uint64_t tag = 0) {
  return ChakraNodeBytes{id, kReceiveFrom}
      .has("comm_src", from)
      .has("comm_size", bytes)
      .has("comm_tag", tag);
}

}  // namespace nerve::sim::test
