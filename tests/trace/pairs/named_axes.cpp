// Collectives over axes that vmap named, and remat beneath them.
#include "pairs.h"

namespace pairs {

void named_axes() {
#define UNDER(python, ...)                                   \
    PAIR("jax.vmap(lambda a: " python ", axis_name='i')(x)", \
         jax::vmap([&]([[maybe_unused]] Array a) { return __VA_ARGS__; }, {.axis_name = "i"})(x))
    UNDER("lax.psum(a, 'i')", lax::psum(a, "i"));
    UNDER("lax.pmean(a, 'i')", lax::pmean(a, "i"));
    UNDER("lax.pmax(a, 'i')", lax::pmax(a, "i"));
    UNDER("lax.pmin(a, 'i')", lax::pmin(a, "i"));
    UNDER("lax.psum(1, 'i')", lax::psum(1, "i"));
    UNDER("lax.psum(2., 'i')", lax::psum(2., "i"));
    UNDER("lax.psum(jnp.sin(2.), 'i')", lax::psum(jnp::sin(2.), "i"));
    UNDER("lax.pmax(jnp.sin(2.), 'i')", lax::pmax(jnp::sin(2.), "i"));
    UNDER("lax.axis_index('i')", lax::axis_index("i"));
    UNDER("a * lax.axis_index('i')", a * lax::axis_index("i"));
    UNDER("lax.axis_size('i')", lax::axis_size("i"));
    UNDER("lax.all_gather(a, 'i')", lax::all_gather(a, "i"));
    UNDER("lax.all_gather(a, 'i', axis=1)", lax::all_gather(a, "i", {.axis = 1}));
    UNDER("lax.all_gather(a, 'i', tiled=True)", lax::all_gather(a, "i", {.tiled = true}));
    UNDER("lax.all_gather(v, 'i')", lax::all_gather(v, "i"));
    UNDER("a - lax.pmean(a, 'i')", [&] {
        Array m = lax::pmean(a, "i");
        return a - m;
    }());
    UNDER("jax.checkpoint(lambda t: jnp.sin(lax.psum(t, 'i')))(a)",
          jax::checkpoint([](Array t) { return jnp::sin(lax::psum(t, "i")); })(a));
    UNDER("lax.scan(lambda c, t: (c + lax.psum(t, 'i'), c), v[0], a)",
          lax::scan([](Array c, Array t) { return std::pair(c + lax::psum(t, "i"), c); }, v[0], a));
    UNDER("lax.cond(a.sum() > 0, lambda t: lax.psum(t, 'i'), lambda t: t, a)",
          lax::cond(
              a.sum() > 0, [](Array t) { return lax::psum(t, "i"); }, [](Array t) { return t; }, a));
    UNDER("jax.grad(lambda t: lax.psum(jnp.sin(t), 'i').sum())(a)",
          jax::grad([](Array t) { return lax::psum(jnp::sin(t), "i").sum(); })(a));
    UNDER("jax.grad(lambda t: (lax.all_gather(t, 'i') ** 2).sum())(a)",
          jax::grad([](Array t) { return jnp::power(lax::all_gather(t, "i"), 2).sum(); })(a));
    UNDER("lax.ppermute(a, 'i', [(0, 1), (1, 2), (2, 0)])", lax::ppermute(a, "i", {{0, 1}, {1, 2}, {2, 0}}));
    UNDER("lax.ppermute(a, 'i', [(0, 1), (1, 2), (2, 2)])", lax::ppermute(a, "i", {{0, 1}, {1, 2}, {2, 2}}));
    UNDER("lax.ppermute(v, 'i', [(0, 1), (1, 2), (2, 0)])", lax::ppermute(v, "i", {{0, 1}, {1, 2}, {2, 0}}));
    UNDER("jax.grad(lambda t: (lax.ppermute(t, 'i', [(0, 1), (1, 2), (2, 0)]) ** 2).sum())(a)", jax::grad([](Array t) {
              return jnp::power(lax::ppermute(t, "i", {{0, 1}, {1, 2}, {2, 0}}), 2).sum();
          })(a));
    UNDER("jax.grad(lambda t: (lax.ppermute(t, 'i', [(0, 1), (1, 2), (2, 2)]) ** 2).sum())(a)", jax::grad([](Array t) {
              return jnp::power(lax::ppermute(t, "i", {{0, 1}, {1, 2}, {2, 2}}), 2).sum();
          })(a));
    UNDER("lax.pshuffle(a, 'i', [2, 0, 1])", lax::pshuffle(a, "i", {2, 0, 1}));
    UNDER("lax.all_to_all(a[:3], 'i', 0, 0)", lax::all_to_all(a[slice(3)], "i", 0, 0));
    UNDER("lax.pswapaxes(a[:3], 'i', 0)", lax::pswapaxes(a[slice(3)], "i", 0));
    UNDER("lax.all_to_all(a[:3, None] * v, 'i', 0, 1)", lax::all_to_all(a[{slice(3), none}] * v, "i", 0, 1));
    UNDER("lax.all_to_all(a[:, None] * v[:3], 'i', 1, 0)", lax::all_to_all(a[{all, none}] * v[slice(3)], "i", 1, 0));
    UNDER("lax.all_to_all(a[:3, None] * v, 'i', 0, 1, tiled=True)", lax::all_to_all(a[{slice(3), none}] * v, "i", 0, 1, {.tiled = true}));
    UNDER("jax.grad(lambda t: (lax.all_to_all(t[:3], 'i', 0, 0) ** 2).sum())(a)",
          jax::grad([](Array t) { return jnp::power(lax::all_to_all(t[slice(3)], "i", 0, 0), 2).sum(); })(a));
#undef UNDER
    PAIR("jax.vmap(lambda a: lax.psum_scatter(a, 'i'), axis_name='i')(y[:, :3])",
         jax::vmap([](Array a) { return lax::psum_scatter(a, "i"); }, {.axis_name = "i"})(y[{all, slice(3)}]));
    PAIR("jax.vmap(jax.vmap(lambda a: (lax.psum(a, ('i', 'j')), lax.psum(a, 'j'), lax.psum(a, 'i')), axis_name='j'), axis_name='i')(x)",
         jax::vmap(jax::vmap(
                       [](Array a) {
                           Array both = lax::psum(a, {"i", "j"}), inner = lax::psum(a, "j"), outer = lax::psum(a, "i");
                           return std::tuple{both, inner, outer};
                       },
                       {.axis_name = "j"}),
                   {.axis_name = "i"})(x));
    PAIR("jax.vmap(jax.vmap(lambda a: lax.axis_index(('i', 'j')), axis_name='j'), axis_name='i')(x)",
         jax::vmap(jax::vmap(
                       [](Array) {
                           return lax::axis_index({"i", "j"});
                       },
                       {.axis_name = "j"}),
                   {.axis_name = "i"})(x));
    PAIR("jax.vmap(lambda a: jax.vmap(lambda t: lax.psum(t, 'i') * t)(a), axis_name='i')(x)",
         jax::vmap([](Array a) { return jax::vmap([](Array t) { return lax::psum(t, "i") * t; })(a); }, {.axis_name = "i"})(x));
    PAIR("jax.grad(lambda x: jax.vmap(jax.checkpoint(lambda t: jnp.sin(lax.psum(t, 'i'))), axis_name='i')(x).sum())(x)",
         jax::grad([](Array a) {
             return jax::vmap(jax::checkpoint([](Array t) { return jnp::sin(lax::psum(t, "i")); }), {.axis_name = "i"})(a).sum();
         })(x));
    PAIR("jax.vmap(lambda a: a * lax.psum(a, 'i'), in_axes=1, axis_name='i', spmd_axis_name='m')(x)",
         jax::vmap([](Array a) { return a * lax::psum(a, "i"); }, {.in_axes = 1, .axis_name = "i", .spmd_axis_name = "m"})(x));
    PAIR("jax.vmap(lambda: lax.axis_index('i'), axis_size=3, axis_name='i')()",
         jax::vmap([] { return lax::axis_index("i"); }, {.axis_size = 3, .axis_name = "i"})());
}

}  // namespace pairs
