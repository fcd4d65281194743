// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/element_codegen.h"

#include <algorithm>

#include <llvm/IR/Module.h>

#include "ir/types/literal.h"
#include "jit/graph/index_map.h"

namespace jaxscope::exec {

using llvm::Value;

namespace {

bool small_counters(const Kernel& k) { return k.rows <= (1ll << 31) / std::max<std::int64_t>(1, k.cols); }
Level deeper(Level a, Level b) { return std::max(a, b); }

}  // namespace

ElementCodegen::ElementCodegen(llvm::IRBuilder<>& builder, const Kernel& kernel)
    : ops_(builder), kernel_(kernel), values_(kernel.nodes.size(), nullptr), end_row_(kernel.rows) {}

ElementCodegen::Scalar* ElementCodegen::make(const Number& n, Level level) {
    scalars_.push_back({n, level});
    return &scalars_.back();
}
KScalar ElementCodegen::handle(Scalar* s) {
    const DType d = s->set ? DType::S64 : s->n.dtype;
    return {s, is_complex(d) ? s : nullptr, d};
}
ElementCodegen::Scalar* ElementCodegen::force(Scalar* s) { return s->set ? run(*s->set, s->dim, s->dim) : s; }

void ElementCodegen::set_counters(Value* row, Level row_level, Value* col) {
    row_ = integer(row, llvm::isa<llvm::Constant>(row) ? Level::Entry : row_level);
    col_ = col ? integer(col, Level::Column) : nullptr;
    linear_ = nullptr;
}

void ElementCodegen::split_rows(Value* outer, Value* inner, std::int64_t length) {
    outer_ = integer(outer, Level::Outer), inner_ = integer(inner, Level::Row), inner_length_ = length;
}

void ElementCodegen::begin_row() {
    std::erase_if(runs_, [](const auto& r) { return r.second->level >= Level::Row; });
    std::erase_if(loads_, [](const auto& l) { return l.second->level >= Level::Row; });
    words_.clear();
    for (Scalar*& v : values_)
        if (v && v->level >= Level::Row) v = nullptr;
    linear_ = nullptr;
}
void ElementCodegen::begin_columns() {
    std::erase_if(runs_, [](const auto& r) { return r.second->level == Level::Column; });
    std::erase_if(loads_, [](const auto& l) { return l.second->level == Level::Column; });
    for (Scalar*& v : values_)
        if (v && v->level == Level::Column) v = nullptr;
    linear_ = nullptr;
}

void ElementCodegen::begin_rows(std::int64_t first, std::int64_t end) {
    first_row_ = first, end_row_ = end;
    runs_.clear(), loads_.clear(), words_.clear();
    std::ranges::fill(values_, nullptr);
    linear_ = nullptr;
}

// ---- Indices ------------------------------------------------------------------------------------------------------------------------

const ElementCodegen::IndexSet& ElementCodegen::index_set(const Dims& shape, bool row_level) {
    std::unique_ptr<IndexSet>& set = sets_[{shape, row_level}];
    if (set) return *set;
    set = std::make_unique<IndexSet>();
    set->shape = shape;
    set->row_only = row_level;
    set->coordinates.resize(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) {
        set->coordinates[d].set = set.get();
        set->coordinates[d].dim = static_cast<int>(d);
    }
    const int rank = static_cast<int>(shape.size());
    set->first_column = rank;
    std::int64_t n = 1;
    if (!row_level)
        while (set->first_column > 0 && n < kernel_.cols) n *= shape[static_cast<std::size_t>(--set->first_column)];
    set->aligned = row_level || n == kernel_.cols;
    return *set;
}

KIndex ElementCodegen::identity(const Dims& shape, bool row_level) {
    auto& set = const_cast<IndexSet&>(index_set(shape, row_level));
    KIndex out;
    for (std::size_t d = 0; d < shape.size(); ++d)
        out.at.push_back(shape[d] == 1 ? constant_int(DType::S64, 0) : handle(&set.coordinates[d]));
    return out;
}

/// counter / below % length: the digits of a counter that belong to a run of dimensions.
ElementCodegen::Scalar* ElementCodegen::digits(Scalar* counter, std::int64_t below, std::int64_t length, bool top) {
    if (below == 1 && top) return counter;
    if (counter == row_ && inner_length_ > 0) {
        if (below % inner_length_ == 0) return digits(outer_, below / inner_length_, length, top);
        if (below * length <= inner_length_ && inner_length_ % (below * length) == 0)
            return digits(inner_, below, length, below * length == inner_length_);
    }
    at(counter->level);
    llvm::IRBuilder<>& b = ops_.b;
    Value* v = counter->n.re;
    llvm::Type* t = small_counters(kernel_) ? b.getInt32Ty() : b.getInt64Ty();
    v = b.CreateTrunc(v, t);
    if (below != 1) v = b.CreateUDiv(v, llvm::ConstantInt::get(t, static_cast<std::uint64_t>(below)));
    if (!top) v = b.CreateURem(v, llvm::ConstantInt::get(t, static_cast<std::uint64_t>(length)));
    return integer(b.CreateZExt(v, b.getInt64Ty()), counter->level);
}

Value* ElementCodegen::linear() {
    if (!linear_) {
        const Level level = deeper(row_->level, Level::Column);
        at(row_->level);
        Value* base = ops_.b.CreateMul(row_->n.re, ops_.b.getInt64(static_cast<std::uint64_t>(kernel_.cols)));
        at(level);
        linear_ = integer(ops_.b.CreateAdd(base, col_->n.re), level);
    }
    return linear_->n.re;
}

/// The number that dimensions first..last of `set` make up together.
ElementCodegen::Scalar* ElementCodegen::run(const IndexSet& set, int first, int last) {
    Scalar*& known = runs_[{&set, first, last}];
    if (known) return known;
    if (first == last)
        if (const std::optional<Range> r = range_of(set.coordinates[static_cast<std::size_t>(first)]); r->least == r->most)
            return known = integer(ops_.b.getInt64(static_cast<std::uint64_t>(r->least)), Level::Entry);
    const int rank = static_cast<int>(set.shape.size());
    const std::int64_t length = run_length(set.shape, first, last);
    const std::int64_t below_all = run_length(set.shape, last + 1, rank - 1);
    Scalar* result = nullptr;
    if (set.row_only || (set.aligned && last < set.first_column)) {
        const std::int64_t below = run_length(set.shape, last + 1, (set.row_only ? rank : set.first_column) - 1);
        result = digits(row_, below, length, first == 0);
    } else if (set.aligned && first >= set.first_column) {
        result = digits(col_, below_all, length, first == set.first_column);
    } else if (set.aligned && last == rank - 1) {
        // Across the cut: the lower digits of the row, then the column, so that it still counts up by one.
        Scalar* upper = digits(row_, 1, run_length(set.shape, first, set.first_column - 1), first == 0);
        at(upper->level);
        Value* base = ops_.b.CreateMul(upper->n.re, ops_.b.getInt64(static_cast<std::uint64_t>(kernel_.cols)));
        at(Level::Column);
        result = integer(ops_.b.CreateAdd(base, col_->n.re), Level::Column);
    } else {
        linear();
        result = digits(linear_, below_all, length, first == 0);
    }
    return runs_[{&set, first, last}] = result;
}

ElementCodegen::Scalar* ElementCodegen::linearize(const KIndex& i, const Dims& shape) {
    struct Term {
        Scalar* value;
        std::int64_t stride;
    };
    std::vector<Term> terms;
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
        const std::int64_t here = stride;
        stride *= shape[d];
        if (shape[d] == 1) continue;
        Scalar* s = of(i.at[d]);
        if (!s->set) {
            terms.push_back({s, here});
            continue;
        }
        const IndexSet& set = *s->set;
        const int last = s->dim;
        int first = last;
        while (true) {  // extend the run while the next dimension of both is the same
            std::size_t e = d;
            while (e > 0 && shape[e - 1] == 1) --e;
            int g = first;
            while (g > 0 && set.shape[static_cast<std::size_t>(g - 1)] == 1) --g;
            if (e == 0 || g == 0 || set.shape[static_cast<std::size_t>(first)] != shape[d]) break;
            const Scalar* next = of(i.at[e - 1]);
            if (next->set != &set || next->dim != g - 1 || set.shape[static_cast<std::size_t>(g - 1)] != shape[e - 1]) break;
            first = g - 1;
            d = e - 1;
            stride *= shape[d];
        }
        int top = first;
        while (top > 0 && set.shape[static_cast<std::size_t>(top) - 1] == 1) --top;
        int bottom = last;
        while (bottom + 1 < static_cast<int>(set.shape.size()) && set.shape[static_cast<std::size_t>(bottom) + 1] == 1) ++bottom;
        terms.push_back({run(set, top, bottom), here});
    }
    std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.value->level < b.value->level; });
    Scalar* sum = nullptr;
    for (const Term& t : terms) {
        at(t.value->level);
        Value* v = ops_.b.CreateMul(t.value->n.re, ops_.b.getInt64(static_cast<std::uint64_t>(t.stride)));
        const Level level = sum ? deeper(sum->level, t.value->level) : t.value->level;
        at(level);
        sum = integer(sum ? ops_.b.CreateAdd(sum->n.re, v) : v, level);
    }
    return sum ? sum : integer(ops_.b.getInt64(0), Level::Entry);
}

