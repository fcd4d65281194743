// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/written_calls.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include <llvm/IR/Function.h>
#include <llvm/IR/Intrinsics.h>

#include "jit/kernels/axes/axis_shape.h"
#include "jit/kernels/products/dot_shape.h"
#include "jit/kernels/products/relaid_product.h"
#include "jit/kernels/scatter/window.h"

namespace jaxscope::exec {

namespace {

using llvm::Value;

constexpr std::int64_t kMostNumbers = 16;  // of a window, or runs of numbers
constexpr std::int64_t kBytesOfVector = 64;

// ---- What is to be done ----------------------------------------------------------------------------------------------------------------

struct Product {
    DotShape shape;
    bool turned = false;   ///< it is the product of the transposed operands in the other order
    bool along_k = false;  ///< both operands lie along what is summed; else the result and the second operand have neighbours along n
};

std::int64_t vectors(std::int64_t numbers, DType d) { return (numbers * byte_size(d) + kBytesOfVector - 1) / kBytesOfVector; }

std::optional<Product> few_instructions(Product p, DType d) {
    constexpr std::int64_t kMost = 160, kSumOfLanes = 8;
    DotCore& c = p.shape.core;
    const std::int64_t products = p.shape.count() * p.shape.sum_count();
    if (c.k == 0 || c.m > kMost || c.n > kMost || c.k > kMost || products > kMost) return std::nullopt;
    p.along_k = c.lhs_k == 1 && c.rhs_k == 1 && c.k > 1;
    if (p.along_k) {
        if (products * c.m * c.n * (2 * vectors(c.k, d) + kSumOfLanes) > kMost) return std::nullopt;
        return p;
    }
    if (!(c.rhs_n == 1 && c.out_n == 1) && c.lhs_m == 1 && c.out_m == 1) {
        for (DotLoop& l : p.shape.loops) std::swap(l.lhs, l.rhs);
        for (DotLoop& l : p.shape.sums) std::swap(l.lhs, l.rhs);
        c = c.transposed(), p.turned = true;
    }
    const bool side_by_side = c.n == 1 || (c.rhs_n == 1 && c.out_n == 1);
    if (!side_by_side || products * c.m * c.k * (vectors(c.n, d) + 1) > kMost) return std::nullopt;
    return p;
}
std::optional<Product> product_of(const Node& n) {
    const auto* dot = std::get_if<DotKernel>(&n.spec()->kind);
    if (!dot || n.op().out[0]->size() == 0) return std::nullopt;
    const Arithmetic arithmetic = arithmetic_of(n.op());
    const DType d = n.op().out[0]->dtype;
    if (arithmetic != Arithmetic::F32 && arithmetic != Arithmetic::F64) return std::nullopt;
    if (!native(arithmetic, d) || n.op().in[0]->dtype != d || n.op().in[1]->dtype != d) return std::nullopt;
    return few_instructions({dot_shape(n.op(), *dot, complete_layouts(n.op(), n.layouts))}, d);
}

bool contains(const std::vector<int>& v, std::size_t d) { return std::ranges::find(v, static_cast<int>(d)) != v.end(); }

std::optional<Window> one_scattered_window(const Op& op, const ScatterKernel& spec) {
    const DType d = op.in[0]->dtype;
    const Dims& updates = op.in[2]->shape;
    const bool computed = byte_size(d) >= 4 && (is_integer(d) || is_float(d)) && !is_complex(d);
    if (!computed && spec.kind != ScatterKernel::Kind::Set) return std::nullopt;
    if (!spec.operand_batching_dims.empty() || op.in[2]->size() > kMostNumbers || op.in[2]->size() == 0) return std::nullopt;
    for (std::size_t u = 0; u < updates.size(); ++u)
        if (!contains(spec.update_window_dims, u) && updates[u] != 1) return std::nullopt;
    Window out = scattered_window(op, spec);
    if (std::ranges::any_of(out.last, [](std::int64_t last) { return last < 0; })) return std::nullopt;
    return out;
}
std::optional<Window> window_of_few_runs(const Op& op) {
    if (op.in[1]->size() == 0) return std::nullopt;
    Window out = updated_window(op);
    if (op.in[1]->size() / out.run > kMostNumbers) return std::nullopt;
    return out;
}

/// The place of the largest or smallest number of each line.
struct ArgExtreme {
    AxisShape shape;
    bool largest;
};
std::optional<ArgExtreme> arg_extreme_of(const Node& n) {
    constexpr std::int64_t kMost = 128;
    const auto* reduce = std::get_if<ReduceKernel>(&n.spec()->kind);
    if (!reduce || reduce->kind < ReduceKind::ArgMax || reduce->axes.size() != 1) return std::nullopt;
    const DType d = n.op().in[0]->dtype;
    const bool plain = (is_float(d) || is_integer(d)) && byte_size(d) >= 4;
    const ArgExtreme out{{n.op().in[0]->shape, reduce->axes[0]}, reduce->kind == ReduceKind::ArgMax};
    const AxisShape& s = out.shape;
    if (!plain || n.op().in[0]->size() == 0 || s.length > kMost || s.outer > kMost || s.inner > kMost) return std::nullopt;
    if (s.outer * s.length * vectors(s.inner, d) > kMost) return std::nullopt;
    return out;
}

// ---- Its code --------------------------------------------------------------------------------------------------------------------------

class CallWriter {
public:
    CallWriter(llvm::IRBuilder<>& builder, const Op& op, const std::vector<Value*>& in, const std::vector<Value*>& out)
        : b_(builder), ops_(builder), op_(op), in_(in), out_(out), dtype_(op.out[0]->dtype), number_(ops_.register_type(dtype_)) {}

