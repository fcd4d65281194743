// SPDX-License-Identifier: Apache-2.0
// jax.numpy: what is there once, written along an axis, quantiles of what is a number.
#include <fmt/core.h>

#include <jaxscope/lax.h>

#include "ir/builder.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/indexer.h"
#include "trace/numpy/quantile.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

using detail::composed_one;
using ::jaxscope::Builder;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

std::vector<Operand> also_given(const Operand& x, std::initializer_list<Array> more) {
    std::vector<Operand> in{x};
    for (const Array& a : more)
        if (a.has_value()) in.emplace_back(a, x.where.file, x.where.line, x.where.function);
    return in;
}

// ---- unique

struct Sorted {
    Array values, firsts, order;  ///< along the first axis; which of them differ from those before; where each came from
};
Sorted sorted_mask(const Array& x, std::int64_t axis, bool equal_nan) {
    const auto body = [&](const Arrays& v) {
        Array rows = moveaxis(v[0], axis, 0);
        const bool floats = is_inexact(static_cast<D>(rows.dtype()));
        if (is_complex(static_cast<D>(rows.dtype()))) {
            const Array missing = isnan(rows);
            rows = where(missing, full({}, nan, rows.dtype()), rows);
        }
        const std::int64_t n = rows.shape(0);
        if (rows.size() == 0) return Arrays{rows, zeros(n, bool_), zeros(1, int32)};
        const Array keys = transpose(reshape(rows, {n, rows.size() / n}));
        const Array order = detail::lexsort_rows(keys[{slice(none, none, -1)}]);
        rows = rows[{order}];
        const Array all_first = ones(n, bool_);
        const Array later = rows[{slice(1, none)}], earlier = rows[{slice(none, -1)}];
        Array differ = jax::lax::ne(later, earlier);
        if (floats && equal_nan) {
            const Array both = isnan(later) & isnan(earlier);
            differ = differ & ~both;
        }
        std::vector<std::int64_t> inner;
        for (int d = 1; d < rows.ndim(); ++d) inner.push_back(d);
        return Arrays{rows, all_first.at({slice(1, none)}).set(any(differ, {.axis = inner})), order};
    };
    const Arrays out = detail::composed("_unique_sorted_mask", fmt::format("{} {}", axis, equal_nan), {Operand(x)}, body);
    return {out[0], out[1], out[2]};
}
struct Wanted {
    bool indices = false, inverse = false, counts = false;
};
Array how_many(const Sorted& s) { return sum(s.firsts); }
/// How many there are, where that isn't said: it has to be known.
std::int64_t size_of(const Sorted& s, std::int64_t size) {
    if (size >= 0) return size;
    std::int64_t n = 0;
    for (const double first : s.firsts.to_vector()) n += first != 0;
    return n;
}
Array with_fill(const Array& result, const Sorted& s, std::int64_t size, const Array& fill) {
    const Array value = fill.astype(result.dtype());
    std::vector<std::int64_t> inner;
    for (int d = 1; d < result.ndim(); ++d) inner.push_back(d);
    if (result.shape(0) == 0) return result;
    const Array numbers = arange(size), valid = numbers < sum(s.firsts);
    return where(jax::lax::expand_dims(valid, inner), result, value);
}
Unique unique_of(const Array& given, const Distinct& how, const Array& fill, const Wanted& wanted) {
    const Array x = how.axis.given ? given : ravel(given);
    const std::int64_t axis = how.axis.given ? detail::axis_in(how.axis.axes.front(), x.ndim()) : 0;
    if (x.shape(axis) == 0 && how.size > 0 && !fill.has_value())
        detail::refuse("jnp.unique: for zero-sized input with nonzero size argument, fill_value must be specified");
    const Sorted s = sorted_mask(x, axis, how.equal_nan);
    const std::int64_t size = size_of(s, how.size);
    const Array at = nonzero(s.firsts, size)[0];
    Array values = s.values.size() ? s.values[{at}] : s.values;
    if (how.size >= 0 && fill.has_value()) values = with_fill(values, s, size, fill);
    Unique out{.values = moveaxis(values, 0, axis), .indices = {}, .inverse_indices = {}, .counts = {}};
    if (wanted.indices) out.indices = s.order[{at}];
    if (wanted.inverse) {
        const Array numbers = cumsum(s.firsts) - 1;
        const Array places = zeros(s.firsts.shape(), int32).at({s.order}).set(numbers);
        out.inverse_indices = places;
    }
    if (wanted.counts) {
        const Array starts = nonzero(s.firsts, size + 1)[0];
        const Array known = starts[{slice(1, none)}], same = starts[{slice(1, none)}];
        const Array ends = where(known, same, s.firsts.size());
        out.counts = diff(starts.at({slice(1, none)}).set(ends));
    }
    if (wanted.inverse && !how.axis.given) out.inverse_indices = reshape(out.inverse_indices, given.shape());
    return out;
}
Unique unique_with(const Operand& x, const Distinct& how, const Wanted& wanted) {
    const auto body = [&](const Arrays& v) {
        const Unique u = unique_of(v[0], how, v.size() > 1 ? v[1] : Array(), wanted);
        return Arrays{u.values, u.indices, u.inverse_indices, u.counts};
    };
    const Arrays out = detail::in_line(also_given(x, {how.fill_value}), body);
    return {out[0], out[1], out[2], out[3]};
}
Distinct distinct(const Sized& how) { return {.size = how.size, .fill_value = how.fill_value, .equal_nan = false}; }

}  // namespace