/// The same element's index for a shape that differs in dimensions of length 1.
KIndex ElementCodegen::rerank(const KIndex& i, const Dims& from, const Dims& to) {
    if (from == to) return i;
    KIndex out;
    std::size_t d = 0;
    for (const std::int64_t length : to) {
        if (length == 1) {
            out.at.push_back(constant_int(DType::S64, 0));
            continue;
        }
        while (from[d] == 1) ++d;
        out.at.push_back(i.at[d++]);
    }
    return out;
}

// ---- Values -------------------------------------------------------------------------------------------------------------------------

Value* ElementCodegen::element_address(Value* base, Value* index, DType d) {
    llvm::Type* t = ops_.storage_type(d);
    Value* typed = ops_.b.CreateBitCast(base, t->getPointerTo());
    if (is_complex(d)) index = ops_.b.CreateMul(index, ops_.b.getInt64(2));
    return ops_.b.CreateGEP(t, typed, index);
}

Value* ElementCodegen::checked(Value* index, std::int64_t size) {
    if (!kernel_.checked) return index;
    llvm::IRBuilder<>& b = ops_.b;
    llvm::Type* i64 = b.getInt64Ty();
    llvm::Module* module = b.GetInsertBlock()->getModule();
    const llvm::FunctionCallee check =
        module->getOrInsertFunction("jaxscope_checked_index", llvm::FunctionType::get(i64, {i64, i64}, false));
    return b.CreateCall(check, {index, b.getInt64(static_cast<std::uint64_t>(size))});
}

