// SPDX-License-Identifier: Apache-2.0
#include "jit/run/loops.h"

#include <algorithm>
#include <cstring>

#include "jit/plan/loops.h"

namespace jaxscope::exec {

namespace {

/// Bytes from one element of a stacked operand to the next.
std::int64_t slice_bytes(const Aval& stacked, std::int64_t length) { return length ? stacked.bytes() / length : 0; }

/// The places of a carry: where it is read from now, where it is written next, and after that.
struct Carry {
    char *now = nullptr, *next = nullptr, *other = nullptr;
    std::int64_t bytes = 0;
    bool in_place = false;
};
/// A pointer of a body that follows a carry.
struct Moving {
    void** place;
    const char* const* from;
};

/// What scans and whiles have in common: constants that stay, carries that are read and written.
class CarryLoop : public Loop {
public:
    CarryLoop(const Thunk& t, const Node& n, char* scratch) : t_(t), s_(loop_shape(n)), scratch_(scratch), carries_(s_.carries) {
        for (std::size_t c = 0; c < s_.carries; ++c)
            carries_[c].bytes = n.op().out[c]->bytes(), carries_[c].in_place = t_.carry_offsets[c] < 0;
    }

protected:
    /// `first`: number of the first carry among the body's inputs. Pointers that follow carries which stand in two places go to `moving`.
    void follow(Body& body, std::size_t first, bool writes, std::vector<Moving>& moving) const {
        for (std::size_t c = 0; c < s_.carries; ++c) {
            if (carries_[c].in_place) continue;
            for (void** p : body.places_of_input(first + c)) moving.push_back({p, &carries_[c].now});
            if (!writes) continue;
            for (void** p : body.places_of_output(c)) moving.push_back({p, &carries_[c].next});
        }
    }
    void start(void* const* args, std::int64_t iterations) {
        for (std::size_t c = 0; c < s_.carries; ++c) {
            char* init = static_cast<char*>(args[s_.first_carry() + c]);
            char* out = static_cast<char*>(args[t_.reads.size() + c]);
            Carry& carry = carries_[c];
            if (carry.in_place) {
                if (init != out && carry.bytes > 0) std::memmove(out, init, static_cast<std::size_t>(carry.bytes));
                carry.now = out;
                continue;
            }
            carry.now = init, carry.next = out, carry.other = scratch_ + t_.carry_offsets[c];
            // The last of an even number of iterations writes what the second one writes: begin so that it is the result's place.
            if (iterations > 0 && iterations % 2 == 0) std::swap(carry.next, carry.other);
        }
    }
    void finish(void* const* args) const {
        for (std::size_t c = 0; c < carries_.size(); ++c) {
            void* out = args[t_.reads.size() + c];
            if (carries_[c].now != out && carries_[c].bytes > 0)
                std::memmove(out, carries_[c].now, static_cast<std::size_t>(carries_[c].bytes));
        }
    }
    /// Carries that stay where they are, for the whole loop.
    void set_staying(Body& body, std::size_t first, bool writes) const {
        for (std::size_t c = 0; c < s_.carries; ++c) {
            if (!carries_[c].in_place) continue;
            body.set_input(first + c, carries_[c].now);
            if (writes) body.set_output(c, carries_[c].now);
        }
    }
    static void set(const std::vector<Moving>& moving) {
        for (const Moving& m : moving) *m.place = const_cast<char*>(*m.from);
    }
    void advance() {
        for (Carry& c : carries_)
            if (!c.in_place) c.now = c.next, c.next = c.other, c.other = c.now;
    }