Array unique(const Operand& x, const Distinct& how) { return unique_with(x, how, {}).values; }
Unique unique_all(const Operand& x, const Sized& how) { return unique_with(x, distinct(how), {true, true, true}); }
Unique unique_counts(const Operand& x, const Sized& how) { return unique_with(x, distinct(how), {.counts = true}); }
Unique unique_inverse(const Operand& x, const Sized& how) { return unique_with(x, distinct(how), {.inverse = true}); }
Array union1d(const Operand& x, const Operand& y, const Sized& how) {
    const auto together = [&](const Arrays& v) {
        const Array first = ravel(v[0]), both = concatenate({first, ravel(v[1])}, 0);
        return Arrays{unique(both, {.size = how.size, .fill_value = how.fill_value})};
    };
    return detail::in_line({x, y}, together).front();
}

Array unique_values(const Operand& x, const Sized& how) { return unique_with(x, distinct(how), {}).values; }

// ---- In both, in the first alone, in one alone

namespace {
Arrays of_rows_alone(const Arrays& given) {
    Arrays v = detail::arrays_of_one_type(given);
    const Array first = ravel(v[0]);
    return {first, ravel(v[1])};
}
/// The numbers of both, each once of either, one after the other; how many each has.
struct Together {
    Array values, first, second;
};
Together unique_of_both(const Arrays& v, const Array& fill) {
    const auto once = [&](const Array& a) {
        const Sorted s = sorted_mask(a, 0, true);
        const Array at = nonzero(s.firsts, a.size())[0];
        Array values = s.values.size() ? s.values[{at}] : s.values;
        if (fill.has_value()) {
            values = with_fill(values, s, a.size(), fill);
            (void)s.order[{at}];  // JAX asks for the positions as well
        }
        return Together{values, how_many(s), {}};
    };
    const Together a = once(v[0]), b = once(v[1]);
    Array out = zeros(v[0].size() + v[1].size(), v[0].dtype());
    out = jax::lax::dynamic_update_slice(out, a.values, {Array(0)});
    out = jax::lax::dynamic_update_slice(out, b.values, {a.first});
    return {out, a.first, b.first};
}
/// Those that `mask` chooses, `size` of them.
Array chosen(const Array& sorted, const Array& mask, std::int64_t size, const Array& fill) {
    const Array count = sum(mask);
    Array values;
    if (sorted.size()) {
        const Array at = nonzero(mask, size, sorted.size())[0];
        values = sorted.at({at}).get({.mode = "fill", .fill_value = 0});
    } else {
        values = zeros(size, sorted.dtype());
    }
    const auto otherwise = [&](const Array& v, const Array& other) {
        const Array there = arange(size) < count;
        return where(there, v, other);
    };
    if (fill.has_value()) return otherwise(values, fill);
    const auto beside = [&](Array (*extreme)(const Operand&, const Extremum&)) {
        const Array there = arange(size) < count;
        values = where(there, values, extreme(values, {}));
    };
    beside(max);
    beside(min);
    return values;
}
Array neighbours_differ(const Array& a) {
    const Array later = a[{slice(1, none)}];
    return later != a[{slice(none, -1)}];
}
Array neighbours_agree(const Array& a) {
    const Array later = a[{slice(1, none)}];
    return later == a[{slice(none, -1)}];
}
std::string key_of(const SetOptions& how) {
    return fmt::format("{} {} {}", static_cast<bool>(how.assume_unique), how.size,
                       how.fill_value.has_value() ? how.fill_value.str() : "none");
}
Array intersection_of_size(const Arrays& in, const SetOptions& how) {
    return composed_one("_intersect1d_size", key_of(how), {in[0], in[1]}, [&](const Arrays& v) {
        Array sorted, mask;
        if (how.assume_unique) {
            (void)arange(v[0].size()), (void)arange(v[1].size());
            const Array both = concatenate({v[0], v[1]});
            sorted = jax::lax::sort({both, arange(both.size())}, -1, 1)[0];
            mask = ones(both.size(), bool_);
        } else {
            const Together t = unique_of_both(v, Array(0));
            const Array numbers = arange(t.values.size());
            mask = numbers < t.first + t.second;
            const Array beyond = ~mask;
            sorted = jax::lax::sort({beyond, t.values, arange(t.values.size())}, -1, 2)[1];
        }
        const Array agree = neighbours_agree(sorted);
        return chosen(sorted, agree & mask[{slice(1, none)}], how.size, how.fill_value);
    });
}
Array truth(bool v) { return ravel(Operand(v)); }
Array difference_of_size(const Arrays& given, const SetOptions& how) {
    std::vector<Operand> in{given[0], given[1]};
    if (how.fill_value.has_value()) in.emplace_back(how.fill_value);
    return composed_one("_setxor1d_size", fmt::format("{} {}", static_cast<bool>(how.assume_unique), how.size), in, [&](const Arrays& v) {
        Array sorted, flag;
        if (how.assume_unique) {
            const Array both = concatenate({v[0], v[1]});
            (void)both;
            sorted = sort(concatenate({v[0], v[1]}));
            const Array differ = neighbours_differ(sorted), first = truth(true), middle = ravel(differ);
            flag = concatenate({first, middle, truth(true)});
        } else {
            const Together t = unique_of_both(v, {});
            const Array count = t.first + t.second, numbers = arange(t.values.size() + 1);
            const Array mask = numbers < count + 1;
            const Array beyond = ~mask[{slice(1, none)}];
            sorted = jax::lax::sort({beyond, t.values}, -1, 2)[1];
            const Array differ = neighbours_differ(sorted), first = truth(true), middle = ravel(differ);
            const Array edges = concatenate({first, middle, truth(false)});
            flag = mask & edges.at({count}).set(true);
        }
        const Array behind = flag[{slice(1, none)}];
        return chosen(sorted, behind & flag[{slice(none, -1)}], how.size, v.size() > 2 ? v[2] : Array());
    });
}
}  // namespace
Array intersect1d(const Operand& x, const Operand& y, const SetOptions& how) {
    const auto body = [&](const Arrays& given) {
        Arrays v = of_rows_alone(given);
        if (how.size >= 0) return Arrays{intersection_of_size(v, how)};
        if (!how.assume_unique) v = {unique(v[0]), unique(v[1])};
        const Arrays sorted = detail::composed("_intersect1d_sorted_mask", "", {v[0], v[1]}, [](const Arrays& w) {
            const Array both = sort(concatenate({w[0], w[1]}));
            return Arrays{both, neighbours_agree(both)};
        });
        const Array earlier = sorted[0][{slice(none, -1)}];
        return Arrays{earlier[{sorted[1]}]};
    };
    return detail::in_line({x, y}, body).front();
}
Array setdiff1d(const Operand& x, const Operand& y, const SetOptions& how) {
    const auto body = [&](const Arrays& v) {
        Array first = ravel(v[0]);
        const Array second = ravel(v[1]), fill = how.fill_value.has_value() ? how.fill_value : Array(0);
        if (first.size() == 0) return Arrays{full(std::max<std::int64_t>(how.size, 0), fill, first.dtype())};
        if (!how.assume_unique) first = how.size < 0 ? unique(first) : unique(first, {.size = how.size ? first.size() : 0});
        Array mask = isin(first, second, {.assume_unique = how.assume_unique, .invert = true});
        if (how.size < 0) return Arrays{first[{mask}]};
        if (!how.assume_unique) {
            const Array same = first == first[{0}];
            const Array count = first.size() + 1 - sum(same);
            const Array there = arange(first.size()) < count;
            mask = where(there, mask, false);
        }
        const Array counted = arange(how.size) < sum(mask);
        const Array found = first[{where(mask, {.size = how.size})[0]}];
        return Arrays{where(counted, found, full({}, fill, first.dtype()))};
    };
    return detail::in_line({x, y}, body).front();
}
Array setxor1d(const Operand& x, const Operand& y, const SetOptions& how) {
    const auto body = [&](const Arrays& given) {
        Arrays v = of_rows_alone(given);
        if (how.size >= 0) return Arrays{difference_of_size(v, how)};
        if (!how.assume_unique) v = {unique(v[0]), unique(v[1])};
        Array both = concatenate({v[0], v[1]});
        if (both.size() == 0) return Arrays{both};
        both = sort(both);
        const Array edges = concatenate({full(1, true), neighbours_differ(both), full(1, true)});
        const Array behind = edges[{slice(1, none)}];
        return Arrays{both[{behind & edges[{slice(none, -1)}]}]};
    };
    return detail::in_line({x, y}, body).front();
}