    void product(const Product& p, bool adds) {
        p_ = p, adds_ = adds;
        for (std::int64_t i = 0; i < p_.shape.count(); ++i) {
            const DotLoop at = p_.shape.place(i);
            p_.along_k ? sums_of_rows(at) : rows_of_sums(at);
        }
    }

    void scatter(const Window& w, const ScatterKernel& spec) {
        copy(out_[0], in_[0], op_.in[0]->bytes());
        Value *offset = i64(0), *inside = b_.getTrue();
        for (std::size_t i = 0; i < spec.scatter_dims_to_operand_dims.size(); ++i) {
            const auto k = static_cast<std::size_t>(spec.scatter_dims_to_operand_dims[i]);
            Value* at = index_at(in_[1], static_cast<std::int64_t>(i), op_.in[1]->dtype);
            if (spec.mode == OutOfBounds::Clip)
                at = clamped(at, w.last[k]);
            else
                inside = b_.CreateAnd(inside, b_.CreateICmpULE(at, i64(w.last[k])));
            offset = b_.CreateAdd(offset, b_.CreateMul(at, i64(w.strides[k])));
        }
        llvm::Function* f = b_.GetInsertBlock()->getParent();
        auto* write = llvm::BasicBlock::Create(b_.getContext(), "inside", f);
        auto* after = llvm::BasicBlock::Create(b_.getContext(), "after", f);
        b_.CreateCondBr(inside, write, after);
        b_.SetInsertPoint(write);
        each_number(w.dims, [&](std::int64_t operand, std::int64_t update) {
            Value *target = element(out_[0], b_.CreateAdd(offset, i64(operand))), *from = element(in_[2], i64(update));
            if (spec.kind == ScatterKernel::Kind::Set) return copy(target, from, byte_size(dtype_));
            const Number before = ops_.load(target, dtype_);
            ops_.store(target, ops_.binary(operation(spec.kind), before, ops_.load(from, dtype_)));
        });
        b_.CreateBr(after);
        b_.SetInsertPoint(after);
    }

    void update_slice(const Window& w) {
        copy(out_[0], in_[0], op_.in[0]->bytes());
        Value* start = i64(0);
        for (std::size_t d = 0; d < w.last.size(); ++d) {
            Value* at = clamped(index_at(in_[2 + d], 0, op_.in[2 + d]->dtype), w.last[d]);
            start = b_.CreateAdd(start, b_.CreateMul(at, i64(w.strides[d])));
        }
        each_number(w.dims, [&](std::int64_t to, std::int64_t from) {
            copy(element(out_[0], b_.CreateAdd(start, i64(to))), element(in_[1], i64(from)), w.run * byte_size(dtype_));
        });
    }

