// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/loop_codegen.h"

#include <algorithm>
#include <set>
#include <utility>

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include "base/checked.h"
#include "jit/codegen/element_codegen.h"
#include "jit/codegen/loop_hints.h"
#include "jit/codegen/loop_pieces.h"
#include "jit/codegen/reduction_codegen.h"
#include "jit/codegen/row_form.h"

namespace jaxscope::exec {

namespace {

using llvm::BasicBlock;
using llvm::Value;

class LoopGenerator {
public:
    LoopGenerator(llvm::Module& module, const Kernel& kernel, const std::string& name, bool masks, RowForm rows, bool all,
                  std::set<std::int64_t> row_places = {})
        : context_(module.getContext()),
          k_(kernel),
          b_(context_),
          code_(b_, kernel),
          ops_(code_.ops()),
          sums_(code_, kernel),
          masks_(masks),
          row_form_(rows),
          all_(all),
          row_places_(std::move(row_places)) {
        llvm::Type* i8p = b_.getInt8PtrTy();
        auto* type = llvm::FunctionType::get(b_.getVoidTy(), {i8p->getPointerTo(), b_.getInt64Ty(), b_.getInt64Ty(), i8p}, false);
        f_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
        f_->addFnAttr(llvm::Attribute::NoUnwind);
        entry_ = BasicBlock::Create(context_, "entry", f_);
        access_group_ = llvm::MDNode::getDistinct(context_, {});
    }

    llvm::Function* run() {
        b_.SetInsertPoint(entry_);
        for (std::size_t i = 0; i < k_.externs.size() + k_.stores.size(); ++i) {
            Value* slot = b_.CreateGEP(b_.getInt8PtrTy(), f_->getArg(0), b_.getInt64(i));
            Value* p = b_.CreateAlignedLoad(b_.getInt8PtrTy(), slot, llvm::Align(8));
            if (i < k_.externs.size())
                code_.externs.push_back(p);
            else
                stores_.push_back(p);
        }
        for (std::size_t l = 0; l < 4; ++l) code_.set_block(static_cast<Level>(l), entry_);
        switch (k_.form) {
            case Kernel::Form::Flat:
                row_form_ == RowForm::WrittenOut ? rows() : flat();
                break;
            case Kernel::Form::Row:
                rows();
                break;
            case Kernel::Form::Tiled:
                tiles();
                break;
            case Kernel::Form::Column:
                columns();
                break;
        }
        return f_;
    }
    /// Did a row that was to be a vector under a mask turn out to be none?
    bool unmaskable() const { return unmaskable_; }
    /// Rows at which joins of many operands go on with the next one; empty where the rows are no loop of their own.
    std::set<std::int64_t> row_places() const {
        constexpr std::size_t kMost = 32;  // loops: more are more code than choosing costs
        const bool own_loop = k_.form == Kernel::Form::Row && row_form_ == RowForm::Loop;
        return own_loop && code_.rows_asked().size() < kMost ? code_.rows_asked() : std::set<std::int64_t>();
    }

private:
    /// A counted loop around what is emitted between open and close. `level`: whose code goes into its body.
    struct Loop {
        Level level;
        BasicBlock* before;
        BasicBlock* head;
        llvm::PHINode* counter;
        Value* end;
    };
    Loop open(Level level, Value* begin, Value* end) {
        Loop l{level, code_.block(level == Level::Column ? Level::Row : static_cast<Level>(static_cast<int>(level) - 1)), nullptr, nullptr,
               end};
        l.head = BasicBlock::Create(context_, "loop", f_);
        b_.SetInsertPoint(l.head);
        l.counter = b_.CreatePHI(b_.getInt64Ty(), 2);
        l.counter->addIncoming(begin, l.before);
        for (auto inner = static_cast<std::size_t>(level); inner < 4; ++inner) code_.set_block(static_cast<Level>(inner), l.head);
        return l;
    }
    /// Closes the loop; code of the enclosing levels continues behind it. The trip count must be positive.
    void close(const Loop& l, bool vectorise) {
        BasicBlock* last = code_.block(l.level);
        BasicBlock* exit = BasicBlock::Create(context_, "after", f_);
        b_.SetInsertPoint(last);
        Value* next = b_.CreateAdd(l.counter, b_.getInt64(1), "", true, true);
        b_.CreateCondBr(b_.CreateICmpSLT(next, l.end), l.head, exit);
        l.counter->addIncoming(next, last);
        BasicBlock* first = l.head;
        if (vectorise && last == l.head) {
            const Pieces pieces = split_at_places(*l.head, *l.before, l.level == Level::Row ? k_.rows : k_.cols);
            const bool whole = l.level == Level::Column && row_form_ == RowForm::Vectors;
            for (BasicBlock* piece : pieces.loops) {
                if (whole && !can_be_masked(*piece)) unmaskable_ = true;
                mark_parallel(*piece, {access_group_, masks_, l.level == Level::Row, whole});
            }
            first = pieces.entry;
        }
        b_.SetInsertPoint(l.before);
        b_.CreateBr(first);
        for (std::size_t i = 0; i < 4; ++i)
            if (code_.block(static_cast<Level>(i)) == l.before || i >= static_cast<std::size_t>(l.level) ||
                (l.level == Level::Column && i == static_cast<std::size_t>(Level::Row)))
                code_.set_block(static_cast<Level>(i), exit);
        b_.SetInsertPoint(exit);
    }
    Value* first_task() { return all_ ? static_cast<Value*>(b_.getInt64(0)) : f_->getArg(1); }
    Value* end_of_tasks() { return all_ ? static_cast<Value*>(b_.getInt64(static_cast<std::uint64_t>(tasks()))) : f_->getArg(2); }
    /// A flat kernel that is written out is one row.
    std::int64_t tasks() const { return k_.form == Kernel::Form::Flat && row_form_ == RowForm::WrittenOut ? 1 : k_.tasks(); }
    void store_element(std::size_t store, const Number& v, Value* index) {
        index = code_.checked(index, k_.stores[store].aval->size());
        ops_.store(code_.element_address(stores_[store], index, v.dtype), v);
    }
    bool full_member(const KernelNode& n) const { return n.kind == NodeKind::Element && !n.row_level && !n.on_demand; }

