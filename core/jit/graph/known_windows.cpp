// SPDX-License-Identifier: Apache-2.0
// x.at[1:-1].add(y) and its kind: a window whose place is known, and which is most of the array, is written by element-wise operations,
// which are fused with what makes the window and with what reads the array.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "jit/graph/rewrite.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kMostNumbers = 16;  // of an index

LiteralRef number_of(DType d, std::int64_t v) { return make_literal(AvalRef(d, {}), v); }

/// What leaves `d`'s numbers as they are, whatever they are: added, multiplied, or compared with.
std::optional<LiteralRef> neutral(ScatterKernel::Kind kind, DType d) {
    const AvalRef one(d, {});
    if (d == DType::Bool || (!is_integer(d) && !is_inexact(d)) || (!is_integer(d) && byte_size(d) < 2)) return std::nullopt;
    switch (kind) {
        case ScatterKernel::Kind::Add:
            return is_complex(d) ? make_literal(one, std::complex<double>(-0.0, -0.0)) : make_literal(one, -0.0);
        case ScatterKernel::Kind::Mul:
            if (is_complex(d)) return std::nullopt;
            return number_of(d, 1);
        case ScatterKernel::Kind::Min:
        case ScatterKernel::Kind::Max: {
            if (is_complex(d) || is_integer(d)) return std::nullopt;
            const double end = std::numeric_limits<double>::infinity();
            return make_literal(one, kind == ScatterKernel::Kind::Min ? end : -end);
        }
        case ScatterKernel::Kind::Set:
            break;
    }
    return std::nullopt;
}

const Primitive& combining(ScatterKernel::Kind kind) {
    return kind == ScatterKernel::Kind::Add   ? kAdd
           : kind == ScatterKernel::Kind::Mul ? kMul
           : kind == ScatterKernel::Kind::Min ? kMin
                                              : kMax;
}

/// Finite where its operands are zeros: outside the window nobody may see a NaN that the program doesn't make.
bool keeps_zeros(const Primitive& p) {
    return &p == &kAdd || &p == &kSub || &p == &kMul || &p == &kNeg || &p == &kMax || &p == &kMin || &p == &kConvertElementType;
}

bool is_nothing(const PadConfig& place) {
    return std::ranges::all_of(place, [](const PadDim& d) { return d == PadDim{}; });
}

/// Where the array that is sliced has to stand, so that the slice stands at `place`. Around the slice there is more of it then.
std::optional<PadConfig> moved_by(const Op& slice, const PadConfig& place) {
    const auto& p = slice.as<SliceParams>();
    if (p.strides && std::ranges::any_of(*p.strides, [](std::int64_t s) { return s != 1; })) return std::nullopt;
    PadConfig moved = place;
    for (std::size_t d = 0; d < place.size(); ++d) {
        moved[d].low -= p.start_indices[d];
        moved[d].high -= slice.in[0]->shape[d] - p.limit_indices[d];
    }
    return moved;
}

}  // namespace

std::optional<std::vector<std::int64_t>> GraphRewriter::known_integers(ValueId v) const {
    const GraphValue& value = graph_.values[v];
    if (!is_integer(value.aval->dtype) || element_count(value.aval->shape) > kMostNumbers) return std::nullopt;
    if (value.root != v)  // the same bytes
        return graph_.values[value.root].aval->dtype == value.aval->dtype ? known_integers(value.root) : std::nullopt;
    if (value.kind == GraphValue::Kind::Literal) return std::vector{LiteralRef::from_id(value.index)->integer};
    if (value.kind != GraphValue::Kind::Result || value.index >= graph_.nodes.size()) return std::nullopt;
    const Node& n = graph_.nodes[value.index];
    if (n.op().prim == &kBroadcastInDim) {
        const auto one = known_integers(n.in[0]);
        if (!one || one->size() != 1) return std::nullopt;
        return std::vector(static_cast<std::size_t>(element_count(value.aval->shape)), one->front());
    }
    if (n.op().prim != &kConcatenate || value.aval->rank() != 1) return std::nullopt;
    std::vector<std::int64_t> all;
    for (const ValueId part : n.in) {
        const auto some = known_integers(part);
        if (!some) return std::nullopt;
        all.insert(all.end(), some->begin(), some->end());
    }
    return all;
}

/// `v`, which has the window's shape, in its place of an array of zeros; what it is computed from by arithmetic goes there first, so that
/// one loop over the array does it all.
ValueId GraphRewriter::in_place_of(const Op& op, ValueId v, const PadConfig& place, AvalRef array, int& budget) {
    const GraphValue value = graph_.values[v];
    if (value.aval->shape.empty()) return v;
    const AvalRef out(value.aval->dtype, array->shape);
    const Node* maker = value.kind == GraphValue::Kind::Result && value.root == v && value.index < graph_.nodes.size()
                            ? &graph_.nodes[value.index]
                            : nullptr;
    if (maker && maker->kind == NodeKind::Element && --budget > 0) {
        const WorkPtr work = maker->work;
        const InlineVector<ValueId, 2> in = maker->in;
        if (work->op.prim == &kBroadcastInDim && graph_.aval(in[0]).shape.empty()) return spread(op, in[0], {}, array->shape);
        if (work->op.prim == &kSlice)
            if (const auto moved = moved_by(work->op, place)) return padded(op, in[0], *moved, out);
        if (const bool divides = work->op.prim == &kDiv; divides || keeps_zeros(*work->op.prim)) {
            std::vector<ValueId> placed;
            for (const ValueId x : in) placed.push_back(in_place_of(op, x, place, array, budget));
            if (divides && !graph_.aval(placed[1]).shape.empty())
                placed[1] =
                    inside_or(op, placed[1], spread(op, literal(number_of(graph_.aval(placed[1]).dtype, 1)), {}, array->shape), place);
            return add_part(op, *work->op.prim, work->op.params, placed, out);
        }
    }
    return padded(op, v, place, out);
}

