// Word from the kernel that addresses or interfaces have changed.
#pragma once

#include "link/descriptor.h"

namespace nerve::host {

// Readable after a change. Invalid where the kernel gives no such word: addresses then stay as they
// were when the process began.
[[nodiscard]] link::Descriptor watch_addresses();

// Takes what has come, so that the descriptor is readable again only after the next change.
void take_news(int descriptor);

}  // namespace nerve::host
