#include "host/diagnostics/trace_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>

#include "host/diagnostics/report.h"
#include "host/runtime/clock.h"
#include "nic/qp_context/qp_trace.h"
#include "wire/describe.h"

namespace nerve::host {
namespace {

constexpr std::size_t kStep = std::size_t{1} << 20;

std::uint64_t read_clock(const void* /*context*/) { return clock_ns(CLOCK_MONOTONIC); }

// The end stays zero.
template <std::size_t N>
void put_text(std::array<char, N>& to, std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), N - 1), to.begin());
}

// A longer file would raise SIGXFSZ.
bool exceeds_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kTraceFileSize;
}

}  // namespace

std::unique_ptr<TraceFile> TraceFile::make(const Config& config, std::uint32_t slot,
                                           std::vector<std::string>& problems) {
  const std::string name =
      config.trace_folder + "/" + std::to_string(own_pid()) + "-" + std::to_string(slot) + ".trace";
  const auto fail = [&](int code) {
    problems.push_back("trace: " + name + ": " + std::strerror(code) + "; nothing is traced");
    return nullptr;
  };
  if (exceeds_limit()) return fail(EFBIG);
  (void)::unlink(name.c_str());  // of an earlier process with this pid
  link::Descriptor file{
      ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file || ::ftruncate(file.get(), kTraceFileSize) != 0) return fail(errno);
  if (const int code = ::posix_fallocate(file.get(), 0, kStep); code != 0) return fail(code);
  void* const memory =
      ::mmap(nullptr, kTraceFileSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return fail(errno);
  std::unique_ptr<TraceFile> made{new TraceFile{std::move(file), memory, config.trace_messages}};
  auto& header = *static_cast<TraceHeader*>(memory);
  header.version = kTraceVersion;
  header.record_size = sizeof(nic::TraceRecord);
  header.capacity = kTraceCapacity;
  header.messages = config.trace_messages;
  header.pid = static_cast<std::uint32_t>(own_pid());
  header.slot = slot;
  put_text(header.program, own_name());
  header.magic = kTraceMagic;
  return made;
}

TraceFile::TraceFile(link::Descriptor file, void* memory, std::uint64_t messages)
    : file_{std::move(file)},
      memory_{static_cast<std::byte*>(memory)},
      allocated_{kStep},
      trace_{room(), messages} {}

TraceFile::~TraceFile() { (void)::munmap(memory_, kTraceFileSize); }

nic::TraceRoom TraceFile::room() {
  auto& header = *reinterpret_cast<TraceHeader*>(memory_);
  auto* const records = reinterpret_cast<nic::TraceRecord*>(memory_ + kTraceHeaderSize);
  return {
      .records = {records, kTraceCapacity},
      .count = reinterpret_cast<std::atomic<std::uint64_t>*>(&header.count),
      .clock = read_clock,
      .extend = [](void* self,
                   std::uint64_t record) { return static_cast<TraceFile*>(self)->extend(record); },
      .context = this};
}

std::uint64_t TraceFile::extend(std::uint64_t record) {
  const std::scoped_lock guard{extending_};
  const std::size_t end = kTraceHeaderSize + (record + 1) * sizeof(nic::TraceRecord);
  while (allocated_ < std::min(end, kTraceFileSize)) {
    const std::size_t step = std::min(kStep, kTraceFileSize - allocated_);
    if (::posix_fallocate(file_.get(), static_cast<off_t>(allocated_), static_cast<off_t>(step)) !=
        0) {
      break;
    }
    allocated_ += step;
  }
  return (allocated_ - kTraceHeaderSize) / sizeof(nic::TraceRecord);
}

void TraceFile::add(const Device& device) {
  auto& header = *reinterpret_cast<TraceHeader*>(memory_);
  if (header.device_count >= TraceHeader::kDevices) return;
  TraceDevice& to = header.devices[header.device_count];
  put_text(to.name, device.name);
  if (!device.gids.empty()) put_text(to.address, wire::to_string(device.gids.front()));
  for (std::size_t i = 0; i < std::min(device.gids.size(), TraceDevice::kAddresses); ++i) {
    to.addresses[i] = nic::short_address(device.gids[i]);
  }
  ++header.device_count;
}

link::FaultTap::OnLoss TraceFile::on_loss() {
  return [this](const wire::Frame& frame, bool corrupted) {
    using enum nic::TraceRefusal;
    const wire::Bth& bth = frame.headers.bth;
    trace_.add({.id = nic::short_address(frame.flow.destination),
                .peer = bth.dest_qp.value(),
                .psn = bth.psn.value(),
                .bytes = frame.payload_length,
                .step = nic::TraceStep::kPacketDropped,
                .opcode = bth.opcode,
                .detail = nic::detail_of(nic::TraceDetail::kRefusal,
                                         corrupted ? kInjectedError : kInjectedLoss)});
  };
}

}  // namespace nerve::host
