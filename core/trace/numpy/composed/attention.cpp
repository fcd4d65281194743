// SPDX-License-Identifier: Apache-2.0
// jax.nn: attention and what normalises its inputs.
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <numeric>

#include <jaxscope/lax.h>
#include <jaxscope/nn.h>
#include <jaxscope/vmap.h>

#include "base/error.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::nn {

namespace {

using numpy::float32;

struct Masks {
    Array bias, mask;
};
/// What hides keys from queries beside a mask that is given.
struct Hiding {
    bool causal;
    Array queries, keys;  ///< lengths without padding, one for each of the batch
    std::pair<std::int64_t, std::int64_t> window;
    bool has_window() const { return window.first >= 0 || window.second >= 0; }
    bool any() const { return causal || queries.has_value() || keys.has_value() || has_window(); }
};
/// Leaves of what is there: what vmap walks along.
Arrays present(const Masks& m) {
    Arrays out;
    for (const Array& a : {m.bias, m.mask})
        if (a.has_value()) out.push_back(a);
    return out;
}
Array scalar_of(const Array& like, double v) {
    return detail::made(Where("", 0, ""),
                        [&](::jaxscope::Builder&) { return detail::number_of(static_cast<::jaxscope::DType>(like.dtype()), v); });
}
std::string name_of(dtype t) { return std::string(info(static_cast<::jaxscope::DType>(t)).name); }
Array places(std::int64_t n) {
    std::vector<std::int32_t> at(static_cast<std::size_t>(n));
    std::iota(at.begin(), at.end(), 0);
    return Array(at, {n});
}
Array in_window(std::int64_t queries, std::int64_t keys, const std::pair<std::int64_t, std::int64_t>& window) {
    const Array q = places(queries), k = places(keys);
    const auto column = [&] { return q[{ellipsis, none}]; };
    const auto row = [&] { return k[{ellipsis, none, all}]; };
    const Array before = column(), left = before <= row() + (window.first < 0 ? keys + queries : window.first);
    const Array behind = column(), right = behind >= row() - (window.second < 0 ? keys + queries : window.second);
    return numpy::logical_and(right, left)[{none, none, all, all}];
}
/// Which places stand before the padding; `places` has a dimension for the batch.
Array within(const Array& lengths, const Array& places) {
    const Array limits = places.ndim() == 3 ? lengths[{all, none, none}] : lengths[{all, none}];
    return places < limits;
}
Array without_padding(std::int64_t queries, std::int64_t keys, const Hiding& h) {
    Array q_seen, k_seen;
    if (h.queries.has_value()) q_seen = within(h.queries, numpy::arange(queries)[{none, all, none}]);
    if (h.keys.has_value()) k_seen = within(h.keys, numpy::arange(keys)[{none, none, all}]);
    const Array both = q_seen.has_value() ? k_seen.has_value() ? numpy::logical_and(q_seen, k_seen) : numpy::logical_and(q_seen, true)
                                          : numpy::logical_and(true, k_seen);
    return both[{all, none, all, all}];
}
Array seen_keys(const Array& logits, const Array& mask, const Hiding& h) {
    const std::int64_t queries = logits.shape(2), keys = logits.shape(3);
    Array seen = numpy::full(logits.shape(), true);
    if (mask.has_value()) seen = numpy::logical_and(seen, mask);
    if (h.causal) {
        const Array lower = numpy::tril(numpy::ones({queries, keys}, dtype::bool_));
        seen = numpy::logical_and(seen, lower[{none, none, all, all}]);
    }
    if (h.has_window()) seen = numpy::logical_and(seen, in_window(queries, keys, h.window));
    if (h.queries.has_value() || h.keys.has_value()) seen = numpy::logical_and(seen, without_padding(queries, keys, h));
    return seen;
}
/// What hidden logits are: finite in float32, in which the shares are made.
constexpr double kLargeNegative = -0.7 * static_cast<double>(std::numeric_limits<float>::max());
Precision of_floats(dtype type) {
    if (type == dtype::bfloat16) return "BF16_BF16_F32";
    return type == dtype::float16 ? Precision("F16_F16_F32") : Precision();
}
/// Heads of one number in their groups: (batch, T, N, H) each.
Array attend(const Array& query, const Array& key, const Array& value, const Masks& m, double scale, const Hiding& h) {
    const dtype wide = query.dtype() == dtype::float64 ? dtype::float64 : float32;
    Array logits = numpy::einsum("BTNH,BSNH->BNTS", query, key, {.precision = of_floats(query.dtype()), .preferred_element_type = wide});
    logits = logits * scalar_of(logits, scale);
    if (m.bias.has_value()) logits = (logits + m.bias).astype(logits.dtype());
    if (m.mask.has_value() || h.any()) logits = numpy::where(seen_keys(logits, m.mask, h), logits, scalar_of(logits, kLargeNegative));
    const Array shares = softmax(logits.astype(float32), -1).astype(key.dtype());
    Array encoded = numpy::einsum("BNTS,BSNH->BTNH", shares, value);
    if (!h.queries.has_value()) return encoded;
    const Array real = within(h.queries, numpy::arange(encoded.shape(1))[{none, all}])[{all, all, none, none}];
    return encoded * real.astype(encoded.dtype());
}
/// (batch, heads, T, S) as (batch, K, G, T, S).
Array grouped(const Array& t, std::int64_t heads, std::int64_t groups) {
    if (!t.has_value()) return t;
    if (t.shape(1) == 1) return numpy::broadcast_to(t[{all, all, none, all, all}], {t.shape(0), 1, groups, t.shape(2), t.shape(3)});
    return numpy::reshape(t, {t.shape(0), heads / groups, groups, t.shape(2), t.shape(3)});
}
Array of_rank_four(const Array& a) {
    std::vector<std::int64_t> lead;
    for (int d = a.ndim(); d < 4; ++d) lead.push_back(d - a.ndim());
    return lead.empty() ? a : numpy::expand_dims(a, lead);
}
void expect(bool holds, const std::string& text, const Where& where) {
    if (!holds) detail::refuse_at(where, ErrorCode::BadUsage, text);
}
void check_attention(const Arrays& v, const AttentionOptions& o, const Where& where) {
    const char* names[] = {"query", "key", "value"};
    for (std::size_t i = 0; i < 3; ++i)
        expect(v[i].ndim() == 4, fmt::format("{} ndim should be 4, but got {}", names[i], v[i].ndim()), where);
    const Shape key = v[1].shape(), query = v[0].shape();
    const auto of_one_dtype = [&](std::size_t i) {
        const std::string wanted = name_of(v[1].dtype()), found = name_of(v[i].dtype());
        expect(wanted == found, fmt::format("{} dtype should be {}, but got {}", names[i], wanted, found), where);
    };
    of_one_dtype(2);
    expect(v[2].shape() == key, "value shape should be " + detail::list_text(key.vector()) + ": but got " + v[2].shape().str(), where);
    of_one_dtype(0);
    expect(query[0] == key[0] && query[3] == key[3],
           fmt::format("query shape should be [{}, -1, -1, {}]: but got {}", key[0], key[3], query.str()), where);
    for (const Array& m : {o.bias, o.mask})
        expect(!m.has_value() || (m.ndim() == 4 && (m.shape(1) == 1 || m.shape(1) == query[2])),
               "a bias or mask should have the shape (batch or 1, heads or 1, queries, keys)", where);
    expect(!o.mask.has_value() || o.mask.dtype() == dtype::bool_, "mask dtype should be bool", where);
    const auto lengths = [&](const Array& a, const char* name) {
        if (!a.has_value()) return;
        expect(a.ndim() == 1, fmt::format("{} ndim should be 1, but got {}", name, a.ndim()), where);
        expect(a.dtype() == dtype::int32, fmt::format("{} dtype should be int32, but got {}", name, name_of(a.dtype())), where);
        expect(a.shape(0) == key[0], fmt::format("{} shape should be [{}]: but got {}", name, key[0], a.shape().str()), where);
    };
    lengths(o.query_seq_lengths, "query_seq_lengths");
    lengths(o.key_value_seq_lengths, "key_value_seq_lengths");
    expect(key[2] > 0 && query[2] % key[2] == 0,
           fmt::format("The number of query heads must be a multiple of key/value heads, but got {} vs {}", query[2], key[2]), where);
}

}  // namespace

