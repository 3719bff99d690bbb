/* SPDX-License-Identifier: Dual MIT/GPL */
/* Under this name, programs written for a kernel find what they need: all of it is in one header. */
#include "fairwind.h"
