// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/planner.h"

#include <algorithm>
#include <map>

#include "base/cancel.h"
#include "base/checked.h"
#include "jit/graph/fuse.h"
#include "jit/plan/arena.h"
#include "jit/plan/behind_pieces.h"
#include "jit/plan/loops.h"
#include "jit/plan/moves.h"
#include "jit/plan/schedule.h"
#include "jit/plan/steps.h"
#include "jit/plan/target_units.h"

namespace jaxscope::exec {

namespace {

constexpr int kNoBuffer = -1;
constexpr ValueId kNoValue = ~0u;

/// Gives the values of one order of the steps their memory.
class Planner {
public:
    /// `bytes`: per value, what it takes in memory; empty: the size of its array.
    Planner(const GraphPtr& graph, const std::vector<std::optional<int>>& alias, const ComputationOptions& options,
            const std::vector<std::int64_t>& bytes)
        : g_(*graph), wish_(alias), options_(options), bytes_(bytes), c_(std::make_shared<Computation>()) {
        c_->graph = graph;
        c_->threads = options.threads;
        wish_.resize(g_.outputs.size());
    }

    /// Buffers and live ranges; no offsets yet.
    void assign(const std::vector<Step>& all, const Order& order) {
        c_->thunks.reserve(order.size());
        std::size_t buffers = g_.inputs.size() + g_.outputs.size();
        for (const std::uint32_t i : order) buffers += all[i].writes.size() + (all[i].scratch > 0);
        c_->buffers.reserve(buffers);
        for (const std::uint32_t i : order)
            if (!all[i].barrier) add_thunk(all[i]);
        buffer_of_.assign(g_.values.size(), kNoBuffer);
        find_uses();
        make_io_buffers();
        grant_aliases();
        assign_results();
        add_copies();
        live_ranges();
        if (options_.target) keep_near();
    }
    /// Largest sum of what is alive together, and what a loop spends on carries that aren't updated in place.
    std::int64_t live_peak() const {
        std::vector<std::int64_t> change(c_->thunks.size() + 3, 0);  // step s at s + 1
        for (const Buffer& b : c_->buffers) {
            if (!in_arena(b)) continue;
            change[static_cast<std::size_t>(b.first) + 1] += b.bytes;
            change[static_cast<std::size_t>(b.last) + 2] -= b.bytes;
        }
        std::int64_t live = 0, peak = 0;
        for (const std::int64_t d : change) live += d, peak = std::max(peak, live);
        return checked_add(peak, lost_carries());
    }
    /// Offsets; returns what the plan costs in all. Of a target only what is alive together is known, not what packing it costs.
    std::int64_t place() {
        place_buffers();
        if (options_.target) c_->arena_bytes = live_peak() - lost_carries();
        return checked_add(c_->arena_bytes, lost_carries());
    }
    std::shared_ptr<Computation> take() {
        if (!options_.target) join_pieces(*c_);
        return std::move(c_);
    }

private:
    Buffer& buffer(int b) { return c_->buffers[static_cast<std::size_t>(b)]; }
    int steps() const { return static_cast<int>(c_->thunks.size()); }
    const Step& step(int s) const { return *step_of_[static_cast<std::size_t>(s)]; }

    int add_buffer(Buffer::Place place, std::uint32_t index, ValueId v) {
        const int b = add_buffer(place, index, g_.values[v].aval);
        if (!bytes_.empty()) buffer(b).bytes = bytes_[v];
        return b;
    }
    int add_buffer(Buffer::Place place, std::uint32_t index, AvalRef aval) {
        Buffer b;
        b.place = place;
        b.index = index;
        b.aval = aval;
        b.bytes = aval->bytes();
        c_->buffers.push_back(b);
        return static_cast<int>(c_->buffers.size()) - 1;
    }
    bool in_arena(const Buffer& b) const {
        const bool io = b.place == Buffer::Place::Input || b.place == Buffer::Place::Output;
        if (!near_.empty() && near_[static_cast<std::size_t>(&b - c_->buffers.data())]) return false;
        return b.place != Buffer::Place::Constant && (!io || options_.place_io) && b.last >= b.first;
    }
    std::int64_t lost_carries() const {
        std::int64_t bytes = 0;
        for (std::size_t k = 0; k < wish_.size() && !options_.whole; ++k)
            if (wish_[k] && !c_->granted[k]) bytes = checked_add(bytes, g_.bytes(g_.outputs[k]));
        return bytes;
    }

