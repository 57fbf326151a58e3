#include "cli/trace_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace nerve::cli {
namespace {

using host::TraceHeader;
using nic::TraceRecord;

// Up to the first zero. Bytes that do not belong into a line are replaced.
template <std::size_t N>
std::string text_of(const std::array<char, N>& bytes) {
  std::string text{bytes.begin(), std::ranges::find(bytes, '\0')};
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

RecordedTrace describe(const TraceHeader& header) {
  RecordedTrace trace;
  trace.pid = header.pid;
  trace.program = text_of(header.program);
  trace.messages = header.messages;
  const std::size_t devices = std::min<std::uint64_t>(header.device_count, TraceHeader::kDevices);
  for (const host::TraceDevice& device : std::span{header.devices}.first(devices)) {
    if (trace.device.empty()) {
      trace.device = text_of(device.name);
      trace.address = text_of(device.address);
    }
    for (const std::uint64_t address : device.addresses) {
      if (address != 0) trace.addresses.push_back(address);
    }
  }
  return trace;
}

// The used part of a file only: the rest is a hole of many megabytes.
std::vector<std::byte> read_used(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::vector<std::byte> bytes(sizeof(TraceHeader));
  const auto read_at = [&](std::size_t at) {
    file.read(reinterpret_cast<char*>(bytes.data() + at),
              static_cast<std::streamsize>(bytes.size() - at));
    bytes.resize(at + static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  };
  read_at(0);
  if (bytes.size() < sizeof(TraceHeader)) return bytes;
  TraceHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::uint64_t used = std::min(header.count, host::kTraceCapacity);
  const std::size_t before = bytes.size();
  bytes.resize(host::kTraceHeaderSize + used * sizeof(TraceRecord));
  read_at(before);
  return bytes;
}

}  // namespace

std::string read_trace(std::span<const std::byte> bytes, std::vector<RecordedTrace>& to) {
  TraceHeader header;
  if (bytes.size() < sizeof header) return "it is shorter than the header of a trace";
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != host::kTraceMagic) return "it is not a trace";
  if (header.version != host::kTraceVersion || header.record_size != sizeof(TraceRecord)) {
    return "it was written by another version of nerve";
  }
  RecordedTrace trace = describe(header);
  const std::size_t room =
      bytes.size() < host::kTraceHeaderSize ? 0 : bytes.size() - host::kTraceHeaderSize;
  const std::uint64_t used =
      std::min<std::uint64_t>({header.count, host::kTraceCapacity, room / sizeof(TraceRecord)});
  trace.lost = header.count - used;
  trace.records.reserve(used);
  for (std::uint64_t i = 0; i < used; ++i) {
    TraceRecord record;
    std::memcpy(&record, bytes.data() + host::kTraceHeaderSize + i * sizeof record, sizeof record);
    const auto step = static_cast<std::uint8_t>(record.step);
    // Zero: its writer was killed in the middle.
    if (step != 0 && step < nic::kTraceSteps) trace.records.push_back(record);
  }
  to.push_back(std::move(trace));
  return {};
}

TraceFolder read_trace_folder(const std::string& folder) {
  TraceFolder found;
  std::error_code failure;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator{folder, failure}) {
    std::error_code ignored;
    if (entry.path().extension() == ".trace" && entry.is_regular_file(ignored)) {
      paths.push_back(entry.path());
    }
  }
  if (failure) found.problems.push_back(folder + ": " + failure.message());
  std::ranges::sort(paths);
  for (const std::filesystem::path& path : paths) {
    if (const std::string why = read_trace(read_used(path), found.traces); !why.empty()) {
      found.problems.push_back(path.string() + ": " + why);
    }
  }
  return found;
}

}  // namespace nerve::cli
