// SPDX-License-Identifier: Apache-2.0
#include "gnn/cuda/message_launch.h"

template bool message_run_forward<PRECISION_F32>(Device *, const MessageArgs *);
template bool message_run_backward<PRECISION_F32>(Device *, const MessageArgs *);
