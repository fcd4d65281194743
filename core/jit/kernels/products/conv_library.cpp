// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "base/checked.h"
#include "jit/kernels/products/conv_copies.h"
#include "jit/kernels/products/conv_problem.h"
#include "jit/kernels/products/onednn.h"
#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {

namespace {

using Direction = ConvProblem::Direction;
using dnnl::memory;

memory::desc describe(const ConvSide& s, memory::data_type t) { return memory::desc(s.size, t, s.stride); }
memory::desc any_layout(const ConvSide& s, memory::data_type t) { return memory::desc(s.size, t, memory::format_tag::any); }

/// The library's primitive for a problem, with the layouts that it wants.
struct Chosen {
    dnnl::primitive primitive;
    memory::desc source, weights, destination, scratchpad;
};
struct Types {
    memory::data_type source, weights, destination;
};

template <class Pd>
Chosen chosen(const Pd& pd, const dnnl::primitive& primitive, const memory::desc& s, const memory::desc& w, const memory::desc& d) {
    return {primitive, s, w, d, pd.scratchpad_desc()};
}
/// Does a window lie in the padding alone, so that no element of the operand is read for it?
bool reads_padding_alone(const ConvProblem& p) {
    const ConvSide window = p.weights();
    for (std::size_t d = 0; d < p.before.size(); ++d)
        if (std::max(p.before[d], p.after[d]) > (window.size[d + 2] - 1) * p.dilation[d]) return true;
    return false;
}
/// Neither the library's reference, which is a loop of scalars, nor what Debian's oneDNN 2.6 does wrongly: its convolution by products
/// reads memory that nobody wrote where the padding in front and behind differ (a group of 5 features, 12 columns, kernel 2, padding 0
/// and 1), and the one by batches of products jumps to address 0 where a window lies in the padding alone (bfloat16 on AMX, 40 rows,
/// kernel 3, stride 2, padding 0 and 3).
template <class Pd>
bool usable(const Pd& pd, const ConvProblem& p) {
    const std::string_view name = pd.impl_info_str();
    const auto is = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    return !is("ref") && (!is("gemm") || p.before == p.after) && (!is("brg") || !reads_padding_alone(p));
}
/// Of the library's ways the first that is usable.
template <class Pd>
bool find_usable(Pd& pd, const ConvProblem& p) {
    do {
        if (usable(pd, p)) return true;
    } while (pd.next_impl());
    return false;
}

std::optional<Chosen> choose(const ConvProblem& p, const memory::desc& s, const memory::desc& w, const memory::desc& d) {
    Dims dilates = p.dilation;
    for (std::int64_t& x : dilates) --x;
    const auto direct = dnnl::algorithm::convolution_direct;
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training, direct, s, w, d, p.strides, dilates, p.before,
                                                  p.after);
    if (p.direction == Direction::Forward) {
        const dnnl::convolution_forward::desc inference(dnnl::prop_kind::forward_inference, direct, s, w, d, p.strides, dilates, p.before,
                                                        p.after);
        dnnl::convolution_forward::primitive_desc pd(inference, attr, cpu_engine());
        if (!find_usable(pd, p)) return std::nullopt;
        return chosen(pd, dnnl::convolution_forward(pd), pd.src_desc(), pd.weights_desc(), pd.dst_desc());
    }
    const dnnl::convolution_forward::primitive_desc hint(forward, cpu_engine());
    if (p.direction == Direction::Data) {
        const dnnl::convolution_backward_data::desc desc(direct, s, w, d, p.strides, dilates, p.before, p.after);
        dnnl::convolution_backward_data::primitive_desc pd(desc, attr, cpu_engine(), hint);
        if (!find_usable(pd, p)) return std::nullopt;
        return chosen(pd, dnnl::convolution_backward_data(pd), pd.diff_src_desc(), pd.weights_desc(), pd.diff_dst_desc());
    }
    const dnnl::convolution_backward_weights::desc desc(direct, s, w, d, p.strides, dilates, p.before, p.after);
    dnnl::convolution_backward_weights::primitive_desc pd(desc, attr, cpu_engine(), hint);
    if (!find_usable(pd, p)) return std::nullopt;
    return chosen(pd, dnnl::convolution_backward_weights(pd), pd.src_desc(), pd.diff_weights_desc(), pd.diff_dst_desc());
}

/// In the layout that the data has, channels last, where the library has a fast kernel for that; else in the one that it likes best.
std::optional<Chosen> choose(const ConvProblem& p, const Types& t) {
    const ConvSide s = p.source(), w = p.weights(), d = p.destination();
    if (s.stride[1] == 1 && d.stride[1] == 1) {
        try {
            if (auto c = choose(p, describe(s, t.source), any_layout(w, t.weights), describe(d, t.destination))) return c;
        } catch (const dnnl::error&) {  // not in this layout
        }
    }
    return choose(p, any_layout(s, t.source), any_layout(w, t.weights), any_layout(d, t.destination));
}

