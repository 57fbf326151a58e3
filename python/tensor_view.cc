#include "tensor_view.h"

#include <array>
#include <cstdint>

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

TensorView view_of_torch(const py::handle& tensor) {
  const std::string device = py::str(tensor.attr("device").attr("type"));
  if (device != "cpu") {
    throw py::value_error("the tensor is on the device '" + device +
                          "'; only host memory is supported: use tensor.cpu()");
  }
  if (!tensor.attr("is_contiguous")().cast<bool>()) not_contiguous(tensor);
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
constexpr std::int32_t kDlCudaHost = 3;

// The capsule deletes what it holds; the object keeps its memory.
TensorView view_of_dlpack(const py::handle& object) {
  const py::object capsule = object.attr("__dlpack__")();
  auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw py::error_already_set();
  const DlTensor& tensor = managed->tensor;
  if (tensor.device_type != kDlCpu && tensor.device_type != kDlCudaHost) {
    throw py::value_error("the memory of this " + kind_of(object) +
                          " is on a device (DLPack type " + std::to_string(tensor.device_type) +
                          "); only host memory is supported");
  }
  static constexpr std::array<const char*, 5> kNames{"int", "uint", "float", "opaque", "bfloat"};
  TensorView view;
  view.element = static_cast<std::size_t>(tensor.bits) * tensor.lanes / 8;
  std::int64_t count = 1;
  for (std::int32_t i = tensor.dimensions; i-- > 0;) {
    if (tensor.strides != nullptr && tensor.shape[i] > 1 && tensor.strides[i] != count) {
      not_contiguous(object);
    }
    count *= tensor.shape[i];
  }
  view.bytes = static_cast<std::size_t>(count) * view.element;
  view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  view.type =
      (tensor.code < kNames.size() ? kNames[tensor.code] : "unknown") + std::to_string(tensor.bits);
  return view;
}

}  // namespace

TensorView view_of(const py::handle& object, bool written) {
  if (py::hasattr(object, "data_ptr") && py::hasattr(object, "element_size")) {
    return view_of_torch(object);
  }
  if (py::hasattr(object, "__cuda_array_interface__")) {
    throw py::value_error("this " + kind_of(object) +
                          " is in GPU memory; only host memory is supported: copy it first");
  }
  if (py::hasattr(object, "__array_interface__") && py::hasattr(object, "flags")) {
    return view_of_numpy(object, written);
  }
  if (PyObject_CheckBuffer(object.ptr()) != 0) return view_of_buffer(object, written);
  if (py::hasattr(object, "__dlpack__")) return view_of_dlpack(object);
  throw py::type_error("a " + kind_of(object) +
                       " has no memory that can be sent; pass a numpy array, a torch tensor, or "
                       "an object with the buffer protocol or DLPack");
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
