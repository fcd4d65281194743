// Counts and positions, bins, dimensions in front, arrays turned and taken apart, slopes, frequencies.
#include "pairs.h"

namespace pairs {

namespace {

void counts() {
    PAIR("jnp.bincount(i, length=5)", jnp::bincount(i, {.length = 5}));
    PAIR("jnp.bincount(i, v[:3], length=4)", jnp::bincount(i, {.weights = v[{slice(3)}], .length = 4}));
    PAIR("jnp.bincount(b[0], length=2)", jnp::bincount(b[0], {.length = 2}));
    PAIR("jnp.digitize(n * .3, v)", jnp::digitize(n * .3, v));
    PAIR("jnp.digitize(v, v, right=True)", jnp::digitize(v, v, true));
    PAIR("jnp.digitize(v, v[::-1])", jnp::digitize(v, v[{slice(none, none, -1)}]));
    PAIR("jnp.nonzero(x > 0, size=5)", jnp::nonzero(x > 0, 5));
    PAIR("jnp.nonzero(n, size=4)", jnp::nonzero(n, 4));
    PAIR("jnp.flatnonzero(x > 0, size=3)", jnp::flatnonzero(x > 0, 3));
    PAIR("jnp.argwhere(b, size=8)", jnp::argwhere(b, 8));
    PAIR("jnp.tril_indices(3)", jnp::tril_indices(3));
    PAIR("jnp.tril_indices(3, 1, 4)", jnp::tril_indices(3, 1, 4));
    PAIR("jnp.triu_indices(4, 1)", jnp::triu_indices(4, 1));
    PAIR("jnp.triu_indices(2, -1, 3)", jnp::triu_indices(2, -1, 3));
    PAIR("jnp.diag_indices(3)", jnp::diag_indices(3));
    PAIR("jnp.isin(n, i)", jnp::isin(n, i));
    PAIR("jnp.isin(x, v, invert=True)", jnp::isin(x, v, {.invert = true}));
    PAIR("jnp.histogram(x[0])", jnp::histogram(x[0]));
    PAIR("jnp.histogram(v, bins=3, density=True)", jnp::histogram(v, 3, {.density = true}));
    PAIR("jnp.histogram(v, bins=4, weights=n)", jnp::histogram(v, 4, {.weights = n}));
    PAIR("jnp.histogram(n, bins=4, range=(-1., 1.))", jnp::histogram(n, 4, {.range = std::pair{-1., 1.}}));
    PAIR("jnp.histogram(n, bins=4, range=(-1., 2.))", jnp::histogram(n, 4, {.range = {{-1., 2.}}}));
}
void as_python_writes_them() {
    PAIR("jnp.mean(x, -1, keepdims=True)", jnp::mean(x, -1, true));
    PAIR("jnp.sum(x, 0, keepdims=True)", jnp::sum(x, 0, true));
    PAIR("jnp.max(x, (0, 1), keepdims=True)", jnp::max(x, {0, 1}, true));
    PAIR("jnp.var(x, 1, keepdims=True)", jnp::var(x, 1, true));
    PAIR("x.reshape(2, -1)", x.reshape(2, -1));
    PAIR("(x + 1).reshape(1, 2, -1)", (x + 1).reshape(1, 2, -1));
    PAIR("x.transpose(1, 0)", x.transpose(1, 0));
    PAIR("x.reshape([2, -1])", x.reshape(std::vector<int>{2, -1}));
    PAIR("jnp.meshgrid(v, i)", jnp::meshgrid(v, i));
    PAIR("jnp.meshgrid(v, i, indexing='ij')", jnp::meshgrid(v, i, "ij"));
    PAIR("jnp.broadcast_arrays(x, v)", jnp::broadcast_arrays(x, v));
}
void turned() {
    PAIR("jnp.atleast_1d(v[0])", jnp::atleast_1d(v[0]));
    PAIR("jnp.atleast_2d(v)", jnp::atleast_2d(v));
    PAIR("jnp.atleast_2d(v[0])", jnp::atleast_2d(v[0]));
    PAIR("jnp.atleast_3d(x)", jnp::atleast_3d(x));
    PAIR("jnp.atleast_3d(v)", jnp::atleast_3d(v));
    PAIR("jnp.dstack([v, v])", jnp::dstack({v, v}));
    PAIR("jnp.dstack([x, y])", jnp::dstack({x, y}));
    PAIR("jnp.concat([x, y], axis=1)", jnp::concat({x, y}, 1));
    PAIR("jnp.permute_dims(x, (1, 0))", jnp::permute_dims(x, {1, 0}));
    PAIR("jnp.matrix_transpose(w.reshape(2, 2, 5))", jnp::matrix_transpose(w.reshape({2, 2, 5})));
    PAIR("jnp.rot90(x)", jnp::rot90(x));
    PAIR("jnp.rot90(x, 2)", jnp::rot90(x, 2));
    PAIR("jnp.rot90(x, -1)", jnp::rot90(x, -1));
    PAIR("jnp.rot90(w.reshape(2, 2, 5), 1, (1, 2))", jnp::rot90(w.reshape({2, 2, 5}), 1, {1, 2}));
    PAIR("jnp.unstack(x)", jnp::unstack(x));
    PAIR("jnp.unstack(x, axis=1)", jnp::unstack(x, 1));
    PAIR("jnp.hsplit(x, 2)", jnp::hsplit(x, 2));
    PAIR("jnp.hsplit(v, [1])", jnp::hsplit(v, {1}));
    PAIR("jnp.vsplit(x, [1, 2])", jnp::vsplit(x, {1, 2}));
    PAIR("jnp.dsplit(w.reshape(2, 2, 5), [2])", jnp::dsplit(w.reshape({2, 2, 5}), {2}));
    PAIR("jnp.resize(v, (2, 3))", jnp::resize(v, {2, 3}));
    PAIR("jnp.delete(v, 1)", jnp::delete_(v, 1));
    PAIR("jnp.delete(x, -1, axis=0)", jnp::delete_(x, -1, 0));
    PAIR("jnp.delete(x, 0)", jnp::delete_(x, 0));
}
void spaced() {
    PAIR("jnp.logspace(0., 2., 5)", jnp::logspace(0., 2., 5));
    PAIR("jnp.logspace(v[0], v[1], 3)", jnp::logspace(v[0], v[1], 3));
    PAIR("jnp.logspace(0, 3, 4, endpoint=False, dtype=jnp.float16)", jnp::logspace(0, 3, 4, {.endpoint = false, .dtype = jnp::float16}));
    PAIR("jnp.divmod(n, 3)", jnp::divmod(n, 3));
    PAIR("jnp.divmod(x, v)", jnp::divmod(x, v));
    PAIR("jnp.vander(v)", jnp::vander(v));
    PAIR("jnp.vander(v, 3, increasing=True)", jnp::vander(v, 3, true));
    PAIR("jnp.vander(n, 3)", jnp::vander(n, 3));
    PAIR("jnp.gradient(v)", jnp::gradient(v)[0]);
    PAIR("jnp.gradient(x)", jnp::gradient(x));
    PAIR("jnp.gradient(x, 0.5)", jnp::gradient(x, {0.5}));
    PAIR("jnp.gradient(x, 0.5, 2, axis=(1, 0))", jnp::gradient(x, {0.5, 2}, {1, 0}));
    PAIR("jnp.gradient(n, axis=0)", jnp::gradient(n, {}, 0)[0]);
    PAIR("jnp.ediff1d(x)", jnp::ediff1d(x));
    PAIR("jnp.fft.fftshift(x)", jnp::fft::fftshift(x));
    PAIR("jnp.fft.ifftshift(x, 1)", jnp::fft::ifftshift(x, 1));
    PAIR("jnp.fft.fftfreq(5)", jnp::fft::fftfreq(5));
    PAIR("jnp.fft.fftfreq(6, 0.1)", jnp::fft::fftfreq(6, 0.1));
    PAIR("jnp.fft.rfftfreq(7)", jnp::fft::rfftfreq(7));
    PAIR("jnp.fft.rfftfreq(8, 0.5)", jnp::fft::rfftfreq(8, 0.5));
    PAIR("jnp.around(x, 1)", jnp::around(x, 1));
}

}  // namespace

void arrangements() {
    counts();
    as_python_writes_them();
    turned();
    spaced();
}

}  // namespace pairs
