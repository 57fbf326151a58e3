// WRITEs between two processes, from and to the memory of a GPU and of the host: rate, latency, and
// whether the bytes arrived. A verbs program; `./nerve bench gpu` runs it.
//
// The CUDA driver is loaded at run time, so that this builds everywhere.
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/live/rc.h"

namespace nerve::bench {
namespace {

constexpr std::size_t kLargest = std::size_t{128} << 20U;
constexpr std::size_t kWindow = 16;  // WRITEs in flight
constexpr auto kSizes = std::to_array<std::size_t>(
    {8, 4096, 65536, std::size_t{1} << 20U, std::size_t{16} << 20U, kLargest});

struct Options {
  bool json{};
  bool quick{};

  [[nodiscard]] std::chrono::milliseconds time() const {
    return std::chrono::milliseconds{quick ? 16 : 400};
  }
  [[nodiscard]] std::size_t largest() const { return quick ? std::size_t{1} << 20U : kLargest; }
};

// The functions of libcuda.so.1 that this program needs.
class Cuda {
 public:
  Cuda() : library_{::dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL)} {
    int device = 0;
    void* context = nullptr;
    call("cuInit", 0U);
    call("cuDeviceGet", &device, 0);
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxPushCurrent_v2", context);
  }

  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    auto* const function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library_, name));
    const int status = function != nullptr ? function(arguments...) : 500;
    if (status == 0) return;
    (void)std::fprintf(stderr, "bench gpu: %s failed with CUDA error %d\n", name, status);
    ::_exit(1);
  }

  static constexpr const char* kLibrary = "libcuda.so.1";

 private:
  void* library_;
};

// A buffer of the GPU or of the host.
class Memory {
 public:
  Memory(const Cuda& cuda, bool gpu, std::size_t size) : cuda_{cuda}, gpu_{gpu} {
    if (gpu) {
      cuda_.call("cuMemAlloc_v2", &address_, size);
    } else {
      address_ = reinterpret_cast<std::uint64_t>(std::aligned_alloc(4096, size));
    }
  }
  [[nodiscard]] void* pointer() const { return reinterpret_cast<void*>(address_); }
  [[nodiscard]] std::uint64_t address() const { return address_; }
  void fill(const std::vector<std::byte>& bytes) const {
    if (gpu_) {
      cuda_.call<unsigned long long, const void*, std::size_t>("cuMemcpyHtoD_v2", address_,
                                                               bytes.data(), bytes.size());
    } else {
      std::memcpy(pointer(), bytes.data(), bytes.size());
    }
  }
  [[nodiscard]] std::vector<std::byte> contents(std::size_t size) const {
    std::vector<std::byte> bytes(size);
    if (gpu_) {
      cuda_.call<void*, unsigned long long, std::size_t>("cuMemcpyDtoH_v2", bytes.data(), address_,
                                                         size);
    } else {
      std::memcpy(bytes.data(), pointer(), size);
    }
    return bytes;
  }

 private:
  const Cuda& cuda_;
  bool gpu_;
  unsigned long long address_{};
};

std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::byte> bytes(size);
  std::uint32_t word = seed * 2654435761U + 1;
  for (std::byte& byte : bytes) {
    word = word * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(word >> 24U);
  }
  return bytes;
}

struct Side {
  ibv_qp* qp{};
  ibv_cq* cq{};
  std::uint32_t lkey{};
  RemoteMemory peer{};
};

