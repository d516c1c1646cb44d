/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kl_torch.h - stands in for the headers of PyTorch and pybind11 where a .cu file has host code beside
 * its kernels. Of such a file only device code is compiled, but the compiler reads all of it.
 *
 * Host code is read, never compiled, so nothing here has a body. Types that kernels can use (c10::Half,
 * packed accessors) are declared and not defined: the compiler refuses, by name, a kernel that uses
 * them.
 */
#ifndef KL_TORCH_H
#define KL_TORCH_H

#include <cuda_runtime.h>
#include <initializer_list>
#include <stdint.h>
#include <string>
#include <tuple>
#include <vector>

namespace c10 {

struct Half;
struct BFloat16;
class Error;

enum class DeviceType : int8_t { CPU, CUDA };
enum class ScalarType : int8_t {
	Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble,
	Bool, QInt8, QUInt8, QInt32, BFloat16, Float8_e5m2, Float8_e4m3fn, Undefined
};
enum class Layout : int8_t { Strided, Sparse };
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast };

constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short,
		     kInt = ScalarType::Int, kLong = ScalarType::Long, kHalf = ScalarType::Half,
		     kFloat = ScalarType::Float, kDouble = ScalarType::Double,
		     kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16,
		     kUInt8 = ScalarType::Byte, kInt8 = ScalarType::Char,
		     kInt16 = ScalarType::Short, kInt32 = ScalarType::Int,
		     kInt64 = ScalarType::Long, kFloat16 = ScalarType::Half,
		     kFloat32 = ScalarType::Float, kFloat64 = ScalarType::Double,
		     kFloat8_e5m2 = ScalarType::Float8_e5m2,
		     kFloat8_e4m3fn = ScalarType::Float8_e4m3fn;

const char *toString(ScalarType type);
size_t elementSize(ScalarType type);

struct nullopt_t {
	explicit constexpr nullopt_t(int) {}
};
constexpr nullopt_t nullopt{ 0 };

template <typename T> class optional {
      public:
	optional();
	optional(nullopt_t);
	optional(const T &value);
	bool has_value() const;
	explicit operator bool() const;
	T &value();
	const T &value() const;
	T value_or(const T &other) const;
	T &operator*();
	const T &operator*() const;
	T *operator->();
	const T *operator->() const;
};

template <typename T> class ArrayRef {
      public:
	ArrayRef();
	ArrayRef(const T &one);
	ArrayRef(const std::vector<T> &all);
	ArrayRef(std::initializer_list<T> all);
	ArrayRef(const T *data, size_t size);
	size_t size() const;
	bool empty() const;
	const T *data() const;
	const T *begin() const;
	const T *end() const;
	const T &operator[](size_t at) const;
	std::vector<T> vec() const;
};
using IntArrayRef = ArrayRef<int64_t>;

class Device {
      public:
	Device(DeviceType type, int8_t index = -1);
	Device(const char *name);
	DeviceType type() const;
	int8_t index() const;
	bool is_cuda() const;
	bool is_cpu() const;
	bool operator==(const Device &other) const;
	bool operator!=(const Device &other) const;
};

class Scalar {
      public:
	Scalar();
	template <typename T> Scalar(T value);
	template <typename T> T to() const;
	float toFloat() const;
	double toDouble() const;
	int toInt() const;
	int64_t toLong() const;
};

class TensorOptions {
      public:
	TensorOptions();
	TensorOptions(ScalarType type);
	TensorOptions(DeviceType type);
	TensorOptions(Device device);
	TensorOptions dtype(ScalarType type) const;
	TensorOptions device(Device device) const;
	TensorOptions device(DeviceType type, int8_t index = -1) const;
	TensorOptions layout(Layout layout) const;
	TensorOptions requires_grad(bool wanted) const;
	TensorOptions memory_format(MemoryFormat format) const;
};

template <typename... Args> std::string str(const Args &...args);

} // namespace c10

namespace caffe2 {
using TypeMeta = c10::ScalarType;
}

