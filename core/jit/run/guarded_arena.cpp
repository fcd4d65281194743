// SPDX-License-Identifier: Apache-2.0
#include "jit/run/guarded_arena.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>

#include "base/error.h"
#include "jit/codegen/checked_index.h"
#include "jit/plan/arena.h"

namespace jaxscope::exec {

namespace {

constexpr int kPoison = 0xff;  ///< NaN, -1, true

std::atomic<const Node*> running{nullptr};

/// Written without allocating. The access is then made again, and ends the process.
void tell_of_crash(int, siginfo_t* info, void*) {
    static char text[512];
    const Node* n = running;
    const int length =
        snprintf(text, sizeof text, "jaxscope: access outside of its buffers at %p while running eqn %u of '%.200s', %.100s\n",
                 info->si_addr, n ? n->eqn : 0, n ? n->path_prefix.c_str() : "", n ? n->op().prim->name.c_str() : "nothing");
    if (length > 0) [[maybe_unused]]
        const ssize_t w = write(STDERR_FILENO, text, static_cast<std::size_t>(length));
}

void watch_for_crashes() {
    struct sigaction action {};
    action.sa_sigaction = tell_of_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
    sigaction(SIGSEGV, &action, nullptr);
}

/// Made in this arena: of a whole program its outputs are, too.
bool own(const Buffer& b) { return b.place != Buffer::Place::Constant && b.bytes > 0 && b.last >= b.first && b.offset >= 0; }

}  // namespace

GuardedArena::GuardedArena(const Computation& c, char* arena)
    : c_(c), arena_(arena), born_(c.thunks.size()), dead_(c.thunks.size()), outer_(running) {
    for (std::size_t b = 0; b < c.buffers.size(); ++b) {
        const Buffer& buffer = c.buffers[b];
        if (!own(buffer) || buffer.first < 0) continue;
        born_[static_cast<std::size_t>(buffer.first)].push_back(static_cast<int>(b));
        if (buffer.last < static_cast<int>(c.thunks.size())) dead_[static_cast<std::size_t>(buffer.last)].push_back(static_cast<int>(b));
    }
    if (!outer_) watch_for_crashes();
    for (const std::int64_t at : c.guards) mprotect(arena_ + at, static_cast<std::size_t>(kGuardBytes), PROT_NONE);
    take_bad_index();
}

/// All accessible again: another body may have this memory next.
GuardedArena::~GuardedArena() {
    if (c_.arena_bytes > 0) mprotect(arena_, static_cast<std::size_t>(c_.arena_bytes), PROT_READ | PROT_WRITE);
    running = outer_;
}

void GuardedArena::forbid(int buffer) const {
    const Buffer& b = c_.buffers[static_cast<std::size_t>(buffer)];
    const std::int64_t begin = b.offset / kGuardBytes * kGuardBytes,
                       end = (b.offset + b.bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes;
    mprotect(arena_ + begin, static_cast<std::size_t>(end - begin), PROT_NONE);
}

void GuardedArena::before(std::size_t step) {
    const Thunk& t = c_.thunks[step];
    running = t.nodes.empty() ? outer_ : &c_.graph->nodes[t.nodes.back()];
    for (const int b : born_[step]) {
        const Buffer& buffer = c_.buffers[static_cast<std::size_t>(b)];
        std::memset(arena_ + buffer.offset, kPoison, static_cast<std::size_t>(buffer.bytes));
    }
}

void GuardedArena::after(std::size_t step) {
    for (const int b : dead_[step]) forbid(b);
    const std::optional<BadIndex> bad = take_bad_index();
    if (!bad) return;
    const Thunk& t = c_.thunks[step];
    Error error(ErrorCode::CannotRun,
                "expected an index below " + std::to_string(bad->size) + " in generated code, found " + std::to_string(bad->index));
    if (!t.nodes.empty()) {
        const Node& n = c_.graph->nodes[t.nodes.back()];
        error.at(n.source.loc()).in("running eqn " + path_of(n) + ": " + n.op().prim->name);
    }
    throw error;
}

}  // namespace jaxscope::exec
