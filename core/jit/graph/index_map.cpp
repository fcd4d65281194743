// SPDX-License-Identifier: Apache-2.0
#include "jit/graph/index_map.h"

#include <algorithm>

#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

/// A number of the symbolic run: a coordinate of the output, a constant, an element that was read, or anything else.
struct Symbol {
    enum class Kind : std::uint8_t { Coordinate, Constant, Element, Other } kind = Kind::Other;
    std::int64_t value = 0;  ///< the dimension, the constant, or the load's number
};

struct Load {
    int operand;
    std::vector<Symbol> at;
    bool masked;
};

int cost_of(KOp o) {
    if (o >= KOp::Exp) return o == KOp::Sqrt || o == KOp::Rsqrt ? 4 : o >= KOp::ErfInv ? 40 : 12;
    switch (o) {
        case KOp::Pow:
        case KOp::Atan2:
            return 30;
        case KOp::Div:
        case KOp::Rem:
            return 4;
        default:
            return 1;
    }
}

class SymbolicBuilder final : public ElementBuilder {
public:
    explicit SymbolicBuilder(std::size_t rank) {
        symbols_.reserve(rank + 16);
        symbols_.emplace_back();
        for (std::size_t d = 0; d < rank; ++d)
            index_.at.push_back(make({Symbol::Kind::Coordinate, static_cast<std::int64_t>(d)}, DType::S64));
    }
    const KIndex& index() const { return index_; }
    const Symbol& symbol(KScalar s) const { return symbols_[reinterpret_cast<std::uintptr_t>(s.handle)]; }

    KScalar load(int operand, const KIndex& i) override { return record(operand, i, false); }
    KScalar masked_load(int operand, const KIndex& i, KScalar, KScalar) override {
        cost += 3;
        const KScalar loaded = record(operand, i, true);
        return other(loaded.dtype);
    }
    KScalar op(KOp o, KScalar a) override {
        cost += cost_of(o);
        return other(o == KOp::IsFinite ? DType::Bool : real_result(o, a.dtype));
    }
    KScalar op(KOp o, KScalar a, KScalar b) override {
        if (const KScalar folded = fold_index(o, a, b); folded.handle) return folded;
        cost += cost_of(o);
        if (o >= KOp::Eq && o <= KOp::LtTotal) return other(DType::Bool);
        if (o == KOp::Complex) return other(a.dtype == DType::F64 ? DType::C128 : DType::C64);
        return other(a.dtype);
    }
    KScalar call(const KFunction& f, KScalar a) override {
        cost += f.cost;
        return other(a.dtype);
    }
    KScalar select(KScalar, KScalar t, KScalar) override { return ++cost, other(t.dtype); }
    KScalar convert(KScalar, DType to) override { return ++cost, other(to); }
    KScalar bitcast(KScalar, DType to) override { return other(to); }
    KScalar constant(DType d, double) override { return other(d); }
    KScalar constant_int(DType d, std::int64_t v) override { return make({Symbol::Kind::Constant, v}, d); }
    KScalar clamp_index(KScalar v, std::int64_t) override { return ++cost, other(v.dtype); }

    std::vector<Load> loads;
    std::vector<DType> operand_dtypes;
    int cost = 0;

private:
    static DType real_result(KOp o, DType d) {
        const bool to_real = o == KOp::Abs || o == KOp::Real || o == KOp::Imag;
        return to_real && d == DType::C64 ? DType::F32 : to_real && d == DType::C128 ? DType::F64 : d;
    }
    /// x + 0 and x * 1 on indices leave a coordinate what it is; constants fold.
    KScalar fold_index(KOp o, KScalar a, KScalar b) {
        const Symbol x = symbol(a), y = symbol(b);
        if (a.dtype != DType::S64) return {};
        const bool cx = x.kind == Symbol::Kind::Constant, cy = y.kind == Symbol::Kind::Constant;
        if (o == KOp::Add && cy && y.value == 0) return a;
        if (o == KOp::Add && cx && x.value == 0) return b;
        if (o == KOp::Sub && cy && y.value == 0) return a;
        if (o == KOp::Mul && cy && y.value == 1) return a;
        if (o == KOp::Mul && cx && x.value == 1) return b;
        if (!cx || !cy) return {};
        const auto wrap = [](std::uint64_t v) { return static_cast<std::int64_t>(v); };
        const auto u = static_cast<std::uint64_t>(x.value), v = static_cast<std::uint64_t>(y.value);
        if (o == KOp::Add) return constant_int(a.dtype, wrap(u + v));
        if (o == KOp::Sub) return constant_int(a.dtype, wrap(u - v));
        if (o == KOp::Mul) return constant_int(a.dtype, wrap(u * v));
        return {};
    }
    KScalar record(int operand, const KIndex& i, bool masked) {
        Load l{operand, {}, masked};
        for (const KScalar s : i.at) l.at.push_back(symbol(s));
        loads.push_back(std::move(l));
        return make({Symbol::Kind::Element, static_cast<std::int64_t>(loads.size() - 1)},
                    operand_dtypes.at(static_cast<std::size_t>(operand)));
    }
    KScalar other(DType d) { return make({Symbol::Kind::Other, 0}, d); }
    KScalar make(Symbol s, DType d) {
        symbols_.push_back(s);
        const auto handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(symbols_.size() - 1));  // NOLINT: never dereferenced
        return KScalar{handle, is_complex(d) ? handle : nullptr, d};
    }
    std::vector<Symbol> symbols_;
    KIndex index_;
};