    /// The nodes of full size, with code for each at the current row and column.
    std::vector<std::uint32_t> computed_members() {
        std::vector<std::uint32_t> members;
        for (std::uint32_t j = 0; j < k_.nodes.size(); ++j)
            if (full_member(k_.nodes[j])) members.push_back(j), code_.node_value(j);
        return members;
    }

    void flat() {
        Value *begin = first_task(), *end = end_of_tasks();
        const Loop loop = open(Level::Column, begin, end);
        code_.set_counters(b_.getInt64(0), Level::Entry, loop.counter);
        computed_members();
        for (std::size_t s = 0; s < k_.stores.size(); ++s) {
            const Number v = code_.node_value(k_.stores[s].node);
            code_.at(Level::Column);
            store_element(s, v, loop.counter);
        }
        close(loop, true);
        b_.CreateRetVoid();
    }

    // ---- Rows: passes over the columns with reductions in between ------------------------------------------------------------------
    void rows() {
        Value *begin = first_task(), *end = end_of_tasks();
        place_spilled(0);
        const bool unrolled = row_form_ == RowForm::WrittenOut;
        if (const std::int64_t length = unrolled ? inner_rows(k_) : 0; length > 0) {
            // Rows in two loops, so that what depends on the outer one is read once.
            Value* l = b_.getInt64(static_cast<std::uint64_t>(length));
            const Loop outer =
                open(Level::Outer, b_.CreateUDiv(begin, l), b_.CreateUDiv(b_.CreateAdd(end, b_.CreateSub(l, b_.getInt64(1))), l));
            Value* base = b_.CreateMul(outer.counter, l);
            Value *first = b_.CreateSub(begin, base), *last = b_.CreateSub(end, base);
            first = b_.CreateSelect(b_.CreateICmpSGT(first, b_.getInt64(0)), first, b_.getInt64(0));
            last = b_.CreateSelect(b_.CreateICmpSLT(last, l), last, l);
            const Loop loop = open(Level::Row, first, last);
            code_.split_rows(outer.counter, loop.counter, length);
            each_row(b_.CreateAdd(base, loop.counter), true);
            close(loop, true);
            code_.set_block(Level::Outer, b_.GetInsertBlock());
            close(outer, false);
        } else if (row_places_.empty()) {
            const Loop loop = open(Level::Row, begin, end);
            each_row(loop.counter, unrolled);
            close(loop, unrolled);
        } else {
            std::int64_t first = 0;
            for (const std::int64_t place : row_places_) rows_between(std::exchange(first, place), place, begin, end);
            rows_between(first, k_.rows, begin, end);
        }
        b_.CreateRetVoid();
    }
    /// Of the rows `begin` to `end` those from `first` on and before `behind`.
    void rows_between(std::int64_t first, std::int64_t behind, Value* begin, Value* end) {
        const auto i64 = [&](std::int64_t v) { return b_.getInt64(static_cast<std::uint64_t>(v)); };
        BasicBlock* there = BasicBlock::Create(context_, "rows", f_);
        BasicBlock* next = BasicBlock::Create(context_, "next", f_);
        b_.SetInsertPoint(code_.block(Level::Outer));
        Value* from = b_.CreateSelect(b_.CreateICmpSGT(begin, i64(first)), begin, i64(first));
        Value* to = b_.CreateSelect(b_.CreateICmpSLT(end, i64(behind)), end, i64(behind));
        b_.CreateCondBr(b_.CreateICmpSLT(from, to), there, next);
        for (std::size_t l = 0; l < 4; ++l) code_.set_block(static_cast<Level>(l), there);
        code_.begin_rows(first, behind);
        const Loop loop = open(Level::Row, from, to);
        each_row(loop.counter, false);
        close(loop, false);
        b_.CreateBr(next);
        for (std::size_t l = 0; l < 4; ++l) code_.set_block(static_cast<Level>(l), next);
        b_.SetInsertPoint(next);
    }
    /// Rows of scratch memory for what later passes read, from byte `at` on.
    void place_spilled(std::int64_t at) {
        for (std::uint32_t j = 0; j < k_.nodes.size(); ++j)
            if (k_.nodes[j].spilled) scratch_[j] = at, at += checked_align(k_.cols * 8, 64);
    }
    void each_row(Value* row, bool unrolled) {
        code_.set_counters(row, Level::Row, nullptr);
        code_.begin_row();
        for (int phase = 0; phase < k_.phases; ++phase) {
            row_values(phase);
            unrolled ? unrolled_pass(row, phase) : pass(row, phase);
        }
        row_values(k_.phases);
        for (std::size_t s = 0; s < k_.stores.size(); ++s) {
            if (!at_row_level(k_.nodes[k_.stores[s].node])) continue;
            const Number v = code_.node_value(k_.stores[s].node);
            code_.at(Level::Row);
            store_element(s, v, row);
        }
    }
    static bool at_row_level(const KernelNode& n) { return n.row_level; }