/// One operand of one piece of the work: where it lies, and what stands between it and the library's layout.
struct Operand {
    ConvSide side;    ///< in the equation's memory
    ConvSide inside;  ///< where it stands in its copy
    DType type, copy_type;
    memory::desc outer;                    ///< of the side, or of its copy
    memory::desc inner;                    ///< what the primitive takes
    std::optional<dnnl::reorder> reorder;  ///< between the two
    bool copied = false;
    bool padded = false;                       ///< the copy is larger than the side: the rest is zero
    std::int64_t step = 0;                     ///< elements from one turn's to the next one's
    std::int64_t copy_at = -1, inner_at = -1;  ///< in the scratch memory of the operands that pieces share, or of a thread; -1: none
    bool shared = false;                       ///< prepared once for several pieces

    bool reordered() const { return reorder.has_value(); }
};

struct Piece {
    dnnl::primitive primitive;
    std::array<Operand, 3> operands;  ///< left, right, result
    std::array<int, 3> args;
    memory::desc scratchpad;
    std::int64_t scratchpad_at = 0;
    std::int64_t turns = 1, turn_at = 0;  ///< how often it runs, each time with other images; where the results behind the first go
};

/// How many images of a gradient by weights are wide at a time.
std::int64_t images_at_a_time(const ConvProblem& p) {
    constexpr std::int64_t kNumbers = 1 << 19;
    const std::int64_t images = p.lhs.size[1], each = std::max<std::int64_t>(1, (p.lhs.elements() + p.rhs.elements()) / images);
    std::int64_t n = std::clamp<std::int64_t>(kNumbers / each, 1, images);
    while (images % n != 0) --n;
    return n;
}

class LibraryConv final : public LibraryCall {
public:
    LibraryConv(const Op& op, const std::vector<ConvProblem>& problems, bool widen, int shares) {
        swapped_ = problems[0].swapped;
        for (std::size_t i = 0; i < 3; ++i) types_[i] = i < 2 ? op.in[i]->dtype : op.out[0]->dtype;
        if (swapped_) std::swap(types_[0], types_[1]);
        const bool by_image = widen && problems[0].direction != Direction::Weights;
        for (const ConvProblem& whole : problems) {
            const std::int64_t parts = std::max<std::int64_t>(1, shares / std::ssize(problems));
            for (const ConvProblem& p : whole.cut(parts, by_image)) pieces_.push_back(make_piece(p, widen));
        }
        share_operands();
        for (Piece& p : pieces_) place_own(p);
    }
    bool complete() const { return complete_; }
    std::int64_t scratch_bytes() const override { return checked_add(shared_bytes_, checked_mul(own_bytes_, threads)); }

    void run(void* const* in, void* const* out, void* scratch) const override {
        char* base = static_cast<char*>(scratch);
        const std::array<void*, 3> memories{in[swapped_ ? 1 : 0], in[swapped_ ? 0 : 1], out[0]};
        run_shares(threads, std::ssize(shared_), [&](int, std::int64_t i) {
            const auto [piece, number] = shared_[static_cast<std::size_t>(i)];
            prepare(pieces_[piece].operands[number], memories[number], base);
        });
        run_shares(threads, std::ssize(pieces_), [&](int thread, std::int64_t i) {
            run_piece(pieces_[static_cast<std::size_t>(i)], memories, base, base + shared_bytes_ + thread * own_bytes_);
        });
    }

private:
    static dnnl::reorder reorder(const memory::desc& from, const memory::desc& to) {
        return dnnl::reorder(dnnl::reorder::primitive_desc(cpu_engine(), from, cpu_engine(), to));
    }
    static std::int64_t aligned(const memory::desc& d) { return checked_align(static_cast<std::int64_t>(d.get_size()), 64); }

