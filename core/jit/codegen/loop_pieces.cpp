// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/loop_pieces.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "jit/codegen/loop_hints.h"

namespace jaxscope::exec {

namespace {

constexpr std::size_t kMostPlaces = 4, kLongestThrice = 1536;  // of instructions: more code than the reads are worth

struct Question {
    std::int64_t place;  ///< the first count with the other answer
    bool below;          ///< the answer up to there
};

struct Bounds {
    std::int64_t first, end;
};

/// A constant that others may be added to.
std::optional<std::int64_t> whole(const llvm::Value* v) {
    constexpr std::int64_t kFar = std::int64_t{1} << 60;
    const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v);
    if (c == nullptr || c->getBitWidth() != 64 || c->getSExtValue() < -kFar || c->getSExtValue() > kFar) return std::nullopt;
    return c->getSExtValue();
}

/// What is added to the counter; nothing where `v` is something else.
std::optional<std::int64_t> offset_of(const llvm::Value* v, const llvm::PHINode& counter) {
    if (v == &counter) return 0;
    const auto* moved = llvm::dyn_cast<llvm::BinaryOperator>(v);
    if (moved == nullptr || (moved->getOpcode() != llvm::Instruction::Add && moved->getOpcode() != llvm::Instruction::Sub))
        return std::nullopt;
    const bool first = moved->getOperand(0) == &counter;
    if (!first && (moved->getOpcode() == llvm::Instruction::Sub || moved->getOperand(1) != &counter)) return std::nullopt;
    const std::optional<std::int64_t> by = whole(moved->getOperand(first ? 1 : 0));
    if (!by) return std::nullopt;
    return moved->getOpcode() == llvm::Instruction::Sub ? -*by : *by;
}

/// min(x, bound): where x is the bound both answers give the same, and the piece before is the better place for it.
bool is_least_of(const llvm::ICmpInst& asked, const llvm::Value* x, const llvm::Value* bound) {
    const auto* chosen = asked.hasOneUse() ? llvm::dyn_cast<llvm::SelectInst>(*asked.user_begin()) : nullptr;
    return chosen && chosen->getCondition() == &asked && chosen->getTrueValue() == x && chosen->getFalseValue() == bound;
}

std::optional<Question> question(const llvm::ICmpInst& asked, const llvm::PHINode& counter) {
    const std::optional<std::int64_t> offset = offset_of(asked.getOperand(0), counter), bound = whole(asked.getOperand(1));
    if (!offset || !bound) return std::nullopt;
    const std::int64_t place = *bound - *offset;
    switch (asked.getPredicate()) {
        case llvm::ICmpInst::ICMP_SLT:
            return Question{is_least_of(asked, asked.getOperand(0), asked.getOperand(1)) ? place + 1 : place, true};
        case llvm::ICmpInst::ICMP_SLE:
            return Question{place + 1, true};
        case llvm::ICmpInst::ICMP_SGE:
            return Question{place, false};
        case llvm::ICmpInst::ICMP_SGT:
            return Question{place + 1, false};
        default:
            return std::nullopt;
    }
}

/// Answers what the piece from `first` to `end` answers alike everywhere.
void answer(llvm::BasicBlock& piece, const llvm::PHINode& counter, std::int64_t first, std::int64_t end) {
    const llvm::Value* next = llvm::cast<llvm::BranchInst>(piece.getTerminator())->getCondition();
    for (llvm::Instruction& i : piece) {
        auto* asked = llvm::dyn_cast<llvm::ICmpInst>(&i);
        const std::optional<Question> q = asked && asked != next ? question(*asked, counter) : std::nullopt;
        if (!q || (first < q->place && q->place < end)) continue;
        asked->replaceAllUsesWith(llvm::ConstantInt::getBool(piece.getContext(), (end <= q->place) == q->below));
    }
}

/// The body once more, for the counts from `first` to `end`, between `from` and what `body` is.
llvm::BasicBlock* piece_of(llvm::BasicBlock& body, llvm::BasicBlock& from, std::map<llvm::PHINode*, llvm::Value*>& carried,
                           llvm::Value* end) {
    llvm::ValueToValueMapTy copies;
    llvm::BasicBlock* piece = llvm::CloneBasicBlock(&body, copies, "", body.getParent());
    for (llvm::Instruction& i : *piece) {
        for (llvm::Use& use : i.operands())
            if (const auto copy = copies.find(use.get()); copy != copies.end()) use.set(copy->second);
        if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&i))
            for (unsigned in = 0; in < phi->getNumIncomingValues(); ++in) {
                const bool again = phi->getIncomingBlock(in) == &body;
                phi->setIncomingBlock(in, again ? piece : &from);
            }
    }
    for (auto& [phi, value] : carried) {
        auto* copy = llvm::cast<llvm::PHINode>(copies[phi]);
        copy->setIncomingValueForBlock(&from, value);
        value = copy->getIncomingValueForBlock(piece);
    }
    auto* back = llvm::cast<llvm::BranchInst>(piece->getTerminator());
    back->setSuccessor(0, piece);
    auto* next = llvm::cast<llvm::ICmpInst>(back->getCondition());
    next->setOperand(1, end);
    return piece;
}

