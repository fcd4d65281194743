// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/sym.h"
#include "ir/name_stack.h"

namespace jaxscope {

/// One Python stack frame. Lines count from 1, columns from 0, as JAX gives them.
struct Frame {
    Sym file;
    Sym function;
    int line = 0, column = 0, end_line = 0, end_column = 0;
    bool project = false;  ///< in the user's own project: outside site-packages and the standard library
    friend bool operator==(const Frame&, const Frame&) = default;
};

/// Where in the user's Python an equation was traced. `summary` is JAX's own string ("train.py:41:4 (loss)"), what print_saved_residuals
/// shows.
struct Traceback {
    std::vector<Frame> frames;  ///< innermost first, JAX's own left out
    Sym summary;
    friend bool operator==(const Traceback&, const Traceback&) = default;
};

/// An interned Traceback, 4 bytes.
class TracebackRef {
public:
    TracebackRef() = default;
    TracebackRef(const Traceback& traceback);  // NOLINT(google-explicit-constructor)
    const Traceback& operator*() const;
    const Traceback* operator->() const { return &**this; }
    std::uint32_t id() const { return id_; }
    friend bool operator==(TracebackRef, TracebackRef) = default;

private:
    std::uint32_t id_ = 0;
};

/// Where an equation came from: JAX's SourceInfo. Transformations keep the traceback and extend the name stack.
struct Source {
    TracebackRef traceback;
    NameStack name_stack;
    bool own_place =
        false;  ///< of a rule's equation: the rule evaluates it from a jaxpr made elsewhere, in its own line wherever the rule stands
    bool unused_in_body = false;  ///< it came with the body of a jit(inline=True), whose results don't need it
    const std::vector<Frame>& frames() const { return traceback->frames; }
    Sym summary() const { return traceback->summary; }
    friend bool operator==(const Source&, const Source&) = default;
};

/// An interned Source, 4 bytes; `SourceRef{}` is "unknown".
class SourceRef {
public:
    SourceRef() = default;
    SourceRef(const Source& source);  // NOLINT(google-explicit-constructor)
    const Source& operator*() const;
    const Source* operator->() const { return &**this; }
    std::uint32_t id() const { return id_; }
    friend bool operator==(SourceRef a, SourceRef b) { return a.id_ == b.id_; }
    /// The innermost frame of the user's own project, else the innermost frame, else nullptr.
    const Frame* user_frame() const;
    SourceLoc loc() const;  ///< of `user_frame`, column from 1
    /// The same place in another name stack.
    SourceRef with(NameStack stack) const {
        Source s = **this;
        s.name_stack = stack;
        return s;
    }

private:
    std::uint32_t id_ = 0;
};

/// Places of a jaxpr's equations where it is evaluated inside the name stack `outer`: theirs are relative to the jaxpr (JAX:
/// current_name_stack()
/// + eqn.source_info.name_stack).
class SourcesWithin {
public:
    explicit SourcesWithin(NameStack outer) : outer_(outer) {}
    SourceRef operator()(SourceRef inner) {
        if (outer_.empty()) return inner;
        if (!(inner == last_inner_) || last_.id() == 0) find(inner);
        return last_;
    }

private:
    void find(SourceRef inner);
    NameStack outer_;
    SourceRef last_inner_, last_;
    std::unordered_map<std::uint32_t, SourceRef> known_;
};

/// What else an equation carries besides parameters: JAX's JaxprEqnContext. Interned.
struct EqnContext {
    Sym compute_type;
    bool threefry_partitionable = true;
    Sym mesh;
    Sym metadata;
    friend bool operator==(const EqnContext&, const EqnContext&) = default;
};
class ContextRef {
public:
    ContextRef() = default;
    ContextRef(const EqnContext& context);  // NOLINT(google-explicit-constructor)
    const EqnContext& operator*() const;
    const EqnContext* operator->() const { return &**this; }
    std::uint32_t id() const { return id_; }
    friend bool operator==(ContextRef a, ContextRef b) { return a.id_ == b.id_; }

private:
    std::uint32_t id_ = 0;
};

}  // namespace jaxscope
