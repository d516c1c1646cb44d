/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_CHILD_H
#define KL_WORKER_SUBJECT_CHILD_H

/*
 * child - the process that runs a kernel: `klineage-worker --child`, with the descriptors of
 * wire.h. It runs until it is killed, or exits with one of these codes.
 */
enum kl_child_exit {
	KL_CHILD_USAGE = 129,
	KL_CHILD_NOT_READY = 70, /* setup failed; hello says why, if it could be sent */
	/* mapping the image or sealing the process failed; the control page says why */
	KL_CHILD_NOT_SEALED = 71,
};

int kl_child_main(void);

#endif