/// The two places with most counts between them, where these are most of all: the rest is short and asks as before.
std::set<std::int64_t> around_longest(const std::set<std::int64_t>& places, std::int64_t begin, std::int64_t end) {
    Bounds longest{begin, begin};
    std::int64_t before = begin;
    const auto compare = [&](std::int64_t place) {
        if (place - before > longest.end - longest.first) longest = {before, place};
        before = place;
    };
    for (const std::int64_t place : places) compare(place);
    compare(end);
    if (2 * (longest.end - longest.first) < end - begin) return {};
    std::set<std::int64_t> found;
    if (longest.first != begin) found.insert(longest.first);
    if (longest.end != end) found.insert(longest.end);
    return found;
}

/// Where answers change, between the loop's bounds; empty where it isn't to be split.
std::set<std::int64_t> places_of(const llvm::BasicBlock& body, const llvm::PHINode& counter, const llvm::ICmpInst& next, std::int64_t begin,
                                 std::int64_t end) {
    std::set<std::int64_t> places;
    if (end - begin < kLeastTripsOfALoop || body.size() > kLongestThrice) return places;
    for (const llvm::Instruction& i : body) {
        const auto* asked = llvm::dyn_cast<llvm::ICmpInst>(&i);
        const std::optional<Question> q = asked && asked != &next ? question(*asked, counter) : std::nullopt;
        if (q && begin < q->place && q->place < end) places.insert(q->place);
    }
    return places.size() > kMostPlaces || body.size() > kLongBody ? around_longest(places, begin, end) : places;
}

/// One loop after the other from constant to constant, with what they sum up handed on.
std::vector<llvm::BasicBlock*> pieces_of_known(llvm::BasicBlock& body, llvm::BasicBlock& before, const std::vector<Bounds>& bounds) {
    auto* counter = llvm::cast<llvm::PHINode>(&body.front());
    const auto count = [&](std::int64_t v) { return llvm::ConstantInt::get(counter->getType(), static_cast<std::uint64_t>(v)); };
    std::map<llvm::PHINode*, llvm::Value*> carried;
    for (llvm::PHINode& phi : body.phis()) carried[&phi] = phi.getIncomingValueForBlock(&before);
    std::vector<llvm::BasicBlock*> pieces;
    llvm::BasicBlock* from = &before;
    for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
        carried[counter] = count(bounds[p].first);
        llvm::BasicBlock* piece = piece_of(body, *from, carried, count(bounds[p].end));
        if (!pieces.empty()) llvm::cast<llvm::BranchInst>(pieces.back()->getTerminator())->setSuccessor(1, piece);
        pieces.push_back(piece);
        from = piece;
    }
    llvm::cast<llvm::BranchInst>(pieces.back()->getTerminator())->setSuccessor(1, &body);
    carried[counter] = count(bounds.back().first);
    for (auto& [phi, value] : carried) {
        phi->setIncomingValueForBlock(&before, value);
        phi->replaceIncomingBlockWith(&before, from);
    }
    pieces.push_back(&body);
    return pieces;
}