    void add_thunk(const Step& s) {
        c_->thunks.push_back(s.thunk);
        if (s.scratch > 0) {
            c_->thunks.back().scratch = add_buffer(Buffer::Place::Arena, 0, AvalRef(DType::U8, {s.scratch}));
            buffer(c_->thunks.back().scratch).role = BufferRole::Scratch;
        }
        step_of_.push_back(&s);
    }

    void find_uses() {
        last_read_.assign(g_.values.size(), -1);
        made_at_.assign(g_.values.size(), -1);
        for (int s = 0; s < steps(); ++s) {
            for (const ValueId v : step(s).reads) last_read_[v] = s;
            for (const ValueId v : step(s).writes) made_at_[v] = s;
        }
    }

    // ---- Inputs, outputs, aliases --------------------------------------------------------------------------------------------------
    void make_io_buffers() {
        for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
            c_->input_buffer.push_back(add_buffer(Buffer::Place::Input, static_cast<std::uint32_t>(i), g_.inputs[i]));
            buffer_of_[g_.inputs[i]] = c_->input_buffer.back();
            buffer(c_->input_buffer.back()).role = BufferRole::Argument;
        }
        is_output_.assign(g_.values.size(), false);
        ends_elsewhere_.assign(g_.values.size(), false);
        for (std::size_t k = 0; k < g_.outputs.size(); ++k) {
            const ValueId root = g_.root(g_.outputs[k]);
            const int b = add_buffer(Buffer::Place::Output, static_cast<std::uint32_t>(k), g_.outputs[k]);
            c_->output_buffer.push_back(b);
            buffer(b).role = BufferRole::Output;
            const bool own = g_.values[root].kind == GraphValue::Kind::Result && !is_output_[root];
            is_output_[root] = true;
            direct_.push_back(own);
            if (own) buffer_of_[root] = b;
        }
        c_->granted.resize(g_.outputs.size());
    }

    /// May output k (made by a thunk, or an input passed through) take the memory of input i?
    bool alias_is_free(std::size_t k, int i) const {
        const ValueId in = g_.inputs[static_cast<std::size_t>(i)], root = g_.root(g_.outputs[k]);
        if (root == in) return true;
        return direct_[k] && is_over(in, root);
    }
    /// Has everybody read input `in` when `v` is made, or reads it at the places where `v` is written?
    bool is_over(ValueId in, ValueId v) const {
        if (is_output_[in]) return false;  // passed through to another output: copied at the end
        const int made = made_at_[v], read = last_read_[in];
        return read < made || (read == made && can_overwrite(made, in, v));
    }
    bool can_overwrite(int made_in, ValueId in, ValueId out) const {
        const Thunk& t = c_->thunks[static_cast<std::size_t>(made_in)];
        if (options_.target && t.bodies.empty())
            return target_in_place(g_, t.nodes, in, out, options_.whole && g_.values[in].kind == GraphValue::Kind::Input);
        const auto &reads = step(made_in).reads, &writes = step(made_in).writes;
        const auto w = static_cast<std::size_t>(std::find(writes.begin(), writes.end(), out) - writes.begin());
        for (std::size_t r = 0; r < reads.size(); ++r) {
            if (reads[r] != in) continue;
            const bool fine = t.kernel    ? t.kernel->in_place(r, w)
                              : t.library ? t.library->in_place(r, w)
                                          : loop_in_place(t, g_.nodes[t.nodes[0]], r, w);
            if (!fine) return false;
        }
        return true;
    }

