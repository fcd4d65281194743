// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/whole_loop.h"

#include <algorithm>
#include <map>
#include <vector>

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include "jit/codegen/loop_codegen.h"
#include "jit/codegen/written_calls.h"
#include "jit/plan/loops.h"

namespace jaxscope::exec {

namespace {

using llvm::BasicBlock;
using llvm::PHINode;
using llvm::Value;

constexpr std::int64_t kHeld = 64;  // bytes of a value that stays in registers, or in the function's own memory

/// Memory of the bodies' steps, by buffer.
using Places = std::vector<Value*>;

class WholeLoop {
public:
    WholeLoop(llvm::Module& module, const std::string& name, bool masks) : module_(module), b_(module.getContext()), masks_(masks) {
        llvm::Type* i8p = b_.getInt8PtrTy();
        auto* type = llvm::FunctionType::get(b_.getVoidTy(), {i8p->getPointerTo(), b_.getInt64Ty(), b_.getInt64Ty(), i8p}, false);
        f_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
        f_->addFnAttr(llvm::Attribute::NoUnwind);
        entry_ = new_block("entry"), stopped_ = new_block("stopped");
        b_.SetInsertPoint(stopped_);
        b_.CreateRetVoid();
        b_.SetInsertPoint(entry_);
        turns_ = own_memory(8);
        b_.CreateStore(b_.getInt64(0), as(turns_, b_.getInt64Ty()));
    }

    llvm::Function* run(const Computation& around, const Thunk& loop) {
        Places args;
        std::size_t next = 0;
        const auto add_argument = [&] {
            Value* slot = b_.CreateGEP(b_.getInt8PtrTy(), f_->getArg(0), b_.getInt64(next++));
            return b_.CreateLoad(b_.getInt8PtrTy(), slot);
        };
        for (std::size_t i = 0; i < loop.reads.size() + loop.writes.size(); ++i) args.push_back(add_argument());
        for (const Computation::PoolEntry* c : constants_of_bodies(loop)) constants_[c] = add_argument();
        emit_loop(around, loop, args, f_->getArg(3));
        b_.CreateRetVoid();
        return f_;
    }

private:
    BasicBlock* new_block(const char* name) { return BasicBlock::Create(module_.getContext(), name, f_); }
    Value* i64(std::int64_t v) { return b_.getInt64(static_cast<std::uint64_t>(v)); }
    Value* at(Value* base, Value* offset) { return b_.CreateGEP(b_.getInt8Ty(), base, offset); }
    Value* at(Value* base, std::int64_t offset) { return at(base, i64(offset)); }
    Value* as(Value* p, llvm::Type* t) { return b_.CreateBitCast(p, t->getPointerTo()); }
    /// Memory of the function: it ends up in registers where every step reads and writes it at fixed places.
    Value* own_memory(std::int64_t bytes) {
        llvm::IRBuilder<> entry(entry_, entry_->getFirstInsertionPt());
        auto* type = llvm::ArrayType::get(entry.getInt8Ty(), static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1)));
        auto* memory = entry.CreateAlloca(type);
        memory->setAlignment(llvm::Align(kHeld));
        return entry.CreateBitCast(memory, entry.getInt8PtrTy());
    }
    void copy(Value* to, Value* from, std::int64_t bytes) {
        if (to == from || bytes <= 0) return;
        const llvm::MaybeAlign unknown;
        b_.CreateMemMove(to, unknown, from, unknown, static_cast<std::uint64_t>(bytes));
    }

    /// The same from an operand, which may be null: what nobody reads isn't passed to a program.
    void copy_operand(Value* to, Value* from, std::int64_t bytes) {
        if (!llvm::isa<llvm::LoadInst>(from)) return copy(to, from, bytes);  // a loop's in this one: memory of ours
        BasicBlock *there = new_block("there"), *next = new_block("on");
        b_.CreateCondBr(b_.CreateIsNotNull(from), there, next);
        b_.SetInsertPoint(there);
        copy(to, from, bytes);
        b_.CreateBr(next);
        b_.SetInsertPoint(next);
    }

