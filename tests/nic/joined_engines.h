// Carries the frames of two engines to each other in memory. `Rig` derives from it, has the engines
// as a.nic and b.nic, and decides about each frame in
//
//   bool passes(bool from_a, const wire::Frame& frame);   // false: the frame is lost
//
// Time advances only when the test says so.
#pragma once

#include <optional>

#include "nic/nic.h"

namespace nerve::test {

template <class Rig>
class JoinedEngines {
 public:
  // Exchanges frames until neither has anything to send.
  void exchange() {
    for (bool busy = true; busy;) {
      busy = carry(true);
      busy = carry(false) || busy;
    }
  }
  // Advances the time, fires timers and exchanges the frames that they send.
  void wait(Duration time) {
    const Time end = now + time;
    nic::Nic& a = rig().a.nic;
    nic::Nic& b = rig().b.nic;
    while (true) {
      std::optional<Time> due = a.next_deadline();
      if (const auto other = b.next_deadline(); other && (!due || *other < *due)) due = other;
      if (!due || *due > end) break;
      if (*due > now) now = *due;
      a.expire(now);
      b.expire(now);
      exchange();
    }
    now = end;
  }

  Time now{Duration{1}};

 protected:
  // Carries one burst. Returns false when there was nothing to send.
  bool carry(bool from_a) {
    nic::Nic& from = from_a ? rig().a.nic : rig().b.nic;
    nic::Nic& to = from_a ? rig().b.nic : rig().a.nic;
    from.transmit(burst_, now);
    for (const wire::Frame& frame : burst_.frames()) {
      if (rig().passes(from_a, frame)) to.receive({&frame, 1}, now);
    }
    return !burst_.empty();
  }

 private:
  Rig& rig() { return static_cast<Rig&>(*this); }

  nic::TxBurst burst_{64};
};

}  // namespace nerve::test
