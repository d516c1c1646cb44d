/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/timing/tool.h"

#include "base/error.h"

/*
 * kl_hold spins until the word at `gate` has reached `ticket`, but for at most `ns`, so that the
 * GPU becomes free again even if the process that should release it dies.
 *
 * kl_stamp stores the global timer and the clock of multiprocessor 0. All threads on this
 * multiprocessor store them, with nearly the same values.
 */
static const char ptx[] =
	".version 7.0\n"
	".target sm_70\n"
	".address_size 64\n"
	".visible .entry kl_hold(.param .u64 gate, .param .u32 ticket, .param .u64 ns)\n"
	"{\n"
	"	.reg .u64 %g, %begin, %now, %most;\n"
	"	.reg .u32 %t, %v;\n"
	"	.reg .s32 %d;\n"
	"	.reg .pred %p;\n"
	"	ld.param.u64 %g, [gate];\n"
	"	ld.param.u32 %t, [ticket];\n"
	"	ld.param.u64 %most, [ns];\n"
	"	mov.u64 %begin, %globaltimer;\n"
	"again:\n"
	"	ld.volatile.global.u32 %v, [%g];\n"
	"	sub.s32 %d, %v, %t;\n"
	"	setp.ge.s32 %p, %d, 0;\n"
	"	@%p bra done;\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	sub.u64 %now, %now, %begin;\n"
	"	setp.lt.u64 %p, %now, %most;\n"
	"	@%p bra again;\n"
	"done:\n"
	"	ret;\n"
	"}\n"
	".visible .entry kl_stamp(.param .u64 out)\n"
	"{\n"
	"	.reg .u64 %o, %ns, %clk;\n"
	"	.reg .u32 %sm;\n"
	"	.reg .pred %p;\n"
	"	mov.u32 %sm, %smid;\n"
	"	setp.ne.u32 %p, %sm, 0;\n"
	"	@%p ret;\n"
	"	ld.param.u64 %o, [out];\n"
	"	mov.u64 %ns, %globaltimer;\n"
	"	mov.u64 %clk, %clock64;\n"
	"	st.volatile.global.u64 [%o], %ns;\n"
	"	st.volatile.global.u64 [%o+8], %clk;\n"
	"	ret;\n"
	"}\n";

int kl_gpu_time_tool_open(struct kl_gpu_time_tool *tool, const struct kl_gpu_device *device)
{
	const struct kl_gpu_driver *cu = device->cu;
	void *gate = NULL;
	int rc;

	tool->device = device;
	if ((rc = cu->module_load(&tool->module, ptx)) ||
	    (rc = cu->module_function(&tool->hold, tool->module, "kl_hold")) ||
	    (rc = cu->module_function(&tool->stamp, tool->module, "kl_stamp")) ||
	    (rc = cu->host_alloc(&gate, 4096, 0)))
		return kl_gpu_error(cu, rc, KL_ECANNOT, "cannot load the kernels for timing");
	tool->gate = gate;
	*tool->gate = 0;
	return 0;
}

void kl_gpu_time_tool_close(struct kl_gpu_time_tool *tool)
{
	if (tool->gate)
		tool->device->cu->host_free((void *)(uintptr_t)tool->gate);
	if (tool->module)
		tool->device->cu->module_unload(tool->module);
	tool->gate = NULL;
	tool->module = NULL;
}

static int launch_tool(const struct kl_gpu_time_tool *tool, struct kl_cu_function *function,
		       unsigned blocks, void **args)
{
	const struct kl_cu_launch_config config = {
		.grid = { blocks, 1, 1 },
		.block = { 1, 1, 1 },
		.stream = tool->device->stream,
	};
	int rc = tool->device->cu->launch(&config, function, args, NULL);

	return rc ? kl_gpu_error(tool->device->cu, rc, KL_EIO,
				 "the driver refused one of the gate's own kernels") :
		    0;
}

int kl_gpu_hold(struct kl_gpu_time_tool *tool)
{
	uint64_t gate = (uint64_t)(uintptr_t)tool->gate, ns = KL_GPU_HOLD_NS;
	uint32_t ticket = ++tool->ticket;
	void *args[] = { &gate, &ticket, &ns };

	return launch_tool(tool, tool->hold, 1, args);
}

void kl_gpu_release(struct kl_gpu_time_tool *tool)
{
	__atomic_store_n(tool->gate, tool->ticket, __ATOMIC_SEQ_CST);
}

int kl_gpu_stamp_to(const struct kl_gpu_time_tool *tool, uint64_t out)
{
	void *args[] = { &out };

	return launch_tool(tool, tool->stamp, (unsigned)tool->device->facts.sms, args);
}
