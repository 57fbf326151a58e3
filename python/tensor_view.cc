#include "tensor_view.h"

#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "ai/gpu.h"

namespace py = pybind11;

namespace nerve::python {
namespace {

std::string kind_of(const py::handle& object) {
  return py::str(py::type::handle_of(object).attr("__name__"));
}

[[noreturn]] void not_contiguous(const py::handle& object) {
  throw py::value_error("this " + kind_of(object) +
                        " is not contiguous; pass a contiguous one (numpy.ascontiguousarray, "
                        "tensor.contiguous())");
}

[[noreturn]] void read_only(const py::handle& object) {
  throw py::value_error("the memory of this " + kind_of(object) +
                        " is read-only, and the call would write to it; pass a writable copy");
}

std::byte* pointer(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

// The size of an array; `strides` are in bytes, and empty if it is contiguous anyway.
std::size_t contiguous_bytes(const py::handle& object, const std::vector<std::int64_t>& shape,
                             const std::vector<std::int64_t>& strides, std::size_t element) {
  if (!strides.empty() && strides.size() != shape.size()) {
    throw py::value_error("this " + kind_of(object) + " has " + std::to_string(shape.size()) +
                          " dimensions and " + std::to_string(strides.size()) + " strides");
  }
  std::int64_t bytes = static_cast<std::int64_t>(element);
  bool dense = true;
  for (std::size_t i = shape.size(); i-- > 0;) {
    std::int64_t product = 0;
    if (shape[i] < 0 || __builtin_mul_overflow(bytes, shape[i], &product)) {
      throw py::value_error("this " + kind_of(object) + " has an invalid shape: dimension " +
                            std::to_string(i) + " is " + std::to_string(shape[i]));
    }
    dense = dense && (strides.empty() || shape[i] <= 1 || strides[i] == bytes);
    bytes = product;
  }
  if (bytes > 0 && !dense) not_contiguous(object);
  return static_cast<std::size_t>(bytes);
}

TensorView view_of_torch(const py::handle& tensor) {
  const std::string device = py::str(tensor.attr("device").attr("type"));
  if (device != "cpu" && device != "cuda") {
    throw py::value_error("the tensor is on the device '" + device +
                          "'; cpu and cuda are supported: use tensor.cpu()");
  }
  if (!tensor.attr("is_contiguous")().cast<bool>()) not_contiguous(tensor);
  if (device == "cuda") {
    const py::object cuda = py::module_::import("torch").attr("cuda");
    cuda.attr("current_stream")(tensor.attr("device")).attr("synchronize")();
  }
  TensorView view;
  view.element = tensor.attr("element_size")().cast<std::size_t>();
  view.bytes = tensor.attr("numel")().cast<std::size_t>() * view.element;
  view.data = pointer(tensor.attr("data_ptr")().cast<std::uint64_t>());
  const std::string type = py::str(tensor.attr("dtype"));
  view.type = type.substr(type.rfind('.') + 1);
  return view;
}

TensorView view_of_numpy(const py::handle& array, bool written) {
  const py::dict interface = array.attr("__array_interface__");
  const py::tuple data = interface["data"];
  if (!array.attr("flags").attr("c_contiguous").cast<bool>()) not_contiguous(array);
  if (written && data[1].cast<bool>()) read_only(array);
  TensorView view;
  view.data = pointer(data[0].cast<std::uint64_t>());
  view.bytes = array.attr("nbytes").cast<std::size_t>();
  view.element = array.attr("itemsize").cast<std::size_t>();
  view.type = py::str(array.attr("dtype").attr("name"));
  return view;
}

// Until the work on this stream has ended.
void finish_stream(const std::byte* data, std::uint64_t stream) {
  ai::Status done = [&] {
    const py::gil_scoped_release release;
    return ai::finish_stream(data, stream);
  }();
  if (!done) throw std::runtime_error(done.error().text);
}

// A type as numpy writes it, such as "<f4".
std::string type_of_typestr(const py::handle& object, const std::string& text, std::size_t size) {
  if (text.size() < 3 || (text[0] != '<' && text[0] != '|')) {
    throw py::type_error("the elements of this " + kind_of(object) + " are of type '" + text +
                         "'; only little-endian types are supported");
  }
  const std::string bits = std::to_string(size * 8);
  if (text[1] == 'f') return "float" + bits;
  if (text[1] == 'i') return "int" + bits;
  if (text[1] == 'u') return "uint" + bits;
  return text;
}

std::size_t size_in_typestr(const py::handle& object, const std::string& text) {
  std::size_t size = 0;
  for (std::size_t i = 2; i < text.size() && i < 8; ++i) {
    if (text[i] < '0' || text[i] > '9') break;
    size = size * 10 + static_cast<std::size_t>(text[i] - '0');
  }
  if (size == 0) {
    throw py::type_error("the elements of this " + kind_of(object) + " have the invalid type '" +
                         text + "'");
  }
  return size;
}

// The CUDA array interface, version 3.
TensorView view_of_cuda_array(const py::handle& array, bool written) {
  const py::dict interface = array.attr("__cuda_array_interface__");
  if (interface.contains("mask") && !interface["mask"].is_none()) {
    throw py::value_error("this " + kind_of(array) + " has a mask, which is not supported");
  }
  const py::tuple data = interface["data"];
  const auto shape = interface["shape"].cast<std::vector<std::int64_t>>();
  const auto typestr = interface["typestr"].cast<std::string>();
  TensorView view;
  view.element = size_in_typestr(array, typestr);
  view.type = type_of_typestr(array, typestr, view.element);
  std::vector<std::int64_t> strides;
  if (interface.contains("strides") && !interface["strides"].is_none()) {
    strides = interface["strides"].cast<std::vector<std::int64_t>>();
  }
  view.bytes = contiguous_bytes(array, shape, strides, view.element);
  if (written && data[1].cast<bool>()) read_only(array);
  view.data = pointer(data[0].cast<std::uint64_t>());
  if (interface.contains("stream") && !interface["stream"].is_none() && view.bytes > 0) {
    const auto stream = interface["stream"].cast<std::uint64_t>();
    if (stream == 0) {
      throw py::value_error("the stream of this " + kind_of(array) +
                            " is 0, which the CUDA array interface does not allow; 1 is the "
                            "default stream");
    }
    finish_stream(view.data, stream);
  }
  return view;
}

// A type of the buffer protocol, by its letter and size.
std::string type_of_format(const std::string& format, std::size_t size) {
  const char letter = format.empty() ? 'B' : format.back();
  const std::string bits = std::to_string(size * 8);
  if (letter == 'e' || letter == 'f' || letter == 'd') return "float" + bits;
  const bool is_signed = letter == 'b' || letter == 'h' || letter == 'i' || letter == 'l' ||
                         letter == 'q' || letter == 'n';
  return (is_signed ? "int" : "uint") + bits;
}

TensorView view_of_buffer(const py::handle& object, bool written) {
  Py_buffer raw{};
  if (PyObject_GetBuffer(object.ptr(), &raw, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    throw py::error_already_set();
  }
  TensorView view;
  view.data = static_cast<std::byte*>(raw.buf);
  view.bytes = static_cast<std::size_t>(raw.len);
  view.element = static_cast<std::size_t>(raw.itemsize);
  view.type = type_of_format(raw.format == nullptr ? "B" : raw.format, view.element);
  const bool contiguous = PyBuffer_IsContiguous(&raw, 'C') != 0;
  const bool constant = raw.readonly != 0;
  PyBuffer_Release(&raw);
  if (!contiguous) not_contiguous(object);
  if (written && constant) read_only(object);
  return view;
}

// The structures of DLPack, version 0.
struct DlTensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device_id;
  std::int32_t dimensions;
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor* self);
};
constexpr std::int32_t kDlCpu = 1;
constexpr std::int32_t kDlCuda = 2;
constexpr std::int32_t kDlCudaHost = 3;
constexpr std::int32_t kDlCudaManaged = 13;
// The stream on which the producer makes the data available: the one that waits for no other.
constexpr std::uint64_t kPerThreadStream = 2;

bool is_in_cuda_memory(const py::handle& object) {
  if (!py::hasattr(object, "__dlpack_device__")) return false;
  const py::tuple device = object.attr("__dlpack_device__")();
  return device[0].cast<std::int32_t>() == kDlCuda;
}

// The capsule deletes what it holds; the object keeps its memory.
TensorView view_of_dlpack(const py::handle& object) {
  const py::object capsule = is_in_cuda_memory(object)
                                 ? object.attr("__dlpack__")(py::arg("stream") = kPerThreadStream)
                                 : object.attr("__dlpack__")();
  auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw py::error_already_set();
  const DlTensor& tensor = managed->tensor;
  const std::int32_t device = tensor.device_type;
  if (device != kDlCpu && device != kDlCuda && device != kDlCudaHost && device != kDlCudaManaged) {
    throw py::value_error("the memory of this " + kind_of(object) +
                          " is on a device (DLPack type " + std::to_string(device) +
                          "); only host and CUDA memory is supported");
  }
  static constexpr std::array<const char*, 5> kNames{"int", "uint", "float", "opaque", "bfloat"};
  TensorView view;
  view.element = static_cast<std::size_t>(tensor.bits) * tensor.lanes / 8;
  const std::vector<std::int64_t> shape(tensor.shape, tensor.shape + tensor.dimensions);
  std::vector<std::int64_t> strides;
  for (std::int32_t i = 0; tensor.strides != nullptr && i < tensor.dimensions; ++i) {
    strides.push_back(tensor.strides[i] * static_cast<std::int64_t>(view.element));
  }
  view.bytes = contiguous_bytes(object, shape, strides, view.element);
  view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  if (device == kDlCuda && view.bytes > 0) finish_stream(view.data, kPerThreadStream);
  view.type =
      (tensor.code < kNames.size() ? kNames[tensor.code] : "unknown") + std::to_string(tensor.bits);
  return view;
}

}  // namespace

TensorView view_of(const py::handle& object, bool written) {
  if (py::hasattr(object, "data_ptr") && py::hasattr(object, "element_size")) {
    return view_of_torch(object);
  }
  if (py::hasattr(object, "__cuda_array_interface__")) return view_of_cuda_array(object, written);
  if (py::hasattr(object, "__array_interface__") && py::hasattr(object, "flags")) {
    return view_of_numpy(object, written);
  }
  if (PyObject_CheckBuffer(object.ptr()) != 0) return view_of_buffer(object, written);
  if (py::hasattr(object, "__dlpack__")) return view_of_dlpack(object);
  throw py::type_error("a " + kind_of(object) +
                       " has no memory that can be sent; pass a numpy array, a torch tensor, or "
                       "an object with the buffer protocol, the CUDA array interface or DLPack");
}

ai::DataType reducible(const TensorView& view) {
  const std::optional<ai::DataType> type = ai::data_type_named(view.type);
  if (type) return *type;
  std::string known;
  for (int i = 0; i < ai::kDataTypes; ++i) {
    known += (i == 0 ? "" : ", ") + std::string{name_of(static_cast<ai::DataType>(i))};
  }
  throw py::type_error("elements of type " + view.type + " cannot be reduced; the types are " +
                       known);
}

}  // namespace nerve::python
