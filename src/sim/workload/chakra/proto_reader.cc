#include "sim/workload/chakra/proto_reader.h"

namespace nerve::sim {

bool ProtoReader::read_varint(std::uint64_t& value) {
  constexpr std::size_t kLongest = 10;
  value = 0;
  for (std::size_t i = 0; i < kLongest; ++i) {
    if (i == rest_.size()) return fail("the file ends within a number");
    const auto byte = static_cast<unsigned char>(rest_[i]);
    if (i + 1 == kLongest && byte > 1) break;  // more than 64 bits
    value |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if ((byte & 0x80U) == 0) {
      drop(i + 1);
      return true;
    }
  }
  return fail("a number of more than 64 bits");
}

bool ProtoReader::read_fixed(std::size_t size, std::uint64_t& value) {
  if (rest_.size() < size) return fail("the file ends within a number");
  value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  }
  drop(size);
  return true;
}

bool ProtoReader::read_bytes(std::string_view& bytes) {
  std::uint64_t size = 0;
  if (!read_varint(size)) return false;
  if (size > rest_.size()) {
    return fail("a field of " + std::to_string(size) + " bytes, but " +
                std::to_string(rest_.size()) + " are left");
  }
  bytes = rest_.substr(0, static_cast<std::size_t>(size));
  drop(bytes.size());
  return true;
}

bool ProtoReader::read_field(ProtoField& field) {
  std::uint64_t key = 0;
  if (!read_varint(key)) return false;
  field = {.number = key >> 3U, .type = static_cast<ProtoType>(key & 7U)};
  if (field.number == 0) return fail("a field with number 0");
  field.offset = offset_;
  switch (field.type) {
    case ProtoType::kVarint:
      return read_varint(field.value);
    case ProtoType::kFixed64:
      return read_fixed(8, field.value);
    case ProtoType::kFixed32:
      return read_fixed(4, field.value);
    case ProtoType::kBytes:
      if (!read_bytes(field.bytes)) return false;
      field.offset = offset_ - field.bytes.size();
      return true;
  }
  return fail("a field of the unknown wire type " + std::to_string(key & 7U));
}

}  // namespace nerve::sim
