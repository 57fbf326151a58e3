#include "sim/host/cluster.h"

#include <algorithm>

#include "base/check.h"

namespace nerve::sim {
namespace {

std::uint32_t take_number(std::vector<std::uint32_t>& free, std::size_t used) {
  if (free.empty()) return static_cast<std::uint32_t>(used);
  const std::uint32_t number = free.back();
  free.pop_back();
  return number;
}

template <class T>
void keep(std::vector<T>& all, std::uint32_t number, const T& value) {
  if (number == all.size()) {
    all.push_back(value);
  } else {
    all[number] = value;
  }
}

std::string name_of(const ClusterShape& shape, PlaceId place) {
  if (shape.is_storage(place)) {
    return "storage server " + std::to_string(place.value() - shape.all_gpus());
  }
  return "gpu " + std::to_string(place.value());
}

}  // namespace

Cluster::Cluster(Simulation& simulation, const ClusterConfig& config)
    : simulation_{simulation},
      config_{config},
      interconnect_{simulation, config.shape.servers, config.shape.gpus, config.interconnect,
                    config.most_slices},
      carrier_{simulation, config.shape, config.back_end, config.front_end, *this},
      disks_(config.shape.storage) {
  simulation.on_task([this](std::uint32_t subject, std::uint32_t argument) {
    task(static_cast<ClusterTask>(subject), argument);
  });
}

std::uint32_t Cluster::add(MessengerUser& job, Duration start) {
  const auto number = static_cast<std::uint32_t>(jobs_.size());
  jobs_.push_back({.job = &job, .start = Time{start}, .trouble = {}});
  simulation_.task_at(ahead_of(Time{start}), static_cast<std::uint32_t>(ClusterTask::kStart),
                      number);
  return number;
}

void Cluster::schedule(Duration delay, ClusterTask what, std::uint32_t argument) {
  simulation_.task_at(now() + delay, static_cast<std::uint32_t>(what), argument);
}

Time Cluster::ahead_of(Time when) const {
  const Duration delay = simulation_.post_delay();
  return when - Time{} > delay ? when - delay : Time{};
}

void Cluster::after(Duration delay, const Token& token) {
  Timer timer{token, {}, path_};
  timer.path.add_timer(delay);
  set_timer(now() + delay, timer);
}

void Cluster::plan(Time when, const Token& token) {
  Timer timer{token, when, path_};
  timer.path.add_timer(when - now());
  set_timer(ahead_of(when), timer);
}

void Cluster::set_timer(Time when, const Timer& timer) {
  const std::uint32_t number = take_number(free_timers_, timers_.size());
  keep(timers_, number, timer);
  simulation_.task_at(when, static_cast<std::uint32_t>(ClusterTask::kTimer), number);
}

void Cluster::send(const Message& message) {
  const ClusterShape& shape = config_.shape;
  CHECK(shape.exists(message.from) && shape.exists(message.to));
  const std::uint32_t number = take_number(free_messages_, messages_.size());
  keep(messages_, number, {.message = message, .begun = now(), .before = path_});
  reserve_disk(messages_[number], message.from);
  reserve_disk(messages_[number], message.to);
  if (shape.server_of(message.from) == shape.server_of(message.to)) {
    messages_[number].path = Path::kInterconnect;
    if (shape.is_storage(message.from)) return schedule({}, ClusterTask::kCrossed, number);
    return schedule({}, ClusterTask::kBegin, number);
  }
  const bool by_front_end = shape.by_front_end(message);
  const auto relay = by_front_end ? std::nullopt : shape.relay_for(message.from, message.to);
  const Parcel parcel{.from = relay.value_or(message.from),
                      .to = message.to,
                      .job = message.token.job,
                      .on_front_end = by_front_end,
                      .own_connection = message.own_connection,
                      .bytes = message.bytes,
                      .ready = relay ? 0 : message.bytes,
                      .name = number};
  const ParcelId sent = carrier_.send(parcel);
  messages_[number].parcel = sent;
  if (!relay) return;
  messages_[number].path = Path::kRelay;
  schedule({}, ClusterTask::kBegin, number);
}

void Cluster::cross(std::uint32_t number) {
  const Message& message = messages_[number].message;
  const PlaceId to = messages_[number].path == Path::kRelay
                         ? *config_.shape.relay_for(message.from, message.to)
                         : message.to;
  interconnect_.send(message.from, to, message.bytes, number);
}

// The disk starts with the message and works at its own rate.
void Cluster::reserve_disk(Sending& sending, PlaceId place) {
  if (!config_.shape.is_storage(place) || config_.disk == Rate{}) return;
  Time& free = disks_[place.value() - config_.shape.all_gpus()];
  free = std::max(free, now()) + config_.disk.time_to_send(sending.message.bytes);
  sending.stored = std::max(sending.stored, free);
}

void Cluster::task(ClusterTask what, std::uint32_t argument) {
  switch (what) {
    case ClusterTask::kStart:
      path_ = {};
      simulation_.plan(jobs_[argument].start);
      jobs_[argument].job->start();
      simulation_.plan(std::nullopt);
      return check_over(argument);
    case ClusterTask::kTimer: {
      const Timer timer = timers_[argument];
      free_timers_.push_back(argument);
      path_ = timer.path;
      simulation_.plan(timer.planned);
      jobs_[timer.token.job].job->timer(timer.token);
      simulation_.plan(std::nullopt);
      return check_over(timer.token.job);
    }
    case ClusterTask::kBegin:
      return cross(argument);
    case ClusterTask::kSlice:
      return slice_left(argument);
    case ClusterTask::kCrossed:
      return crossed(argument);
    case ClusterTask::kStored:
      return deliver(argument);
  }
}

void Cluster::slice_left(std::uint32_t transfer) {
  const Interconnect::Slice slice = interconnect_.slice_done(transfer);
  if (!slice.last && messages_[slice.name].path == Path::kInterconnect) return;
  schedule(config_.interconnect_delay, ClusterTask::kCrossed, slice.name);
}

// A message within its server has crossed completely, or one slice of a relayed message has.
void Cluster::crossed(std::uint32_t number) {
  Sending& sending = messages_[number];
  if (sending.path == Path::kRelay) {
    const std::uint64_t bytes = sending.message.bytes;
    const std::uint64_t more = std::min(interconnect_.slice_of(bytes), bytes - sending.crossed);
    sending.crossed += more;
    return carrier_.ready(sending.parcel, more);
  }
  sending.acknowledged = true;
  bytes_within_servers_ += sending.message.bytes;
  deliver(number);
}

void Cluster::carried(std::uint32_t number) {
  const Time stored = messages_[number].stored;
  if (stored <= now()) return deliver(number);
  schedule(stored - now(), ClusterTask::kStored, number);
}

void Cluster::deliver(std::uint32_t number) {
  const Token token = messages_[number].message.token;
  messages_[number].delivered = true;
  path_ = path_of(messages_[number], false);
  const bool acknowledged_before = messages_[number].acknowledged;
  if (acknowledged_before) free_messages_.push_back(number);
  jobs_[token.job].job->delivered(token);
  if (acknowledged_before) jobs_[token.job].job->acknowledged(token);
  check_over(token.job);
}

PathTimes Cluster::path_of(const Sending& sending, bool acknowledged) const {
  PathTimes path = sending.before;
  path.add_message(now() - sending.begun, sending.message.bytes,
                   sending.path == Path::kInterconnect, acknowledged);
  return path;
}

// Reported to the job after the delivery, even if the sender has the acknowledgement earlier (TCP,
// or a disk that is still writing).
void Cluster::acknowledged(std::uint32_t number) {
  messages_[number].acknowledged = true;
  if (!messages_[number].delivered) return;
  const Token token = messages_[number].message.token;
  path_ = path_of(messages_[number], true);
  free_messages_.push_back(number);
  jobs_[token.job].job->acknowledged(token);
  check_over(token.job);
}

// The index is not reused: slices of the message may still be crossing the interconnect.
void Cluster::failed(std::uint32_t number, std::string_view why) {
  const Message message = messages_[number].message;
  path_ = path_of(messages_[number], false);
  ++failed_messages_;
  Running& running = jobs_[message.token.job];
  if (running.trouble.empty()) {
    running.trouble = "a message of " + std::to_string(message.bytes) + " bytes from " +
                      name_of(config_.shape, message.from) + " to " +
                      name_of(config_.shape, message.to) + " was lost: " + std::string{why};
  }
  running.job->failed(message.token);
  check_over(message.token.job);
}

void Cluster::check_over(std::uint32_t job) {
  Running& running = jobs_[job];
  if (running.over || (running.trouble.empty() && !running.job->done())) return;
  running.over = true;
  running.path = path_;
  ++over_;
  if (over()) simulation_.stop();
}

}  // namespace nerve::sim
