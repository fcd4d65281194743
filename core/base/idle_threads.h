#pragma once

namespace jaxscope {

/// Call first in main. OpenMP's idle threads are to sleep, not to spin: on a busy machine a spinning thread keeps the one that it waits
/// for off the CPU (a training step of 0.1 s took 44 s beside two busy processes). libgomp reads OMP_WAIT_POLICY before main, so the
/// process starts itself once more with it; children don't inherit it. Whoever set OMP_WAIT_POLICY or GOMP_SPINCOUNT keeps what they chose.
void let_idle_threads_sleep(char** argv);

}  // namespace jaxscope
