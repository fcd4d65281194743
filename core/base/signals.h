// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace jaxscope {

// Which thread takes a signal. oneDNN's matrix products use the stack register as one more pointer: while they work it points into the
// heap, and the kernel would write the frame of a signal handler over what lies there. So no handler may run on a thread that computes.

/// While it stands, signals wait or go to another thread, and a crash's handler (if the process has one, with SA_ONSTACK) finds a stack of
/// its own. Afterwards the thread takes the signals that it took before.
class SignalsBlocked {
public:
    SignalsBlocked();
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    unsigned long before_[16];  ///< a sigset_t, whose header brings macros for half the alphabet
};

/// For the rest of this thread's life, and for the threads and programs that it starts.
void block_signals();
/// Takes all signals again: for a program that is started in this one's place, or as its child. May be called between fork and exec.
void unblock_signals();
/// Starts a thread that calls `on_interrupt` at each SIGINT or SIGTERM, as an ordinary function: it may do what a handler may not. Every
/// other signal does there what it does by default (Ctrl-Z, hangup), or runs its handler. To be called where signals are blocked.
void start_signal_thread(void (*on_interrupt)());

}  // namespace jaxscope
