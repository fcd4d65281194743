// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/conv_problem.h"

#include "base/checked.h"

namespace jaxscope::exec {

namespace {

using Direction = ConvProblem::Direction;

/// [features, ...] as [groups, features / groups, ...].
ConvSide grouped(ConvSide g, std::int64_t groups) {
    if (groups > 1) {
        g.size[0] /= groups;
        g.stride.insert(g.stride.begin(), g.stride[0] * g.size[0]);
        g.size.insert(g.size.begin(), groups);
    }
    return g;
}
ConvSide batch_and_feature_swapped(ConvSide s) {
    std::swap(s.size[0], s.size[1]), std::swap(s.stride[0], s.stride[1]);
    return s;
}

/// The padding behind a forward convolution from `in` to `out` elements; what it doesn't read is cut off the input's end.
std::int64_t padding_after(ConvSide& in, std::size_t d, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                           std::int64_t before) {
    const std::int64_t reach = (out - 1) * stride + (kernel - 1) * dilation + 1 - before;
    if (reach < in.size[d]) in = in.slice(d, 0, std::max<std::int64_t>(reach, 0));
    return reach - in.size[d];
}

/// Sides without what negative padding cuts off in front.
bool cut_front(ConvProblem& p, const ConvKernel& k) {
    for (std::size_t s = 0; s < k.padding.size(); ++s) {
        const std::int64_t front = k.padding[s].first;
        p.before.push_back(std::max<std::int64_t>(front, 0));
        if (front >= 0) continue;
        if (-front >= p.lhs.size[s + 2]) return false;
        p.lhs = p.lhs.slice(s + 2, -front, p.lhs.size[s + 2] + front);
    }
    return true;
}

/// `result` and `window`: of the forward convolution that the left operand is the input of.
bool pad(ConvProblem& p, const ConvKernel& k, const ConvSide& result, const ConvSide& window) {
    if (!cut_front(p, k)) return false;
    for (std::size_t s = 0; s < p.strides.size(); ++s)
        p.after.push_back(padding_after(p.lhs, s + 2, result.size[s + 2], window.size[s + 2], p.strides[s], p.dilation[s], p.before[s]));
    return p.lhs.elements() > 0;
}
bool as_forward(ConvProblem& p, const ConvKernel& k) {
    p.direction = Direction::Forward;
    p.groups = k.feature_groups;
    p.strides = k.window_strides, p.dilation = k.rhs_dilation;
    return pad(p, k, p.out, p.rhs);
}
bool as_weights(ConvProblem& p, const ConvKernel& k) {
    p.direction = Direction::Weights;
    p.groups = k.batch_groups;
    p.strides = k.rhs_dilation, p.dilation = k.window_strides;
    return pad(p, k, p.rhs, p.out);
}
/// The gradient by the weights of a transposed convolution, which dilates its left operand: that stands where the forward convolution's
/// result does. out[k] = sum over s of lhs[s] rhs[dilation s + padding - stride k].
bool as_weights_of_transposed(ConvProblem& p, ConvKernel k) {
    p.direction = Direction::Weights, p.swapped = true;
    p.groups = k.batch_groups;
    p.strides = k.lhs_dilation, p.dilation = k.window_strides;
    std::swap(p.lhs, p.rhs);
    p.out = batch_and_feature_swapped(p.out);
    for (std::size_t s = 0; s < k.padding.size(); ++s)
        k.padding[s].first = k.window_strides[s] * (p.out.size[s + 2] - 1) - k.padding[s].first;
    return pad(p, k, p.rhs, p.out);
}
bool as_data(ConvProblem& p, const ConvKernel& k) {
    p.direction = Direction::Data;
    p.groups = k.feature_groups;
    p.strides = k.lhs_dilation, p.dilation = k.rhs_dilation;
    for (std::size_t s = 0; s < p.strides.size(); ++s) {
        const std::int64_t reach = (p.rhs.size[s + 2] - 1) * p.dilation[s];
        p.before.push_back(reach - k.padding[s].first);
        p.after.push_back((p.lhs.size[s + 2] - 1) * p.strides[s] + reach + 1 - p.out.size[s + 2] - p.before[s]);
        if (p.before[s] < 0 || p.after[s] + p.strides[s] <= 0) return false;  // rows of the result that nothing reaches
    }
    return true;
}

std::int64_t volume(const ConvSide& s) {
    std::int64_t n = 1;
    for (std::size_t d = 2; d < s.size.size(); ++d) n *= s.size[d];
    return n;
}
bool all_ones(const Dims& d) {
    return std::all_of(d.begin(), d.end(), [](std::int64_t x) { return x == 1; });
}

}  // namespace

ConvSide ConvProblem::source() const {
    return direction == Direction::Data ? out : direction == Direction::Weights ? batch_and_feature_swapped(lhs) : lhs;
}
ConvSide ConvProblem::destination() const {
    return direction == Direction::Data ? lhs : direction == Direction::Weights ? batch_and_feature_swapped(rhs) : out;
}
ConvSide ConvProblem::weights() const {
    if (direction == Direction::Forward) return grouped(rhs, groups);
    if (direction == Direction::Weights && !swapped) return grouped(batch_and_feature_swapped(out), groups);
    // Of the gradient by data: output features of the library's convolution are the left operand's, those of a group one after the other.
    // So they are of operands that changed places.
    ConvSide w = batch_and_feature_swapped(swapped ? out : rhs);
    if (groups > 1) {
        w.size[1] /= groups;
        w.stride.insert(w.stride.begin(), w.stride[1] * w.size[1]);
        w.size.insert(w.size.begin(), groups);
    }
    return w;
}

ConvProblem ConvProblem::with_padded_operand() const {
    ConvProblem p = *this;
    for (std::size_t s = 0; s < before.size(); ++s) {
        p.lhs.size[s + 2] = checked_add(p.lhs.size[s + 2], checked_add(before[s], after[s]));
        p.before[s] = p.after[s] = 0;
    }
    p.lhs.first = 0;
    const std::size_t features = direction == Direction::Weights ? 0 : 1;
    std::int64_t stride = 1;
    const auto lay = [&](std::size_t d) {
        p.lhs.stride[d] = stride;
        stride = checked_mul(stride, p.lhs.size[d]);
    };
    lay(features);
    for (std::size_t d = p.lhs.size.size(); d-- > 2;) lay(d);
    lay(1 - features);
    return p;
}

namespace {

/// Shares of [0, n) in multiples of `unit`.
std::vector<std::pair<std::int64_t, std::int64_t>> shares(std::int64_t n, std::int64_t parts, std::int64_t unit) {
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    const std::int64_t each = ((n + parts - 1) / parts + unit - 1) / unit * unit;
    for (std::int64_t at = 0; at < n; at += each) out.emplace_back(at, std::min(each, n - at));
    return out;
}

}  // namespace

std::vector<ConvProblem> ConvProblem::cut(std::int64_t parts, bool single_images) const {
    constexpr std::int64_t kFeatures = 16;  // the library's blocks
    std::vector<ConvProblem> out_parts;
    const bool of_weights = direction == Direction::Weights;
    const auto by_groups = [&] {
        for (const auto& [g, n] : shares(groups, parts, 1)) {
            ConvProblem p = *this;
            const std::int64_t features = rhs.size[0] / groups;
            p.groups = n;
            p.rhs = rhs.slice(0, g * features, n * features);
            const std::size_t whole = swapped ? 0 : 1;  // the result's dimension that has the features of all groups
            const std::int64_t each = swapped ? out.size[0] / groups : features;
            p.out = out.slice(whole, g * each, n * each);
            const std::size_t d = of_weights ? 0 : 1;  // the left operand's features
            p.lhs = lhs.slice(d, g * (lhs.size[d] / groups), n * (lhs.size[d] / groups));
            out_parts.push_back(p);
        }
    };
    const auto by_features = [&] {
        for (const auto& [f, n] : shares(rhs.size[0], parts, kFeatures)) {
            ConvProblem p = *this;
            p.rhs = rhs.slice(0, f, n), p.out = out.slice(1, f, n);
            out_parts.push_back(p);
        }
    };
    const auto by_batch = [&](std::int64_t wanted) {  // of the left operand: images, or with Direction::Weights input features
        for (const auto& [b, n] : shares(lhs.size[0], wanted, of_weights ? kFeatures : 1)) {
            ConvProblem p = *this;
            p.lhs = lhs.slice(0, b, n), p.out = out.slice(0, b, n);
            out_parts.push_back(p);
        }
    };
    const bool enough_images = !of_weights && lhs.size[0] >= parts;
    if (!of_weights && single_images)
        by_batch(lhs.size[0]);
    else if (parts > 1 && !enough_images && groups >= parts)
        by_groups();
    else if (parts > 1 && !enough_images && groups == 1 && rhs.size[0] > kFeatures)
        by_features();
    else if (parts > 1 && (!of_weights || groups == 1))
        by_batch(parts);
    else
        out_parts.push_back(*this);
    return out_parts;
}

std::vector<ConvProblem> conv_problems(const Op& op, const ConvKernel& given) {
    ConvProblem whole;
    whole.lhs = ConvSide(op.in[0]->shape, given.lhs_spec), whole.rhs = ConvSide(op.in[1]->shape, given.rhs_spec);
    whole.out = ConvSide(op.out[0]->shape, given.out_spec);
    const std::size_t spatial = given.window_strides.size();
    if (spatial < 1 || spatial > 3 || whole.lhs.elements() == 0 || whole.rhs.elements() == 0 || whole.out.elements() == 0) return {};
    ConvKernel k = given;
    for (std::size_t s = 0; s < spatial; ++s) {  // dilation between what is one
        if (whole.lhs.size[s + 2] == 1) k.lhs_dilation[s] = 1;
        if (whole.rhs.size[s + 2] == 1) k.rhs_dilation[s] = 1;
        if (whole.out.size[s + 2] == 1) k.window_strides[s] = 1;
    }
    if (!all_ones(k.lhs_dilation)) {
        if (k.feature_groups == 1 && all_ones(k.rhs_dilation) && volume(whole.rhs) > volume(whole.out)) {
            if (!as_weights_of_transposed(whole, k)) return {};
            return {whole};
        }
        if (!all_ones(k.window_strides) || k.batch_groups != 1 || !as_data(whole, k)) return {};
        return {whole};
    }
    if (k.feature_groups == 1 && volume(whole.rhs) > volume(whole.out)) {
        if (!as_weights(whole, k)) return {};
        return {whole};
    }
    std::vector<ConvProblem> problems;
    const std::int64_t batch = whole.lhs.size[0] / k.batch_groups, features = whole.rhs.size[0] / k.batch_groups;
    for (std::int64_t g = 0; g < k.batch_groups; ++g) {
        ConvProblem p = whole;
        p.lhs = whole.lhs.slice(0, g * batch, batch);
        p.rhs = whole.rhs.slice(0, g * features, features), p.out = whole.out.slice(1, g * features, features);
        if (!as_forward(p, k)) return {};
        problems.push_back(p);
    }
    return problems;
}

}  // namespace jaxscope::exec