/// How many elements a word of four bytes holds; 1: they are not read and written by words.
std::int64_t ElementCodegen::numbers_of_word(DType d) const {
    constexpr std::int64_t kWord = 4;
    if (kernel_.checked || is_complex(d) || d == DType::Float0 || col_ == nullptr || !llvm::isa<llvm::ConstantInt>(col_->n.re)) return 1;
    return std::max<std::int64_t>(kWord / byte_size(d), 1);
}

/// `v` as times * row + plus; nothing where it is something else.
std::optional<ElementCodegen::Place> ElementCodegen::place_in_row(const Value* v) const {
    if (v == row_->n.re) return Place{1, 0};
    if (const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v)) return Place{0, c->getSExtValue()};
    const auto* made = llvm::dyn_cast<llvm::BinaryOperator>(v);
    if (made == nullptr || (made->getOpcode() != llvm::Instruction::Add && made->getOpcode() != llvm::Instruction::Mul))
        return std::nullopt;
    const std::optional<Place> x = place_in_row(made->getOperand(0)), y = x ? place_in_row(made->getOperand(1)) : std::nullopt;
    if (!y) return std::nullopt;
    if (made->getOpcode() == llvm::Instruction::Add) return Place{x->times + y->times, x->plus + y->plus};
    if (y->times != 0) return std::nullopt;
    return Place{x->times * y->plus, x->plus * y->plus};
}

