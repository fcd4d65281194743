#pragma once

namespace jaxscope {

/// Call first in main. OpenMP's idle threads are to spin for a moment (2000 rounds, about 0.1 ms: what waking a thread takes) and then to
/// sleep. Sleeping at once makes loops of small kernels 7 to 13 times slower; spinning for longer gains nothing there, and keeps, on a busy
/// machine, the thread that is waited for off the CPU (a loop of 0.3 s took 4 s with 10000 rounds, a training step of 0.1 s took 44 s with
/// OpenMP's own 300000). libgomp reads the bound before main, so the process starts itself once more with it; children don't inherit
/// it. Whoever set OMP_WAIT_POLICY or GOMP_SPINCOUNT keeps what they chose.
void bound_idle_spinning(char** argv);

}  // namespace jaxscope