    // ---- Steps ----------------------------------------------------------------------------------------------------------------------
    Places places_of(const Computation& body, const Places& inputs, const Places& outputs, Value* arena) {
        Places out;
        for (const Buffer& b : body.buffers) {
            if (b.place == Buffer::Place::Input)
                out.push_back(inputs[b.index]);
            else if (b.place == Buffer::Place::Output)
                out.push_back(outputs[b.index]);
            else if (b.place == Buffer::Place::Constant)
                out.push_back(constants_.at(&body.pool[b.index]));
            else
                out.push_back(b.bytes <= kHeld ? own_memory(b.bytes) : at(arena, std::max<std::int64_t>(b.offset, 0)));
        }
        return out;
    }
    void emit_body(const Computation& body, const Places& inputs, const Places& outputs, Value* arena) {
        const Places places = places_of(body, inputs, outputs, arena);
        for (const Thunk& t : body.thunks) {
            Places args;
            for (const int b : t.reads) args.push_back(places[static_cast<std::size_t>(b)]);
            for (const int b : t.writes) args.push_back(places[static_cast<std::size_t>(b)]);
            Value* scratch = t.scratch >= 0 ? places[static_cast<std::size_t>(t.scratch)] : nullptr;
            if (t.kind == Thunk::Kind::Kernel)
                call_kernel(*t.kernel, args, scratch);
            else if (t.kind == Thunk::Kind::Library)
                write_call(body.graph->nodes[t.nodes[0]], args, t.reads.size());
            else if (t.kind == Thunk::Kind::Copy)
                copy(args[1], args[0], body.buffers[static_cast<std::size_t>(t.reads[0])].aval->bytes());
            else
                emit_loop(body, t, args, scratch);
        }
    }
    Value* table_of(Places::const_iterator first, Places::const_iterator last) {
        llvm::Type* i8p = b_.getInt8PtrTy();
        Value* table = own_memory(8 * (last - first));
        for (auto i = first; i != last; ++i) b_.CreateStore(*i, as(at(table, 8 * (i - first)), i8p));
        return as(table, i8p);
    }
    Value* or_null(Value* p) { return p ? p : llvm::ConstantPointerNull::get(b_.getInt8PtrTy()); }