    Piece make_piece(const ConvProblem& all_images, bool widen) {
        ConvProblem p = all_images;
        const bool forward = p.direction == Direction::Forward, data = p.direction == Direction::Data;
        Piece piece;
        if (widen && !forward && !data) {
            const std::int64_t images = images_at_a_time(p);
            piece.turns = p.lhs.size[1] / images;
            p.lhs = p.lhs.slice(1, 0, images), p.rhs = p.rhs.slice(1, 0, images);
            piece.operands[0].step = images * p.lhs.stride[1], piece.operands[1].step = images * p.rhs.stride[1];
        }
        const auto type = [&](std::size_t i) { return widen ? memory::data_type::f32 : *library_type(types_[i]); };
        const Types t = forward ? Types{type(0), type(1), type(2)}
                        : data  ? Types{type(2), type(1), type(0)}
                                : Types{type(0), type(2), type(1)};
        std::optional<Chosen> c = choose(p, t);
        const bool padded = !c && !data && p.before != p.after;  // where the library has nothing for padding on one side
        const ConvProblem at_hand = padded ? p.with_padded_operand() : p;
        if (padded) c = choose(at_hand, t);
        if (!c) return complete_ = false, piece;
        piece.primitive = c->primitive, piece.scratchpad = c->scratchpad;
        if (forward)
            piece.args = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
        else if (data)
            piece.args = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC};
        else
            piece.args = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS};
        const ConvSide source = p.source(), weights = p.weights(), destination = p.destination();
        const auto operand = [&](std::size_t i, const ConvSide& side, const memory::desc& inner, std::size_t backwards) {
            Operand& o = piece.operands[i];
            o.side = side.backwards(backwards), o.type = types_[i], o.inner = inner;
            o.copy_type = widen ? DType::F32 : o.type;
            const bool result = i == 2;
            // What is added to later must be memory of its own.
            o.copied = o.copy_type != o.type || backwards > 0 || (result && piece.turns > 1);
            ConvSide outer = o.copied ? o.side.without_gaps() : side;
            o.inside = outer;
            if (padded && i == 0) pad(o, p, outer = at_hand.source());
            o.outer = describe(outer, *library_type(o.copy_type));
            if (o.inner != o.outer) o.reorder.emplace(result ? reorder(o.inner, o.outer) : reorder(o.outer, o.inner));
        };
        operand(0, data ? destination : source, data ? c->destination : c->source, 0);
        operand(1, forward || data ? weights : destination, forward || data ? c->weights : c->destination, data ? p.strides.size() : 0);
        const std::size_t backwards = p.swapped ? p.strides.size() : 0;
        operand(2, data ? source : forward ? destination : weights, data ? c->source : forward ? c->destination : c->weights, backwards);
        return piece;
    }
    /// The operand becomes a copy with its padding.
    static void pad(Operand& o, const ConvProblem& p, ConvSide copy) {
        o.copied = o.padded = true;
        for (std::size_t s = 0; s < p.before.size(); ++s) copy = copy.slice(s + 2, p.before[s], o.side.size[s + 2]);
        o.inside = copy;
    }
    /// Operands that several pieces read in the same layout are prepared once.
    void share_operands() {
        for (std::size_t number = 0; number < 2; ++number) {
            std::map<std::int64_t, std::vector<std::size_t>> readers;
            for (std::size_t i = 0; i < pieces_.size(); ++i)
                if (pieces_[i].turns == 1) readers[pieces_[i].operands[number].side.first].push_back(i);
            for (const auto& [first, all] : readers) {
                Operand& model = pieces_[all[0]].operands[number];
                if (all.size() < 2 || (!model.copied && !model.reordered())) continue;
                place(model, shared_bytes_);
                bool used = false;
                for (const std::size_t i : all) {
                    Operand& o = pieces_[i].operands[number];
                    if (o.inner != model.inner || o.outer != model.outer || o.side.size != model.side.size) continue;
                    o.copy_at = model.copy_at, o.inner_at = model.inner_at, o.shared = true;
                    used = true;
                }
                if (used) shared_.emplace_back(all[0], number);
            }
        }
    }
    static void place(Operand& o, std::int64_t& bytes) {
        const auto reserve = [&bytes](const memory::desc& d) {
            const std::int64_t at = bytes;
            bytes = checked_add(bytes, aligned(d));
            return at;
        };
        if (o.copied) o.copy_at = reserve(o.outer);
        if (o.reordered()) o.inner_at = reserve(o.inner);
    }
    void place_own(Piece& p) {
        std::int64_t bytes = 0;
        for (Operand& o : p.operands)
            if (!o.shared) place(o, bytes);
        if (p.turns > 1) p.turn_at = bytes, bytes = checked_add(bytes, aligned(p.operands[2].inner));
        p.scratchpad_at = bytes;
        own_bytes_ = std::max(own_bytes_, checked_add(bytes, aligned(p.scratchpad)));
    }

    static void* outer_memory(const Operand& o, void* base, char* scratch) {
        if (o.copied) return scratch + o.copy_at;
        return static_cast<char*>(base) + o.side.first * byte_size(o.type);
    }
    /// Brings an operand into the primitive's layout, in `scratch`.
    static void prepare(const Operand& o, void* base, char* scratch) {
        if (o.padded) std::memset(scratch + o.copy_at, 0, o.outer.get_size());
        if (o.copied) copy_side(o.side, o.type, base, o.inside, o.copy_type, scratch + o.copy_at);
        if (!o.reordered()) return;
        dnnl::stream stream(cpu_engine());
        memory from(o.outer, cpu_engine(), outer_memory(o, base, scratch)), to(o.inner, cpu_engine(), scratch + o.inner_at);
        o.reorder->execute(stream, from, to);
    }
    void run_piece(const Piece& p, std::array<void*, 3> memories, char* shared, char* own) const {
        const Operand& result = p.operands[2];
        const memory::desc& inner = result.inner;
        char* const sum = static_cast<char*>(result.reordered() ? own + result.inner_at : outer_memory(result, memories[2], own));
        for (std::int64_t turn = 0; turn < p.turns; ++turn) {
            run_turn(p, memories, shared, own, turn == 0 ? sum : own + p.turn_at);
            if (turn > 0)
                add(reinterpret_cast<const float*>(own + p.turn_at), inner.get_size() / sizeof(float), reinterpret_cast<float*>(sum));
            for (std::size_t i = 0; i < 2; ++i)
                memories[i] = static_cast<char*>(memories[i]) + p.operands[i].step * byte_size(p.operands[i].type);
        }
        if (result.reordered()) {
            dnnl::stream stream(cpu_engine());
            memory from(inner, cpu_engine(), sum), to(result.outer, cpu_engine(), outer_memory(result, memories[2], own));
            result.reorder->execute(stream, from, to);
        }
        if (result.copied) copy_side(result.inside, result.copy_type, own + result.copy_at, result.side, result.type, memories[2]);
    }
    static void add(const float* from, std::size_t n, float* to) {
        for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
    }
    static void run_turn(const Piece& p, const std::array<void*, 3>& memories, char* shared, char* own, void* result) {
        std::unordered_map<int, memory> args;
        for (std::size_t i = 0; i < 2; ++i) {
            const Operand& o = p.operands[i];
            char* scratch = o.shared ? shared : own;
            if (!o.shared) prepare(o, memories[i], scratch);
            void* at = o.reordered() ? scratch + o.inner_at : outer_memory(o, memories[i], scratch);
            args.emplace(p.args[i], memory(o.inner, cpu_engine(), at));
        }
        args.emplace(p.args[2], memory(p.operands[2].inner, cpu_engine(), result));
        args.emplace(DNNL_ARG_SCRATCHPAD, memory(p.scratchpad, cpu_engine(), own + p.scratchpad_at));
        dnnl::stream stream(cpu_engine());
        p.primitive.execute(stream, args);
    }

    std::array<DType, 3> types_;
    std::vector<Piece> pieces_;
    std::vector<std::pair<std::size_t, std::size_t>> shared_;  ///< piece, operand
    std::int64_t shared_bytes_ = 0, own_bytes_ = 0;
    bool complete_ = true;
    bool swapped_ = false;  ///< the first operand of a piece is the equation's second
};