ValueId GraphRewriter::padded(const Op& op, ValueId v, const PadConfig& place, AvalRef out) {
    if (is_nothing(place)) return v;
    return add_part(op, kPad, make_params(PadParams{place}), {v, literal(number_of(out->dtype, 0))}, out);
}

std::optional<std::vector<ValueId>> GraphRewriter::add_known_window(const Op& op, const std::vector<ValueId>& in, const ScatterKernel& s) {
    const AvalRef array = op.out[0];
    const Dims &shape = array->shape, &updates = op.in[2]->shape;
    if (op.in[0]->dtype != op.in[2]->dtype || shape.empty() || element_count(updates) * 2 < element_count(shape)) return std::nullopt;
    if (element_count(op.in[1]->shape) != static_cast<std::int64_t>(s.scatter_dims_to_operand_dims.size())) return std::nullopt;
    const auto index = known_integers(in[1]);
    if (!index || index->size() != s.scatter_dims_to_operand_dims.size()) return std::nullopt;

    Dims window(shape.size(), 1), start(shape.size(), 0);
    std::size_t w = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const auto holds = [&](const std::vector<int>& dims) { return std::ranges::find(dims, static_cast<int>(d)) != dims.end(); };
        if (holds(s.operand_batching_dims)) return std::nullopt;
        if (!holds(s.inserted_window_dims)) window[d] = updates[static_cast<std::size_t>(s.update_window_dims.at(w++))];
    }
    for (std::size_t k = 0; k < index->size(); ++k) start[static_cast<std::size_t>(s.scatter_dims_to_operand_dims[k])] = (*index)[k];
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (start[d] < 0 || start[d] > shape[d] - window[d]) return std::nullopt;  // dropped or moved: the routine knows
    return written_window(op, in[0], view(in[2], AvalRef(array->dtype, window)), start, s.kind);
}
std::optional<std::vector<ValueId>> GraphRewriter::add_known_update(const Op& op, const std::vector<ValueId>& in) {
    const Dims &shape = op.out[0]->shape, &window = op.in[1]->shape;
    if (op.in[0]->dtype != op.in[1]->dtype || shape.empty() || element_count(window) * 2 < element_count(shape)) return std::nullopt;
    Dims start;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const auto at = known_integers(in[2 + d]);
        if (!at || at->size() != 1) return std::nullopt;
        start.push_back(std::clamp<std::int64_t>(at->front(), 0, shape[d] - window[d]));
    }
    return written_window(op, in[0], in[1], start, ScatterKernel::Kind::Set);
}

ValueId GraphRewriter::inside_or(const Op& op, ValueId placed, ValueId otherwise, const PadConfig& place) {
    if (is_nothing(place)) return placed;
    const AvalRef out = graph_.values[placed].aval;
    Dims window = out->shape;
    for (std::size_t d = 0; d < window.size(); ++d) window[d] -= place[d].low + place[d].high;
    const auto truth = [&](std::int64_t v) { return literal(number_of(DType::Bool, v)); };
    const ValueId is_inside =
        add_part(op, kPad, make_params(PadParams{place}), {spread(op, truth(1), {}, window), truth(0)}, AvalRef(DType::Bool, out->shape));
    return add_part(op, kSelectN, {}, {is_inside, otherwise, placed}, out);
}

std::optional<std::vector<ValueId>> GraphRewriter::written_window(const Op& op, ValueId array, ValueId window, const Dims& start,
                                                                  ScatterKernel::Kind kind) {
    const AvalRef out = op.out[0];
    PadConfig place;
    for (std::size_t d = 0; d < start.size(); ++d) place.push_back({start[d], out->shape[d] - graph_.aval(window).shape[d] - start[d], 0});
    const std::optional<LiteralRef> nothing = neutral(kind, out->dtype);
    if (kind != ScatterKernel::Kind::Set && !nothing) return std::nullopt;
    constexpr int kMostSteps = 12;
    int budget = kMostSteps;
    const ValueId placed = in_place_of(op, window, place, out, budget);
    const auto chosen = [&](ValueId otherwise) { return inside_or(op, placed, otherwise, place); };
    if (kind == ScatterKernel::Kind::Set) return std::vector{chosen(array)};
    return std::vector{add_part(op, combining(kind), {}, {array, chosen(spread(op, literal(*nothing), {}, out->shape))}, out)};
}

}  // namespace jaxscope::exec
