// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shadow memory of a sanitizer is resident memory, too, and it has signal handlers of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define JAXSCOPE_SANITIZED 1
#else
#define JAXSCOPE_SANITIZED 0
#endif