Array dot_product_attention(const Operand& query, const Operand& key, const Operand& value, const AttentionOptions& o) {
    const auto attention = [&](const Arrays& given) {
        const Arrays v{of_rank_four(given[0]), of_rank_four(given[1]), of_rank_four(given[2])};
        check_attention(v, o, query.where);
        const Shape q = v[0].shape();
        const std::int64_t keys = v[1].shape(2), groups = q[2] / keys;
        const Array split = numpy::reshape(v[0], {q[0], q[1], keys, groups, q[3]});
        const Masks masks{grouped(o.bias, q[2], groups), grouped(o.mask, q[2], groups)};
        const Hiding hiding{o.is_causal, o.query_seq_lengths, o.key_value_seq_lengths, o.local_window_size};
        const double scale = o.scale != 0 ? o.scale : 1 / std::sqrt(static_cast<double>(q[3]));
        const auto one = [&](const Array& each, const Array& k, const Array& w, const Arrays& m) {
            Masks of_group;
            std::size_t at = 0;
            if (masks.bias.has_value()) of_group.bias = m[at++];
            if (masks.mask.has_value()) of_group.mask = m[at++];
            return attend(each, k, w, of_group, scale, hiding);
        };
        const Array out = vmap(one, {.in_axes = {3, none, none, 2}, .out_axes = 3})(split, v[1], v[2], present(masks));
        return Arrays{numpy::reshape(numpy::reshape(out, q), given[0].shape())};
    };
    return detail::in_line({query, key, value}, attention).front();
}

Array standardize(const Operand& x, const StandardizeOptions& o) {
    const auto normalised = [&](const Arrays& v) {
        const Averaging along{.axis = o.axis, .keepdims = true};
        const Array mean = numpy::mean(v[0], along);
        Array squares = numpy::mean(numpy::square(v[0]), along);
        Array variance = numpy::clip(squares - numpy::square(mean), 0);
        Array centred = numpy::subtract(v[0], mean);
        return centred * lax::rsqrt(v.size() > 1 ? variance + v[1] : variance + 1e-5);
    };
    // As in JAX, what is left out is no argument of the jitted function.
    const std::string key = fmt::format("{}", o.axis);
    if (o.epsilon == 0) return detail::composed_one("standardize", key, {x}, normalised);
    return detail::composed_one("standardize", key, {x, Operand(o.epsilon)}, normalised);
}

}  // namespace jaxscope::jax::nn
