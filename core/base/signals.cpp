// SPDX-License-Identifier: Apache-2.0
#include "base/signals.h"

#include <csignal>
#include <cstring>
#include <thread>

#include <pthread.h>
#include <sys/mman.h>

namespace jaxscope {

namespace {

/// All but those that an instruction or a write of this very thread raises: blocked, the first would end the process without their
/// handler; the last, SIGPIPE, ends it quietly when nobody reads on.
sigset_t blocked_signals() {
    sigset_t set;
    sigfillset(&set);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE}) sigdelset(&set, own);
    return set;
}

/// The stack on which this thread's handlers run, unless somebody gave it one before (a sanitizer, another runtime).
class AlternateStack {
public:
    AlternateStack() {
        stack_t had{};
        if (sigaltstack(nullptr, &had) != 0 || !(had.ss_flags & SS_DISABLE)) return;
        void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return;
        stack_t given{};
        given.ss_sp = memory, given.ss_size = kBytes;
        if (sigaltstack(&given, nullptr) == 0)
            memory_ = memory;
        else
            munmap(memory, kBytes);
    }
    ~AlternateStack() {
        if (!memory_) return;
        stack_t has{}, none{};
        none.ss_flags = SS_DISABLE;
        if (sigaltstack(nullptr, &has) == 0 && has.ss_sp == memory_) sigaltstack(&none, nullptr);
        munmap(memory_, kBytes);
    }
    AlternateStack(const AlternateStack&) = delete;
    AlternateStack& operator=(const AlternateStack&) = delete;

private:
    static constexpr std::size_t kBytes = 64 << 10;  // the frame alone takes 11 KiB where registers are wide
    void* memory_ = nullptr;
};

void give_alternate_stack() { thread_local const AlternateStack stack; }

}  // namespace

SignalsBlocked::SignalsBlocked() {
    static_assert(sizeof(sigset_t) <= sizeof before_);
    give_alternate_stack();
    const sigset_t block = blocked_signals();
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &block, &before);
    std::memcpy(before_, &before, sizeof before);
}
SignalsBlocked::~SignalsBlocked() {
    sigset_t before;
    std::memcpy(&before, before_, sizeof before);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void block_signals() {
    give_alternate_stack();
    const sigset_t block = blocked_signals();
    pthread_sigmask(SIG_BLOCK, &block, nullptr);
}

void unblock_signals() {
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

void start_signal_thread(void (*on_interrupt)()) {
    std::thread([on_interrupt] {
        sigset_t awaited;
        sigemptyset(&awaited);
        sigaddset(&awaited, SIGINT);
        sigaddset(&awaited, SIGTERM);
        pthread_sigmask(SIG_SETMASK, &awaited, nullptr);
        while (true) {
            int taken = 0;
            if (sigwait(&awaited, &taken) == 0) on_interrupt();
        }
    }).detach();
}

}  // namespace jaxscope
