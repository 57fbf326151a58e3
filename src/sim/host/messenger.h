// Messages between GPUs: the interface between workloads and a cluster.
//
// A message within a server crosses its interconnect. Any other message uses a NIC, on a connection
// that is made for the first message and kept, or on one of its own.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/time.h"

namespace nerve::sim {

// An endpoint of messages: a GPU, or a storage server (numbered after all GPUs).
using PlaceId = Id<struct PlaceTag, std::uint32_t, 32>;

// Identifies a message or a timer to its job.
struct Token {
  std::uint32_t job{};
  std::uint32_t subject{};  // a rank
  std::uint32_t argument{};
};

struct Message {
  PlaceId from{};
  PlaceId to{};
  std::uint64_t bytes{};
  bool on_front_end{};
  Token token{};          // returned to the job with each event of the message
  bool own_connection{};  // it shares no connection with other messages
};

// The events that a cluster reports to a job.
class MessengerUser {
 public:
  virtual ~MessengerUser() = default;
  virtual void start() = 0;
  // The receiver has all bytes of a message of this job.
  virtual void delivered(const Token& token) = 0;
  // The sender has the acknowledgement: its buffer is free.
  virtual void acknowledged(const Token& token) = 0;
  virtual void timer(const Token& token) = 0;
  // The connection failed with the message outstanding. The job is over.
  virtual void failed(const Token&) {}
  [[nodiscard]] virtual bool done() const = 0;
};

class Messenger {
 public:
  virtual ~Messenger() = default;
  virtual void send(const Message& message) = 0;
  // Reports timer() to the job after this time.
  virtual void after(Duration delay, const Token& token) = 0;
  // The same for what the job has planned beforehand, whatever arrives until then: messages that it
  // sends from timer() leave exactly at this time, without the delay of a reaction.
  virtual void plan(Time when, const Token& token) { after(when - now(), token); }
  [[nodiscard]] virtual Time now() const = 0;
};

}  // namespace nerve::sim