namespace at {

using namespace c10;

template <typename T> struct RestrictPtrTraits;
template <typename T> struct DefaultPtrTraits;
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
class PackedTensorAccessor32;
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
class PackedTensorAccessor64;

class Tensor {
      public:
	Tensor();
	bool defined() const;
	int64_t dim() const;
	int64_t ndimension() const;
	int64_t size(int64_t axis) const;
	IntArrayRef sizes() const;
	int64_t stride(int64_t axis) const;
	IntArrayRef strides() const;
	int64_t numel() const;
	int64_t nbytes() const;
	size_t element_size() const;
	size_t itemsize() const;
	template <typename T> T *data_ptr() const;
	void *data_ptr() const;
	template <typename T> T *mutable_data_ptr() const;
	void *mutable_data_ptr() const;
	template <typename T> const T *const_data_ptr() const;
	const void *const_data_ptr() const;
	template <typename T> T *data() const;
	template <typename T> T item() const;
	Scalar item() const;
	ScalarType scalar_type() const;
	ScalarType dtype() const;
	Device device() const;
	int64_t get_device() const;
	TensorOptions options() const;
	bool is_cuda() const;
	bool is_cpu() const;
	bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
	bool requires_grad() const;
	Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
	Tensor clone() const;
	Tensor detach() const;
	Tensor cpu() const;
	Tensor cuda() const;
	Tensor to(TensorOptions options) const;
	Tensor to(ScalarType type) const;
	Tensor to(Device device) const;
	Tensor view(IntArrayRef sizes) const;
	Tensor reshape(IntArrayRef sizes) const;
	Tensor expand(IntArrayRef sizes) const;
	Tensor permute(IntArrayRef axes) const;
	Tensor transpose(int64_t left, int64_t right) const;
	Tensor t() const;
	Tensor flatten(int64_t from = 0, int64_t to = -1) const;
	Tensor squeeze(int64_t axis) const;
	Tensor unsqueeze(int64_t axis) const;
	Tensor select(int64_t axis, int64_t at) const;
	Tensor slice(int64_t axis, int64_t from, int64_t to, int64_t step = 1) const;
	Tensor narrow(int64_t axis, int64_t from, int64_t length) const;
	Tensor &zero_();
	Tensor &fill_(Scalar value);
	Tensor &copy_(const Tensor &from, bool non_blocking = false);
	Tensor operator[](int64_t at) const;
	template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
	PackedTensorAccessor32<T, N, Traits> packed_accessor32() const;
	template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
	PackedTensorAccessor64<T, N, Traits> packed_accessor64() const;
};

using TensorList = ArrayRef<Tensor>;

Tensor empty(IntArrayRef sizes, TensorOptions options = {});
Tensor empty_like(const Tensor &like, TensorOptions options = {});
Tensor zeros(IntArrayRef sizes, TensorOptions options = {});
Tensor zeros_like(const Tensor &like, TensorOptions options = {});
Tensor ones(IntArrayRef sizes, TensorOptions options = {});
Tensor ones_like(const Tensor &like, TensorOptions options = {});
Tensor full(IntArrayRef sizes, Scalar value, TensorOptions options = {});
Tensor arange(Scalar end, TensorOptions options = {});
Tensor cat(TensorList all, int64_t axis = 0);
Tensor stack(TensorList all, int64_t axis = 0);
TensorOptions dtype(ScalarType type);
TensorOptions device(Device device);

namespace cuda {

class CUDAStream {
      public:
	cudaStream_t stream() const;
	operator cudaStream_t() const;
	void synchronize() const;
};
CUDAStream getCurrentCUDAStream(int device = -1);
CUDAStream getDefaultCUDAStream(int device = -1);
CUDAStream getStreamFromPool(bool high = false, int device = -1);
cudaDeviceProp *getCurrentDeviceProperties();
cudaDeviceProp *getDeviceProperties(int device);
int warp_size();

class CUDAGuard {
      public:
	explicit CUDAGuard(int device);
	explicit CUDAGuard(Device device);
};
class OptionalCUDAGuard {
      public:
	OptionalCUDAGuard();
	explicit OptionalCUDAGuard(optional<Device> device);
	explicit OptionalCUDAGuard(Device device);
};

} // namespace cuda

optional<Device> device_of(const Tensor &tensor);

} // namespace at