/// Of the word with the element at `at_row`. The caller knows that the same elements share it in every row.
Value* ElementCodegen::word_address(Value* base, Place at_row, DType d) {
    llvm::IRBuilder<>& b = ops_.b;
    at(Level::Row);
    Value* row = b.CreateMul(row_->n.re, b.getInt64(static_cast<std::uint64_t>(at_row.times)));
    at(Level::Column);
    Value* first = b.CreateAdd(row, b.getInt64(static_cast<std::uint64_t>(at_row.plus - at_row.plus % numbers_of_word(d))));
    return b.CreateBitCast(element_address(base, first, d), b.getInt32Ty()->getPointerTo());
}

/// Null where it isn't read by words.
ElementCodegen::Scalar* ElementCodegen::load_by_word(std::uint32_t ext, const Scalar& where, DType d) {
    const std::int64_t numbers = numbers_of_word(d);
    if (numbers == 1 || where.level != Level::Column) return nullptr;
    const std::optional<Place> place = place_in_row(where.n.re);
    if (!place || place->plus < 0 || place->times % numbers != 0 || kernel_.externs[ext].aval->size() % numbers != 0) return nullptr;
    llvm::IRBuilder<>& b = ops_.b;
    Value*& word = words_[{ext, place->times, place->plus / numbers}];
    at(Level::Column);
    if (word == nullptr)
        word = b.CreateAlignedLoad(b.getInt32Ty(), word_address(externs[ext], *place, d),
                                   llvm::Align(static_cast<std::uint64_t>(byte_size(d))));
    const std::int64_t bits = 8 * byte_size(d);
    Value* part = b.CreateLShr(word, b.getInt32(static_cast<std::uint32_t>(place->plus % numbers * bits)));
    return make(ops_.of_bits(b.CreateTrunc(part, b.getIntNTy(static_cast<unsigned>(bits))), d), Level::Column);
}

bool ElementCodegen::store_by_words(std::size_t store, Value* base, const Number& v) {
    const std::int64_t numbers = numbers_of_word(v.dtype);
    if (numbers == 1 || kernel_.cols % numbers != 0) return false;
    llvm::IRBuilder<>& b = ops_.b;
    const std::int64_t col = llvm::cast<llvm::ConstantInt>(col_->n.re)->getSExtValue(), bits = 8 * byte_size(v.dtype);
    at(Level::Column);
    Value* part = b.CreateShl(b.CreateZExt(ops_.bits_of(v), b.getInt32Ty()), b.getInt32(static_cast<std::uint32_t>(col % numbers * bits)));
    Value*& word = begun_[store];
    word = col % numbers == 0 ? part : b.CreateOr(word, part);
    if (col % numbers != numbers - 1) return true;
    b.CreateAlignedStore(word, word_address(base, {kernel_.cols, col}, v.dtype),
                         llvm::Align(static_cast<std::uint64_t>(byte_size(v.dtype))));
    return true;
}

ElementCodegen::Scalar* ElementCodegen::load_extern(std::uint32_t ext, Scalar* where, DType d) {
    Scalar*& known = loads_[{ext, where->n.re}];
    if (!known) known = load_by_word(ext, *where, d);
    if (!known) {
        at(where->level);
        Value* index = checked(where->n.re, kernel_.externs[ext].aval->size());
        known = make(ops_.load(element_address(externs[ext], index, d), d), where->level);
    }
    return known;
}