/// The same from `begin` to `end`, which only the caller of the code knows: each loop is asked whether there is anything for it. The
/// blocks that ask stand in front of their loops.
std::vector<llvm::BasicBlock*> pieces_of_asked(llvm::BasicBlock& body, llvm::BasicBlock& before, const std::vector<Bounds>& bounds,
                                               std::vector<llvm::BasicBlock*>& entries) {
    auto* counter = llvm::cast<llvm::PHINode>(&body.front());
    auto* back = llvm::cast<llvm::BranchInst>(body.getTerminator());
    auto* next = llvm::cast<llvm::ICmpInst>(back->getCondition());
    llvm::Value *begin = counter->getIncomingValueForBlock(&before), *end = next->getOperand(1);
    llvm::IRBuilder<> b(body.getContext());
    const auto count = [&](std::int64_t v) { return b.getInt64(static_cast<std::uint64_t>(v)); };
    std::vector<llvm::BasicBlock*> pieces;
    std::vector<std::pair<llvm::Value*, llvm::Value*>> ranges;
    for (std::size_t p = 0; p < bounds.size(); ++p) {
        entries.push_back(llvm::BasicBlock::Create(body.getContext(), "piece", body.getParent()));
        b.SetInsertPoint(entries.back());
        const bool last = p + 1 == bounds.size();
        // Of the first piece, too: LLVM learns what is never below 0.
        llvm::Value* first = b.CreateSelect(b.CreateICmpSGT(begin, count(bounds[p].first)), begin, count(bounds[p].first));
        llvm::Value* behind = last ? end : b.CreateSelect(b.CreateICmpSLT(end, count(bounds[p].end)), end, count(bounds[p].end));
        ranges.emplace_back(first, behind);
    }
    for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
        std::map<llvm::PHINode*, llvm::Value*> start{{counter, ranges[p].first}};
        counter->replaceIncomingBlockWith(p == 0 ? &before : entries[p - 1], entries[p]);
        pieces.push_back(piece_of(body, *entries[p], start, ranges[p].second));
        llvm::cast<llvm::BranchInst>(pieces.back()->getTerminator())->setSuccessor(1, entries[p + 1]);
    }
    counter->replaceIncomingBlockWith(entries[bounds.size() - 2], entries.back());
    counter->setIncomingValueForBlock(entries.back(), ranges.back().first);
    next->setOperand(1, ranges.back().second);
    pieces.push_back(&body);
    for (std::size_t p = 0; p < bounds.size(); ++p) {
        b.SetInsertPoint(entries[p]);
        llvm::BasicBlock* otherwise = p + 1 < bounds.size() ? entries[p + 1] : back->getSuccessor(1);
        b.CreateCondBr(b.CreateICmpSLT(ranges[p].first, ranges[p].second), pieces[p], otherwise);
    }
    return pieces;
}

}  // namespace

Pieces split_at_places(llvm::BasicBlock& body, llvm::BasicBlock& before, std::int64_t most) {
    auto* counter = llvm::dyn_cast<llvm::PHINode>(&body.front());
    auto* back = llvm::dyn_cast<llvm::BranchInst>(body.getTerminator());
    if (counter == nullptr || back == nullptr || !back->isConditional() || back->getSuccessor(0) != &body) return {{&body}, &body};
    auto* next = llvm::dyn_cast<llvm::ICmpInst>(back->getCondition());
    if (next == nullptr) return {{&body}, &body};
    const std::optional<std::int64_t> begin = whole(counter->getIncomingValueForBlock(&before)), end = whole(next->getOperand(1));
    const bool known = begin && end;
    if (!known && std::next(body.phis().begin()) != body.phis().end()) return {{&body}, &body};
    const std::int64_t first = known ? *begin : 0, behind = known ? *end : most;
    std::vector<Bounds> bounds;
    for (const std::int64_t place : places_of(body, *counter, *next, first, behind))
        bounds.push_back({bounds.empty() ? first : bounds.back().end, place});
    if (bounds.empty()) return {{&body}, &body};
    bounds.push_back({bounds.back().end, behind});
    Pieces made;
    std::vector<llvm::BasicBlock*> entries;
    made.loops = known ? pieces_of_known(body, before, bounds) : pieces_of_asked(body, before, bounds, entries);
    made.entry = known ? made.loops.front() : entries.front();
    for (std::size_t p = 0; p < bounds.size(); ++p)
        answer(*made.loops[p], llvm::cast<llvm::PHINode>(made.loops[p]->front()), bounds[p].first, bounds[p].end);
    return made;
}

}  // namespace jaxscope::exec
