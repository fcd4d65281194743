// How exactly products are computed and in which type; attention in sixteen bits, with windows and padding.
#include "pairs.h"

namespace pairs {

void exact_products() {
    PAIR("jnp.matmul(x, w, precision='highest')", jnp::matmul(x, w, {.precision = "highest"}));
    PAIR("jnp.matmul(x, w, precision=('high', 'default'))", jnp::matmul(x, w, {.precision = {"high", "default"}}));
    PAIR("jnp.matmul(x.astype('bfloat16'), w.astype('bfloat16'), precision='BF16_BF16_F32', preferred_element_type=jnp.float32)",
         jnp::matmul(x.astype(jnp::bfloat16), w.astype(jnp::bfloat16),
                     {.precision = "BF16_BF16_F32", .preferred_element_type = jnp::float32}));
    PAIR("jnp.matmul(x[None], w, preferred_element_type=jnp.bfloat16)",
         jnp::matmul(x[{none}], w, {.preferred_element_type = jnp::bfloat16}));
    PAIR("jnp.dot(n, n, preferred_element_type=jnp.float32)", jnp::dot(n, n, {.preferred_element_type = jnp::float32}));
    PAIR("jnp.dot(x, 2., precision='high')", jnp::dot(x, 2., {.precision = "high"}));
    PAIR("jnp.vdot(x, y, precision='tensorfloat32')", jnp::vdot(x, y, {.precision = "tensorfloat32"}));
    PAIR("jnp.vecdot(x, y, precision='highest', preferred_element_type=jnp.float32)",
         jnp::vecdot(x, y, {.precision = "highest", .preferred_element_type = jnp::float32}));
    PAIR("jnp.inner(x, y, precision='highest')", jnp::inner(x, y, {.precision = "highest"}));
    PAIR("jnp.inner(i, 2, preferred_element_type=jnp.float32)", jnp::inner(i, 2, {.preferred_element_type = jnp::float32}));
    PAIR("jnp.tensordot(x, y, ((0, 1), (0, 1)), precision='high')", jnp::tensordot(x, y, {{0, 1}, {0, 1}}, {.precision = "high"}));
    PAIR("jnp.tensordot(x, w, 1, preferred_element_type=jnp.float32)", jnp::tensordot(x, w, 1, {.preferred_element_type = jnp::float32}));
    PAIR("jnp.einsum('ij,jk->ik', x, w, precision='highest', preferred_element_type=jnp.float32)",
         jnp::einsum("ij,jk->ik", x, w, {.precision = "highest", .preferred_element_type = jnp::float32}));
    PAIR("jnp.einsum('ij,ij,j->i', x, y, v, precision='high')", jnp::einsum("ij,ij,j->i", x, y, v, {.precision = "high"}));
    PAIR("jnp.einsum('ij->j', n[None], preferred_element_type=jnp.float32)",
         jnp::einsum("ij->j", n[{none}], {.preferred_element_type = jnp::float32}));
    PAIR("lax.dot(x, w, precision='highest', preferred_element_type=jnp.float32)",
         lax::dot(x, w, {.precision = "highest", .preferred_element_type = jnp::float32}));
    PAIR("lax.dot_general(x, y, (((1,), (1,)), ((0,), (0,))), precision='highest')",
         lax::dot_general(x, y, {.lhs_contracting = 1, .rhs_contracting = 1, .lhs_batch = 0, .rhs_batch = 0}, {.precision = "highest"}));
    PAIR("lax.batch_matmul(x[None], w[None], precision='high')", lax::batch_matmul(x[{none}], w[{none}], "high"));
    PAIR("lax.conv_general_dilated(x[None, None], y[None, None], (1, 1), 'SAME', precision='highest', preferred_element_type=jnp.float32)",
         lax::conv_general_dilated(x[{none, none}], y[{none, none}], {1, 1}, "SAME",
                                   {.precision = "highest", .preferred_element_type = jnp::float32}));
    PAIR("lax.conv_transpose(x[None, :, :, None], y[:, :2, None, None], (1, 1), 'SAME', precision='high')", [&] {
        Array image = x[{none, all, all, none}], kernel = y[{all, slice(2), none, none}];
        return lax::conv_transpose(image, kernel, {1, 1}, "SAME", {.precision = "high"});
    }());
    PAIR("jax.grad(lambda t: jnp.matmul(t, w, precision='highest', preferred_element_type=jnp.float32).sum())(x)",
         jax::grad([&](Array t) { return jnp::matmul(t, w, {.precision = "highest", .preferred_element_type = jnp::float32}).sum(); })(x));
    PAIR("jax.vmap(jnp.dot)(x, y)", jax::vmap(jnp::dot)(x, y));
    PAIR("jax.vmap(jnp.matmul, in_axes=(0, None))(x, w)", jax::vmap(jnp::matmul, {.in_axes = {0, none}})(x, w));
    PAIR("jax.jit(jnp.matmul)(x, w)", jax::jit(jnp::matmul, {.name = "matmul"})(x, w));
    PAIR("(lambda q: nn.dot_product_attention(q, q, q, is_causal=True))(w.reshape(1, 5, 2, 2).astype('bfloat16'))", [&] {
        const Array q = w.reshape({1, 5, 2, 2}).astype(jnp::bfloat16);
        return nn::dot_product_attention(q, q, q, {.is_causal = true});
    }());
    PAIR("(lambda q: nn.dot_product_attention(q, q, q, is_causal=True))(w.reshape(1, 5, 2, 2).astype('float16'))", [&] {
        const Array q = w.reshape({1, 5, 2, 2}).astype(jnp::float16);
        return nn::dot_product_attention(q, q, q, {.is_causal = true});
    }());
    PAIR("jax.grad(lambda q: nn.dot_product_attention(q, q, q).astype('float32').sum())(w.reshape(1, 5, 2, 2).astype('bfloat16'))", [&] {
        const Array q = w.reshape({1, 5, 2, 2}).astype(jnp::bfloat16);
        return jax::grad([](Array t) { return nn::dot_product_attention(t, t, t).astype(jnp::float32).sum(); })(q);
    }());
    PAIR("(lambda q: nn.dot_product_attention(q, q, q, local_window_size=(1, 0)))(w.reshape(1, 5, 2, 2))", [&] {
        const Array q = w.reshape({1, 5, 2, 2});
        return nn::dot_product_attention(q, q, q, {.local_window_size = {1, 0}});
    }());
    PAIR("(lambda q: nn.dot_product_attention(q, q, q, query_seq_lengths=i[:1], key_value_seq_lengths=i[:1] + 1))(w.reshape(1, 5, 2, 2))",
         [&] {
             const Array q = w.reshape({1, 5, 2, 2}), queries = i[{slice(1)}], keys = i[{slice(1)}] + 1;
             return nn::dot_product_attention(q, q, q, {.query_seq_lengths = queries, .key_value_seq_lengths = keys});
         }());
    PAIR("(lambda q: nn.dot_product_attention(q, q, q, key_value_seq_lengths=i[:1]))(w.reshape(1, 5, 2, 2))", [&] {
        const Array q = w.reshape({1, 5, 2, 2}), keys = i[{slice(1)}];
        return nn::dot_product_attention(q, q, q, {.key_value_seq_lengths = keys});
    }());
    static const auto under = [](const char* name, const auto& f) {
        const jax::default_matmul_precision scope(name);
        return f();
    };
    static const auto product = jax::jit([](Array a, Array b) { return jnp::matmul(a, b); }, {.name = "<lambda>"});
    PAIR("(lambda s: (s.__enter__(), x @ w, s.__exit__(None, None, None))[1])(jax.default_matmul_precision('highest'))",
         under("highest", [&] { return jnp::matmul(x, w); }));
    PAIR(
        "(lambda f, s: (s.__enter__(), f(x, w), s.__exit__(None, None, None))[1])"
        "(jax.jit(lambda a, b: a @ b), jax.default_matmul_precision('BF16_BF16_F32'))",
        [&] { return under("BF16_BF16_F32", [&] { return product(x, w); }); }());
    PAIR(
        "(lambda s: (s.__enter__(), jnp.matmul(x, w, precision='default'), s.__exit__(None, None, None))[1])"
        "(jax.default_matmul_precision('tensorfloat32'))",
        under("tensorfloat32", [&] { return jnp::matmul(x, w, {.precision = "default"}); }));
    PAIR(
        "(lambda s: (s.__enter__(), nn.dot_product_attention(*[w.reshape(1, 5, 2, 2)] * 3), s.__exit__(None, None, None))[1])"
        "(jax.default_matmul_precision('float32'))",
        under("float32", [&] {
            const Array q = w.reshape({1, 5, 2, 2});
            return nn::dot_product_attention(q, q, q);
        }));
}

}  // namespace pairs
