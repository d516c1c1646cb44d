/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_DEVICE_H
#define KL_BACKEND_CUDA_DEVICE_H

#include "backend/backend.h"

/*
 * device - detects the GPUs of this machine by the driver's files. No GPU is opened, so that no GPU
 * in use or asleep is disturbed.
 */
extern const struct kl_backend_device kl_cuda_device;

#endif