    /// Row-level equations whose operands are there before pass `phase`.
    void row_values(int phase) {
        code_.at(Level::Row);
        for (std::uint32_t j = 0; j < k_.nodes.size(); ++j) {
            const KernelNode& n = k_.nodes[j];
            if (n.row_level && n.kind == NodeKind::Element && n.phase == phase) code_.node_value(j);
        }
    }

    /// What one pass over the columns computes, and which reductions it makes.
    void work_of(int phase, std::vector<std::uint32_t>& members, std::vector<std::uint32_t>& reductions) const {
        for (std::uint32_t j = 0; j < k_.nodes.size(); ++j) {
            const KernelNode& n = k_.nodes[j];
            if (full_member(n) && n.phase == phase) members.push_back(j);
            if (n.kind == NodeKind::Reduction && n.phase == phase + 1) reductions.push_back(j);
        }
    }
    /// Column by column in the row's own block; what later passes want of it stays in registers.
    void unrolled_pass(Value* row, int phase) {
        std::vector<std::uint32_t> members, reductions;
        work_of(phase, members, reductions);
        std::vector<std::vector<Value*>> sums;
        for (const std::uint32_t j : reductions) code_.at(Level::Row), sums.push_back(sums_.start(j));
        for (std::int64_t c = 0; c < k_.cols; ++c) {
            code_.begin_columns();
            code_.set_counters(row, Level::Row, b_.getInt64(static_cast<std::uint64_t>(c)));
            for (const auto& [at, v] : kept_)
                if (at.second == c) code_.set_node_value(at.first, v, Level::Column);
            for (const std::uint32_t j : members) code_.node_value(j);
            for (std::size_t r = 0; r < reductions.size(); ++r) sums[r] = sums_.add_element(reductions[r], sums[r]);
            for (const std::uint32_t j : members)
                if (k_.nodes[j].spilled) kept_[{j, c}] = code_.node_value(j);
            store_full(members);
        }
        code_.begin_columns();
        for (std::size_t r = 0; r < reductions.size(); ++r) finish_reduction(reductions[r], sums[r]);
    }