/// From the tile that holds what is read at `i`; null where none does.
ElementCodegen::Scalar* ElementCodegen::load_staged(std::uint32_t ext, const KIndex& i, const Aval& aval) {
    const KernelTile& tile = kernel_.tile;
    Dims strides(tile.domain.size(), 0);
    std::int64_t stride = 1;
    for (std::size_t d = aval.shape.size(); d-- > 0; stride *= aval.shape[d]) {
        if (aval.shape[d] == 1) continue;
        const Scalar* s = of(i.at[d]);
        if (!s->set || s->set->row_only || without_ones(s->set->shape) != tile.domain) return nullptr;
        const auto dims = s->set->shape.begin();
        strides[static_cast<std::size_t>(s->dim - std::count(dims, dims + s->dim, 1))] += stride;
    }
    const auto read =
        std::find_if(tile.reads.begin(), tile.reads.end(), [&](const KernelTile::Read& r) { return r.ext == ext && r.strides == strides; });
    if (read == tile.reads.end()) return nullptr;
    llvm::IRBuilder<>& b = ops_.b;
    at(Level::Row);
    Value* row = b.CreateMul(tile_row_, b.getInt64(static_cast<std::uint64_t>(tile.cols)));
    Value* base = b.CreateGEP(b.getInt8Ty(), scratch_, b.getInt64(static_cast<std::uint64_t>(read->offset)));
    at(Level::Column);
    Value* index = b.CreateAdd(row, b.CreateSub(col_->n.re, first_column_));
    return make(ops_.load(element_address(base, index, aval.dtype), aval.dtype), Level::Column);
}

ElementCodegen::Scalar* ElementCodegen::literal(LiteralRef l) {
    return make(ops_.literal(l->aval->dtype, l->real, l->imag, l->integer), Level::Entry);
}

ElementCodegen::Scalar* ElementCodegen::operand_value(const KernelNode& n, std::size_t operand, const KIndex& i) {
    const KernelRef r = n.operands.at(operand);
    const Aval& aval = *n.op().in[operand];
    switch (r.kind) {
        case KernelRef::Kind::Literal: {
            Scalar* s = literal(LiteralRef::from_id(r.index));
            if (s->n.dtype != aval.dtype) s = make(ops_.convert(s->n, aval.dtype), Level::Entry);
            return s;
        }
        case KernelRef::Kind::Extern:
            if (!kernel_.tile.reads.empty())
                if (Scalar* staged = load_staged(r.index, i, aval)) return staged;
            return load_extern(r.index, linearize(i, aval.shape), aval.dtype);
        case KernelRef::Kind::Node:
            break;
    }
    const KernelNode& from = kernel_.nodes[r.index];
    if (from.on_demand) return evaluate(r.index, rerank(i, aval.shape, from.shape()));
    node_value(r.index);
    return values_[r.index];
}

ElementCodegen::Scalar* ElementCodegen::evaluate(std::uint32_t node, const KIndex& i) {
    const KernelNode* outer = node_;
    node_ = &kernel_.nodes[node];
    Scalar* s = force(of(node_->op().prim->lower.fn(*this, node_->op(), i)));
    const DType want = node_->op().out[0]->dtype;
    if (s->n.dtype != want) {  // a rule may compute in another dtype of the same kind (weak types, index types)
        at(s->level);
        s = make(ops_.convert(s->n, want), s->level);
    }
    node_ = outer;
    return s;
}

Number ElementCodegen::node_value(std::uint32_t node) {
    if (!values_[node]) {
        const KernelNode& n = kernel_.nodes[node];
        JAXSCOPE_ASSERT(n.kind == NodeKind::Element);
        values_[node] = evaluate(node, identity(n.shape(), n.row_level));
    }
    return values_[node]->n;
}

Number ElementCodegen::reduction_operand(std::uint32_t node) {
    const KernelNode& n = kernel_.nodes[node];
    Scalar* s = operand_value(n, 0, identity(n.op().in[0]->shape, false));
    if (s->n.dtype == n.op().out[0]->dtype) return s->n;
    at(Level::Column);
    return ops_.convert(s->n, n.op().out[0]->dtype);
}

void ElementCodegen::set_node_value(std::uint32_t node, const Number& v, Level level) { values_[node] = make(v, level); }

