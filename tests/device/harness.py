#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""harness.py <gemm|topk> <inline|nvrtc> <directory of the kernel> <cache>: judge a kernel as a harness around PyTorch does.

The kernel is compiled and loaded into this process, called on five random inputs and compared with PyTorch's own operator
(allclose), and timed by events: 100 calls after 3, and PyTorch's operator the same way. Prints one line of JSON. Nothing is done
against a kernel that cheats; it is here to be compared with what git-klineage takes. tests/device/harness.sh runs it.
"""
import ctypes
import json
import os
import sys
import time

begin = time.time()
import torch

INLINE = {
    "topk": """
#include <torch/types.h>
#include <ATen/cuda/CUDAContext.h>
std::vector<torch::Tensor> run(torch::Tensor x, int64_t k)
{
	auto values = torch::empty({x.size(0), k}, x.options());
	auto indices = torch::empty({x.size(0), k}, x.options().dtype(torch::kInt32));

	topk<<<x.size(0), 1024, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), values.data_ptr<float>(),
		indices.data_ptr<int>(), (int)x.size(1), (int)k);
	return {values, indices};
}
""",
    "gemm": """
#include <torch/types.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda.h>
static struct tensor_map map_of(const torch::Tensor &t, unsigned columns, unsigned rows, CUtensorMapL2promotion l2)
{
	cuuint64_t dims[] = {(cuuint64_t)t.size(1), (cuuint64_t)t.size(0)}, strides[] = {(cuuint64_t)t.size(1) * 2};
	cuuint32_t box[] = {columns, rows}, elem[] = {1, 1};
	CUtensorMap made;
	struct tensor_map map;