    void pass(Value* row, int phase) {
        std::vector<std::uint32_t> members, reductions;
        work_of(phase, members, reductions);
        if (k_.cols == 0) {
            code_.at(Level::Row);
            for (const std::uint32_t j : reductions) finish_reduction(j, sums_.start(j));
            return;
        }
        if (members.empty() && reductions.empty()) return;
        const Loop loop = open(Level::Column, b_.getInt64(0), b_.getInt64(static_cast<std::uint64_t>(k_.cols)));
        code_.set_counters(row, Level::Row, loop.counter);
        code_.begin_columns();
        std::vector<std::vector<llvm::PHINode*>> sums;
        for (const std::uint32_t j : reductions) {
            sums.emplace_back();
            for (Value* first : sums_.start(j)) {
                sums.back().push_back(b_.CreatePHI(first->getType(), 2));
                sums.back().back()->addIncoming(first, loop.before);
            }
        }
        reload_spilled(loop.counter, phase);
        for (const std::uint32_t j : members) code_.node_value(j);
        std::vector<std::vector<Value*>> next;
        for (std::size_t r = 0; r < reductions.size(); ++r)
            next.push_back(sums_.add_element(reductions[r], {sums[r].begin(), sums[r].end()}));
        store_members(members, loop.counter);
        BasicBlock* last = code_.block(Level::Column);
        for (std::size_t r = 0; r < reductions.size(); ++r)
            for (std::size_t part = 0; part < next[r].size(); ++part) sums[r][part]->addIncoming(next[r][part], last);
        close(loop, true);
        code_.begin_columns();
        for (std::size_t r = 0; r < reductions.size(); ++r) finish_reduction(reductions[r], next[r]);
    }

    Value* scratch_address(std::uint32_t node, Value* col) {
        Value* base = b_.CreateGEP(b_.getInt8Ty(), f_->getArg(3), b_.getInt64(static_cast<std::uint64_t>(scratch_.at(node))));
        return code_.element_address(base, col, k_.nodes[node].op().out[0]->dtype);
    }
    void reload_spilled(Value* col, int phase) {
        for (const auto& [j, offset] : scratch_) {
            const KernelNode& n = k_.nodes[j];
            if (n.phase >= phase) continue;
            const bool used = std::any_of(k_.nodes.begin(), k_.nodes.end(), [&, node = j](const KernelNode& user) {
                const int runs = user.kind == NodeKind::Reduction ? user.phase - 1 : user.phase;
                return runs == phase && std::any_of(user.operands.begin(), user.operands.end(),
                                                    [&](const KernelRef& r) { return r.kind == KernelRef::Kind::Node && r.index == node; });
            });
            if (!used) continue;
            code_.at(Level::Column);
            code_.set_node_value(j, ops_.load(scratch_address(j, col), n.op().out[0]->dtype), Level::Column);
        }
    }
    void store_members(const std::vector<std::uint32_t>& members, Value* col) {
        for (const std::uint32_t j : members) {
            const Number v = code_.node_value(j);
            if (k_.nodes[j].spilled) {
                code_.at(Level::Column);
                ops_.store(scratch_address(j, col), v);
            }
        }
        store_full(members);
    }
    void store_full(const std::vector<std::uint32_t>& members) {
        for (const std::uint32_t j : members)
            for (std::size_t s = 0; s < k_.stores.size(); ++s) {
                if (k_.stores[s].node != j) continue;
                const Number v = code_.node_value(j);
                if (code_.store_by_words(s, stores_[s], v)) continue;
                Value* index = code_.linear();
                code_.at(Level::Column);
                store_element(s, v, index);
            }
    }

    void finish_reduction(std::uint32_t j, const std::vector<Value*>& acc) {
        code_.at(Level::Row);
        code_.set_node_value(j, sums_.result(j, acc), Level::Row);
    }