// ---- ElementBuilder -----------------------------------------------------------------------------------------------------------------

KScalar ElementCodegen::load(int operand, const KIndex& i) { return handle(operand_value(*node_, static_cast<std::size_t>(operand), i)); }

KScalar ElementCodegen::op(KOp o, KScalar a) {
    Scalar* x = force(of(a));
    at(x->level);
    return handle(make(ops_.unary(o, x->n), x->level));
}
KScalar ElementCodegen::op(KOp o, KScalar a, KScalar b) {
    if (const std::optional<KScalar> d = decided(o, *of(a), *of(b))) return *d;
    const std::optional<Range> moved = sum_of(o, range_of(*of(a)), range_of(*of(b)));
    Scalar *x = force(of(a)), *y = force(of(b));
    const Level level = deeper(x->level, y->level);
    at(level);
    Scalar* made = make(ops_.binary(o, x->n, y->n), level);
    made->range = moved;
    return handle(made);
}
KScalar ElementCodegen::call(const KFunction& f, KScalar a) {
    Scalar* x = force(of(a));
    at(x->level);
    return handle(make(ops_.call(f, x->n), x->level));
}
KScalar ElementCodegen::select(KScalar condition, KScalar if_true, KScalar if_false) {
    if (const std::optional<bool> holds = known(condition)) return *holds ? if_true : if_false;
    Scalar *c = force(of(condition)), *t = force(of(if_true)), *f = force(of(if_false));
    const Level level = deeper(c->level, deeper(t->level, f->level));
    at(level);
    return handle(make(ops_.select(c->n, t->n, f->n), level));
}
KScalar ElementCodegen::convert(KScalar v, DType to) {
    Scalar* x = force(of(v));
    at(x->level);
    return handle(make(ops_.convert(x->n, to), x->level));
}
KScalar ElementCodegen::bitcast(KScalar v, DType to) {
    Scalar* x = force(of(v));
    at(x->level);
    return handle(make(ops_.bitcast(x->n, to), x->level));
}
KScalar ElementCodegen::constant(DType d, double v) {
    const bool floating = is_inexact(d);
    return handle(make(ops_.literal(d, v, 0, floating ? 0 : static_cast<std::int64_t>(v)), Level::Entry));
}
KScalar ElementCodegen::constant_int(DType d, std::int64_t v) {
    Scalar* made = make(ops_.literal(d, static_cast<double>(v), 0, v), Level::Entry);
    if (d == DType::S64) made->range = just(v);
    return handle(made);
}
KScalar ElementCodegen::clamp_index(KScalar v, std::int64_t bound) {
    if (const std::optional<Range> r = range_of(*of(v)); r && r->least >= 0 && r->most < bound) return v;
    Scalar* x = force(of(v));
    at(x->level);
    llvm::IRBuilder<>& b = ops_.b;
    Value* last = b.getInt64(static_cast<std::uint64_t>(std::max<std::int64_t>(bound - 1, 0)));
    Value* t = b.CreateSelect(b.CreateICmpSLT(x->n.re, last), x->n.re, last);
    t = b.CreateSelect(b.CreateICmpSGT(t, b.getInt64(0)), t, b.getInt64(0));
    return handle(integer(t, x->level));
}
KScalar ElementCodegen::masked_load(int operand, const KIndex& i, KScalar inside, KScalar otherwise) {
    const Dims& shape = node_->op().in.at(static_cast<std::size_t>(operand))->shape;
    if (std::find(shape.begin(), shape.end(), 0) != shape.end() || known(inside) == false) return otherwise;  // nothing to load
    KIndex safe;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        Scalar* s = of(i.at[d]);
        const bool in_range =
            s->set && s->set->shape[static_cast<std::size_t>(s->dim)] <= shape[d];  // a coordinate can't leave its dimension
        safe.at.push_back(in_range ? i.at[d] : clamp_index(i.at[d], shape[d]));
    }
    return select(inside, load(operand, safe), otherwise);
}

}  // namespace jaxscope::exec
