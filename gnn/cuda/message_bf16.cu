// SPDX-License-Identifier: Apache-2.0
#include "gnn/cuda/message_launch.h"

template bool message_run_forward<PRECISION_BF16>(Device *, const MessageArgs *);
template bool message_run_backward<PRECISION_BF16>(Device *, const MessageArgs *);
