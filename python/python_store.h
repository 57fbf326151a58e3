// A rendezvous store that Python implements.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <utility>

#include "ai/rendezvous.h"

namespace nerve::python {

namespace py = pybind11;

// A store of Python: an object with set(key, bytes) and get(key), which returns None if there is
// nothing yet.
class PythonStore final : public ai::Store {
 public:
  explicit PythonStore(py::object store) : store_{std::move(store)} {}
  PythonStore(const PythonStore&) = delete;
  PythonStore& operator=(const PythonStore&) = delete;
  ~PythonStore() override {
    const py::gil_scoped_acquire gil;
    store_ = {};
  }
  ai::Status set(const std::string& key, const std::string& value) override {
    const py::gil_scoped_acquire gil;
    try {
      store_.attr("set")(key, py::bytes(value));
      return ai::Done{};
    } catch (const py::error_already_set& error) {
      return ai::failure(ai::Error::Kind::kSystem,
                         std::string{"the store failed: "} + error.what());
    }
  }
  Result<std::optional<std::string>, ai::Error> get(const std::string& key) override {
    const py::gil_scoped_acquire gil;
    try {
      const py::object value = store_.attr("get")(key);
      if (value.is_none()) return std::optional<std::string>{};
      return std::optional{value.cast<std::string>()};
    } catch (const py::error_already_set& error) {
      return ai::failure(ai::Error::Kind::kSystem,
                         std::string{"the store failed: "} + error.what());
    }
  }

 private:
  py::object store_;
};

}  // namespace nerve::python
