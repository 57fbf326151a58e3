// How a program finds the GPU copier of its user, or starts it.
#pragma once

#include <string>

#include "link/descriptor.h"

namespace nerve::host {

// A connection to it. Invalid, with the reason, if there is none and it cannot be started.
[[nodiscard]] link::Descriptor reach_copier(const std::string& program, std::string& why);

// Its file, in the folder of the library that contains this code.
[[nodiscard]] std::string copier_program();

}  // namespace nerve::host
