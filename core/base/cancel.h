// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

namespace jaxscope {

/// A request to stop, which any thread may make: Ctrl-C, Stop in the window, a time that is up.
class CancelToken {
public:
    void cancel() { requested_.store(true, std::memory_order_relaxed); }
    bool cancelled() const { return requested_.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> requested_{false};
};

/// While it stands, whatever this thread does ends with Error{Cancelled} soon after `token` asked for it. Scopes nest: those outside count,
/// too. That is how one token reaches readers, transformations, planning, compilation and runs without being a parameter of them all.
class CancelScope {
public:
    explicit CancelScope(const CancelToken& token) : token_(&token), outer_(innermost_) { innermost_ = this; }
    /// On a helper thread: the scopes of the thread that started it and waits for it (null: none).
    explicit CancelScope(const CancelScope* of_starter) : outer_(of_starter), before_(innermost_) { innermost_ = this; }
    ~CancelScope() { innermost_ = token_ ? outer_ : before_; }
    CancelScope(const CancelScope&) = delete;
    CancelScope& operator=(const CancelScope&) = delete;

    static const CancelScope* current() { return innermost_; }
    /// Does any scope around what this thread does ask it to stop?
    static bool any_cancelled() {
        for (const CancelScope* s = innermost_; s; s = s->outer_)
            if (s->token_ && s->token_->cancelled()) return true;
        return false;
    }

private:
    const CancelToken* token_ = nullptr;
    const CancelScope *outer_, *before_ = nullptr;
    static inline constinit thread_local const CancelScope* innermost_ = nullptr;
};

[[noreturn]] void throw_cancelled();

/// To be called wherever much is done, once for each equation, node, step or chunk of a file: it costs a nanosecond.
inline void check_cancelled() {
    if (CancelScope::any_cancelled()) throw_cancelled();
}

}  // namespace jaxscope
