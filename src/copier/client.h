// A program that is connected to the copier, and the thread that serves it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/time.h"
#include "copier/imports.h"
#include "host/gpu/cuda_copies.h"
#include "host/peers/mapping.h"
#include "host/peers/unix_socket.h"

namespace nerve::copier {

class Clients;

class Client {
 public:
  Client(const cuda::Driver& driver, Imports& imports, Clients& all, link::Descriptor socket)
      : driver_{driver}, imports_{imports}, all_{all}, socket_{std::move(socket)} {}

  // Serves the program until it disconnects.
  void serve();

  // For other clients' threads: the number of commands that were given so far, and the number of
  // the last one before which all have ended.
  [[nodiscard]] std::uint64_t given() const;
  [[nodiscard]] std::uint64_t ended() const { return ended_.load(std::memory_order_acquire); }

 private:
  using GpuCopies = host::GpuCopies;
  struct UnderWay {
    std::uint64_t number{};
    GpuCopies::Slot slot{};
    std::uint64_t length{};
    Time begun{};
    std::array<Imports::Memory*, 2> memory{};
  };
  using Queue = std::deque<UnderWay>;

  [[nodiscard]] bool join();
  void work();
  [[nodiscard]] std::optional<cuda::Device> find_device(const cuda::Uuid& uuid) const;
  // One step of each kind; true if something happened.
  bool step();
  void take_command();
  bool finish(Queue& queue);
  void begin(const GpuCopies::Copy& copy, std::uint64_t number);
  void leave(const UnderWay& copy);
  void publish(std::uint64_t number, GpuCopies::Slot slot, host::copier::Outcome outcome);
  void note_ended();
  void sleep();
  // Answers a request. False if the program has disconnected.
  bool answer();
  void settle();
  void reply(std::uint64_t value);
  void refuse(const std::string& why);
  [[nodiscard]] host::copier::Area& area() const;

  const cuda::Driver& driver_;
  Imports& imports_;
  Clients& all_;
  link::Descriptor socket_;
  link::Descriptor wake_;
  host::Mapping memory_;
  cuda::Device device_{};
  std::optional<cuda::CurrentContext> current_;  // to the thread that serves
  std::unique_ptr<host::CudaCopies> copies_;
  std::vector<std::uint64_t> opened_;  // addresses
  std::atomic<bool> joined_{};
  std::uint64_t taken_{};
  std::uint32_t answered_{};
  Time finished_{};  // the last copy
  Queue fetches_;
  Queue writes_;  // and all others
  std::atomic<std::uint64_t> ended_{};
};

}  // namespace nerve::copier
