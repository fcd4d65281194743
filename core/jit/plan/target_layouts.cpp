// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/target_layouts.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "base/checked.h"
#include "jit/plan/target_nodes.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

TargetLayouts::TargetLayouts(const Graph& g, const TargetDevice& device) : g_(g), device_(device) { find_convolved(); }

bool TargetLayouts::joins_features(const Node& n) const {
    if (n.op().prim != &kConcatenate) return false;
    const auto layout = convolved_.find(n.op().out[0]->shape);
    return layout != convolved_.end() && n.op().as<ConcatenateParams>().dimension == layout->second.first;
}

std::vector<std::int64_t> TargetLayouts::bytes(const std::vector<bool>& stored, const std::vector<bool>& narrow,
                                               const std::vector<ValueId>& of_products) {
    find_rows();
    find_regrouped();
    find_matrices(stored, of_products);
    std::vector<std::int64_t> out(g_.values.size());
    for (ValueId v = 0; v < g_.values.size(); ++v) {
        const ValueId root = g_.root(v);
        if (!is_made(root)) {  // arguments come as they are
            out[v] = padded_bytes(g_.aval(v), device_);
            continue;
        }
        out[v] = narrow[root] ? bytes_made(v) / 2 : bytes_made(v);
        if (regrouped_.contains(root)) out[v] = checked_mul(out[v], 2);
    }
    return out;
}

/// Batch and features; so have those of the same shape between convolutions.
void TargetLayouts::find_convolved() {
    for (const Node& n : g_.nodes) {
        const auto* conv = n.spec() && n.kind == NodeKind::Library ? std::get_if<ConvKernel>(&n.spec()->kind) : nullptr;
        if (!conv) continue;
        const auto note = [&](ValueId v, const std::vector<int>& spec) {
            const Dims& shape = g_.aval(v).shape;
            if (spec.size() > 2 && shape.size() == spec.size()) convolved_.try_emplace(shape, std::pair(spec[1], spec[0]));
        };
        note(n.in[0], conv->lhs_spec);
        note(n.in[1], conv->rhs_spec);
        note(n.out[0], conv->out_spec);
    }
}

/// Rows stand one after the other, and so do arrays of their shape in between.
void TargetLayouts::find_rows() {
    const auto note = [&](ValueId v) {
        const Dims& shape = g_.aval(v).shape;
        if (shape.size() > 1 && !convolved_.contains(shape)) rows_.insert(shape);
    };
    for (const Node& n : g_.nodes) {
        if (picks_rows(n)) note(n.out[0]);
        if (joins_features(n))
            for (const ValueId v : n.in) parts_.insert(g_.aval(v).shape);
        if (n.kind == NodeKind::Library && n.spec() && std::holds_alternative<ScatterKernel>(n.spec()->kind)) note(n.out[0]), note(n.in[2]);
    }
}

/// What a convolution made and somebody reads in groups of features (a group norm) stands in memory twice: features that are last can't
/// be divided where they are.
void TargetLayouts::find_regrouped() {
    for (const Node& n : g_.nodes)
        for (const ValueId v : n.in) {
            const ValueId root = g_.root(v);
            // Sums are made where it stands; what is computed with the groups' own figures isn't.
            const bool with_others = n.kind == NodeKind::Element && std::any_of(n.in.begin(), n.in.end(), [&](ValueId other) {
                                         return g_.root(other) != root && is_made(g_.root(other));
                                     });
            if (!with_others) continue;
            const auto layout = convolved_.find(g_.aval(root).shape);
            if (root == v || layout == convolved_.end() || !is_made(root)) continue;
            const Dims &whole = g_.aval(root).shape, &read = g_.aval(v).shape;
            const bool last = layout->second.first == std::ssize(whole) - 1;
            if (last && read.size() > whole.size() && read.back() < whole.back() && whole.back() % read.back() == 0)
                regrouped_.insert(root);
        }
}
namespace {

/// The dimensions of an operand that are in no batch: those of one matrix.
std::optional<std::pair<int, int>> own_dimensions(const Aval& operand, const std::vector<int>& batch) {
    std::vector<int> own;
    for (int d = 0; d < static_cast<int>(operand.rank()); ++d)
        if (std::find(batch.begin(), batch.end(), d) == batch.end()) own.push_back(d);
    return own.size() == 2 ? std::optional(std::pair(own[0], own[1])) : std::nullopt;
}

}  // namespace

void TargetLayouts::find_matrices(const std::vector<bool>& stored, const std::vector<ValueId>& of_products) {
    const std::set<ValueId> ends(of_products.begin(), of_products.end());
    for (const Node& n : g_.nodes) {
        const DotKernel* dot = is_product(n) ? std::get_if<DotKernel>(&n.spec()->kind) : nullptr;
        if (!dot || dot->lhs_batch.empty()) continue;
        for (std::size_t k = 0; k < 2; ++k) {
            const Aval& read = g_.aval(n.in[k]);
            const auto own = own_dimensions(read, k == 0 ? dot->lhs_batch : dot->rhs_batch);
            if (!own || read.bytes() == 0) continue;
            const std::int64_t tiled =
                std::min(padded_bytes(read, device_, own->first, own->second), padded_bytes(read, device_, own->second, own->first));
            const double waste = static_cast<double>(tiled) / static_cast<double>(read.bytes());
            for (const ValueId root : stored_behind(n.in[k], stored))
                if (ends.contains(root)) matrices_[root] = std::max(matrices_[root], waste);
        }
    }
}

std::set<ValueId> TargetLayouts::stored_behind(ValueId v, const std::vector<bool>& stored) const {
    std::set<ValueId> met, found;
    std::vector<ValueId> open{g_.root(v)};
    while (!open.empty()) {
        const ValueId at = open.back();
        open.pop_back();
        if (!is_made(at) || !met.insert(at).second) continue;
        const Node& made = g_.nodes[g_.values[at].index];
        if (stored[at]) {
            found.insert(at);
        } else if (made.kind == NodeKind::Element) {
            for (const ValueId in : made.in)
                if (g_.aval(in).size() >= g_.aval(at).size()) open.push_back(g_.root(in));
        }
    }
    return found;
}

std::int64_t TargetLayouts::bytes_made(ValueId v) const {
    const Aval& aval = g_.aval(v);
    if (const auto found = matrices_.find(g_.root(v)); found != matrices_.end())
        return static_cast<std::int64_t>(static_cast<double>(aval.bytes()) * found->second);
    if (const auto layout = convolved_.find(aval.shape); layout != convolved_.end()) {
        const auto [features, batch] = layout->second;
        const std::int64_t by_features = padded_bytes(aval, device_, features, batch);
        return parts_.contains(aval.shape) ? by_features : std::min(by_features, padded_bytes(aval, device_, batch, features));
    }
    if (!rows_.contains(aval.shape)) return padded_bytes(aval, device_);
    const int rank = static_cast<int>(aval.shape.size());
    return padded_bytes(aval, device_, rank - 1, rank - 2);
}

}  // namespace jaxscope::exec
