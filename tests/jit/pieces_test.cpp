// What runs behind each piece of a product, beside the same behind all of it (check_nan looks at each step).
#include <gtest/gtest.h>

#include "io/text/parser.h"
#include "jit/jit.h"

namespace jaxscope {
namespace {

/// x [2048,64] by w [64,1024], a result of at least 4 MiB in whatever type; `tail` makes `e` of `d`, the product.
std::string behind_product(const std::string& type, const std::string& tail) {
    std::string text =
        "{ lambda ; a:T[2048,64] b:T[64,1024] c:T[1024]. let d:T[2048,1024] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b; "
        "g:T[2048,1024] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(2048, 1024) sharding=None] c; " +
        tail + " in (e,) }";
    for (std::size_t at = text.find("T["); at != std::string::npos; at = text.find("T[", at + type.size())) text.replace(at, 1, type);
    return text;
}

void expect_the_same(const std::string& text) {
    SCOPED_TRACE(text);
    JitOptions options;
    options.threads = 2;
    const auto executable = Executable::compile(parse_jaxpr_text(text, "t.jaxpr")->jaxpr, {}, {}, options);
    RunOptions steps;
    steps.check_nan = true;
    const RunResult together = executable->run({}), apart = executable->run({}, steps);
    for (std::size_t k = 0; k < together.outputs.size(); ++k)
        EXPECT_EQ(together.outputs[k]->data, apart.outputs[k]->data) << "result " << k;
}

TEST(Pieces, BiasActivationAndRowsAreThoseOfTheWholeProduct) {
    const std::string bias_and_activation = "h:T[2048,1024] = add d g; e:T[2048,1024] = tanh h";
    for (const char* type : {"f32", "f64", "bf16", "f16"}) expect_the_same(behind_product(type, bias_and_activation));
    expect_the_same(behind_product("f32",
                                   "h:T[2048] = reduce_max[axes=(1,)] d; i:T[2048,1024] = broadcast_in_dim"
                                   "[broadcast_dimensions=(0,) shape=(2048, 1024) sharding=None] h; j:T[2048,1024] = sub d i; "
                                   "e:T[2048,1024] = exp j"));
    // Who reads the product at other places, or once more later, waits for all of it, or finds it.
    expect_the_same(behind_product("f32", "h:T[2048,1024] = rev[dimensions=(0,)] d; e:T[2048,1024] = add h g"));
    expect_the_same(behind_product("f32",
                                   "h:T[2048,1024] = exp d; i:T[1024,1024] = dot_general[dimension_numbers=(([0], [0]), ([], []))] d h; "
                                   "j:T[1024] = reduce_sum[axes=(0,) out_sharding=None] i; k:T[2048,1024] = broadcast_in_dim"
                                   "[broadcast_dimensions=(1,) shape=(2048, 1024) sharding=None] j; e:T[2048,1024] = add h k"));
}

/// Batches of products, one of which is a piece, with a mask and a sum of each row behind them.
TEST(Pieces, BatchesToo) {
    expect_the_same(
        "{ lambda ; a:f32[24,256,32] b:f32[24,256,32]. let c:f32[24,256,256] = dot_general[dimension_numbers=(([2], [2]), ([0], [0]))] a "
        "b; "
        "d:f32[24,256,256] = mul c 0.125:f32[]; e:f32[24,256,256] = exp d; f:f32[24,256] = reduce_sum[axes=(2,) out_sharding=None] e in "
        "(e, f) }");
}

}  // namespace
}  // namespace jaxscope
