// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `jit/kernels`: what runs by calling a routine (products, convolutions, sorts, decompositions). Comes in: an equation's types
// and kernel description. Goes out: a call on plain pointers. Never here: graphs, plans, allocation other than the scratch that was
// announced.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/kernel_builder.h"
#include "ir/primitive.h"

namespace jaxscope {
class Error;
}
namespace jaxscope::exec {

/// What is to run behind each piece of a result, while the piece lies in the cache.
struct BehindPieces {
    /// Elements [begin, end) of the result are there; `thread` as for run_shares().
    void (*done)(void* context, int thread, std::int64_t begin, std::int64_t end) = [](void*, int, std::int64_t, std::int64_t) {};
    void* context = nullptr;
    double work = 0;  ///< scalar operations in all
};

/// A node that runs by itself: a product, convolution, scatter, sort, ... Prepared once, run any number of times.
class LibraryCall {
public:
    virtual ~LibraryCall() = default;
    /// Buffers are dense and row-major unless the call was made with strides. `scratch` has scratch_bytes(), 64-byte aligned.
    virtual void run(void* const* in, void* const* out, void* scratch) const = 0;
    virtual std::int64_t scratch_bytes() const { return 0; }
    /// May output `out` stand in the memory of input `in`? (The call then gets the same pointer twice.)
    virtual bool in_place(std::size_t in, std::size_t out) const { return static_cast<void>(in), static_cast<void>(out), false; }
    /// Can the first result come in pieces, each a multiple of `granule` elements in memory order?
    virtual bool has_pieces(std::int64_t granule) const { return static_cast<void>(granule), false; }
    /// The same as run(), in pieces: for calls that have them. Where the pieces begin doesn't depend on what runs behind them.
    virtual void run_in_pieces(void* const* in, void* const* out, void* scratch, std::int64_t granule, const BehindPieces& behind) const {
        static_cast<void>(in), static_cast<void>(out), static_cast<void>(scratch), static_cast<void>(granule), static_cast<void>(behind);
    }
    /// Does it compute in the matrix library? See start_matrix_library.
    virtual bool multiplies_by_library() const { return false; }
    int threads = 1;
};
using LibraryCallPtr = std::shared_ptr<LibraryCall>;

/// At its first product the library makes code for all of its kernels: 30 ms and 3.5 MiB, once in a process. Here they are made, while a
/// program is compiled: they belong to no run. Returns at once where that was done.
void start_matrix_library();

/// Element strides of each operand, then of the result; an empty entry is row-major. Only products take others.
using Layouts = std::vector<Dims>;

/// Throws Error{NoRule} for what has no implementation (dtype or routine), naming it.
LibraryCallPtr make_library_call(const Op& op, const KernelSpec& spec, const Layouts& layouts, int threads);

/// For tests: while it stands, each library call that is made goes through `wrap`. One at a time.
class ScopedCallWrapper {
public:
    using Wrap = LibraryCallPtr (*)(const Op& op, LibraryCallPtr call);
    explicit ScopedCallWrapper(Wrap wrap);
    ~ScopedCallWrapper();
    ScopedCallWrapper(const ScopedCallWrapper&) = delete;
    ScopedCallWrapper& operator=(const ScopedCallWrapper&) = delete;
};

/// An equation that can't run, in a branch that may never be entered (a check's callback): the run that enters it ends with this error.
Op refused_when_met(Op op, const Error& error);
/// Its call; null for any other equation.
LibraryCallPtr make_refusal(const Op& op);

/// Does it move values between device and host? Then it is a copy, and no view.
bool moves_between_spaces(const Op& op);
/// Its call; null for any other equation.
LibraryCallPtr make_transfer(const Op& op);

/// Is it a concatenation or stack of so many operands that choosing each element from all of them costs more than copying them, but whose
/// operands make up rows of the result, one behind the other? A loop for each is all that choosing takes then.
bool joins_in_rows(const Op& op);
/// Is it another one of so much that its operands are better copied than chosen from, element by element?
bool joins_by_copying(const Op& op);
/// Its call; null for any other equation.
LibraryCallPtr make_joining(const Op& op);

/// The call of a C++ function that the traced program brought along; null for any other equation.
LibraryCallPtr make_host_call(const Op& op);

/// Has it no result, so that it can only look at its operands (debug_print)?
bool only_looks(const Op& op);
/// Its call, which keeps its operands for whoever asks behind it, or writes debug_print's text; null for any other equation.
LibraryCallPtr make_onlooker(const Op& op, bool writes);
/// What the onlooker that ran last on this thread has read, as far as it isn't large.
std::vector<ArrayPtr> take_operands_seen();

LibraryCallPtr make_dot(const Op& op, const DotKernel& spec, const Layouts& layouts, int threads);
LibraryCallPtr make_conv(const Op& op, const ConvKernel& spec, int threads);
LibraryCallPtr make_scatter(const Op& op, const ScatterKernel& spec);
LibraryCallPtr make_dynamic_update_slice(const Op& op);
LibraryCallPtr make_sort(const Op& op, const SortKernel& spec);
LibraryCallPtr make_cumulative(const Op& op, const CumulativeKernel& spec);
LibraryCallPtr make_arg_reduce(const Op& op, const ReduceKernel& spec);
LibraryCallPtr make_routine(const Op& op, const RuntimeKernel& spec);
// Families of routines by primitive; null when it is none of theirs.
LibraryCallPtr make_random_routine(const Op& op);
LibraryCallPtr make_generator_routine(const Op& op);
LibraryCallPtr make_gamma_routine(const Op& op);
LibraryCallPtr make_special_routine(const Op& op);
LibraryCallPtr make_fft_routine(const Op& op);
LibraryCallPtr make_top_k_routine(const Op& op);
LibraryCallPtr make_linalg_routine(const Op& op);
LibraryCallPtr make_eigen_routine(const Op& op);
LibraryCallPtr make_reflector_routine(const Op& op);
LibraryCallPtr make_tridiagonal_routine(const Op& op);

Dims row_major_strides(const Dims& shape);

/// The processor's instructions that oneDNN and our own products use: the sizes of their panels, and so their scratch memory, depend on it.
std::string instruction_set();

}  // namespace jaxscope::exec