IndexMap::Operand classify(const Load& load, const Dims& operand, const Dims& out) {
    IndexMap::Operand result{IndexMap::Access::General, {}};
    if (load.masked) return result;
    std::vector<int> out_number(out.size(), -1);  // position among the output's dimensions other than 1
    int n_out = 0;
    for (std::size_t d = 0; d < out.size(); ++d)
        if (out[d] != 1) out_number[d] = n_out++;
    int last = -1;
    bool in_order = true;
    std::vector<int> dims;
    for (std::size_t d = 0; d < operand.size(); ++d) {
        if (operand[d] == 1) continue;
        const Symbol& s = load.at[d];
        if (s.kind != Symbol::Kind::Coordinate) return result;
        const auto from = static_cast<std::size_t>(s.value);
        if (out[from] != operand[d] || std::find(dims.begin(), dims.end(), out_number[from]) != dims.end()) return result;
        in_order = in_order && out_number[from] > last;
        dims.push_back(last = out_number[from]);
    }
    if (!in_order) return {IndexMap::Access::General, std::move(dims)};
    if (static_cast<int>(dims.size()) == n_out) return {IndexMap::Access::Identity, {}};
    return {IndexMap::Access::Broadcast, std::move(dims)};
}

}  // namespace

Dims without_ones(const Dims& shape) {
    Dims out;
    std::copy_if(shape.begin(), shape.end(), std::back_inserter(out), [](std::int64_t d) { return d != 1; });
    return out;
}

std::int64_t run_length(const Dims& shape, int first, int last) {
    std::int64_t n = 1;
    for (int d = first; d <= last; ++d) n *= shape[static_cast<std::size_t>(d)];
    return n;
}

bool is_join(const Op& op) { return op.prim == &kConcatenate || op.prim == &kStack || op.prim == &kPad; }

IndexMap probe_index_map(const Op& op) {
    const Dims& out = op.out.at(0)->shape;
    SymbolicBuilder k(out.size());
    for (const AvalRef a : op.in) k.operand_dtypes.push_back(a->dtype);
    const KScalar result = op.prim->lower.fn(k, op, k.index());
    IndexMap map;
    map.cost = k.cost;
    map.operands.resize(op.in.size());
    for (const Load& l : k.loads) {
        const auto o = static_cast<std::size_t>(l.operand);
        const IndexMap::Operand found = classify(l, op.in[o]->shape, out);
        IndexMap::Operand& known = map.operands[o];
        const bool differs = known.access != IndexMap::Access::None && (known.access != found.access || known.dims != found.dims);
        known = differs ? IndexMap::Operand{IndexMap::Access::General, {}} : found;
    }
    const Symbol& s = k.symbol(result);
    map.copies =
        s.kind == Symbol::Kind::Element && k.loads[static_cast<std::size_t>(s.value)].operand == 0 && op.in[0]->dtype == op.out[0]->dtype;
    return map;
}

std::size_t first_joined(const IndexMap::Operand& o, std::size_t rank) {
    if (o.access == IndexMap::Access::General && o.dims.empty()) return rank ? rank - 1 : 0;
    return o.dims.empty() ? 0 : first_joined(o.dims, rank);
}
std::size_t first_joined(const std::vector<int>& dims, std::size_t rank) {
    std::size_t d = rank - 1;
    while (d > 0 && joined(dims, static_cast<int>(d))) --d;
    return d;
}

bool joined(const std::vector<int>& dims, int d) {
    const auto below = std::find(dims.begin(), dims.end(), d), above = std::find(dims.begin(), dims.end(), d - 1);
    return below == dims.end() ? above == dims.end() : above != dims.end() && above + 1 == below;
}

}  // namespace jaxscope::exec
