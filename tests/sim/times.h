// Times as plain numbers, for values computed by hand.
#pragma once

#include "base/time.h"

namespace nerve::sim::test {

inline double seconds(Duration time) { return static_cast<double>(time.count()) / 1e12; }
inline double microseconds_of(Time time) { return static_cast<double>(time.picoseconds()) / 1e6; }

}  // namespace nerve::sim::test
