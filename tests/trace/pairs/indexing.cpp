// x[...] and x.at[...] with any mixture of indices, products over batches, einsum, samplers of jax.random.
#include "pairs.h"

namespace pairs {

namespace {

namespace jr = jax::random;

void chosen() {
    PAIR("x[3]", x[3]);
    PAIR("x[-4]", x[-4]);
    PAIR("x[0, 4]", x[{0, 4}]);
    PAIR("x[i[0], ...]", x[{i[0], ellipsis}]);
    PAIR("x[i[0], None, ::-1]", x[{i[0], none, slice(none, none, -1)}]);
    PAIR("v[i[0]]", v[i[0]]);
    PAIR("v[i[0].astype('uint8')]", v[i[0].astype(jnp::uint8)]);
    PAIR("x[i, i]", x[{i, i}]);
    PAIR("x[i, 0]", x[{i, 0}]);
    PAIR("x[0, i]", x[{0, i}]);
    PAIR("x[-1, i]", x[{-1, i}]);
    PAIR("x[jnp.arange(3), i]", x[{jnp::arange(3), i}]);
    PAIR("x[1:, i]", x[{slice(1, none), i}]);
    PAIR("x[i, 1:3]", x[{i, slice(1, 3)}]);
    PAIR("x[i, None]", x[{i, none}]);
    PAIR("x[i, ::2]", x[{i, slice(none, none, 2)}]);
    PAIR("x[i, ::-1]", x[{i, slice(none, none, -1)}]);
    PAIR("x[i[0], i]", x[{i[0], i}]);
    PAIR("x[i[:, None], i]", x[{i[{all, none}], i}]);
    PAIR("w.reshape(2, 2, 5)[i[1:2], :, i]", w.reshape({2, 2, 5})[{i[slice(1, 2)], all, i}]);
    PAIR("w.reshape(2, 2, 5)[:, 1, i]", w.reshape({2, 2, 5})[{all, 1, i}]);
    PAIR("w.reshape(2, 2, 5)[..., i]", w.reshape({2, 2, 5})[{ellipsis, i}]);
    PAIR("x[i[:0]]", x[i[slice(0)]]);
    PAIR("jax.grad(lambda t: (t[jnp.arange(3), i] ** 2).sum())(x)", jax::grad([&](Array t) {
             return jnp::power(t[{jnp::arange(3), i}], 2).sum();
         })(x));
    PAIR("jax.vmap(lambda r, j: r[j])(x, i)", jax::vmap([](Array r, Array j) { return r[j]; })(x, i));
}

/// Values that the function closes over: masks must be known.
const Array& rows() {
    static const Array m = Array(std::vector<std::int32_t>{1, 0, 1}, 3).astype(jnp::bool_);
    return m;
}
const Array& cells() {
    static const Array m = Array(std::vector<std::int32_t>{1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0}, {3, 4}).astype(jnp::bool_);
    return m;
}
const Array& truth() {
    static const Array t(true);
    return t;
}
void masked() {
    rows(), cells(), truth();  // made outside of any trace
    PAIR("x[rows]", x[rows()]);
    PAIR("x[cells]", x[cells()]);
    PAIR("x[rows, 1]", x[{rows(), 1}]);
    PAIR("x[rows, i[:2]]", x[{rows(), i[slice(2)]}]);
    PAIR("x[None, rows]", x[{none, rows()}]);
    PAIR("x.at[rows].set(0.)", x.at({rows()}).set(0.));
    PAIR("x.at[cells].add(1.)", x.at({cells()}).add(1.));
    PAIR("x[True]", x[true]);
    PAIR("x[False]", x[false]);
    PAIR("x[truth]", x[truth()]);
    PAIR("x[None, True]", x[{none, true}]);
    PAIR("x[True, 0]", x[{true, 0}]);
    PAIR("x[0, True]", x[{0, true}]);
    PAIR("x[:, True]", x[{all, true}]);
    PAIR("x[True, ...]", x[{true, ellipsis}]);
    PAIR("x[True, True]", x[{true, true}]);
    PAIR("x[True, i]", x[{true, i}]);
    PAIR("x[i, True]", x[{i, true}]);
    PAIR("x[i[0], True]", x[{i[0], true}]);
    PAIR("x[True, rows]", x[{true, rows()}]);
    PAIR("x[i, True, i]", x[{i, true, i}]);
    PAIR("x[True, ::2]", x[{true, slice(none, none, 2)}]);
    PAIR("x[1:, False]", x[{slice(1, none), false}]);
    PAIR("v[True, 1:3]", v[{true, slice(1, 3)}]);
    PAIR("v[0][True]", v[0][true]);
    PAIR("x.at[True].set(0.)", x.at({true}).set(0.));
    PAIR("x.at[False].set(0.)", x.at({false}).set(0.));
    PAIR("x.at[True, 0].add(v)", x.at({true, 0}).add(v));
    PAIR("jax.grad(lambda t: (t[True, rows] ** 2).sum())(x)", jax::grad([](Array t) { return jnp::power(t[{true, rows()}], 2).sum(); })(x));
}

void written() {
    PAIR("x.at[3].set(1.)", x.at({3}).set(1.));
    PAIR("x.at[0, 5].set(1.)", x.at({0, 5}).set(1.));
    PAIR("x.at[::2].set(0.)", x.at({slice(none, none, 2)}).set(0.));
    PAIR("x.at[::-1].set(0.)", x.at({slice(none, none, -1)}).set(0.));
    PAIR("x.at[:].set(0.)", x.at({all}).set(0.));
    PAIR("x.at[:, :].add(v)", x.at({all, all}).add(v));
    PAIR("x.at[None].set(0.)", x.at({none}).set(0.));
    PAIR("x.at[i[0]].set(0.)", x.at({i[0]}).set(0.));
    PAIR("x.at[i[0], 1].set(0.)", x.at({i[0], 1}).set(0.));
    PAIR("x.at[i, i].set(0.)", x.at({i, i}).set(0.));
    PAIR("x.at[i, 0].set(2.)", x.at({i, 0}).set(2.));
    PAIR("x.at[1:1].set(0.)", x.at({slice(1, 1)}).set(0.));
    PAIR("x.at[1:5, i].set(0.)", x.at({slice(1, 5), i}).set(0.));
    PAIR("x.at[i, 1:3].add(2.)", x.at({i, slice(1, 3)}).add(2.));
    PAIR("x.at[0].set(n)", x.at({0}).set(n));
    PAIR("n.at[0].set(2.5)", n.at({0}).set(2.5));
    PAIR("n.at[0].add(v[0])", n.at({0}).add(v[0]));
    PAIR("x.at[0].mul(2)", x.at({0}).mul(2));
    PAIR("x.at[0].power(2)", x.at({0}).power(2));
    PAIR("x.at[0].divide(2)", x.at({0}).divide(2));
    PAIR("jax.grad(lambda t: (x.at[i, i].add(t) ** 2).sum())(v[0])", jax::grad([&](Array t) {
             return jnp::power(x.at({i, i}).add(t), 2).sum();
         })(v[0]));
}

void sliced() {
    PAIR("lax.dynamic_slice(x, (1, i[0]), (2, 2))", lax::dynamic_slice(x, {1, i[0]}, {2, 2}));
    PAIR("lax.dynamic_slice(x, (-2, 0), (2, 2))", lax::dynamic_slice(x, {-2, 0}, {2, 2}));
    PAIR("lax.dynamic_update_slice(x, y, (-1, i[0]))", lax::dynamic_update_slice(x, y, {-1, i[0]}));
    PAIR("jnp.arange(1, 5, 1)", jnp::arange(1, 5, 1));
    PAIR("jnp.arange(0, 5)", jnp::arange(0, 5));
    PAIR("jnp.arange(5, 1, -1)", jnp::arange(5, 1, -1));
    PAIR("jnp.linspace(0., 1., 1)", jnp::linspace(0., 1., 1));
    PAIR("jnp.linspace(0., 1., 0)", jnp::linspace(0., 1., 0));
    PAIR("jnp.transpose(x, (-1, 0))", jnp::transpose(x, {-1, 0}));
}

void cut() {
    PAIR("jnp.split(x, 2, axis=1)", jnp::split(x, 2, 1));
    PAIR("jnp.split(x, [1])", jnp::split(x, {1}));
    PAIR("jnp.split(x, [1, 3], axis=1)", jnp::split(x, {1, 3}, 1));
    PAIR("jnp.split(x, [1, 1], axis=-1)", jnp::split(x, {1, 1}, -1));
    PAIR("jnp.split(x, [0, 3])", jnp::split(x, {0, 3}));
    PAIR("jnp.split(x, [])", jnp::split(x, std::vector<std::int64_t>{}));
    PAIR("jnp.array_split(x, 2)", jnp::array_split(x, 2));
    PAIR("jnp.array_split(x, 3, axis=1)", jnp::array_split(x, 3, 1));
    PAIR("jnp.array_split(x, 4)", jnp::array_split(x, 4));
    PAIR("jnp.array_split(x, [1])", jnp::array_split(x, {1}));
    PAIR("jax.grad(lambda t: (jnp.split(t, [1, 3], axis=1)[1] ** 2).sum())(x)", jax::grad([](Array t) {
             return jnp::power(jnp::split(t, {1, 3}, 1)[1], 2).sum();
         })(x));
}

void multiplied() {
    PAIR("x @ n", jnp::matmul(x, n));
    PAIR("n @ n", jnp::matmul(n, n));
    PAIR("jnp.dot(x, n)", jnp::dot(x, n));
    PAIR("jnp.dot(v, 2.)", jnp::dot(v, 2.));
    PAIR("jnp.inner(x, n)", jnp::inner(x, n));
    PAIR("jnp.inner(x, 2.)", jnp::inner(x, 2.));
    PAIR("lax.dot(x, v)", lax::dot(x, v));
    PAIR("jnp.matmul(v, jnp.ones((2, 4, 3)))", jnp::matmul(v, jnp::ones({2, 4, 3})));
    PAIR("jnp.matmul(x, jnp.ones((2, 4, 3)))", jnp::matmul(x, jnp::ones({2, 4, 3})));
    PAIR("jnp.matmul(w.reshape(1, 4, 5), jnp.ones((2, 5, 4)))", jnp::matmul(w.reshape({1, 4, 5}), jnp::ones({2, 5, 4})));
    PAIR("jnp.matmul(w.reshape(1, 4, 5), jnp.ones((1, 5, 4)))", jnp::matmul(w.reshape({1, 4, 5}), jnp::ones({1, 5, 4})));
    PAIR("jnp.matmul(w.reshape(2, 1, 2, 5), jnp.ones((3, 5, 4)))", jnp::matmul(w.reshape({2, 1, 2, 5}), jnp::ones({3, 5, 4})));
    PAIR("jnp.matmul(jnp.ones((3, 2, 5)), jnp.ones((1, 3, 5, 4)))", jnp::matmul(jnp::ones({3, 2, 5}), jnp::ones({1, 3, 5, 4})));
    PAIR("jnp.matmul(jnp.ones((2, 3, 2, 5)), jnp.ones((2, 1, 5, 4)))", jnp::matmul(jnp::ones({2, 3, 2, 5}), jnp::ones({2, 1, 5, 4})));
    PAIR("jnp.einsum('ii->i', x[:, :3])", jnp::einsum("ii->i", x[{all, slice(3)}]));
    PAIR("jnp.einsum('ii', x[:, :3])", jnp::einsum("ii", x[{all, slice(3)}]));
    PAIR("jnp.einsum('ii,ij->j', x[:, :3], x)", jnp::einsum("ii,ij->j", x[{all, slice(3)}], x));
    PAIR("jnp.einsum('...j->...', x)", jnp::einsum("...j->...", x));
    PAIR("jnp.einsum('...ij,...jk->...ik', x[None], w)", jnp::einsum("...ij,...jk->...ik", x[none], w));
    PAIR("jnp.einsum('bij,bjk->bik', x[None], jnp.ones((2, 4, 3)))", jnp::einsum("bij,bjk->bik", x[none], jnp::ones({2, 4, 3})));
}

void einsums_of_many() {
    PAIR("jnp.einsum('ij,jk,kl->il', x.T, x, w)", jnp::einsum("ij,jk,kl->il", x.T(), x, w));
    PAIR("jnp.einsum('ij,jk,kl->il', w.T, x.T, x)", jnp::einsum("ij,jk,kl->il", w.T(), x.T(), x));
    PAIR("jnp.einsum('ij,jk,kl,lm->im', x, w, w.T, x.T)", jnp::einsum("ij,jk,kl,lm->im", x, w, w.T(), x.T()));
    PAIR("jnp.einsum('ij,jk,kl,lm,m->i', x, w, w.T, x.T, v[:3])", jnp::einsum("ij,jk,kl,lm,m->i", {x, w, w.T(), x.T(), v[slice(3)]}));
    PAIR("jnp.einsum('i,j,k->ijk', v, v, v[:2])", jnp::einsum("i,j,k->ijk", v, v, v[slice(2)]));
    PAIR("jnp.einsum('i,i,i->', v, v, n)", jnp::einsum("i,i,i->", v, v, n));
    PAIR("jnp.einsum('i,i,i', v, v, v)", jnp::einsum("i,i,i", v, v, v));
    PAIR("jnp.einsum('ij,ij,ij->ij', x, y, x)", jnp::einsum("ij,ij,ij->ij", x, y, x));
    PAIR("jnp.einsum('ij,ij,ij->j', x, y, x)", jnp::einsum("ij,ij,ij->j", x, y, x));
    PAIR("jnp.einsum('bij,bjk,k->bi', x[None], jnp.ones((2, 4, 3)), v[:3])",
         jnp::einsum("bij,bjk,k->bi", x[none], jnp::ones({2, 4, 3}), v[slice(3)]));
    PAIR("jnp.einsum('...i,...j,ij->...', x, x, v[:, None] * v)", jnp::einsum("...i,...j,ij->...", x, x, v[{all, none}] * v));
    PAIR("jnp.einsum('ii,ij,k->kj', x[:, :3], x, v)", jnp::einsum("ii,ij,k->kj", x[{all, slice(3)}], x, v));
    PAIR("jnp.einsum('ij,k,l->', n[None], v, w[0])", jnp::einsum("ij,k,l->", n[none], v, w[0]));
    PAIR("jnp.einsum('ij,k->k', n[None], v)", jnp::einsum("ij,k->k", n[none], v));
    PAIR("jnp.einsum('ij->i', b)", jnp::einsum("ij->i", b));
    PAIR("jnp.einsum('bqhd,bkhd,bkhe->bqhe', w.reshape(1, 2, 2, 5), w.reshape(1, 2, 2, 5), w.reshape(1, 2, 2, 5))",
         jnp::einsum("bqhd,bkhd,bkhe->bqhe", w.reshape({1, 2, 2, 5}), w.reshape({1, 2, 2, 5}), w.reshape({1, 2, 2, 5})));
    PAIR("jax.grad(lambda t: jnp.einsum('ij,jk,kl->il', t, w, w.T).sum())(x)",
         jax::grad([&](Array t) { return jnp::einsum("ij,jk,kl->il", t, w, w.T()).sum(); })(x));
    PAIR("jax.vmap(lambda r: jnp.einsum('i,ij,kj->k', r, w, w))(x)",
         jax::vmap([&](Array r) { return jnp::einsum("i,ij,kj->k", r, w, w); })(x));
    PAIR("jnp.einsum('i,ij,j,ik,kl,l,i->', v[:3], x, v, x, w, w[0], v[:3])",
         jnp::einsum("i,ij,j,ik,kl,l,i->", {v[slice(3)], x, v, x, w, w[0], v[slice(3)]}));
    PAIR("jnp.einsum('i,ij,j,ik,kl,l,i,ij,j->', v[:3], x, v, x, w, w[0], v[:3], y, v)",
         jnp::einsum("i,ij,j,ik,kl,l,i,ij,j->", {v[slice(3)], x, v, x, w, w[0], v[slice(3)], y, v}));
    PAIR("jnp.einsum('ab,bc,cd,de,ef,fa', x, x.T, x, w, w.T, x.T)", jnp::einsum("ab,bc,cd,de,ef,fa", {x, x.T(), x, w, w.T(), x.T()}));
}

void sampled() {
    PAIR("jr.poisson(k, 3.5, (4,))", jr::poisson(k, 3.5, 4));
    PAIR("jr.poisson(k, 3)", jr::poisson(k, 3));
    PAIR("jr.poisson(k, v[0])", jr::poisson(k, v[0]));
    PAIR("jr.poisson(k, 20. * v)", jr::poisson(k, 20. * v));
    PAIR("jr.dirichlet(k, v)", jr::dirichlet(k, v));
    PAIR("jr.dirichlet(k, v, (2,))", jr::dirichlet(k, v, 2));
    PAIR("jr.rayleigh(k, 2., (3,))", jr::rayleigh(k, 2., 3));
    PAIR("jr.rayleigh(k, 2)", jr::rayleigh(k, 2));
    PAIR("jr.rayleigh(k, v, (2, 4))", jr::rayleigh(k, v, {2, 4}));
    PAIR("jr.maxwell(k, (3,))", jr::maxwell(k, 3));
    PAIR("jr.maxwell(k)", jr::maxwell(k));
    PAIR("jr.lognormal(k, 0.5, (3,))", jr::lognormal(k, 0.5, 3));
    PAIR("jr.lognormal(k)", jr::lognormal(k));
    PAIR("jr.lognormal(k, v, (4,))", jr::lognormal(k, v, 4));
    PAIR("jr.weibull_min(k, 2., 3., (3,))", jr::weibull_min(k, 2., 3., 3));
    PAIR("jr.weibull_min(k, v, 3.)", jr::weibull_min(k, v, 3.));
    PAIR("jr.weibull_min(k, 2, 3)", jr::weibull_min(k, 2, 3));
    PAIR("jr.geometric(k, 0.3, (3,))", jr::geometric(k, 0.3, 3));
    PAIR("jr.geometric(k, v)", jr::geometric(k, v));
    PAIR("jr.gamma(k, v)", jr::gamma(k, v));
    PAIR("jr.normal(jr.PRNGKey(3), (2,))", jr::normal(jr::PRNGKey(3), 2));
    PAIR("jr.split(jr.key_data(k))", jr::split(jr::key_data(k)));
    PAIR("jr.fold_in(jr.PRNGKey(3), 1)", jr::fold_in(jr::PRNGKey(3), 1));
    PAIR("jax.vmap(lambda a: jr.normal(a, (2,)))(jr.split(k, 3))", jax::vmap([](Array a) { return jr::normal(a, 2); })(jr::split(k, 3)));
    PAIR("jax.vmap(lambda r: jnp.diagonal(r))(w.reshape(2, 2, 5))",
         jax::vmap([](Array r) { return jnp::diagonal(r); })(w.reshape({2, 2, 5})));
    PAIR("jnp.diagonal(w.reshape(2, 2, 5))", jnp::diagonal(w.reshape({2, 2, 5})));
    PAIR("jnp.trace(w.reshape(2, 2, 5))", jnp::trace(w.reshape({2, 2, 5})));
    PAIR("jax.vmap(lambda r: jnp.quantile(r, 0.3))(x)", jax::vmap([](Array r) { return jnp::quantile(r, 0.3); })(x));
    PAIR("jax.vmap(lambda r, q: jnp.quantile(r, q))(x, v[:3])",
         jax::vmap([](Array r, Array q) { return jnp::quantile(r, q); })(x, v[slice(3)]));
    PAIR("jnp.quantile(x, 0.3, axis=1)", jnp::quantile(x, 0.3, {.axis = 1}));
    PAIR("jnp.quantile(x, jnp.array([0.3, 0.5]), axis=1)", jnp::quantile(x, jnp::array({0.3, 0.5}), {.axis = 1}));
    PAIR("jnp.quantile(w.reshape(2, 2, 5), jnp.array([0.3, 0.5]), axis=1)",
         jnp::quantile(w.reshape({2, 2, 5}), jnp::array({0.3, 0.5}), {.axis = 1}));
    PAIR("jnp.quantile(x, jnp.array([0.3, 0.5]))", jnp::quantile(x, jnp::array({0.3, 0.5})));
    PAIR("jnp.median(w.reshape(2, 2, 5), axis=-1)", jnp::median(w.reshape({2, 2, 5}), {.axis = -1}));
    PAIR("jnp.quantile(w.reshape(2, 2, 5), 0.3, axis=(0, 2))", jnp::quantile(w.reshape({2, 2, 5}), 0.3, {.axis = {0, 2}}));
    PAIR("jnp.quantile(w.reshape(2, 2, 5), v[:3] / 2, axis=(2, 0), keepdims=True)",
         jnp::quantile(w.reshape({2, 2, 5}), v[slice(3)] / 2, {.axis = {2, 0}, .keepdims = true}));
    PAIR("jnp.quantile(x, 0.3, axis=(0,))", jnp::quantile(x, 0.3, {.axis = std::vector<std::int64_t>{0}}));
    PAIR("jnp.quantile(x, 0.3, axis=(1, 0))", jnp::quantile(x, 0.3, {.axis = {1, 0}}));
    PAIR("jnp.quantile(x, 0.3, axis=())", jnp::quantile(x, 0.3, {.axis = std::vector<std::int64_t>{}}));
    PAIR("jnp.quantile(x, v[:2] / 2, keepdims=True)", jnp::quantile(x, v[slice(2)] / 2, {.keepdims = true}));
    PAIR("jnp.percentile(w.reshape(2, 2, 5), 30., axis=(0, 1))", jnp::percentile(w.reshape({2, 2, 5}), 30., {.axis = {0, 1}}));
    PAIR("jnp.median(w.reshape(2, 2, 5), axis=(1, 2), keepdims=True)",
         jnp::median(w.reshape({2, 2, 5}), {.axis = {1, 2}, .keepdims = true}));
    PAIR("jnp.median(w.reshape(2, 1, 2, 5), axis=(1, 3))", jnp::median(w.reshape({2, 1, 2, 5}), {.axis = {1, 3}}));
    PAIR("jnp.median(n, axis=(0,))", jnp::median(n, {.axis = std::vector<std::int64_t>{0}}));
    PAIR("jax.grad(lambda t: jnp.median(t * t, axis=(0, -1)).sum())(w.reshape(2, 2, 5))", jax::grad([](Array t) {
             return jnp::median(t * t, {.axis = {0, -1}}).sum();
         })(w.reshape({2, 2, 5})));
}

}  // namespace

void indexing() {
    chosen();
    masked();
    written();
    sliced();
    cut();
    multiplied();
    einsums_of_many();
    sampled();
}

}  // namespace pairs