    void call_kernel(const Kernel& kernel, const Places& args, Value* scratch) {
        if (kernel.tasks() <= 0) return;
        llvm::Function*& f = kernels_[&kernel];
        if (!f) {
            f = emit_kernel(module_, kernel, f_->getName().str() + "_" + std::to_string(kernels_.size()), masks_, true);
            f->setLinkage(llvm::Function::InternalLinkage);
            f->addFnAttr(llvm::Attribute::AlwaysInline);
        }
        b_.CreateCall(f, {table_of(args.begin(), args.end()), i64(0), i64(kernel.tasks()), or_null(scratch)});
    }
    void write_call(const Node& n, const Places& args, std::size_t operands) {
        const auto results = args.begin() + static_cast<std::ptrdiff_t>(operands);
        write_out_call(b_, n, Places(args.begin(), results), Places(results, args.end()));
    }
    llvm::MDNode* rarely() { return llvm::MDBuilder(module_.getContext()).createBranchWeights(1, 1000000); }
    /// Asks now and then whether to stop: it may be an endless loop.
    void count_turn() {
        constexpr std::uint64_t kTurnsBetween = 64;
        Value* n = b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), as(turns_, b_.getInt64Ty())), b_.getInt64(1));
        b_.CreateStore(n, as(turns_, b_.getInt64Ty()));
        BasicBlock *ask = new_block("ask"), *next = new_block("on");
        b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(n, b_.getInt64(kTurnsBetween - 1)), b_.getInt64(0)), ask, next, rarely());
        b_.SetInsertPoint(ask);
        auto* type = llvm::FunctionType::get(b_.getInt8Ty(), false);
        Value* stop = b_.CreateCall(module_.getOrInsertFunction("jaxscope_loop_is_to_stop", type));
        b_.CreateCondBr(b_.CreateICmpNE(stop, b_.getInt8(0)), stopped_, next, rarely());
        b_.SetInsertPoint(next);
    }

    // ---- Loops ----------------------------------------------------------------------------------------------------------------------
    void emit_loop(const Computation& around, const Thunk& t, const Places& args, Value* scratch) {
        const Node& n = around.graph->nodes[t.nodes[0]];
        if (n.kind == NodeKind::Scan)
            emit_scan(t, n, args, scratch);
        else if (n.kind == NodeKind::While)
            emit_while(t, n, args, scratch);
        else
            emit_cond(t, n, args, scratch);
    }

    /// A value from turn to turn: it stands in the function's own memory, in the result's memory, or by turns in this and another place.
    struct Carry {
        std::int64_t bytes = 0;
        Value *now = nullptr, *next = nullptr, *result = nullptr;
        PHINode *now_phi = nullptr, *next_phi = nullptr;  ///< of those by turns
        bool own = false;
    };
    std::vector<Carry> begin_carries(const Thunk& t, const Node& n, const LoopShape& s, const Places& args, Value* scratch) {
        std::vector<Carry> carries(s.carries);
        for (std::size_t c = 0; c < s.carries; ++c) {
            Carry& carry = carries[c];
            Value* first = args[s.first_carry() + c];
            carry.bytes = n.op().out[c]->bytes(), carry.result = args[t.reads.size() + c], carry.own = carry.bytes <= kHeld;
            const bool in_place = t.carry_offsets[c] < 0;
            if (carry.own) {
                carry.now = own_memory(carry.bytes), carry.next = in_place ? carry.now : own_memory(carry.bytes);
            } else if (in_place) {
                carry.now = carry.next = carry.result;
            } else {
                carry.now = at(scratch, t.carry_offsets[c]), carry.next = carry.result;
            }
            copy_operand(carry.now, first, carry.bytes);
        }
        return carries;
    }
    /// At the head of the loop.
    void take_turns(std::vector<Carry>& carries, BasicBlock* before) {
        for (Carry& c : carries) {
            if (c.own || c.now == c.next) continue;
            c.now_phi = b_.CreatePHI(b_.getInt8PtrTy(), 2), c.next_phi = b_.CreatePHI(b_.getInt8PtrTy(), 2);
            c.now_phi->addIncoming(c.now, before), c.next_phi->addIncoming(c.next, before);
            c.now = c.now_phi, c.next = c.next_phi;
        }
    }
    /// At the end of a turn, whose last block this is.
    void advance(const std::vector<Carry>& carries) {
        for (const Carry& c : carries) {
            if (c.own) copy(c.now, c.next, c.bytes);
            if (c.now_phi) c.now_phi->addIncoming(c.next, b_.GetInsertBlock()), c.next_phi->addIncoming(c.now, b_.GetInsertBlock());
        }
    }
    static Places inputs_of(const Places& args, std::size_t first, std::size_t consts, const std::vector<Carry>& carries) {
        Places out(args.begin() + static_cast<std::ptrdiff_t>(first), args.begin() + static_cast<std::ptrdiff_t>(first + consts));
        for (const Carry& c : carries) out.push_back(c.now);
        return out;
    }
    /// What a loop reads and nobody writes meanwhile: small things are read once.
    void hold_constants(Places& args, const Node& n, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t bytes = n.op().in[i]->bytes();
            if (bytes > kHeld || llvm::isa<llvm::AllocaInst>(args[i]->stripPointerCasts())) continue;
            Value* own = own_memory(bytes);
            copy_operand(own, args[i], bytes);
            args[i] = own;
        }
    }

    void emit_scan(const Thunk& t, const Node& n, Places args, Value* scratch) {
        const LoopShape s = loop_shape(n);
        hold_constants(args, n, s.consts);
        std::vector<Carry> carries = begin_carries(t, n, s, args, scratch);
        if (s.length > 0) {
            BasicBlock *before = b_.GetInsertBlock(), *head = new_block("scan"), *after = new_block("after");
            b_.CreateBr(head);
            b_.SetInsertPoint(head);
            PHINode* turn = b_.CreatePHI(b_.getInt64Ty(), 2);
            turn->addIncoming(i64(0), before);
            take_turns(carries, before);
            Value* index = s.reverse ? b_.CreateSub(i64(s.length - 1), turn) : turn;
            const auto slice = [&](Value* whole, const Aval& stacked) {
                return at(whole, b_.CreateMul(index, i64(stacked.bytes() / s.length)));
            };
            Places inputs = inputs_of(args, 0, s.consts, carries), outputs;
            for (std::size_t x = inputs.size(); x < n.in.size(); ++x) inputs.push_back(slice(args[x], *n.op().in[x]));
            for (const Carry& c : carries) outputs.push_back(c.next);
            for (std::size_t y = s.carries; y < n.out.size(); ++y) outputs.push_back(slice(args[t.reads.size() + y], *n.op().out[y]));
            emit_body(*t.bodies[0], inputs, outputs, at(or_null(scratch), t.body_arena));
            count_turn();
            Value* next = b_.CreateAdd(turn, i64(1), "", true, true);
            advance(carries);
            turn->addIncoming(next, b_.GetInsertBlock());
            close(b_.CreateICmpSLT(next, i64(s.length)), head, after);
            for (Carry& c : carries)
                if (c.now_phi) c.now = c.next;
        }
        finish(carries);
    }

    void emit_while(const Thunk& t, const Node& n, Places args, Value* scratch) {
        const LoopShape s = loop_shape(n);
        hold_constants(args, n, s.first_carry());
        std::vector<Carry> carries = begin_carries(t, n, s, args, scratch);
        Value *arena = at(or_null(scratch), t.body_arena), *holds = own_memory(1);
        BasicBlock *before = b_.GetInsertBlock(), *head = new_block("while"), *body = new_block("body"), *after = new_block("after");
        b_.CreateBr(head);
        b_.SetInsertPoint(head);
        take_turns(carries, before);
        emit_body(*t.bodies[0], inputs_of(args, 0, s.cond_consts, carries), {holds}, arena);
        b_.CreateCondBr(b_.CreateICmpNE(b_.CreateLoad(b_.getInt8Ty(), holds), b_.getInt8(0)), body, after);
        b_.SetInsertPoint(body);
        Places outputs;
        for (const Carry& c : carries) outputs.push_back(c.next);
        emit_body(*t.bodies[1], inputs_of(args, s.cond_consts, s.consts, carries), outputs, arena);
        count_turn();
        advance(carries);
        close(nullptr, head, after);
        finish(carries);
    }
    /// Back to the head, and on behind the loop. Turns aren't independent: nobody need look for vectors of them.
    void close(Value* again, BasicBlock* head, BasicBlock* after) {
        llvm::LLVMContext& context = module_.getContext();
        llvm::Metadata* no = llvm::ConstantAsMetadata::get(b_.getFalse());
        llvm::MDNode* hint = llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.vectorize.enable"), no});
        llvm::MDNode* id = llvm::MDNode::getDistinct(context, {nullptr, hint});
        id->replaceOperandWith(0, id);
        (again ? b_.CreateCondBr(again, head, after) : b_.CreateBr(head))->setMetadata(llvm::LLVMContext::MD_loop, id);
        b_.SetInsertPoint(after);
    }
    void finish(const std::vector<Carry>& carries) {
        for (const Carry& c : carries) copy(c.result, c.now, c.bytes);
    }

    void emit_cond(const Thunk& t, const Node& n, const Places& args, Value* scratch) {
        const AvalRef type = n.op().in[0];
        const auto width = static_cast<unsigned>(8 * byte_size(type->dtype));
        llvm::Type* stored = b_.getIntNTy(width);
        Value* index = b_.CreateLoad(stored, as(args[0], stored));
        index = is_unsigned_int(type->dtype) || type->dtype == DType::Bool ? b_.CreateZExt(index, b_.getInt64Ty())
                                                                           : b_.CreateSExt(index, b_.getInt64Ty());
        Value* last = i64(std::ssize(t.bodies) - 1);
        index = b_.CreateSelect(b_.CreateICmpSLT(index, i64(0)), i64(0), index);
        index = b_.CreateSelect(b_.CreateICmpSGT(index, last), last, index);
        const auto results = args.begin() + static_cast<std::ptrdiff_t>(t.reads.size());
        const Places inputs(args.begin() + 1, results), outputs(results, args.end());
        BasicBlock* after = new_block("after");
        llvm::SwitchInst* chosen = nullptr;
        for (std::size_t k = 0; k < t.bodies.size(); ++k) {
            BasicBlock* branch = new_block("branch");
            if (!chosen)
                chosen = b_.CreateSwitch(index, branch, static_cast<unsigned>(t.bodies.size()));
            else
                chosen->addCase(b_.getInt64(k), branch);
            b_.SetInsertPoint(branch);
            emit_body(*t.bodies[k], inputs, outputs, at(or_null(scratch), t.body_arena));
            b_.CreateBr(after);
        }
        b_.SetInsertPoint(after);
    }

    llvm::Module& module_;
    llvm::IRBuilder<> b_;
    bool masks_;
    llvm::Function* f_;
    BasicBlock *entry_, *stopped_;
    Value* turns_;
    std::map<const Computation::PoolEntry*, Value*> constants_;
    std::map<const Kernel*, llvm::Function*> kernels_;
};