    // ---- Tiles: transposed operands come to the thread's own memory first, a square at a time --------------------------------------
    void tiles() {
        const KernelTile& t = k_.tile;
        const auto i64 = [&](std::int64_t v) { return b_.getInt64(static_cast<std::uint64_t>(v)); };
        const auto least = [&](Value* a, Value* b) { return b_.CreateSelect(b_.CreateICmpSLT(a, b), a, b); };
        const Loop tasks = open(Level::Outer, first_task(), end_of_tasks());
        auto digit = [&, rest = static_cast<Value*>(tasks.counter)](std::int64_t length) mutable {
            Value* d = b_.CreateURem(rest, i64(length));
            rest = b_.CreateUDiv(rest, i64(length));
            return std::pair(d, rest);
        };
        Value* between = digit(t.between).first;  // neighbours in memory both where it reads and where it writes
        Value* first = b_.CreateMul(digit((k_.cols + t.cols - 1) / t.cols).first, i64(t.cols));
        const auto [block, outer] = digit((t.side + t.rows - 1) / t.rows);
        Value* first_row = b_.CreateMul(block, i64(t.rows));
        Value* rows = least(i64(t.rows), b_.CreateSub(i64(t.side), first_row));
        Value* behind = least(b_.CreateAdd(first, i64(t.cols)), i64(k_.cols));
        for (const KernelTile::Read& r : t.reads) stage(r, outer, between, first_row, first, rows, b_.CreateSub(behind, first));
        code_.set_tile(f_->getArg(3), first);
        place_spilled(t.bytes);
        const Loop row = open(Level::Row, i64(0), rows);
        code_.set_tile_row(row.counter);
        Value* along = b_.CreateAdd(b_.CreateMul(outer, i64(t.side)), b_.CreateAdd(first_row, row.counter));
        Value* number = b_.CreateAdd(b_.CreateMul(along, i64(t.between)), between);
        if (k_.phases == 1 && t.cols < k_.cols)
            tile_row(number, first, behind);
        else
            each_row(number, row_form_ == RowForm::WrittenOut);
        close(row, false);
        code_.set_block(Level::Outer, b_.GetInsertBlock());
        close(tasks, false);
        b_.CreateRetVoid();
    }
    void tile_row(Value* row, Value* first, Value* behind) {
        const Loop columns = open(Level::Column, first, behind);
        code_.set_counters(row, Level::Row, columns.counter);
        code_.begin_row();
        store_full(computed_members());
        close(columns, true);
    }
    /// Calls stage_tile for the part of a transposed operand that the tile reads.
    void stage(const KernelTile::Read& r, Value* outer, Value* between, Value* first_row, Value* first_column, Value* rows,
               Value* columns) {
        const KernelTile& t = k_.tile;
        const auto i64 = [&](std::int64_t v) { return b_.getInt64(static_cast<std::uint64_t>(v)); };
        const AvalRef aval = k_.externs[r.ext].aval;
        const std::int64_t stride = r.strides.back(), bytes = byte_size(aval->dtype);
        Value* at = b_.CreateAdd(first_row, b_.CreateMul(first_column, i64(stride)));
        const auto add_digits = [&](Value* number, std::size_t begin, std::size_t end) {
            for (std::size_t d = end; d-- > begin;) {
                at = b_.CreateAdd(at, b_.CreateMul(b_.CreateURem(number, i64(t.domain[d])), i64(r.strides[d])));
                number = b_.CreateUDiv(number, i64(t.domain[d]));
            }
        };
        add_digits(outer, 0, t.first);
        add_digits(between, t.behind, t.first_column);
        Value* last = b_.CreateAdd(b_.CreateSub(rows, i64(1)), b_.CreateMul(b_.CreateSub(columns, i64(1)), i64(stride)));
        code_.checked(b_.CreateAdd(at, last), aval->size());
        Value* from = b_.CreateGEP(b_.getInt8Ty(), code_.externs[r.ext], b_.CreateMul(at, i64(bytes)));
        Value* to = b_.CreateGEP(b_.getInt8Ty(), f_->getArg(3), i64(r.offset));
        llvm::Type *i8p = b_.getInt8PtrTy(), *n = b_.getInt64Ty();
        auto* type = llvm::FunctionType::get(b_.getVoidTy(), {i8p, i8p, n, n, n, n, n}, false);
        b_.CreateCall(f_->getParent()->getOrInsertFunction("jaxscope_stage_tile", type),
                      {to, from, rows, columns, i64(stride), i64(t.cols), i64(bytes)});
    }

