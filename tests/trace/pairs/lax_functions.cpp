// jax.lax, function by function.
#include "pairs.h"

namespace pairs {

void lax_functions() {
#define ONE(name) PAIR("lax." #name "(x)", lax::name(x))
    ONE(abs);
    ONE(sign);
    ONE(floor);
    ONE(ceil);
    ONE(round);
    ONE(is_finite);
    ONE(asin);
    ONE(acos);
    ONE(atan);
    ONE(sinh);
    ONE(cosh);
    ONE(asinh);
    ONE(acosh);
    ONE(atanh);
    ONE(bessel_i0e);
    ONE(bessel_i1e);
    ONE(exp);
    ONE(exp2);
    ONE(expm1);
    ONE(log);
    ONE(log1p);
    ONE(sin);
    ONE(cos);
    ONE(tan);
    ONE(tanh);
    ONE(cbrt);
    ONE(sqrt);
    ONE(square);
    ONE(neg);
    ONE(erfc);
    ONE(lgamma);
    ONE(digamma);
    ONE(logistic);
    ONE(reciprocal);
    ONE(cumprod);
    ONE(cummax);
    ONE(cummin);
    ONE(cumlogsumexp);
#undef ONE
#define TWO(name) PAIR("lax." #name "(x, y)", lax::name(x, y))
    TWO(add);
    TWO(sub);
    TWO(mul);
    TWO(div);
    TWO(rem);
    TWO(pow);
    TWO(max);
    TWO(min);
    TWO(atan2);
    TWO(nextafter);
    TWO(eq);
    TWO(ne);
    TWO(lt);
    TWO(le);
    TWO(gt);
    TWO(ge);
    TWO(complex);
#undef TWO
    PAIR("lax.real(lax.complex(x, y))", lax::real(lax::complex(x, y)));
    PAIR("lax.imag(lax.complex(x, y))", lax::imag(lax::complex(x, y)));
    PAIR("lax.conj(lax.complex(x, y))", lax::conj(lax::complex(x, y)));
    PAIR("lax.bitwise_not(n)", lax::bitwise_not(n));
    PAIR("lax.bitwise_and(n, 6)", lax::bitwise_and(n, 6));
    PAIR("lax.bitwise_or(n, 6)", lax::bitwise_or(n, 6));
    PAIR("lax.bitwise_xor(n, n)", lax::bitwise_xor(n, n));
    PAIR("lax.shift_left(n, 1)", lax::shift_left(n, 1));
    PAIR("lax.shift_right_logical(n, 1)", lax::shift_right_logical(n, 1));
    PAIR("lax.shift_right_arithmetic(n, 1)", lax::shift_right_arithmetic(n, 1));
    PAIR("lax.reduce_min(x, (0,))", lax::reduce_min(x, 0));
    PAIR("lax.reduce_max(x, (0,))", lax::reduce_max(x, 0));
    PAIR("lax.reduce_sum(x, (0,))", lax::reduce_sum(x, 0));
    PAIR("lax.reduce_prod(x, (0, 1))", lax::reduce_prod(x, {0, 1}));
    PAIR("lax.argmax(x, 1, jnp.int32)", lax::argmax(x, 1));
    PAIR("lax.argmin(x, 0, jnp.int32)", lax::argmin(x, 0));
    PAIR("lax.reshape(x, (4, 3))", lax::reshape(x, {4, 3}));
    PAIR("lax.transpose(x, (1, 0))", lax::transpose(x, {1, 0}));
    PAIR("lax.squeeze(x[None], (0,))", lax::squeeze(x[{none}], 0));
    PAIR("lax.rev(x, (0,))", lax::rev(x, 0));
    PAIR("lax.broadcast(v, (2, 3))", lax::broadcast(v, {2, 3}));
    PAIR("lax.broadcast_in_dim(v, (4, 2), (0,))", lax::broadcast_in_dim(v, {4, 2}, 0));
    PAIR("lax.concatenate([x, y], 1)", lax::concatenate({x, y}, 1));
    PAIR("lax.slice(x, (0, 1), (2, 4))", lax::slice(x, {0, 1}, {2, 4}));
    PAIR("lax.slice(x, (0, 1), (3, 4), (2, 2))", lax::slice(x, {0, 1}, {3, 4}, {2, 2}));
    PAIR("lax.slice_in_dim(x, 1, 3, axis=1)", lax::slice_in_dim(x, 1, 3, 1, 1));
    PAIR("lax.index_in_dim(x, 1, axis=1, keepdims=False)", lax::index_in_dim(x, 1, 1, false));
    PAIR("lax.pad(x, 0., ((1, 0, 0), (0, 1, 1)))", lax::pad(x, 0., {{1, 0, 0}, {0, 1, 1}}));
    PAIR("lax.expand_dims(x, (0,))", lax::expand_dims(x, 0));
    PAIR("lax.dot_general(x, w, (((1,), (0,)), ((), ())))", lax::dot_general(x, w, {.lhs_contracting = 1, .rhs_contracting = 0}));
    PAIR("lax.dot_general(x, y, (((1,), (1,)), ((0,), (0,))))",
         lax::dot_general(x, y, {.lhs_contracting = 1, .rhs_contracting = 1, .lhs_batch = 0, .rhs_batch = 0}));
    PAIR("lax.batch_matmul(x[None], w[None])", [&] {
        Array a = x[{none}], c = w[{none}];
        return lax::batch_matmul(a, c);
    }());
    PAIR("lax.conv_general_dilated(x[None, None], w[None, None, :2, :2], (1, 1), 'SAME')", [&] {
        Array a = x[{none, none}], c = w[{none, none, slice(2), slice(2)}];
        return lax::conv_general_dilated(a, c, {1, 1}, "SAME");
    }());
    PAIR("lax.conv(x[None, None], w[None, None, :2, :2], (1, 2), 'VALID')", [&] {
        Array a = x[{none, none}], c = w[{none, none, slice(2), slice(2)}];
        return lax::conv(a, c, {1, 2}, "VALID");
    }());
    PAIR("lax.conv_general_dilated(x[None, :, :, None], w[:2, :2, None, None], (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
         [&] {
             Array a = x[{none, all, all, none}], c = w[{slice(2), slice(2), none, none}];
             return lax::conv_general_dilated(a, c, {1, 1}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}});
         }());
    PAIR("lax.conv_with_general_padding(x[None, None], w[None, None, :2, :2], (1, 1), [(1, 0), (0, 1)], None, None)", [&] {
        Array a = x[{none, none}], c = w[{none, none, slice(2), slice(2)}];
        return lax::conv_with_general_padding(a, c, {1, 1}, {{{1, 0}, {0, 1}}});
    }());
    PAIR("jax.grad(lambda t: lax.conv(t[None, None], w[None, None, :2, :2], (1, 1), 'SAME').sum())(x)", jax::grad([&](Array t) {
             Array a = t[{none, none}], c = w[{none, none, slice(2), slice(2)}];
             return lax::conv(a, c, {1, 1}, "SAME").sum();
         })(x));
}

}  // namespace pairs