/// Sums of products of bytes, in any order, that float32 holds exactly.
bool exact_as_floats(DType lhs, const ConvProblem& p) {
    const std::int64_t largest = (lhs == DType::U8 ? 255 : 128) * 128;
    return p.rhs.elements() / p.rhs.size[0] <= (std::int64_t{1} << 24) / largest;
}

}  // namespace

LibraryCallPtr make_library_conv(const Op& op, const ConvKernel& spec, int threads) {
    const std::vector<ConvProblem> problems = conv_problems(op, spec);
    if (problems.empty()) return nullptr;
    const DType l = op.in[0]->dtype, r = op.in[1]->dtype, o = op.out[0]->dtype;
    const bool narrow = is_float(l) && is_float(r) && is_float(o) && byte_size(l) <= 4 && byte_size(r) <= 4 && byte_size(o) <= 4;
    const bool bytes = byte_size(l) == 1 && r == DType::S8 && o == DType::S32 && problems[0].direction == Direction::Forward;
    if (!narrow && !bytes) return nullptr;
    const double work = 2.0 * static_cast<double>(op.out[0]->size()) * static_cast<double>(op.in[1]->size()) /
                        static_cast<double>(std::max<std::int64_t>(op.in[1]->shape[static_cast<std::size_t>(spec.rhs_spec[0])], 1));
    const int shares = work < 1e6 ? 1 : threads;
    for (const bool widen : {false, true}) {
        if (bytes && widen == multiplies_bytes_exactly()) continue;
        if (bytes && widen && !exact_as_floats(l, problems[0])) return nullptr;
        if (!widen && (!library_type(l) || !library_type(r) || !library_type(o))) continue;
        try {
            auto call = std::make_shared<LibraryConv>(op, problems, widen, shares);
            if (call->complete()) return call;
        } catch (const dnnl::error&) {  // a shape or type that the library refuses
        }
    }
    return nullptr;
}

}  // namespace jaxscope::exec