    void arg_extreme(const ArgExtreme& task) {
        const AxisShape& s = task.shape;
        const DType d = op_.in[0]->dtype;
        llvm::Type *number = ops_.register_type(d), *place = ops_.register_type(dtype_);
        const auto of_inner = [&](llvm::Type* t) {
            return s.inner == 1 ? t : llvm::FixedVectorType::get(t, static_cast<unsigned>(s.inner));
        };
        for (std::int64_t o = 0; o < s.outer; ++o) {
            Value *best = nullptr, *at = llvm::Constant::getNullValue(of_inner(place));
            for (std::int64_t l = 0; l < s.length; ++l) {
                Value* p = b_.CreateGEP(b_.getInt8Ty(), in_[0], i64((o * s.length + l) * s.inner * byte_size(d)));
                Value* v = b_.CreateAlignedLoad(of_inner(number), b_.CreateBitCast(p, of_inner(number)->getPointerTo()),
                                                llvm::Align(static_cast<std::uint64_t>(byte_size(d))));
                Value* better = best ? is_better(v, best, d, task.largest) : nullptr;
                best = best ? b_.CreateSelect(better, v, best) : v;
                Value* here = llvm::ConstantInt::get(of_inner(place), static_cast<std::uint64_t>(l));
                if (better) at = b_.CreateSelect(better, here, at);
            }
            store(at, o * s.inner);
        }
    }

private:
    /// The first of equal ones stays, and so does the first NaN.
    Value* is_better(Value* v, Value* best, DType d, bool largest) {
        if (is_float(d)) {
            Value* beyond = largest ? b_.CreateFCmpOGT(v, best) : b_.CreateFCmpOLT(v, best);
            return b_.CreateOr(beyond, b_.CreateAnd(b_.CreateFCmpUNO(v, v), b_.CreateFCmpORD(best, best)));
        }
        if (is_unsigned_int(d)) return largest ? b_.CreateICmpUGT(v, best) : b_.CreateICmpULT(v, best);
        return largest ? b_.CreateICmpSGT(v, best) : b_.CreateICmpSLT(v, best);
    }
    Value* i64(std::int64_t v) { return b_.getInt64(static_cast<std::uint64_t>(v)); }
    Value* element(Value* base, Value* index) { return b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(index, i64(byte_size(dtype_)))); }
    void copy(Value* to, Value* from, std::int64_t bytes) {
        const llvm::MaybeAlign unknown;
        if (to != from && bytes > 0) b_.CreateMemMove(to, unknown, from, unknown, static_cast<std::uint64_t>(bytes));
    }
    Value* index_at(Value* base, std::int64_t i, DType d) {
        llvm::Type* stored = b_.getIntNTy(static_cast<unsigned>(8 * byte_size(d)));
        Value* p = b_.CreateGEP(b_.getInt8Ty(), base, i64(i * byte_size(d)));
        Value* v = b_.CreateAlignedLoad(stored, b_.CreateBitCast(p, stored->getPointerTo()), llvm::Align(1));
        return is_unsigned_int(d) ? b_.CreateZExt(v, b_.getInt64Ty()) : b_.CreateSExt(v, b_.getInt64Ty());
    }
    Value* clamped(Value* v, std::int64_t last) {
        v = b_.CreateSelect(b_.CreateICmpSLT(v, i64(0)), i64(0), v);
        return b_.CreateSelect(b_.CreateICmpSGT(v, i64(last)), i64(last), v);
    }
    /// Calls fn(operand, update) for each number of a window.
    template <class Fn>
    static void each_number(const std::vector<WindowDim>& window, const Fn& fn) {
        std::int64_t count = 1;
        for (const WindowDim& d : window) count *= d.size;
        for (std::int64_t i = 0; i < count; ++i) {
            std::int64_t rest = i, operand = 0, update = 0;
            for (std::size_t d = window.size(); d-- > 0; rest /= window[d].size)
                operand += rest % window[d].size * window[d].operand, update += rest % window[d].size * window[d].update;
            fn(operand, update);
        }
    }

    Value* load(Value* base, std::int64_t at, std::int64_t numbers) {
        llvm::Type* type = numbers == 1 ? number_ : llvm::FixedVectorType::get(number_, static_cast<unsigned>(numbers));
        Value* p = b_.CreateBitCast(element(base, i64(at)), type->getPointerTo());
        return b_.CreateAlignedLoad(type, p, llvm::Align(static_cast<std::uint64_t>(byte_size(dtype_))));
    }
    void store(Value* v, std::int64_t at) {
        Value* p = b_.CreateBitCast(element(out_[0], i64(at)), v->getType()->getPointerTo());
        b_.CreateAlignedStore(v, p, llvm::Align(static_cast<std::uint64_t>(byte_size(dtype_))));
    }
    Value* added(Value* sum, std::int64_t at, std::int64_t numbers) { return adds_ ? b_.CreateFAdd(load(in_[2], at, numbers), sum) : sum; }
    Value* lhs() const { return in_[p_.turned ? 1 : 0]; }
    Value* rhs() const { return in_[p_.turned ? 0 : 1]; }

