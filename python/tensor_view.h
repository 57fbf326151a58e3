// The memory of a Python object: a numpy array, a torch tensor, or anything that has the buffer
// protocol, the CUDA array interface or DLPack. Nothing is copied; the object must live as long as
// its memory is used. Work on the stream that a GPU array names has ended when its view is made.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <optional>
#include <string>

#include "ai/types.h"

namespace nerve::python {

struct TensorView {
  std::byte* data{};
  std::size_t bytes{};
  std::string type;  // its name in numpy and torch
  std::size_t element{1};

  [[nodiscard]] std::size_t count() const { return bytes / element; }
};

// Throws a Python TypeError or ValueError with the reason: memory that is not contiguous, on a
// device that is not supported, or read-only although it would be written to.
TensorView view_of(const pybind11::handle& object, bool written);
// The type for a reduction, or a TypeError that lists the types.
ai::DataType reducible(const TensorView& view);

}  // namespace nerve::python
