// Divisors, positions, what is there once, parts again and again, paddings, progressions.
#include <jaxscope/flatten_util.h>
#include <jaxscope/image.h>

#include "pairs.h"

namespace pairs {

namespace {

void whole_numbers() {
    PAIR("jnp.gcd(n, 6)", jnp::gcd(n, 6));
    PAIR("jnp.gcd(n, i[:, None])", jnp::gcd(n, i[{all, none}]));
    PAIR("jnp.lcm(n, 6)", jnp::lcm(n, 6));
    PAIR("jnp.lcm(n, n + 1)", jnp::lcm(n, n + 1));
    PAIR("jnp.unravel_index(i, (3, 4))", jnp::unravel_index(i, {3, 4}));
    PAIR("jnp.unravel_index(n.astype(jnp.uint8), (2, 3, 2))", jnp::unravel_index(n.astype(jnp::uint8), {2, 3, 2}));
    PAIR("jnp.ravel_multi_index((i, i), (3, 4), mode='clip')", jnp::ravel_multi_index({i, i}, {3, 4}, {.mode = "clip"}));
    PAIR("jnp.ravel_multi_index((i, n[:3], i), (3, 4, 2), mode='wrap', order='F')",
         jnp::ravel_multi_index({i, n[{slice(3)}], i}, {3, 4, 2}, {.mode = "wrap", .order = "F"}));
    PAIR("jnp.array_equiv(x, v)", jnp::array_equiv(x, v));
    PAIR("jnp.zeros(2, jnp.promote_types(jnp.int8, jnp.uint8))", jnp::zeros(2, jnp::promote_types(jnp::int8, jnp::uint8)));
    PAIR("jnp.zeros(2, jnp.result_type(x.astype(jnp.bfloat16), 1.5))", jnp::zeros(2, jnp::result_type(x.astype(jnp::bfloat16), 1.5)));
    PAIR("jnp.zeros(2, jnp.result_type(n, jnp.float16))", jnp::zeros(2, jnp::result_type(n, jnp::float16)));
    PAIR("jnp.pow(x, 2)", jnp::pow(x, 2));
    PAIR("jnp.pow(v, v)", jnp::pow(v, v));
}
void sets() {
    PAIR("jnp.where(b, size=4)", jnp::where(b, {.size = 4}));
    PAIR("jnp.where(b, size=9, fill_value=-1)", jnp::where(b, {.size = 9, .fill_value = -1}));
    PAIR("jnp.nonzero(n > 0, size=4, fill_value=n[0])", [&] {
        Array positive = n > 0;
        return jnp::nonzero(positive, 4, n[0]);
    }());
    PAIR("jnp.unique(n, size=3)", jnp::unique(n, {.size = 3}));
    PAIR("jnp.unique(x, size=15, fill_value=7.)", jnp::unique(x, {.size = 15, .fill_value = 7.}));
    PAIR("jnp.unique(x, axis=1, size=2)", jnp::unique(x, {.size = 2, .axis = 1}));
    PAIR("jnp.unique(b, size=2)", jnp::unique(b, {.size = 2}));
    PAIR("jnp.unique_counts(n, size=3)", [&] {
        const auto u = jnp::unique_counts(n, {.size = 3});
        return std::pair{u.values, u.counts};
    }());
    PAIR("jnp.unique_inverse(x, size=12)", [&] {
        const auto u = jnp::unique_inverse(x, {.size = 12});
        return std::pair{u.values, u.inverse_indices};
    }());
    PAIR("jnp.unique_all(b, size=2)", [&] {
        const auto u = jnp::unique_all(b, {.size = 2});
        return std::tuple{u.values, u.indices, u.inverse_indices, u.counts};
    }());
    PAIR("jnp.union1d(n, i, size=6)", jnp::union1d(n, i, {.size = 6}));
    PAIR("jnp.put_along_axis(x, i[:, None], 9., axis=1, inplace=False)", jnp::put_along_axis(x, i[{all, none}], 9., 1));
    PAIR("jnp.put_along_axis(x, i, v[:3], axis=None, inplace=False)", jnp::put_along_axis(x, i, v[{slice(3)}], none));
    PAIR("jnp.put_along_axis(v, i, 2, axis=0, inplace=False)", jnp::put_along_axis(v, i, 2, 0));
}
void repeated() {
    PAIR("jnp.repeat(v, jnp.array([1, 0, 2, 1]), total_repeat_length=4)",
         jnp::repeat(v, jnp::array({1, 0, 2, 1}), {.total_repeat_length = 4}));
    PAIR("jnp.repeat(x, i, axis=0, total_repeat_length=5)", jnp::repeat(x, i, {.axis = 0, .total_repeat_length = 5}));
    PAIR("jnp.pad(x, 1, mode='reflect')", jnp::pad(x, 1, "reflect"));
    PAIR("jnp.pad(x, ((1, 2), (0, 6)), mode='reflect')", jnp::pad(x, {{1, 2}, {0, 6}}, "reflect"));
    PAIR("jnp.pad(x, ((1, 2), (3, 1)), mode='reflect', reflect_type='odd')",
         jnp::pad(x, {{1, 2}, {3, 1}}, "reflect", {.reflect_type = "odd"}));
    PAIR("jnp.pad(x, ((1, 2), (0, 6)), mode='symmetric')", jnp::pad(x, {{1, 2}, {0, 6}}, "symmetric"));
    PAIR("jnp.pad(x, ((1, 2), (0, 3)), mode='edge')", jnp::pad(x, {{1, 2}, {0, 3}}, "edge"));
    PAIR("jnp.pad(x, ((1, 2), (0, 5)), mode='wrap')", jnp::pad(x, {{1, 2}, {0, 5}}, "wrap"));
    PAIR("jnp.pad(x, 1, mode='maximum')", jnp::pad(x, 1, "maximum"));
    PAIR("jnp.pad(x, 2, mode='minimum', stat_length=2)", jnp::pad(x, 2, "minimum", {.stat_length = 2}));
    PAIR("jnp.pad(n, 1, mode='mean')", jnp::pad(n, 1, "mean"));
    PAIR("jnp.pad(x, 1, mode='median')", jnp::pad(x, 1, "median"));
    PAIR("jnp.pad(x, 2, mode='linear_ramp')", jnp::pad(x, 2, "linear_ramp"));
    PAIR("jnp.pad(x, 1, mode='empty')", jnp::pad(x, 1, "empty"));
    PAIR("jax.grad(lambda q: jnp.pad(q, 2, mode='reflect').sum())(v)",
         jax::grad([](Array q) { return jnp::pad(q, 2, "reflect").sum(); })(v));
}
void progressions() {
    PAIR("jnp.linspace(v, 3., 5)", jnp::linspace(v, 3., 5));
    PAIR("jnp.linspace(x, v, 3, axis=1)", jnp::linspace(x, v, 3, {.axis = 1}));
    PAIR("jnp.linspace(x, v, 3, endpoint=False, axis=-1)", jnp::linspace(x, v, 3, {.endpoint = false, .axis = -1}));
    PAIR("jnp.linspace(v, 2 * v, 1)", jnp::linspace(v, 2 * v, 1));
    PAIR("jnp.linspace(0, 10, 4, dtype=int)", jnp::linspace(0, 10, 4, {.dtype = jnp::int32}));
    PAIR("jnp.logspace(v, 3., 5)", jnp::logspace(v, 3., 5));
    PAIR("jnp.logspace(v, 2., 3, base=2., axis=1)", jnp::logspace(v, 2., 3, {.base = 2., .axis = 1}));
    PAIR("jnp.geomspace(1., 1000., 4)", jnp::geomspace(1., 1000., 4));
    PAIR("jnp.geomspace(v, 1000., 4, axis=1)", jnp::geomspace(v, 1000., 4, {.axis = 1}));
    PAIR("jnp.geomspace(-8, -1, 4)", jnp::geomspace(-8, -1, 4));
    PAIR("jnp.logaddexp2(x, y)", jnp::logaddexp2(x, y));
    PAIR("jnp.logaddexp2(x, 2)", jnp::logaddexp2(x, 2));
    PAIR("jax.grad(lambda q: jnp.logaddexp2(q, v).sum())(v)", jax::grad([&](Array q) { return jnp::logaddexp2(q, v).sum(); })(v));
    PAIR("jnp.sinc(x)", jnp::sinc(x));
    PAIR("jnp.sinc(n)", jnp::sinc(n));
    PAIR("jax.grad(lambda q: jnp.sinc(q).sum())(v)", jax::grad([](Array q) { return jnp::sinc(q).sum(); })(v));
    PAIR("jax.grad(lambda p: jax.grad(lambda q: jnp.sinc(q).sum())(p * 0).sum())(v)",
         jax::grad([](Array p) { return jax::grad([](Array q) { return jnp::sinc(q).sum(); })(p * 0).sum(); })(v));
}
void statistics() {
    PAIR("jnp.nanmedian(jnp.log(x))", jnp::nanmedian(jnp::log(x)));
    PAIR("jnp.nanmedian(jnp.log(x), axis=0)", jnp::nanmedian(jnp::log(x), 0));
    PAIR("jnp.nanmedian(jnp.log(x), axis=1, keepdims=True)", jnp::nanmedian(jnp::log(x), {.axis = 1, .keepdims = true}));
    PAIR("jnp.nanmedian(jnp.log(x), axis=(0, 1))", jnp::nanmedian(jnp::log(x), {0, 1}));
    PAIR("jnp.nanquantile(jnp.log(x), .3)", jnp::nanquantile(jnp::log(x), .3));
    PAIR("jnp.nanquantile(jnp.log(x), jnp.abs(v) / 2, axis=1)", jnp::nanquantile(jnp::log(x), jnp::abs(v) / 2, {.axis = 1}));
    PAIR("jnp.nanpercentile(jnp.log(x), 40., keepdims=True)", jnp::nanpercentile(jnp::log(x), 40., {.keepdims = true}));
    PAIR("jnp.correlate(v, v[:2])", jnp::correlate(v, v[{slice(2)}]));
    PAIR("jnp.correlate(v, v[:2], 'full')", jnp::correlate(v, v[{slice(2)}], "full"));
    PAIR("jnp.correlate(v[:2], v, 'same')", jnp::correlate(v[{slice(2)}], v, "same"));
    PAIR("jnp.correlate(n, i)", jnp::correlate(n, i));
    PAIR("jnp.corrcoef(x)", jnp::corrcoef(x));
    PAIR("jnp.corrcoef(v)", jnp::corrcoef(v));
    PAIR("jnp.corrcoef(x * x, rowvar=False)", jnp::corrcoef(x * x, false));
    PAIR("jnp.polyfit(v, n, 2)", jnp::polyfit(v, n, 2));
    PAIR("jnp.polyfit(v, x.T, 1)", jnp::polyfit(v, x.T(), 1));
    PAIR("lax.slice(x, (0, 0), (3, 4))", lax::slice(x, {0, 0}, {3, 4}));
    PAIR("lax.slice_in_dim(x, 0, 3)", lax::slice_in_dim(x, 0, 3));
    PAIR("lax.sort((n, v), num_keys=1)", lax::sort({n, v}));
    PAIR("lax.sort((x, y), dimension=0, num_keys=2, is_stable=False)", lax::sort({x, y}, 0, 2, false));
}

void raveled_trees() {
    using jax::flatten_util::ravel_pytree;
    PAIR("jax.flatten_util.ravel_pytree((x, v))[0]", ravel_pytree(std::tuple{x, v}).first);
    PAIR("jax.flatten_util.ravel_pytree((x, n))[0]", ravel_pytree(std::tuple{x, n}).first);
    PAIR("(lambda r: r[1](r[0] * 2))(jax.flatten_util.ravel_pytree((x, v)))", [&] {
        const auto [flat, unravel] = ravel_pytree(std::tuple{x, v});
        return unravel(flat * 2);
    }());
    PAIR("(lambda r: r[1](r[0] + 1))(jax.flatten_util.ravel_pytree((n, x, v[0])))", [&] {
        const auto [flat, unravel] = ravel_pytree(std::tuple{n, x, v[0]});
        return unravel(flat + 1);
    }());
    PAIR("jax.tree.map(lambda q: q * 2, (x, n))", jax::tree::map([](Array q) { return q * 2; }, std::tuple{x, n}));
}

void images() {
    PAIR("jax.image.resize(x, (6, 2), 'bilinear')", jax::image::resize(x, {6, 2}, "bilinear"));
    PAIR("jax.image.resize(x, (6, 4), 'nearest')", jax::image::resize(x, {6, 4}, "nearest"));
    PAIR("jax.image.resize(n, (2,), 'nearest')", jax::image::resize(n, 2, "nearest"));
    PAIR("jax.image.resize(x, (6, 4), 'cubic', antialias=False)", jax::image::resize(x, {6, 4}, "cubic", {.antialias = false}));
    PAIR("jax.image.resize(x, (2, 3), 'lanczos3')", jax::image::resize(x, {2, 3}, "lanczos3"));
    PAIR("jax.image.resize(n, (6,), 'linear')", jax::image::resize(n, 6, "linear"));
    PAIR("jax.image.resize(x, (3, 4), 'cubic')", jax::image::resize(x, {3, 4}, "cubic"));
}

}  // namespace

void positions() {
    images();
    raveled_trees();
    whole_numbers();
    sets();
    repeated();
    progressions();
    statistics();
}

}  // namespace pairs