    /// Each number of the result is the sum of a vector's lanes.
    void sums_of_rows(const DotLoop& at) {
        const DotCore& c = p_.shape.core;
        for (std::int64_t m = 0; m < c.m; ++m)
            for (std::int64_t n = 0; n < c.n; ++n) {
                Value* sum = nullptr;
                for (std::int64_t s = 0; s < p_.shape.sum_count(); ++s) {
                    const DotLoop apart = p_.shape.sum_place(s);
                    Value* x = load(lhs(), at.lhs + apart.lhs + m * c.lhs_m, c.k);
                    Value* y = load(rhs(), at.rhs + apart.rhs + n * c.rhs_n, c.k);
                    Value* terms = b_.CreateFMul(x, y);
                    sum = sum ? b_.CreateFAdd(sum, terms) : terms;
                }
                auto* lanes = llvm::cast<llvm::CallInst>(b_.CreateFAddReduce(llvm::ConstantFP::get(number_, -0.0), sum));
                llvm::FastMathFlags any_order;
                any_order.setAllowReassoc();
                lanes->setFastMathFlags(any_order);
                const std::int64_t place = at.out + m * c.out_m + n * c.out_n;
                store(added(lanes, place, 1), place);
            }
    }
    /// Each row of the result is a sum of rows.
    void rows_of_sums(const DotLoop& at) {
        const DotCore& c = p_.shape.core;
        std::vector<std::pair<Value*, std::int64_t>> rows;  // all are read before the first is written: the result may stand in in_[2]
        for (std::int64_t m = 0; m < c.m; ++m) {
            Value* sum = nullptr;
            for (std::int64_t s = 0; s < p_.shape.sum_count(); ++s)
                for (std::int64_t k = 0; k < c.k; ++k) {
                    const DotLoop apart = p_.shape.sum_place(s);
                    Value* factor = load(lhs(), at.lhs + apart.lhs + m * c.lhs_m + k * c.lhs_k, 1);
                    if (c.n > 1) factor = b_.CreateVectorSplat(static_cast<unsigned>(c.n), factor);
                    Value* term = b_.CreateFMul(factor, load(rhs(), at.rhs + apart.rhs + k * c.rhs_k, c.n));
                    sum = sum ? b_.CreateFAdd(sum, term) : term;
                }
            const std::int64_t place = at.out + m * c.out_m;
            rows.emplace_back(added(sum, place, c.n), place);
        }
        for (const auto& [sum, place] : rows) store(sum, place);
    }

    static KOp operation(ScatterKernel::Kind kind) {
        switch (kind) {
            case ScatterKernel::Kind::Mul:
                return KOp::Mul;
            case ScatterKernel::Kind::Min:
                return KOp::Min;
            case ScatterKernel::Kind::Max:
                return KOp::Max;
            default:
                return KOp::Add;
        }
    }

    llvm::IRBuilder<>& b_;
    ScalarOps ops_;
    const Op& op_;
    const std::vector<Value*>&in_, &out_;
    DType dtype_;  ///< of the result, and of what it is made of
    llvm::Type* number_;
    Product p_;
    bool adds_ = false;
};

/// Calls fn with what is to be done, as a Product, an ArgExtreme or a Window; false where it isn't a handful of instructions.
template <class Fn>
bool with_task(const Node& n, const Fn& fn) {
    std::optional<Window> window;
    if (const auto product = product_of(n)) return fn(*product), true;
    if (const auto extreme = arg_extreme_of(n)) return fn(*extreme), true;
    if (const auto* scatter = std::get_if<ScatterKernel>(&n.spec()->kind)) window = one_scattered_window(n.op(), *scatter);
    if (std::holds_alternative<DynamicUpdateSliceKernel>(n.spec()->kind)) window = window_of_few_runs(n.op());
    if (window) fn(*window);
    return window.has_value();
}

}  // namespace

bool can_be_written_out(const Node& call) {
    return with_task(call, [](const auto&) {});
}

void write_out_call(llvm::IRBuilder<>& builder, const Node& call, const std::vector<Value*>& in, const std::vector<Value*>& out) {
    CallWriter writer(builder, call.op(), in, out);
    const bool written = with_task(call, [&]<class Task>(const Task& task) {
        if constexpr (std::is_same_v<Task, Product>)
            writer.product(task, std::get<DotKernel>(call.spec()->kind).adds);
        else if constexpr (std::is_same_v<Task, ArgExtreme>)
            writer.arg_extreme(task);
        else if (const auto* scatter = std::get_if<ScatterKernel>(&call.spec()->kind))
            writer.scatter(task, *scatter);
        else
            writer.update_slice(task);
    });
    JAXSCOPE_ASSERT(written);
}

}  // namespace jaxscope::exec