	TORCH_CHECK(cuTensorMapEncodeTiled(&made, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, t.data_ptr(), dims, strides, box, elem,
		CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, l2, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
	memcpy(&map, &made, sizeof(map));
	return map;
}
torch::Tensor run(torch::Tensor a, torch::Tensor b)
{
	int M = a.size(0), N = b.size(0), K = a.size(1), sms = at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
	auto c = torch::empty({M, N}, a.options());
	int tiles = M / (2 * BM) * (N / BN), rounds = (tiles + sms / 2 - 1) / (sms / 2);
	int smem = STAGES * (BM + BN) * BK * 2 + 2 * BM * 64 * 2 + 1024;
	cudaLaunchAttribute cluster;
	cudaLaunchConfig_t config = {};

	cluster.id = cudaLaunchAttributeClusterDimension;
	cluster.val.clusterDim.x = 2;
	cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
	config.gridDim = dim3(2 * ((tiles + rounds - 1) / rounds));
	config.blockDim = dim3(384);
	config.dynamicSmemBytes = smem;
	config.stream = at::cuda::getCurrentCUDAStream();
	config.attrs = &cluster;
	config.numAttrs = 1;
	cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
	TORCH_CHECK(cudaLaunchKernelEx(&config, gemm, map_of(a, BK, BM, CU_TENSOR_MAP_L2_PROMOTION_L2_256B),
		map_of(b, BK, BN / 2, CU_TENSOR_MAP_L2_PROMOTION_L2_256B), map_of(c, 64, 16, CU_TENSOR_MAP_L2_PROMOTION_NONE),
		M, N, K) == cudaSuccess);
	return c;
}
""",
}
DECLARED = {
    "topk": "#include <torch/extension.h>\nstd::vector<torch::Tensor> run(torch::Tensor x, int64_t k);",
    "gemm": "#include <torch/extension.h>\ntorch::Tensor run(torch::Tensor a, torch::Tensor b);",
}
DEFINES = {"topk": {}, "gemm": {"BM": 128, "BN": 256, "BK": 64, "STAGES": 4, "GROUP": 8}}


def flags(name):
    return [f"-D{key}={value}" for key, value in DEFINES[name].items()]


def compile_inline(name, source, cache):
    from torch.utils.cpp_extension import load_inline

    os.makedirs(cache, exist_ok=True)
    os.environ["TORCH_CUDA_ARCH_LIST"] = "9.0a"
    module = load_inline(name=f"harness_{name}", cpp_sources=[DECLARED[name]], cuda_sources=[source + INLINE[name]],
                         functions=["run"], extra_cuda_cflags=["-std=c++17", "-O3", *flags(name)], extra_ldflags=["-lcuda"],
                         build_directory=cache)
    return module.run


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class Config(ctypes.Structure):
    _fields_ = [("dims", ctypes.c_uint * 7), ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(Attribute)),
                ("count", ctypes.c_uint)]


class TensorMap(ctypes.Structure):
    _fields_ = [("word", ctypes.c_uint64 * 16), ("room", ctypes.c_uint64 * 8)]


def good(rc, what):
    if rc:
        raise RuntimeError(f"{what}: {rc}")


def find_nvrtc():
    import glob

    roots = [os.path.dirname(os.path.dirname(torch.__file__)) + "/nvidia", "/usr/local/cuda"]
    for root in roots:
        for path in sorted(glob.glob(root + "/**/libnvrtc.so*", recursive=True)):
            try:
                return ctypes.CDLL(path)
            except OSError:
                pass
    return ctypes.CDLL("libnvrtc.so")


def compile_nvrtc(name, source, cache):
    nvrtc, cuda = find_nvrtc(), ctypes.CDLL("libcuda.so.1")
    torch.zeros(1, device="cuda")  # the primary context
    source = source.replace("#include <stdint.h>", "typedef unsigned char uint8_t; typedef unsigned short uint16_t; "
                            "typedef int int32_t; typedef unsigned uint32_t; typedef long long int64_t; "
                            "typedef unsigned long long uint64_t; typedef unsigned long uintptr_t;")
    program, size, module, entry = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p(), ctypes.c_void_p()
    good(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None), "nvrtcCreateProgram")
    options = [b"--gpu-architecture=sm_90a", b"--std=c++17", b"-I/usr/local/cuda/include", *(f.encode() for f in flags(name))]
    rc = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if rc:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.value.decode())
    good(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)), "nvrtcGetCUBINSize")
    cubin = ctypes.create_string_buffer(size.value)
    good(nvrtc.nvrtcGetCUBIN(program, cubin), "nvrtcGetCUBIN")
    good(cuda.cuModuleLoadData(ctypes.byref(module), cubin), "cuModuleLoadData")
    good(cuda.cuModuleGetFunction(ctypes.byref(entry), module, name.encode()), "cuModuleGetFunction")

    def launch(grid, block, smem, cluster, values):
        attribute = Attribute(id=4)
        attribute.value[0], attribute.value[1], attribute.value[2] = cluster, 1, 1
        config = Config(dims=(ctypes.c_uint * 7)(grid, 1, 1, block, 1, 1, smem),
                        stream=torch.cuda.current_stream().cuda_stream, attributes=ctypes.pointer(attribute),
                        count=1 if cluster > 1 else 0)
        places = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values))
        good(cuda.cuLaunchKernelEx(ctypes.byref(config), entry, places, None), "cuLaunchKernelEx")

    def map_of(tensor, columns, rows, l2):
        room = TensorMap()
        place = (ctypes.addressof(room) + 63) // 64 * 64
        dims = (ctypes.c_uint64 * 2)(tensor.shape[1], tensor.shape[0])
        strides = (ctypes.c_uint64 * 1)(tensor.shape[1] * 2)
        box, elem = (ctypes.c_uint32 * 2)(columns, rows), (ctypes.c_uint32 * 2)(1, 1)
        good(cuda.cuTensorMapEncodeTiled(ctypes.c_void_p(place), 9, 2, ctypes.c_void_p(tensor.data_ptr()), dims, strides, box,
                                         elem, 0, 3, l2, 0), "cuTensorMapEncodeTiled")
        kept = TensorMap.from_address(place)
        kept.owner = room
        return kept

    def topk(x, k):
        values = torch.empty(x.shape[0], k, device="cuda")
        indices = torch.empty(x.shape[0], k, device="cuda", dtype=torch.int32)
        launch(x.shape[0], 1024, 0, 1, [ctypes.c_uint64(x.data_ptr()), ctypes.c_uint64(values.data_ptr()),
                                        ctypes.c_uint64(indices.data_ptr()), ctypes.c_int(x.shape[1]), ctypes.c_int(k)])
        return values, indices

    def gemm(a, b):
        m, n, k = a.shape[0], b.shape[0], a.shape[1]
        c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        half = torch.cuda.get_device_properties(0).multi_processor_count // 2
        tiles = m // 256 * (n // 256)
        rounds = -(-tiles // half)
        smem = 4 * (128 + 256) * 64 * 2 + 2 * 128 * 64 * 2 + 1024
        good(cuda.cuFuncSetAttribute(entry, 8, smem), "cuFuncSetAttribute")
        launch(2 * -(-tiles // rounds), 384, smem, 2, [map_of(a, 64, 128, 3), map_of(b, 64, 128, 3), map_of(c, 64, 16, 0),
                                                       ctypes.c_int(m), ctypes.c_int(n), ctypes.c_int(k)])
        return c

    return {"topk": topk, "gemm": gemm}[name]


def inputs(name):
    if name == "topk":
        return torch.randn(64, 4096, device="cuda"), 512
    return tuple(torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))


def reference(name, args):
    return torch.topk(args[0], args[1]) if name == "topk" else args[0] @ args[1].T


def is_right(name, args, got):
    want = reference(name, args)
    if name == "topk":
        return torch.allclose(got[0].sort(descending=True).values, want.values, atol=1e-2, rtol=1e-2)
    return torch.allclose(got, want, atol=1e-2, rtol=1e-2)


def timed(call):
    room = torch.empty(64 << 20, device="cuda", dtype=torch.int32)
    took = []
    for turn in range(103):
        room.zero_()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        call()
        events[1].record()
        torch.cuda.synchronize()
        if turn >= 3:
            took.append(events[0].elapsed_time(events[1]))
    return sum(took) / len(took)


def main():
    name, way, directory, cache = sys.argv[1:]
    with open(f"{directory}/{name}.cu", encoding="utf-8") as file:
        source = file.read()
    imported = time.time()
    run = (compile_inline if way == "inline" else compile_nvrtc)(name, source, cache)
    compiled = time.time()
    right = 0
    for seed in range(5):
        torch.manual_seed(seed)
        args = inputs(name)
        right += is_right(name, args, run(*args))
    checked = time.time()
    ms, theirs = timed(lambda: run(*args)), timed(lambda: reference(name, args))
    print(json.dumps({"import_s": round(imported - begin, 2), "compile_s": round(compiled - imported, 2),
                      "check_s": round(checked - compiled, 2), "time_s": round(time.time() - checked, 2), "right": right,
                      "us": round(ms * 1e3, 2), "torch_us": round(theirs * 1e3, 2)}))


main()