Side connect(const Memory& memory, int fd) {
  ibv_context* const context = open_first_device();
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_mr* const mr =
      ibv_reg_mr(pd, memory.pointer(), kLargest, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (mr == nullptr) fail("ibv_reg_mr");
  ibv_cq* const cq = make_cq(context, 4 * kWindow);
  ibv_qp* const qp = make_rc(pd, {.send_cq = cq, .recv_cq = cq, .depth = 2 * kWindow});
  struct {
    ibv_gid gid;
    std::uint32_t number;
    RemoteMemory memory;
  } own{gid_of(context), qp->qp_num, {memory.address(), mr->rkey}}, peer{};
  send_all(fd, &own, sizeof own);
  receive_all(fd, &peer, sizeof peer);
  connect_rc(qp, peer.gid, peer.number);
  meet(fd);
  return {qp, cq, mr->lkey, peer.memory};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Seconds for one WRITE, with this many in flight.
double measure(const Side& side, const Memory& memory, std::size_t size, std::size_t in_flight,
               std::chrono::milliseconds time) {
  const ibv_sge from{memory.address(), static_cast<std::uint32_t>(size), side.lkey};
  std::array<ibv_wc, kWindow> found;
  std::size_t posted = 0;
  std::size_t done = 0;
  const auto run = [&](std::chrono::milliseconds limit, std::size_t least) {
    const auto start = std::chrono::steady_clock::now();
    posted = done = 0;
    bool more = true;
    while (more || done < posted) {
      while (more && posted - done < in_flight) {
        post_write(side.qp, from, side.peer, posted++);
        more = posted < least || std::chrono::steady_clock::now() - start < limit;
      }
      done += poll(side.cq, found.data(), found.size());
    }
    return seconds_since(start) / static_cast<double>(done);
  };
  (void)run(time / 8, 2);
  return run(time, 4);
}

int serve(const Cuda& cuda, bool gpu, int fd) {
  const Memory memory{cuda, gpu, kLargest};
  const Side side = connect(memory, fd);
  for (std::size_t size = 0;;) {  // checks what has arrived, when asked
    receive_all(fd, &size, sizeof size);
    if (size == 0) break;
    const bool same = memory.contents(size) == pattern(size, static_cast<std::uint32_t>(size));
    send_all(fd, &same, sizeof same);
  }
  (void)side;
  return 0;
}

bool write_all(const Cuda& cuda, bool from_gpu, bool to_gpu, int fd, const Options& options) {
  const Memory memory{cuda, from_gpu, kLargest};
  const Side side = connect(memory, fd);
  const char* const from = from_gpu ? "GPU" : "host";
  const char* const to = to_gpu ? "GPU" : "host";
  bool right = true;
  for (const std::size_t size : kSizes) {
    if (size > options.largest()) break;
    memory.fill(pattern(size, static_cast<std::uint32_t>(size)));
    const double alone = measure(side, memory, size, 1, options.time());
    const double together = measure(side, memory, size, kWindow, options.time());
    bool same = false;
    send_all(fd, &size, sizeof size);
    receive_all(fd, &same, sizeof same);
    right = right && same;
    const double rate = static_cast<double>(size) / together / 1e9;
    if (options.json) {
      std::printf(
          R"({"from":"%s","to":"%s","bytes":%zu,"seconds":%.9f,"gigabytes_per_second":%.4f,)"
          R"("right":%s})"
          "\n",
          from, to, size, alone, rate, same ? "true" : "false");
    } else {
      std::printf("%-5s %-5s %10zu %12.2f %12.3f  %s\n", from, to, size, alone * 1e6, rate,
                  same ? "" : "WRONG BYTES");
    }
    (void)std::fflush(stdout);
  }
  const std::size_t end = 0;
  send_all(fd, &end, sizeof end);
  return right;
}

// Two new processes, because CUDA does not survive a fork.
bool run(bool from_gpu, bool to_gpu, const Options& options) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) fail("socketpair");
  std::array<pid_t, 2> children{};
  for (std::size_t i = 0; i < 2; ++i) {
    children[i] = ::fork();
    if (children[i] != 0) continue;
    ::close(ends[1 - i]);
    const Cuda cuda;
    const bool done = i == 0 ? write_all(cuda, from_gpu, to_gpu, ends[0], options)
                             : serve(cuda, to_gpu, ends[1]) == 0;
    ::_exit(done ? 0 : 1);
  }
  ::close(ends[0]);
  ::close(ends[1]);
  bool good = true;
  for (const pid_t child : children) {
    int status = -1;
    good = ::waitpid(child, &status, 0) == child && status == 0 && good;
  }
  return good;
}

}  // namespace
}  // namespace nerve::bench

int main(int argc, char** argv) {
  nerve::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option{argv[i]};
    options.json = options.json || option == "--json";
    options.quick = options.quick || option == "--quick";
    if (option == "--json" || option == "--quick") continue;
    (void)std::fprintf(stderr, "usage: %s [--json] [--quick]\n", argv[0]);
    return 2;
  }
  // Loaded and left again: a process that has used it cannot fork.
  void* const driver = ::dlopen(nerve::bench::Cuda::kLibrary, RTLD_LAZY);
  if (driver == nullptr) {
    (void)std::fprintf(stderr, "bench gpu: no CUDA driver here (%s)\n", ::dlerror());
    return 2;
  }
  ::dlclose(driver);
  if (!options.json) {
    std::printf("%-5s %-5s %10s %12s %12s\n", "from", "to", "bytes", "us (one)", "GB/s (16)");
  }
  bool good = true;
  for (const bool from_gpu : {false, true}) {
    for (const bool to_gpu : {false, true}) {
      (void)std::fflush(stdout);
      good = nerve::bench::run(from_gpu, to_gpu, options) && good;
    }
  }
  return good ? 0 : 1;
}