    const Thunk& t_;
    LoopShape s_;
    char* scratch_;
    std::vector<Carry> carries_;
    std::vector<Moving> moving_;  ///< of the body
};

class ScanLoop final : public CarryLoop {
public:
    ScanLoop(const Thunk& t, const Node& n, char* scratch, const MakeBody& make_body) : CarryLoop(t, n, scratch) {
        body_ = make_body(*t.bodies[0], scratch + t.body_arena);
        follow(*body_, s_.consts, true, moving_);
        const auto add = [this](std::size_t arg, const std::vector<void**>& places, std::int64_t bytes) {
            for (void** p : places) slices_.push_back({arg, p, bytes, nullptr});
        };
        for (std::size_t x = s_.consts + s_.carries; x < n.in.size(); ++x)
            add(x, body_->places_of_input(x), slice_bytes(*n.op().in[x], s_.length));
        for (std::size_t y = s_.carries; y < n.out.size(); ++y)
            add(t.reads.size() + y, body_->places_of_output(y), slice_bytes(*n.op().out[y], s_.length));
    }
    void run(void* const* args) override {
        start(args, s_.length);
        for (std::size_t i = 0; i < s_.consts; ++i) body_->set_input(i, args[i]);
        set_staying(*body_, s_.consts, true);
        for (Slice& s : slices_) s.at = static_cast<char*>(args[s.arg]) + (s_.reverse && s_.length > 0 ? s_.length - 1 : 0) * s.bytes;
        const std::int64_t direction = s_.reverse ? -1 : 1;
        for (std::int64_t i = 0; i < s_.length; ++i) {
            set(moving_);
            for (Slice& s : slices_) *s.place = s.at, s.at += direction * s.bytes;
            body_->run();
            advance();
        }
        finish(args);
    }

private:
    /// A pointer to an operand or result of which each iteration has its part.
    struct Slice {
        std::size_t arg;
        void** place;
        std::int64_t bytes;
        char* at;
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
        follow(*condition_, s_.cond_consts, false, asked_);
        follow(*body_, s_.consts, true, moving_);
    }
    void run(void* const* args) override {
        start(args, 0);
        for (std::size_t i = 0; i < s_.cond_consts; ++i) condition_->set_input(i, args[i]);
        for (std::size_t i = 0; i < s_.consts; ++i) body_->set_input(i, args[s_.cond_consts + i]);
        set_staying(*condition_, s_.cond_consts, false);
        set_staying(*body_, s_.consts, true);
        while (true) {
            set(asked_);
            condition_->run();
            if (!holds_[0]) break;
            set(moving_);
            body_->run();
            advance();
        }
        finish(args);
    }

private:
    alignas(64) std::uint8_t holds_[64] = {};
    std::unique_ptr<Body> condition_, body_;
    std::vector<Moving> asked_;  ///< of the condition
};

class CondBranches final : public Loop {
public:
    CondBranches(const Thunk& t, const Node& n, char* scratch, const MakeBody& make_body) : index_(n.op().in[0]->dtype) {
        for (const ComputationPtr& b : t.bodies) {
            Branch branch{make_body(*b, scratch + t.body_arena), {}};
            const auto add = [&branch](std::size_t arg, const std::vector<void**>& places) {
                for (void** p : places) branch.pointers.push_back({p, arg});
            };
            for (std::size_t i = 1; i < t.reads.size(); ++i) add(i, branch.body->places_of_input(i - 1));
            for (std::size_t k = 0; k < t.writes.size(); ++k) add(t.reads.size() + k, branch.body->places_of_output(k));
            branches_.push_back(std::move(branch));
        }
    }
    void run(void* const* args) override {
        const std::int64_t last = std::ssize(branches_) - 1;
        const Branch& branch = branches_[static_cast<std::size_t>(std::clamp<std::int64_t>(chosen(args[0]), 0, last))];
        for (const Pointer& p : branch.pointers) *p.place = args[p.arg];
        branch.body->run();
    }

private:
    struct Pointer {
        void** place;
        std::size_t arg;
    };
    struct Branch {
        std::unique_ptr<Body> body;
        std::vector<Pointer> pointers;
    };
    template <class T>
    static std::int64_t read(const void* p) {
        T v;
        std::memcpy(&v, p, sizeof v);
        return static_cast<std::int64_t>(v);
    }
    std::int64_t chosen(const void* index) const {
        switch (width_) {
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
    DType index_;
    std::int64_t width_ = byte_size(index_);
    std::vector<Branch> branches_;
};

}  // namespace

std::unique_ptr<Loop> make_loop(const Thunk& t, const Node& n, char* scratch, const MakeBody& make_body) {
    if (n.kind == NodeKind::Scan) return std::make_unique<ScanLoop>(t, n, scratch, make_body);
    if (n.kind == NodeKind::While) return std::make_unique<WhileLoop>(t, n, scratch, make_body);
    return std::make_unique<CondBranches>(t, n, scratch, make_body);
}

}  // namespace jaxscope::exec