// ---- put_along_axis

Array put_along_axis(const Operand& x, const Operand& indices, const Operand& values, const Axes& axis) {
    const std::string key = axis.given ? Shape(axis.axes).str() : "all";
    return composed_one("put_along_axis", key, {x, indices, values}, [&](const Arrays& v) {
        const Array a = axis.given ? v[0] : ravel(v[0]);
        const std::int64_t along = axis.given ? detail::axis_in(axis.axes.front(), a.ndim()) : 0;
        if (a.ndim() != v[1].ndim())
            detail::refuse(
                fmt::format("put_along_axis arguments 'arr' and 'indices' must have same ndim. Got arr.ndim={} and "
                            "indices.ndim={}.",
                            a.ndim(), v[1].ndim()));
        const Array wide = broadcast_to(v[2], v[1].shape());
        std::vector<Index> at;
        for (int d = 0; d < a.ndim(); ++d) {
            std::vector<std::int64_t> others;
            for (int k = 0; k < a.ndim(); ++k)
                if (k != d) others.push_back(k);
            const Array own = jax::lax::expand_dims(jax::lax::iota(int32, a.shape(d)), others);
            at.emplace_back(d == along ? v[1] : own);
        }
        const Array out = detail::set_at(a, at, x.where, wide);
        return axis.given ? out : reshape(out, v[0].shape());
    });
}