    /// JAX pairs the n-th output of a type with the n-th donated input of that type. Within the type any pairing gives back the same
    /// memory, so pairs that would cross are swapped rather than copied.
    void grant_aliases() {
        std::vector<bool> free(g_.inputs.size(), false);
        for (const auto& w : wish_)
            if (w) free[static_cast<std::size_t>(*w)] = true;
        const auto grant = [&](std::size_t k, int i) {
            c_->granted[k] = i;
            free[static_cast<std::size_t>(i)] = false;
        };
        for (std::size_t k = 0; k < wish_.size(); ++k)  // passed through unchanged: never anybody else's
            if (wish_[k] && g_.root(g_.outputs[k]) == g_.inputs[static_cast<std::size_t>(*wish_[k])]) grant(k, *wish_[k]);
        std::vector<std::size_t> order;
        for (std::size_t k = 0; k < wish_.size(); ++k)
            if (wish_[k] && !c_->granted[k]) order.push_back(k);
        const auto made = [&](std::size_t k) { return made_at_[g_.root(g_.outputs[k])]; };
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return made(a) < made(b); });
        for (const std::size_t k : order)
            if (free[static_cast<std::size_t>(*wish_[k])] && alias_is_free(k, *wish_[k])) grant(k, *wish_[k]);
        for (const std::size_t k : order)
            if (!c_->granted[k] && options_.whole) swap_pairs(k, order, free);  // a loop's carries stand each in their own place
        for (std::size_t k = 0; k < wish_.size() && options_.whole; ++k)
            if (wish_[k] && !c_->granted[k] && free[static_cast<std::size_t>(*wish_[k])]) grant(k, *wish_[k]), copy_behind_readers(k);
        for (std::size_t k = 0; k < wish_.size(); ++k) {
            if (!c_->granted[k]) continue;
            const int b = c_->input_buffer[static_cast<std::size_t>(*c_->granted[k])];
            const ValueId root = g_.root(g_.outputs[k]);
            if (direct_[k]) buffer_of_[root] = b;
        }
    }

    /// Finds output k another donated input of its type: a free one, or one whose output can move to a free one.
    void swap_pairs(std::size_t k, const std::vector<std::size_t>& order, std::vector<bool>& free) {
        const auto type = [&](int i) -> const Aval& { return g_.aval(g_.inputs[static_cast<std::size_t>(i)]); };
        const Aval& own = g_.aval(g_.outputs[k]);
        const auto fits = [&](int i) { return type(i).shape == own.shape && type(i).dtype == own.dtype; };
        const auto take_free = [&](std::size_t output) {
            for (const std::size_t other : order) {
                const int i = *wish_[other];
                if (!free[static_cast<std::size_t>(i)] || !fits(i) || !alias_is_free(output, i)) continue;
                free[static_cast<std::size_t>(i)] = false;
                c_->granted[output] = i;
                return true;
            }
            return false;
        };
        if (take_free(k)) return;
        for (const std::size_t holder : order) {
            const std::optional<int> held = c_->granted[holder];
            if (!held || !fits(*held) || !alias_is_free(k, *held) || !take_free(holder)) continue;
            c_->granted[k] = held;
            return;
        }
    }

    // ---- Results ---------------------------------------------------------------------------------------------------------------------
    void assign_results() {
        for (int s = 0; s < steps(); ++s) {
            check_cancelled();
            Thunk& t = c_->thunks[static_cast<std::size_t>(s)];
            for (const ValueId v : step(s).reads) t.reads.push_back(memory_of(v));
            std::vector<int> taken;
            for (const ValueId v : step(s).writes) {
                if (buffer_of_[v] == kNoBuffer) stand_in_output(v);
                if (buffer_of_[v] == kNoBuffer) buffer_of_[v] = dying_operand(s, v, taken);
                if (buffer_of_[v] == kNoBuffer) buffer_of_[v] = add_buffer(Buffer::Place::Arena, 0, v);
                Buffer& b = buffer(buffer_of_[v]);
                taken.push_back(buffer_of_[v]);
                if (b.thunk < 0) b.thunk = s, b.node = g_.values[v].index;
                t.writes.push_back(buffer_of_[v]);
            }
        }
    }
    std::int64_t bytes(ValueId v) const { return bytes_.empty() ? g_.bytes(v) : bytes_[v]; }
    int memory_of(ValueId v) {
        if (buffer_of_[v] != kNoBuffer) return buffer_of_[v];
        const GraphValue& value = g_.values[v];
        JAXSCOPE_ASSERT(value.kind == GraphValue::Kind::Constant || value.kind == GraphValue::Kind::Literal);
        Computation::PoolEntry entry{nullptr, value.aval, std::nullopt, {}};
        if (value.kind == GraphValue::Kind::Constant)
            entry.array = g_.constants[value.index];
        else
            entry.literal = LiteralRef::from_id(value.index);
        buffer_of_[v] = add_buffer(Buffer::Place::Constant, static_cast<std::uint32_t>(c_->pool.size()), value.aval);
        buffer(buffer_of_[v]).role = BufferRole::Constant;
        c_->pool.push_back(std::move(entry));
        return buffer_of_[v];
    }
    /// Where an output is made by writing over `v`, at once or by way of others, all of them stand in the output's memory from the
    /// beginning.
    void stand_in_output(ValueId v) {
        std::vector<ValueId> chain;
        const int place = output_behind(v, chain);
        // Where there is none, none comes later: the rest of a long chain needn't be followed again.
        for (const ValueId at : chain) place == kNoBuffer ? void(ends_elsewhere_[at] = true) : void(buffer_of_[at] = place);
    }
    /// The output's buffer at the end of the values made over each other from `v` on, those of which that may stand there go to `chain`; or
    /// kNoBuffer.
    int output_behind(ValueId v, std::vector<ValueId>& chain) {
        int place = kNoBuffer;
        for (ValueId at = v; place == kNoBuffer;) {
            if (is_output_[at] || last_read_[at] < 0 || ends_elsewhere_[at]) return kNoBuffer;
            chain.push_back(at);
            at = overwriting(at);
            if (at == kNoValue) return kNoBuffer;
            place = buffer_of_[at];
        }
        const Buffer& b = buffer(place);
        if (taken_early_[place]) return kNoBuffer;
        if (b.place == Buffer::Place::Input) {  // which the first of them may be made too early for
            const auto late = std::ranges::find_if(chain, [&](ValueId at) { return is_over(g_.inputs[b.index], at); });
            if (late == chain.end()) return kNoBuffer;
            chain.erase(chain.begin(), late);
        } else if (b.place != Buffer::Place::Output || c_->granted[b.index]) {
            return kNoBuffer;
        }
        taken_early_[place] = true;
        return place;
    }
    /// The value that the last reader of `v` may make in its memory, or kNoValue.
    ValueId overwriting(ValueId v) const {
        for (const ValueId out : step(last_read_[v]).writes)
            if (bytes(out) == bytes(v) && can_overwrite(last_read_[v], v, out)) return out;
        return kNoValue;
    }
    /// A temporary read for the last time by the step that makes `v`, whose memory `v` may take.
    int dying_operand(int at, ValueId v, const std::vector<int>& taken) {
        for (const ValueId in : step(at).reads) {
            const int b = buffer_of_[in];
            if (b == kNoBuffer || buffer(b).place != Buffer::Place::Arena || last_read_[in] != at || last_use(b) != at) continue;
            if (std::find(taken.begin(), taken.end(), b) != taken.end() || is_output_[in]) continue;
            if (bytes(in) == bytes(v) && buffer(b).bytes == bytes(v) && can_overwrite(at, in, v)) {
                holders_[b] = v;
                return b;
            }
        }
        return kNoBuffer;
    }
    /// The last step that reads the value which stands in buffer b now.
    int last_use(int b) const {
        const auto h = holders_.find(b);
        return h == holders_.end() ? last_read_of_first(b) : last_read_[h->second];
    }
    int last_read_of_first(int b) const {
        const Buffer& buf = c_->buffers[static_cast<std::size_t>(b)];
        if (buf.thunk < 0) return -1;
        for (const ValueId v : step(buf.thunk).writes)
            if (buffer_of_[v] == b) return last_read_[v];
        return -1;
    }
    /// The input is still read when the output is made: as in XLA the pair holds, the output is made elsewhere and copied in the end.
    void copy_behind_readers(std::size_t k) {
        if (!direct_[k]) return;  // copied anyway
        direct_[k] = false;
        buffer_of_[g_.root(g_.outputs[k])] = kNoBuffer;
        c_->copied.push_back({static_cast<int>(k), *c_->granted[k], g_.bytes(g_.outputs[k])});
    }

    /// Outputs that are inputs, constants or the same value as another output, and those that wait for readers of their input.
    void add_copies() {
        std::vector<Move> moves;
        for (std::size_t k = 0; k < g_.outputs.size(); ++k) {
            const ValueId root = g_.root(g_.outputs[k]);
            const bool in_input = c_->granted[k].has_value();
            if (direct_[k] || (in_input && g_.inputs[static_cast<std::size_t>(*c_->granted[k])] == root)) continue;
            moves.push_back(
                {in_input ? c_->input_buffer[static_cast<std::size_t>(*c_->granted[k])] : c_->output_buffer[k], memory_of(root), root});
        }
        const auto spare = [&](const Move& m) { return add_buffer(Buffer::Place::Arena, 0, g_.values[m.value].aval); };
        for (const Move& m : one_after_the_other(std::move(moves), spare)) add_copy(m);
    }
    void add_copy(const Move& m) {
        Thunk t;
        t.kind = Thunk::Kind::Copy;
        t.reads = {m.from};
        t.writes = {m.to};
        if (g_.values[m.value].kind == GraphValue::Kind::Result) t.nodes = {g_.values[m.value].index};
        if (buffer(m.to).thunk < 0) buffer(m.to).thunk = steps();
        c_->thunks.push_back(std::move(t));
    }

    // ---- Live ranges and offsets -----------------------------------------------------------------------------------------------------
    void live_ranges() {
        const int end = steps();
        for (Buffer& b : c_->buffers) b.first = end + 1, b.last = -2;
        for (int s = 0; s < end; ++s) {
            const Thunk& t = c_->thunks[static_cast<std::size_t>(s)];
            const auto touch = [&](int b) { buffer(b).first = std::min(buffer(b).first, s), buffer(b).last = std::max(buffer(b).last, s); };
            for (const int b : t.reads) touch(b);
            for (const int b : t.writes) touch(b);
            if (t.scratch >= 0) touch(t.scratch);
        }
        for (std::size_t i = 0; i < c_->input_buffer.size(); ++i) {
            Buffer& b = buffer(c_->input_buffer[i]);
            if (i < options_.kept.size() && !options_.kept[i] && b.last < b.first) b.bytes = 0;  // pruned: nobody passes it
            b.first = -1, b.last = end;
        }
        for (std::size_t k = 0; k < c_->output_buffer.size(); ++k) {
            Buffer& b = buffer(c_->output_buffer[k]);
            if (c_->granted[k])
                b.first = 0, b.last = -1, b.bytes = 0;  // stands in the input's memory
            else
                b.last = end;
        }
        for (Buffer& b : c_->buffers)
            if (b.place == Buffer::Place::Constant) b.first = -1, b.last = end;
    }

    /// The device's vector memory holds temporaries for as long as they live: first those that take the least of it (bytes times steps), as
    /// far as there is room. What a loop's body holds there is taken while it runs.
    void keep_near() {
        const std::int64_t room = options_.target->near_memory;
        if (room == 0) return;
        near_.assign(c_->buffers.size(), false);
        std::vector<std::int64_t> used(c_->thunks.size() + 2, 0);  // step s at s + 1
        for (std::size_t s = 0; s < c_->thunks.size(); ++s)
            for (const ComputationPtr& body : c_->thunks[s].bodies) used[s + 1] = std::max(used[s + 1], body->near_bytes);
        std::vector<int> candidates;
        for (int b = 0; b < static_cast<int>(c_->buffers.size()); ++b)
            if (buffer(b).place == Buffer::Place::Arena && buffer(b).role != BufferRole::Scratch && in_arena(buffer(b)) &&
                buffer(b).bytes <= room)
                candidates.push_back(b);
        const auto taken = [&](int b) {
            return static_cast<double>(buffer(b).last - buffer(b).first) * static_cast<double>(buffer(b).bytes);
        };
        std::stable_sort(candidates.begin(), candidates.end(), [&](int a, int b) { return taken(a) < taken(b); });
        for (const int b : candidates) {
            const auto begin = used.begin() + buffer(b).first + 1, end = used.begin() + buffer(b).last + 2;
            if (*std::max_element(begin, end) + buffer(b).bytes > room) continue;
            near_[static_cast<std::size_t>(b)] = true;
            std::for_each(begin, end, [&](std::int64_t& n) { n += buffer(b).bytes; });
        }
        c_->near_bytes = *std::max_element(used.begin(), used.end());
    }

    void place_buffers() {
        std::vector<ArenaBlock> blocks;
        std::vector<int> number;
        for (int b = 0; b < static_cast<int>(c_->buffers.size()); ++b) {
            const Buffer& buf = buffer(b);
            if (!in_arena(buf)) continue;
            blocks.push_back({buf.bytes, buf.first, buf.last});
            number.push_back(b);
        }
        c_->guarded = options_.guarded;
        c_->guards.clear();
        c_->arena_bytes = options_.guarded ? place_guarded(blocks, c_->guards) : place_blocks(blocks);
        if (!options_.guarded && !options_.target) c_->arena_bytes = spread_over_lines(blocks);
        for (std::size_t i = 0; i < blocks.size(); ++i) buffer(number[i]).offset = blocks[i].offset;
        if (!options_.place_io) return;
        for (std::size_t k = 0; k < c_->output_buffer.size(); ++k)
            if (c_->granted[k])
                buffer(c_->output_buffer[k]).offset = buffer(c_->input_buffer[static_cast<std::size_t>(*c_->granted[k])]).offset;
    }

    const Graph& g_;
    std::vector<std::optional<int>> wish_;
    const ComputationOptions& options_;
    const std::vector<std::int64_t>& bytes_;
    std::shared_ptr<Computation> c_;
    std::vector<const Step*> step_of_;  ///< per thunk, but for copies: whose reads and writes it has
    std::vector<int> buffer_of_;        ///< per root
    std::vector<int> last_read_, made_at_;
    std::vector<bool> is_output_;       ///< per root
    std::vector<bool> direct_;          ///< output k's value is made in its own buffer
    std::map<int, ValueId> holders_;    ///< buffers taken over: by which value
    std::vector<bool> ends_elsewhere_;  ///< per root: what is made over it, and over that, ends in no output
    std::vector<bool> near_;            ///< buffers that a target holds in its vector memory
    std::map<int, bool> taken_early_;   ///< buffers of outputs in which what they are made of stands
};

}  // namespace

