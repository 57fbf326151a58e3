// The Python module nerve._nerve: a group, its buffers and its collectives.
// python/nerve/__init__.py has the documentation of what users call.
//
// The GIL is released while a call waits, and a signal (Ctrl-C) ends the wait. Calls of several
// threads on one group run one after the other.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <mutex>

#include "ai/group.h"
#include "python_store.h"
#include "tensor_view.h"

namespace py = pybind11;

namespace nerve::python {
namespace {

using ai::Error;

PyObject* error_type = nullptr;
PyObject* peer_died_type = nullptr;
PyObject* timeout_type = nullptr;
PyObject* last_error = nullptr;

[[noreturn]] void raise(const Error& error) {
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();  // a signal handler raised
  PyObject* type = error_type;
  if (error.kind == Error::Kind::kPeerDied) type = peer_died_type;
  if (error.kind == Error::Kind::kTimeout) type = timeout_type;
  const py::object made = py::reinterpret_borrow<py::object>(type)(error.text);
  made.attr("rank") =
      error.rank == Error::kNoRank ? py::object{py::none()} : py::object{py::int_(error.rank)};
  Py_XSETREF(last_error, made.inc_ref().ptr());
  PyErr_SetObject(type, made.ptr());
  throw py::error_already_set();
}

template <class T>
T value_or_raise(Result<T, Error> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

bool signalled() {
  const py::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

struct Shared {
  std::mutex lock;
  std::unique_ptr<ai::Group> group;
};

// Calls with the GIL released and the group locked.
template <class Call>
auto unlocked(Shared& shared, Call call) {
  const py::gil_scoped_release release;
  const std::scoped_lock guard{shared.lock};
  return call(*shared.group);
}

class PyBuffer {
 public:
  PyBuffer(std::shared_ptr<Shared> shared, ai::Buffer buffer, py::object owner)
      : shared_{std::move(shared)}, buffer_{std::move(buffer)}, owner_{std::move(owner)} {}
  [[nodiscard]] const ai::Buffer& get() const { return buffer_; }
  [[nodiscard]] const std::shared_ptr<Shared>& shared() const { return shared_; }

 private:
  std::shared_ptr<Shared> shared_;  // outlives the buffer
  ai::Buffer buffer_;
  py::object owner_;
};

struct Range {
  std::size_t offset;
  std::size_t length;
};

Range range_of(const py::slice& slice, std::size_t size) {
  py::ssize_t start = 0;
  py::ssize_t stop = 0;
  py::ssize_t step = 0;
  py::ssize_t length = 0;
  if (!slice.compute(static_cast<py::ssize_t>(size), &start, &stop, &step, &length)) {
    throw py::error_already_set();
  }
  if (step != 1) throw py::value_error("a range of a buffer has no step; write b[first:end]");
  return {static_cast<std::size_t>(start), static_cast<std::size_t>(length)};
}

struct LocalRange {
  std::shared_ptr<PyBuffer> buffer;
  Range range;
};
struct RemoteRange {
  ai::RemoteBuffer buffer;
  Range range;
};

LocalRange local_range(const py::object& object) {
  if (py::isinstance<LocalRange>(object)) return object.cast<LocalRange>();
  auto buffer = object.cast<std::shared_ptr<PyBuffer>>();
  return {buffer, {0, buffer->get().size()}};
}
RemoteRange remote_range(const py::object& object) {
  if (py::isinstance<RemoteRange>(object)) return object.cast<RemoteRange>();
  const auto buffer = object.cast<ai::RemoteBuffer>();
  return {buffer, {0, buffer.size}};
}

struct PyTransfer {
  std::shared_ptr<Shared> shared;
  std::shared_ptr<PyBuffer> buffer;
  ai::Transfer transfer;
};

class PyGroup {
 public:
  explicit PyGroup(std::unique_ptr<ai::Group> group) : shared_{std::make_shared<Shared>()} {
    shared_->group = std::move(group);
  }

  [[nodiscard]] ai::Group& group() const { return *shared_->group; }
  template <class Call>
  auto run(Call call) const {
    return unlocked(*shared_, call);
  }
  template <class Call>
  void check(Call call) const {
    if (ai::Status done = run(call); !done) raise(done.error());
  }

  std::shared_ptr<PyBuffer> add(const py::object& object) const {
    const TensorView view = view_of(object, true);
    auto buffer = run([&](ai::Group& g) { return g.add_buffer(view.data, view.bytes); });
    return std::make_shared<PyBuffer>(shared_, value_or_raise(std::move(buffer)), object);
  }
  PyTransfer move(bool is_put, const py::object& local, const py::object& remote,
                  std::optional<std::uint32_t> notify) const {
    const LocalRange here = local_range(local);
    const RemoteRange there = remote_range(remote);
    if (here.range.length != there.range.length) {
      throw py::value_error(std::to_string(here.range.length) + " local and " +
                            std::to_string(there.range.length) +
                            " remote bytes; both ranges must have the same length");
    }
    const ai::Slice slice{&here.buffer->get(), here.range.offset, here.range.length};
    const ai::RemoteSlice target{there.buffer, there.range.offset};
    auto started = run(
        [&](ai::Group& g) { return is_put ? g.put(slice, target, notify) : g.get(slice, target); });
    return {shared_, here.buffer, value_or_raise(std::move(started))};
  }

 private:
  std::shared_ptr<Shared> shared_;
};

ai::ReduceOp op_named(const std::string& name) {
  const auto op = ai::reduce_op_named(name);
  if (!op) throw py::value_error("no operation '" + name + "'; sum, product, min, max, average");
  return *op;
}
ai::Algorithm algorithm_named(const std::string& name) {
  const auto found = ai::algorithm_named(name);
  if (!found)
    throw py::value_error("no algorithm '" + name + "'; auto, exchange, mesh, ring, tree");
  return *found;
}

void need_length(const char* what, std::size_t got, std::size_t wanted) {
  if (got == wanted) return;
  throw py::value_error(std::string{what} + " has " + std::to_string(got) + " bytes and needs " +
                        std::to_string(wanted));
}

PyGroup join(int rank, int ranks, const std::string& at, const std::string& transport,
             const std::vector<std::string>& devices, int qps, double timeout,
             const std::string& host, const py::object& store) {
  ai::GroupOptions options{
      .rank = rank,
      .size = ranks,
      .rendezvous = at,
      .host = host,
      .transport = transport,
      .devices = devices,
      .qps_per_peer = qps,
      .timeout = std::chrono::milliseconds{static_cast<std::int64_t>(timeout * 1000)},
      .interrupted = signalled};
  if (!store.is_none()) options.store = std::make_shared<PythonStore>(store);
  auto joined = [&] {
    const py::gil_scoped_release release;
    return ai::Group::join(options);
  }();
  return PyGroup{value_or_raise(std::move(joined))};
}

void define_buffers(py::module_& m) {
  py::class_<LocalRange>(m, "BufferRange").def("__len__", [](const LocalRange& range) {
    return range.range.length;
  });
  py::class_<RemoteRange>(m, "RemoteRange").def("__len__", [](const RemoteRange& range) {
    return range.range.length;
  });
  py::class_<PyBuffer, std::shared_ptr<PyBuffer>>(m, "Buffer")
      .def("key", [](const PyBuffer& buffer) { return py::bytes(buffer.get().key()); })
      .def("__len__", [](const PyBuffer& buffer) { return buffer.get().size(); })
      .def("__getitem__", [](const std::shared_ptr<PyBuffer>& buffer, const py::slice& slice) {
        return LocalRange{buffer, range_of(slice, buffer->get().size())};
      });
  py::class_<ai::RemoteBuffer>(m, "RemoteBuffer")
      .def_readonly("rank", &ai::RemoteBuffer::rank)
      .def("__len__", [](const ai::RemoteBuffer& buffer) { return buffer.size; })
      .def("__getitem__", [](const ai::RemoteBuffer& buffer, const py::slice& slice) {
        return RemoteRange{buffer, range_of(slice, buffer.size)};
      });
  py::class_<PyTransfer>(m, "Transfer")
      .def("wait",
           [](PyTransfer& one) {
             ai::Status done =
                 unlocked(*one.shared, [&](ai::Group& g) { return g.wait(one.transfer); });
             if (!done) raise(done.error());
           })
      .def("done", [](PyTransfer& one) {
        return unlocked(*one.shared, [&](ai::Group& g) { return g.done(one.transfer); });
      });
}

void define_transfers(py::class_<PyGroup>& group) {
  using py::arg;
  group.def("register", &PyGroup::add, arg("array"))
      .def(
          "remote",
          [](const PyGroup& self, int peer, const std::string& key) {
            return value_or_raise(
                self.run([&](ai::Group& g) { return g.remote_buffer(peer, key); }));
          },
          arg("peer"), arg("key"))
      .def(
          "put",
          [](const PyGroup& self, const py::object& local, const py::object& remote,
             std::optional<std::uint32_t> notify) {
            return self.move(true, local, remote, notify);
          },
          arg("local"), arg("remote"), arg("notify") = py::none())
      .def(
          "get",
          [](const PyGroup& self, const py::object& local, const py::object& remote) {
            return self.move(false, local, remote, std::nullopt);
          },
          arg("local"), arg("remote"))
      .def(
          "notify",
          [](const PyGroup& self, int peer, std::uint32_t tag) {
            self.check([&](ai::Group& g) { return g.notify(peer, tag); });
          },
          arg("peer"), arg("tag"))
      .def(
          "wait",
          [](const PyGroup& self, int peer, std::uint32_t tag) {
            self.check([&](ai::Group& g) { return g.wait_notify(peer, tag); });
          },
          arg("peer"), arg("tag"))
      .def(
          "send",
          [](const PyGroup& self, const py::object& array, int peer) {
            const TensorView view = view_of(array, false);
            self.check([&](ai::Group& g) { return g.send(view.data, view.bytes, peer); });
          },
          arg("array"), arg("peer"))
      .def(
          "receive",
          [](const PyGroup& self, const py::object& array, int peer) {
            const TensorView view = view_of(array, true);
            self.check([&](ai::Group& g) { return g.receive(view.data, view.bytes, peer); });
          },
          arg("array"), arg("peer"));
}

void define_collectives(py::class_<PyGroup>& group) {
  using py::arg;
  const auto ranks = [](const PyGroup& self) {
    return static_cast<std::size_t>(self.group().size());
  };
  group
      .def(
          "all_reduce",
          [](const PyGroup& self, const py::object& array, const std::string& op,
             const std::string& algorithm) {
            const TensorView view = view_of(array, true);
            const ai::DataType type = reducible(view);
            const ai::ReduceOp how = op_named(op);
            const ai::Algorithm by = algorithm_named(algorithm);
            self.check(
                [&](ai::Group& g) { return g.all_reduce(view.data, view.count(), type, how, by); });
          },
          arg("array"), arg("op") = "sum", arg("algorithm") = "auto")
      .def(
          "reduce_scatter",
          [ranks](const PyGroup& self, const py::object& array, const py::object& out,
                  const std::string& op) {
            const TensorView from = view_of(array, false);
            const TensorView to = view_of(out, true);
            const ai::DataType type = reducible(from);
            if (to.type != from.type) throw py::type_error("out is of another type than array");
            need_length("array", from.bytes, to.bytes * ranks(self));
            const ai::ReduceOp how = op_named(op);
            self.check([&](ai::Group& g) {
              return g.reduce_scatter(from.data, to.data, to.count(), type, how);
            });
          },
          arg("array"), arg("out"), arg("op") = "sum")
      .def(
          "all_gather",
          [ranks](const PyGroup& self, const py::object& array, const py::object& out) {
            const TensorView from = view_of(array, false);
            const TensorView to = view_of(out, true);
            need_length("out", to.bytes, from.bytes * ranks(self));
            self.check([&](ai::Group& g) { return g.all_gather(from.data, to.data, from.bytes); });
          },
          arg("array"), arg("out"))
      .def(
          "broadcast",
          [](const PyGroup& self, const py::object& array, int root) {
            const TensorView view = view_of(array, self.group().rank() != root);
            self.check([&](ai::Group& g) { return g.broadcast(view.data, view.bytes, root); });
          },
          arg("array"), arg("root") = 0)
      .def(
          "all_to_all",
          [ranks](const PyGroup& self, const py::object& array, const py::object& out) {
            const TensorView from = view_of(array, false);
            const TensorView to = view_of(out, true);
            need_length("out", to.bytes, from.bytes);
            if (from.bytes % ranks(self) != 0) {
              throw py::value_error(std::to_string(from.bytes) + " bytes cannot be divided among " +
                                    std::to_string(ranks(self)) + " ranks");
            }
            self.check([&](ai::Group& g) {
              return g.all_to_all(from.data, to.data, from.bytes / ranks(self));
            });
          },
          arg("array"), arg("out"))
      .def("barrier",
           [](const PyGroup& self) { self.check([](ai::Group& g) { return g.barrier(); }); });
}

void define_group(py::module_& m) {
  py::class_<PyGroup> group(m, "Group");
  group.def_property_readonly("rank", [](const PyGroup& self) { return self.group().rank(); })
      .def_property_readonly("ranks", [](const PyGroup& self) { return self.group().size(); })
      .def("stats",
           [](const PyGroup& self) {
             const ai::Traffic& traffic = self.group().traffic();
             py::dict stats;
             stats["transport"] = self.group().describe();
             stats["bytes_put"] = traffic.bytes_put;
             stats["bytes_got"] = traffic.bytes_got;
             stats["messages"] = traffic.messages;
             return stats;
           })
      .def("close", [](const PyGroup& self) { self.run([](ai::Group& g) { g.close(); }); })
      .def("__repr__", [](const PyGroup& self) {
        return "<nerve.Group rank " + std::to_string(self.group().rank()) + " of " +
               std::to_string(self.group().size()) + ", " + self.group().describe() + ">";
      });
  define_transfers(group);
  define_collectives(group);
}

}  // namespace

PYBIND11_MODULE(_nerve, m) {
  error_type = PyErr_NewException("nerve.Error", PyExc_RuntimeError, nullptr);
  peer_died_type = PyErr_NewException("nerve.PeerDied", error_type, nullptr);
  timeout_type = PyErr_NewException("nerve.Timeout", error_type, nullptr);
  m.attr("Error") = py::handle{error_type};
  m.attr("PeerDied") = py::handle{peer_died_type};
  m.attr("Timeout") = py::handle{timeout_type};
  define_buffers(m);
  define_group(m);
  m.def("last_error", [] {
    return last_error == nullptr ? py::object{py::none()}
                                 : py::reinterpret_borrow<py::object>(last_error);
  });
  using py::arg;
  m.def("join", &join, arg("rank"), arg("ranks"), arg("at") = "", arg("transport") = "rdma",
        arg("devices") = std::vector<std::string>{}, arg("qps") = 1, arg("timeout") = 300.0,
        arg("host") = "", arg("store") = py::none());
}

}  // namespace nerve::python
