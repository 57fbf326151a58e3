#include "tests/dst/host.h"

#include <algorithm>
#include <array>
#include <utility>

namespace nerve::dst {

using nic::Access;

Host::Host(std::size_t index, const nic::NicConfig& config, const wire::Gid& gid, Habits habits,
           std::uint64_t seed, std::size_t zone_size, EventQueue& events, Network& network,
           Journal& journal)
    : index_{index},
      gid_{gid},
      habits_{habits},
      prng_{seed},
      events_{events},
      network_{network},
      journal_{journal},
      nic_{config},
      memory_{seed ^ 0x3e3, zone_size},
      burst_{habits.burst} {
  CHECK(nic_.set_gid(0, gid).has_value());
  nic_.set_port_active(true);
  pd_ = *nic_.alloc_pd();
  constexpr Access kRights[MemoryModel::kZones] = {
      Access::kRemoteRead,
      Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic |
          Access::kMwBind | Access::kFlushGlobal | Access::kFlushPersistent,
      Access::kLocalWrite};
  for (std::size_t i = 0; i < MemoryModel::kZones; ++i) {
    const auto zone = static_cast<MemoryModel::Zone>(i);
    const std::size_t start = memory_.zone_start(zone);
    regions_[i] =
        *nic_.register_mr({.pd = pd_,
                           .address = reinterpret_cast<std::uint64_t>(memory_.pointer(start)),
                           .length = memory_.zone_size(),
                           .iova = MemoryModel::iova(start),
                           .access = kRights[i],
                           .port = nullptr});
    keys_[i] = *nic_.keys_of(regions_[i]);
  }
  network_.attach(gid_, [this](Parcel parcel) { arrive(std::move(parcel)); });
}

nic::CqHandle Host::create_cq(std::uint32_t depth) {
  const nic::CqHandle cq = *nic_.create_cq({.depth = depth, .cookie = cqs_.size()});
  cqs_.push_back(cq);
  if (habits_.waits_for_events) CHECK(nic_.arm_cq(cq, false).has_value());
  return cq;
}

void Host::pump() {
  transmit();
  take_events();
  if (!habits_.waits_for_events) poll_all();
  // Completions may have been answered with new work.
  transmit();
  take_events();
  set_alarm();
}

void Host::transmit() {
  for (;;) {
    burst_.clear();
    nic_.transmit(burst_, events_.now());
    if (burst_.empty()) return;
    for (const wire::Frame& frame : burst_.frames()) network_.send(index_, frame);
  }
}

void Host::take_events() {
  while (const std::optional<nic::Event> event = nic_.next_event()) {
    journal_.mix(static_cast<std::uint64_t>(event->kind));
    if (event->kind == nic::EventKind::kCompletion) {
      // Arm before polling, as programs must, or a completion in between is never announced.
      CHECK(nic_.arm_cq(event->cq, false).has_value());
      poll(event->cq);
    } else if (on_event_) {
      on_event_(*this, *event);
    }
  }
}

void Host::poll_all() {
  for (std::size_t i = 0; i < cqs_.size(); ++i) poll(cqs_[i]);
}

void Host::poll(nic::CqHandle cq) {
  std::array<nic::Completion, 8> some;
  for (;;) {
    const auto got = nic_.poll_cq(cq, std::span{some}.first(1 + prng_.below(some.size())));
    CHECK(got.has_value());
    if (*got == 0) return;
    for (const nic::Completion& completion : std::span{some}.first(*got)) {
      journal_.mix(events_.now().picoseconds());
      journal_.mix(completion.wr_id);
      journal_.mix(static_cast<std::uint64_t>(completion.status));
      if (on_completion_) on_completion_(*this, cq, completion);
    }
  }
}

void Host::arrive(Parcel parcel) {
  inbox_.push_back(std::move(parcel));
  if (interrupt_pending_) return;
  interrupt_pending_ = true;
  const auto wait = static_cast<std::uint64_t>(habits_.interrupt_delay.count());
  events_.after(Duration{static_cast<std::int64_t>(prng_.below(wait + 1))},
                [this] { interrupt(); });
}

void Host::interrupt() {
  interrupt_pending_ = false;
  std::vector<Parcel> parcels;
  parcels.swap(inbox_);
  std::vector<wire::Frame> frames;
  std::vector<wire::Piece> pieces(parcels.size());
  for (std::size_t done = 0; done < parcels.size(); done += frames.size()) {
    frames.clear();
    const std::size_t most = std::min<std::size_t>(parcels.size() - done, habits_.receive_burst);
    const std::size_t count = prng_.between(1, most);
    for (std::size_t i = done; i < done + count; ++i) {
      frames.push_back(view(parcels[i], pieces[i]));
    }
    nic_.receive(frames, events_.now());
    if (prng_.chance(500)) pump();
  }
  pump();
}

void Host::set_alarm() {
  const std::optional<Time> deadline = nic_.next_deadline();
  if (!deadline || (alarm_ && *alarm_ <= *deadline)) return;
  const Time when = std::max(*deadline, events_.now());
  alarm_ = when;
  events_.at(when, [this, when] {
    if (alarm_ != when) return;  // an earlier alarm has replaced this one
    alarm_.reset();
    nic_.expire(events_.now());
    pump();
  });
}

}  // namespace nerve::dst