std::shared_ptr<Computation> plan_computation(const GraphPtr& graph, const std::vector<std::optional<int>>& alias,
                                              const ComputationOptions& options) {
    const TargetUnits made = options.target ? target_units(*graph, *options.target) : TargetUnits{fuse(*graph, options.fuse), {}, {}};
    const std::vector<Unit>& units = made.units;
    ComputationOptions inside = options;
    inside.whole = inside.place_io = false;
    inside.kept.clear();
    const PlanBody plan_body = [&](const GraphPtr& body, const std::vector<std::optional<int>>& wanted) {
        return plan_computation(body, wanted, inside);
    };
    std::vector<Step> steps = make_steps(*graph, units, options, plan_body);
    if (options.whole)  // what a loop inside of a loop reads was converted before the outer one
        for (std::size_t u = 0; u < made.scratch.size(); ++u) steps[u].scratch = checked_add(steps[u].scratch, made.scratch[u]);
    const Order program = program_order(*graph, units, [&](std::uint32_t u, ValueId v) {
        const auto read = std::ranges::find(steps[u].reads, v) - steps[u].reads.begin();
        return options.schedule && steps[u].thunk.library && steps[u].thunk.library->in_place(static_cast<std::size_t>(read), 0);
    });
    const auto planned = [&](const Order& order) {
        Planner p(graph, alias, options, made.bytes);
        p.assign(steps, order);
        return p;
    };
    Planner planner = planned(program);
    Order better;  // alone: with hundreds of thousands of steps each planner takes tens of megabytes
    std::int64_t least = planner.live_peak();
    if (options.schedule)
        for (const Order& order : options.target ? compiler_orders(*graph, units, alias, options.whole, made.bytes)
                                                 : low_memory_orders(*graph, units, alias, options.whole)) {
            if (const std::int64_t peak = planned(order).live_peak(); peak < least) least = peak, better = order;
        }
    const std::int64_t cost = planner.place();
    if (better.empty()) return planner.take();
    Planner other = planned(better);
    return other.place() < cost ? other.take() : planner.take();
}

}  // namespace jaxscope::exec