// ---- nanquantile

namespace {

/// Between the sorted numbers on both sides of `place`, which counts from the first one. `of_q`: how many dimensions are those of q.
Array between_neighbours(const Array& a, const Array& place, const Array& counts, int of_q, const Quantile& o) {
    const Array low = jax::lax::floor(place), high = jax::lax::ceil(place);
    const Array high_weight = jax::lax::sub(place, low), low_weight = jax::lax::sub(1., high_weight);
    const auto bounded = [&](const Array& at) { return jax::lax::max(0., jax::lax::min(at, counts - 1)); };
    const Array low_in = bounded(low), high_in = bounded(high);
    const Array below = jax::lax::convert_element_type(low_in, int32), above = jax::lax::convert_element_type(high_in, int32);
    std::vector<Index> at;
    for (int d = of_q; d < place.ndim(); ++d) at.emplace_back(jax::lax::broadcasted_iota(int32, place.shape(), d));
    const auto along = static_cast<std::size_t>(o.axis);
    if (o.keepdims)
        at[along] = Index(below);
    else
        at.insert(at.begin() + o.axis, Index(below));
    const Array low_value = detail::at_indices(a, at);
    at[along] = Index(above);
    const Array high_value = detail::at_indices(a, at);
    if (o.midpoint) return jax::lax::mul(jax::lax::add(low_value, high_value), 0.5);
    const Array left = jax::lax::mul(low_value.astype(place.dtype()), low_weight);
    return jax::lax::add(left, jax::lax::mul(high_value.astype(place.dtype()), high_weight));
}
Array nan_quantile_in(const Array& given, const Array& q, Quantile o) {
    Array a = detail::inexact_of(given);
    std::vector<std::int64_t> kept;
    if (o.all) {
        if (o.keepdims) kept.assign(static_cast<std::size_t>(a.ndim()), 1);
        a = ravel(a);
        o.axis = 0;
    } else if (o.tuple) {
        if (o.keepdims) kept = a.shape().vector();
        for (const std::int64_t d : o.keepdims ? o.axes : ::jaxscope::Dims()) kept[static_cast<std::size_t>(d)] = 1;
        a = detail::apply1({Operand(a)}, [&](Builder& b, const Values& v) { return quantile_axes_last(b, v[0], o); });
        o.axis = a.ndim() - 1;
    } else {
        o.axis = o.axes.front();
    }
    const Array missing = jax::lax::ne(a, a);
    a = jax::lax::sort(where(missing, nan, a), o.axis);
    const Array there = jax::lax::bitwise_not(jax::lax::ne(a, a));
    Array counts = sum(there, {.axis = o.axis, .dtype = q.dtype(), .keepdims = o.keepdims});
    std::vector<std::int64_t> behind, front;
    for (int d = 0; d < counts.ndim(); ++d) behind.push_back(q.ndim() + d);
    for (int d = 0; d < q.ndim(); ++d) front.push_back(d);
    const Array wide_q = jax::lax::expand_dims(q, behind);
    counts = jax::lax::expand_dims(counts, front);
    const Array place = jax::lax::mul(wide_q, jax::lax::sub(counts, 1.));
    Array out = between_neighbours(a, place, counts, q.ndim(), o);
    if (!kept.empty()) {
        const std::vector<std::int64_t> own = q.shape().vector();
        kept.insert(kept.begin(), own.begin(), own.end());
        out = reshape(out, kept);
    }
    return jax::lax::convert_element_type(out, a.dtype());
}
Array nan_quantile(const Array& x, const Array& q, const Reduction& over, bool midpoint) {
    Quantile o;
    detail::apply1({Operand(x)}, [&](Builder& b, const Values& v) {
        o = quantile_options(b, v[0], over);
        return v[0];
    });
    o.midpoint = midpoint;
    if (q.ndim() > 1) detail::refuse("q must be have rank <= 1, got shape " + q.shape().str());
    return composed_one("nanquantile", o.key(), {x, q}, [&](const Arrays& v) { return nan_quantile_in(v[0], v[1], o); });
}
std::string nan_key(const Reduction& over) {
    return fmt::format("{} {} {} {}", over.axis.given, over.axis.tuple, Shape(over.axis.axes).str(), static_cast<bool>(over.keepdims));
}

}  // namespace

Array nanquantile(const Operand& x, const Operand& q, const Reduction& over) {
    detail::refuse_mask("nanquantile", x, over, "put NaN there: jnp::where(mask, x, jnp::nan)");
    return detail::in_line({x, q}, [&](const Arrays& v) { return Arrays{nan_quantile(v[0], v[1], over, false)}; }).front();
}
Array nanpercentile(const Operand& x, const Operand& q, const Reduction& over) {
    detail::refuse_mask("nanpercentile", x, over, "put NaN there: jnp::where(mask, x, jnp::nan)");
    return composed_one("nanpercentile", nan_key(over), {x, q}, [&](const Arrays& v) {
        const Array share = detail::inexact_of(v[1]);
        return nan_quantile(v[0], share / 100, over, false);
    });
}
Array nanmedian(const Operand& x, const Reduction& over) {
    detail::refuse_mask("nanmedian", x, over, "put NaN there: jnp::where(mask, x, jnp::nan)");
    return composed_one("nanmedian", nan_key(over), {x}, [&](const Arrays& v) { return nan_quantile(v[0], Array(.5), over, true); });
}

}  // namespace jaxscope::jax::numpy
