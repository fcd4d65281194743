// SPDX-License-Identifier: Apache-2.0
#include "jit/run/loops.h"

#include <algorithm>
#include <cstring>

#include "base/cancel.h"
#include "jit/plan/loops.h"

namespace jaxscope::exec {

namespace {

/// Bytes from one element of a stacked operand to the next.
std::int64_t slice_bytes(const Aval& stacked, std::int64_t length) { return length ? stacked.bytes() / length : 0; }

/// The two places of a carry: where it is read from now and where it is written next.
struct Carry {
    char* now = nullptr;
    char *first = nullptr, *second = nullptr;
    std::int64_t bytes = 0;
    char* next() const { return second ? (now == first ? second : first) : now; }
};

/// What scans and whiles have in common: constants that stay, carries that are read and written.
class CarryLoop : public Loop {
public:
    CarryLoop(const Thunk& t, const Node& n, char* scratch) : t_(t), s_(loop_shape(n)), scratch_(scratch), carries_(s_.carries) {
        for (std::size_t c = 0; c < s_.carries; ++c) carries_[c].bytes = n.op().out[c]->bytes();
    }

protected:
    void start(void* const* args, std::int64_t iterations) {
        for (std::size_t c = 0; c < s_.carries; ++c) {
            char* init = static_cast<char*>(args[s_.first_carry() + c]);
            char* out = static_cast<char*>(args[t_.reads.size() + c]);
            Carry& carry = carries_[c];
            carry.now = init, carry.first = out, carry.second = nullptr;
            if (t_.carry_offsets[c] < 0) {
                if (init != out && carry.bytes > 0) std::memmove(out, init, static_cast<std::size_t>(carry.bytes));
                carry.now = out;
            } else {
                carry.second = scratch_ + t_.carry_offsets[c];
                // The last of an even number of iterations writes what the second one writes: begin so that it is the result's place.
                if (iterations > 0 && iterations % 2 == 0) std::swap(carry.first, carry.second);
            }
        }
    }
    void finish(void* const* args) const {
        for (std::size_t c = 0; c < carries_.size(); ++c) {
            void* out = args[t_.reads.size() + c];
            if (carries_[c].now != out && carries_[c].bytes > 0)
                std::memmove(out, carries_[c].now, static_cast<std::size_t>(carries_[c].bytes));
        }
    }
    /// Where the body reads its carries and writes the next ones.
    void set_carries(Body& body) const {
        for (std::size_t c = 0; c < s_.carries; ++c) body.set_input(s_.consts + c, carries_[c].now), body.set_output(c, carries_[c].next());
    }
    void advance() {
        for (Carry& c : carries_) c.now = c.next();
    }

    const Thunk& t_;
    LoopShape s_;
    char* scratch_;
    std::vector<Carry> carries_;
};

class ScanLoop final : public CarryLoop {
public:
    ScanLoop(const Thunk& t, const Node& n, char* scratch, const MakeBody& make_body) : CarryLoop(t, n, scratch) {
        body_ = make_body(*t.bodies[0], scratch + t.body_arena);
        for (std::size_t x = s_.consts + s_.carries; x < n.in.size(); ++x)
            slices_.push_back({x, x, true, slice_bytes(*n.op().in[x], s_.length)});
        for (std::size_t y = s_.carries; y < n.out.size(); ++y)
            slices_.push_back({t.reads.size() + y, y, false, slice_bytes(*n.op().out[y], s_.length)});
    }
    void run(void* const* args) override {
        start(args, s_.length);
        for (std::size_t i = 0; i < s_.consts; ++i) body_->set_input(i, args[i]);
        for (std::int64_t i = 0; i < s_.length; ++i) {
            check_cancelled();
            const std::int64_t at = s_.reverse ? s_.length - 1 - i : i;
            set_carries(*body_);
            for (const Slice& s : slices_) {
                char* p = static_cast<char*>(args[s.arg]) + at * s.bytes;
                s.is_input ? body_->set_input(s.number, p) : body_->set_output(s.number, p);
            }
            body_->run();
            advance();
        }
        finish(args);
    }

private:
    /// An operand or result of which each iteration has its part.
    struct Slice {
        std::size_t arg, number;
        bool is_input;
        std::int64_t bytes;
    };
    std::vector<Slice> slices_;
    std::unique_ptr<Body> body_;
};

class WhileLoop final : public CarryLoop {
public:
    WhileLoop(const Thunk& t, const Node& n, char* scratch, const MakeBody& make_body) : CarryLoop(t, n, scratch) {
        condition_ = make_body(*t.bodies[0], scratch + t.body_arena);
        body_ = make_body(*t.bodies[1], scratch + t.body_arena);
        condition_->set_output(0, holds_);
    }
    void run(void* const* args) override {
        start(args, 0);
        for (std::size_t i = 0; i < s_.cond_consts; ++i) condition_->set_input(i, args[i]);
        for (std::size_t i = 0; i < s_.consts; ++i) body_->set_input(i, args[s_.cond_consts + i]);
        while (true) {
            check_cancelled();
            for (std::size_t c = 0; c < s_.carries; ++c) condition_->set_input(s_.cond_consts + c, carries_[c].now);
            condition_->run();
            if (!holds_[0]) break;
            set_carries(*body_);
            body_->run();
            advance();
        }
        finish(args);
    }

private:
    alignas(64) std::uint8_t holds_[64] = {};
    std::unique_ptr<Body> condition_, body_;
};

class CondBranches final : public Loop {
public:
    CondBranches(const Thunk& t, const Node& n, char* scratch, const MakeBody& make_body) : t_(t), index_(n.op().in[0]->dtype) {
        for (const ComputationPtr& b : t.bodies) branches_.push_back(make_body(*b, scratch + t.body_arena));
    }
    void run(void* const* args) override {
        const std::int64_t last = std::ssize(branches_) - 1;
        Body& branch = *branches_[static_cast<std::size_t>(std::clamp<std::int64_t>(chosen(args[0]), 0, last))];
        for (std::size_t i = 1; i < t_.reads.size(); ++i) branch.set_input(i - 1, args[i]);
        for (std::size_t k = 0; k < t_.writes.size(); ++k) branch.set_output(k, args[t_.reads.size() + k]);
        branch.run();
    }

private:
    template <class T>
    static std::int64_t read(const void* p) {
        T v;
        std::memcpy(&v, p, sizeof v);
        return static_cast<std::int64_t>(v);
    }
    std::int64_t chosen(const void* index) const {
        switch (byte_size(index_)) {
            case 1:
                return index_ == DType::S8 ? read<std::int8_t>(index) : read<std::uint8_t>(index);
            case 4:
                return index_ == DType::U32 ? read<std::uint32_t>(index) : read<std::int32_t>(index);
            case 8:
                return read<std::int64_t>(index);
            default:
                throw Error(ErrorCode::BadInput, "expected a branch index of 1, 4 or 8 bytes");
        }
    }
    const Thunk& t_;
    DType index_;
    std::vector<std::unique_ptr<Body>> branches_;
};

}  // namespace

std::unique_ptr<Loop> make_loop(const Thunk& t, const Node& n, char* scratch, const MakeBody& make_body) {
    if (n.kind == NodeKind::Scan) return std::make_unique<ScanLoop>(t, n, scratch, make_body);
    if (n.kind == NodeKind::While) return std::make_unique<WhileLoop>(t, n, scratch, make_body);
    return std::make_unique<CondBranches>(t, n, scratch, make_body);
}

}  // namespace jaxscope::exec