    // ---- Columns: one task sums a block of columns over all reduced rows; the sums stand in scratch memory ------------------------
    void columns() {
        Value *begin = first_task(), *end = end_of_tasks();
        const auto i64 = [&](std::int64_t v) { return b_.getInt64(static_cast<std::uint64_t>(v)); };
        const std::int64_t block = k_.column_block(), blocks = (k_.cols + block - 1) / block;
        std::int64_t at = 0;
        for (std::uint32_t j = 0; j < k_.nodes.size(); ++j)
            if (k_.nodes[j].kind == NodeKind::Reduction) scratch_[j] = at, at += checked_align(block * 16, 64);
        const Loop tasks = open(Level::Outer, begin, end);
        Value* outer = b_.CreateUDiv(tasks.counter, i64(blocks));
        Value* first = b_.CreateMul(b_.CreateURem(tasks.counter, i64(blocks)), i64(block));
        Value* last = b_.CreateAdd(first, i64(block));
        last = b_.CreateSelect(b_.CreateICmpSLT(last, i64(k_.cols)), last, i64(k_.cols));
        for_columns(first, last, [&](Value* col) {
            for (const auto& [j, offset] : scratch_) write_sums(j, b_.CreateSub(col, first), sums_.start(j));
        });
        if (k_.reduced > 0) {
            const Loop rows = open(Level::Row, i64(0), i64(k_.reduced));
            Value* row = b_.CreateAdd(b_.CreateMul(outer, i64(k_.reduced)), rows.counter);
            code_.set_counters(row, Level::Row, nullptr);
            code_.begin_row();
            sum_row(row, first, last);
            close(rows, false);
        }
        code_.begin_row();
        for_columns(first, last, [&](Value* col) {
            for (const auto& [j, offset] : scratch_) {
                const Number v = sums_.result(j, read_sums(j, b_.CreateSub(col, first)));
                Value* index = b_.CreateAdd(b_.CreateMul(outer, i64(k_.cols)), col);
                for (std::size_t s = 0; s < k_.stores.size(); ++s)
                    if (k_.stores[s].node == j) store_element(s, v, index);
            }
        });
        code_.set_block(Level::Outer, b_.GetInsertBlock());
        close(tasks, false);
        b_.CreateRetVoid();
    }

    template <class Fn>
    void for_columns(Value* first, Value* last, Fn&& fn) {
        code_.set_block(Level::Row, b_.GetInsertBlock());
        const Loop loop = open(Level::Column, first, last);
        fn(loop.counter);
        close(loop, true);
        code_.set_block(Level::Outer, b_.GetInsertBlock());
    }

    void sum_row(Value* row, Value* first, Value* last) {
        const Loop loop = open(Level::Column, first, last);
        code_.set_counters(row, Level::Row, loop.counter);
        code_.begin_columns();
        const std::vector<std::uint32_t> members = computed_members();
        for (const auto& [j, offset] : scratch_) {
            code_.at(Level::Column);
            Value* position = b_.CreateSub(loop.counter, first);
            const std::vector<Value*> next = sums_.add_element(j, read_sums(j, position));
            write_sums(j, position, next);
        }
        store_members(members, loop.counter);
        close(loop, true);
    }

    /// Of the sums of node j that its columns' task holds in scratch memory.
    Value* sums_of(std::uint32_t j) {
        return b_.CreateGEP(b_.getInt8Ty(), f_->getArg(3), b_.getInt64(static_cast<std::uint64_t>(scratch_.at(j))));
    }
    void write_sums(std::uint32_t j, Value* position, const std::vector<Value*>& acc) { sums_.write(sums_of(j), position, acc); }
    std::vector<Value*> read_sums(std::uint32_t j, Value* position) { return sums_.read(j, sums_of(j), position); }

    llvm::LLVMContext& context_;
    const Kernel& k_;
    llvm::IRBuilder<> b_;
    ElementCodegen code_;
    ScalarOps& ops_;
    ReductionCodegen sums_;
    llvm::Function* f_;
    BasicBlock* entry_;
    llvm::MDNode* access_group_;
    bool masks_;
    RowForm row_form_;
    bool all_;
    std::set<std::int64_t> row_places_;  ///< where a loop over rows ends and the next begins
    bool unmaskable_ = false;
    std::vector<Value*> stores_;
    std::map<std::uint32_t, std::int64_t> scratch_;                  ///< byte offset of a node's row or sums
    std::map<std::pair<std::uint32_t, std::int64_t>, Number> kept_;  ///< of unrolled rows: a node at a column
};

}  // namespace

llvm::Function* emit_kernel(llvm::Module& module, const Kernel& kernel, const std::string& name, bool masks, bool all) {
    RowForm form = row_form(kernel, masks, all);
    std::set<std::int64_t> places;
    while (true) {
        LoopGenerator rows(module, kernel, name, masks, form, all, places);
        llvm::Function* f = rows.run();
        if (rows.unmaskable())
            form = row_form(kernel, false, all);
        else if (!places.empty() || (places = rows.row_places()).empty())
            return f;
        f->eraseFromParent();
    }
}

}  // namespace jaxscope::exec
