// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "jit/codegen/scalar_ops.h"
#include "jit/graph/kernel.h"

namespace jaxscope::exec {

/// How deep in the loop nest a value is made: code goes to the outermost level where its operands are there.
enum class Level : std::uint8_t { Entry, Outer, Row, Column };

/// Emits the equations of one kernel. Positions are kept symbolic as long as possible: the coordinates of an array's index that
/// make up a run of the loop counters are never taken apart and put together again.
class ElementCodegen final : public ElementBuilder {
public:
    ElementCodegen(llvm::IRBuilder<>& builder, const Kernel& kernel);

    // ---- Set up by the loop generator
    void set_block(Level level, llvm::BasicBlock* block) { blocks_[static_cast<std::size_t>(level)] = block; }
    llvm::BasicBlock* block(Level level) const { return blocks_[static_cast<std::size_t>(level)]; }
    void set_counters(llvm::Value* row, Level row_level, llvm::Value* col);
    /// The row's number is outer * length + inner: its digits are theirs.
    void split_rows(llvm::Value* outer, llvm::Value* inner, std::int64_t length);
    /// Tiled: where the tile's first element stands in its rows (along `side`) and columns; its reads are loaded from `scratch`.
    void set_tile(llvm::Value* scratch, llvm::Value* first_column) { scratch_ = scratch, first_column_ = first_column; }
    void set_tile_row(llvm::Value* row) { tile_row_ = row; }
    void begin_row();      ///< forgets what was computed for the row before
    void begin_columns();  ///< a new loop over columns: forgets what the last one computed
    /// The code that follows is for rows `first` to `end` - 1, and knows nothing of what was computed before.
    void begin_rows(std::int64_t first, std::int64_t end);
    /// Rows, not the first, at which joins of many operands were asked which of them it is to be.
    const std::set<std::int64_t>& rows_asked() const { return rows_asked_; }
    std::vector<llvm::Value*> externs;  ///< i8* each

    // ---- Values of nodes
    Number node_value(std::uint32_t node);  ///< at the current row and column; computes it when it isn't there
    Number reduction_operand(std::uint32_t node);
    void set_node_value(std::uint32_t node, const Number& v, Level level);
    bool has_value(std::uint32_t node) const { return values_[node] != nullptr; }
    /// Of a column that is a constant (rows that are written out): keeps `v` until its neighbours fill a word of four bytes, which goes
    /// to `base`. False: `v` is to be stored by itself. Loads come by such words, too: LLVM's vectors gather and scatter no smaller
    /// numbers, but take each apart.
    bool store_by_words(std::size_t store, llvm::Value* base, const Number& v);
    /// row * cols + col, or the row, at its level.
    llvm::Value* linear();
    Level level_of(std::uint32_t node) const { return values_[node]->level; }
    void at(Level level) { ops_.b.SetInsertPoint(block(level)); }
    llvm::Value* element_address(llvm::Value* base, llvm::Value* index, DType d);
    /// In debug mode `index` after a check that it is below `size`; else as it is.
    llvm::Value* checked(llvm::Value* index, std::int64_t size);
    ScalarOps& ops() { return ops_; }

