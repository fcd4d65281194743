#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/sym.h"

namespace jaxscope {

/// One Python stack frame. Lines count from 1, columns from 0, as JAX gives them.
struct Frame {
    Sym file;
    Sym function;
    int line = 0, column = 0, end_line = 0, end_column = 0;
    bool project = false;  ///< in the user's own project: outside site-packages and the standard library
    friend bool operator==(const Frame&, const Frame&) = default;
};

/// Where an equation came from. `summary` is JAX's own string ("train.py:41:4 (loss)"), what print_saved_residuals shows.
struct Source {
    std::vector<Frame> frames;  ///< innermost first, JAX's own left out
    Sym summary;
    Sym name_stack;  ///< "jvp(loss)/layer_0"
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

private:
    std::uint32_t id_ = 0;
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