// ---- Which loops ----------------------------------------------------------------------------------------------------------------------

struct Size {
    double work = 0;  ///< of one turn
    std::size_t steps = 0, equations = 0;
    bool possible = true;
};

void add_size(const Computation& body, Size& size) {
    for (const Thunk& t : body.thunks) {
        ++size.steps;
        if (t.kind == Thunk::Kind::Kernel) {
            size.work += t.kernel->work();
            size.equations += t.kernel->nodes.size();
        } else if (t.kind == Thunk::Kind::Library) {
            size.possible = size.possible && can_be_written_out(body.graph->nodes[t.nodes[0]]);
        } else if (t.kind == Thunk::Kind::Copy) {
            size.work += static_cast<double>(body.buffers[static_cast<std::size_t>(t.reads[0])].bytes) / 8;
        } else {
            for (const ComputationPtr& b : t.bodies) add_size(*b, size);
        }
    }
}

}  // namespace

bool is_worth_one_function(const Computation& around, const Thunk& loop) {
    constexpr std::size_t kMostSteps = 48, kMostEquations = 400;  // of code that grows with both
    constexpr double kMostWork = 16000;                           // some microseconds, beside which a call is nothing
    if (around.guarded || loop.bodies.empty()) return false;
    Size size;
    for (const ComputationPtr& b : loop.bodies) add_size(*b, size);
    return size.possible && size.steps > 0 && size.steps <= kMostSteps && size.equations <= kMostEquations && size.work < kMostWork;
}

llvm::Function* emit_whole_loop(llvm::Module& module, const Computation& around, const Thunk& loop, const std::string& name, bool masks) {
    return WholeLoop(module, name, masks).run(around, loop);
}

}  // namespace jaxscope::exec