    // ---- ElementBuilder
    KScalar load(int operand, const KIndex& i) override;
    KScalar op(KOp o, KScalar a) override;
    KScalar op(KOp o, KScalar a, KScalar b) override;
    KScalar call(const KFunction& f, KScalar a) override;
    std::optional<bool> known(KScalar condition) const override;
    KScalar select(KScalar condition, KScalar if_true, KScalar if_false) override;
    KScalar convert(KScalar v, DType to) override;
    KScalar bitcast(KScalar v, DType to) override;
    KScalar constant(DType d, double v) override;
    KScalar constant_int(DType d, std::int64_t v) override;
    KScalar clamp_index(KScalar v, std::int64_t bound) override;
    KScalar masked_load(int operand, const KIndex& i, KScalar inside, KScalar otherwise) override;

private:
    struct IndexSet;
    /// Of an index: what it is between, wherever the code is for.
    struct Range {
        std::int64_t least = 0, most = 0;
        std::int64_t rows = 0;  ///< not 0: it is rows' number / rows + offset
        std::int64_t offset = 0;
    };
    struct Scalar {
        Number n;
        Level level = Level::Entry;
        const IndexSet* set = nullptr;  ///< a coordinate that isn't computed yet: dimension `dim` of the domain seen as this shape
        int dim = 0;
        std::optional<Range> range;
    };
    struct IndexSet {
        Dims shape;
        std::vector<Scalar> coordinates;
        int first_column = 0;   ///< dimensions from here on make up the column counter
        bool aligned = true;    ///< false: the cut goes through a dimension
        bool row_only = false;  ///< a row-level shape: all dimensions make up the row counter
    };
    Scalar* make(const Number& n, Level level);
    static KScalar handle(Scalar* s);
    std::optional<Range> range_of(const Scalar& s) const;
    std::optional<KScalar> decided(KOp o, Scalar& a, Scalar& b);
    void ask_rows(const Range& index, std::int64_t bound);
    static std::optional<Range> just(std::int64_t v);
    static std::optional<Range> sum_of(KOp o, const std::optional<Range>& x, const std::optional<Range>& y);
    static Scalar* of(KScalar s) { return static_cast<Scalar*>(s.handle); }
    Scalar* force(Scalar* s);
    const IndexSet& index_set(const Dims& shape, bool row_level);
    KIndex identity(const Dims& shape, bool row_level);
    Scalar* run(const IndexSet& set, int first, int last);
    Scalar* digits(Scalar* counter, std::int64_t below, std::int64_t length, bool top);
    Scalar* linearize(const KIndex& i, const Dims& shape);
    Scalar* integer(llvm::Value* v, Level level) { return make({v, nullptr, DType::S64}, level); }
    Scalar* evaluate(std::uint32_t node, const KIndex& i);
    Scalar* operand_value(const KernelNode& n, std::size_t operand, const KIndex& i);
    Scalar* load_extern(std::uint32_t ext, Scalar* linear, DType d);
    std::int64_t numbers_of_word(DType d) const;
    struct Place {
        std::int64_t times, plus;
    };
    std::optional<Place> place_in_row(const llvm::Value* v) const;
    llvm::Value* word_address(llvm::Value* base, Place at_row, DType d);
    Scalar* load_by_word(std::uint32_t ext, const Scalar& where, DType d);
    Scalar* load_staged(std::uint32_t ext, const KIndex& i, const Aval& aval);
    Scalar* literal(LiteralRef l);
    KIndex rerank(const KIndex& i, const Dims& from, const Dims& to);

    ScalarOps ops_;
    const Kernel& kernel_;
    std::array<llvm::BasicBlock*, 4> blocks_{};
    std::deque<Scalar> scalars_;
    std::map<std::pair<Dims, bool>, std::unique_ptr<IndexSet>> sets_;
    using RunKey = std::tuple<const IndexSet*, int, int>;
    using LoadKey = std::pair<std::uint32_t, llvm::Value*>;
    std::map<RunKey, Scalar*> runs_;
    std::map<LoadKey, Scalar*> loads_;
    std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t>, llvm::Value*> words_;  ///< of an extern: times the row, the n-th
    std::map<std::size_t, llvm::Value*> begun_;                                            ///< of a store: a word that isn't full yet
    std::vector<Scalar*> values_;
    Scalar *row_ = nullptr, *col_ = nullptr, *linear_ = nullptr;
    Scalar *outer_ = nullptr, *inner_ = nullptr;  ///< of split rows
    std::int64_t inner_length_ = 0;
    std::int64_t first_row_ = 0, end_row_ = 0;
    std::set<std::int64_t> rows_asked_;
    llvm::Value *scratch_ = nullptr, *tile_row_ = nullptr, *first_column_ = nullptr;
    const KernelNode* node_ = nullptr;
};

}  // namespace jaxscope::exec