namespace c10 {
namespace cuda {
using at::cuda::CUDAGuard;
using at::cuda::CUDAStream;
using at::cuda::OptionalCUDAGuard;
using at::cuda::getCurrentCUDAStream;
using at::cuda::getDefaultCUDAStream;
using at::cuda::getStreamFromPool;
int current_device();
int device_count();
} // namespace cuda
} // namespace c10

namespace torch {
using namespace at;
using at::device;
using at::dtype;
using at::empty;
using at::Tensor;
class Library {
      public:
	template <typename... Args> Library &def(const Args &...args);
	template <typename... Args> Library &impl(const Args &...args);
};
} // namespace torch

namespace pybind11 {
class object {};
class module_ {
      public:
	template <typename... Args> module_ &def(const char *name, const Args &...args);
	module_ &attr(const char *name);
	template <typename T> module_ &operator=(const T &value);
	module_ &doc();
};
using module = module_;
struct arg {
	explicit arg(const char *name);
	template <typename T> arg operator=(const T &value) const;
};
} // namespace pybind11
namespace py = pybind11;

#define KL_TORCH_JOIN_(left, right) left##right
#define KL_TORCH_JOIN(left, right) KL_TORCH_JOIN_(left, right)
#define TORCH_EXTENSION_NAME kl_extension
#define PYBIND11_MODULE(name, variable) \
	static void KL_TORCH_JOIN(kl_module_, __LINE__)(pybind11::module_ & variable)
#define TORCH_LIBRARY(name, variable) \
	static void KL_TORCH_JOIN(kl_library_, __LINE__)(torch::Library & variable)
#define TORCH_LIBRARY_FRAGMENT(name, variable) TORCH_LIBRARY(name, variable)
#define TORCH_LIBRARY_IMPL(name, key, variable) TORCH_LIBRARY(name, variable)

template <typename... Args> void kl_torch_check(bool right, const Args &...args);
#define TORCH_CHECK(...) kl_torch_check(__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(...) kl_torch_check(__VA_ARGS__)
#define TORCH_CHECK_EQ(left, right) kl_torch_check((left) == (right))
#define TORCH_CHECK_GE(left, right) kl_torch_check((left) >= (right))
#define TORCH_WARN(...) ((void)0)
#define AT_ASSERT(...) kl_torch_check(__VA_ARGS__)
#define AT_ASSERTM(...) kl_torch_check(__VA_ARGS__)
#define AT_ERROR(...) ((void)0)
#define C10_CUDA_CHECK(...) ((void)(__VA_ARGS__))
#define AT_CUDA_CHECK(...) ((void)(__VA_ARGS__))
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)0)
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__

/* the types over which a dispatch goes are read once, as float */
#define AT_DISPATCH_FLOATING_TYPES(type, name, ...) \
	do {                                        \
		using scalar_t = float;             \
		(void)(type);                       \
		(__VA_ARGS__)();                    \
	} while (0)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, name, ...) \
	AT_DISPATCH_FLOATING_TYPES(type, name, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES(type, name, ...) AT_DISPATCH_FLOATING_TYPES(type, name, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(type, name, ...) \
	do {                                        \
		using scalar_t = int;               \
		(void)(type);                       \
		(__VA_ARGS__)();                    \
	} while (0)
#define AT_DISPATCH_FLOATING_TYPES_AND(also, type, name, ...) \
	AT_DISPATCH_FLOATING_TYPES(type, name, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(also, and_also, type, name, ...) \
	AT_DISPATCH_FLOATING_TYPES(type, name, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(type, name, ...) ((void)(type))

#endif
