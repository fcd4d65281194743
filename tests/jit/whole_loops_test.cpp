// Loops of little work, which run as one function, beside the same step by step (check_nan looks at each step).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "io/text/parser.h"
#include "jit/jit.h"
#include "jit/small_programs.h"

namespace jaxscope {
namespace {

template <class T>
ArrayPtr array(AvalRef aval, const std::vector<T>& values) {
    auto a = std::make_shared<ArrayConst>();
    a->aval = aval;
    a->data.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(a->data.data(), values.data(), a->data.size());
    return a;
}
template <class T>
std::vector<T> numbers(const ArrayPtr& a) {
    std::vector<T> out(a->data.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), a->data.data(), a->data.size());
    return out;
}
ArrayPtr floats(const std::vector<float>& v) { return array(f32({std::ssize(v)}), v); }

JaxprPtr program(const std::string& text) { return parse_jaxpr_text(text, "t.jaxpr")->jaxpr; }

/// The results of the program as it runs, which are those of its steps one by one.
std::vector<ArrayPtr> both_ways(const std::string& text, const std::vector<ArrayPtr>& in) {
    const auto executable = Executable::compile(program(text));
    RunOptions steps;
    steps.check_nan = true;
    const RunResult whole = executable->run(in), stepwise = executable->run(in, steps);
    for (std::size_t k = 0; k < whole.outputs.size(); ++k) {
        if (whole.outputs[k]->aval->dtype != DType::F32) {
            EXPECT_EQ(whole.outputs[k]->data, stepwise.outputs[k]->data) << "result " << k;
            continue;
        }
        const auto a = numbers<float>(whole.outputs[k]), b = numbers<float>(stepwise.outputs[k]);
        for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5f * (1 + std::abs(b[i]))) << "result " << k << " at " << i;
    }
    return whole.outputs;
}

/// Two carries that change places: too large for registers, and neither can be written over.
std::string exchanging(int length, int size, bool reverse) {
    const std::string t = "f32[" + std::to_string(size) + "]", n = std::to_string(length);
    return "{ lambda ; a:" + t + " b:" + t + ". let c:" + t + " d:" + t + " e:f32[" + n + "," + std::to_string(size) +
           "] = scan[_split_transpose=False jaxpr={ lambda ; f:" + t + " g:" + t + ". let h:" + t +
           " = add f 1.0:f32[] in (g, h, f) } length=" + n +
           " linear=(False, False) num_carry=2 num_consts=0 reverse=" + (reverse ? "True" : "False") + " unroll=1] a b in (c, d, e) }";
}

TEST(WholeLoops, CarriesChangePlacesWhateverTheLength) {
    for (const int size : {1, 3, 16, 40})
        for (const int length : {0, 1, 2, 3, 8})
            for (const bool reverse : {false, true}) {
                SCOPED_TRACE(std::to_string(size) + " numbers, " + std::to_string(length) + (reverse ? " turns, last first" : " turns"));
                std::vector<float> a(static_cast<std::size_t>(size)), b(a.size()), seen;
                for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i), b[i] = 100 + a[i];
                const std::vector<ArrayPtr> out = both_ways(exchanging(length, size, reverse), {floats(a), floats(b)});
                for (int turn = 0; turn < length; ++turn) {
                    seen.insert(reverse ? seen.begin() : seen.end(), a.begin(), a.end());
                    std::vector<float> next = a;
                    for (float& v : next) v += 1;
                    a = b, b = next;
                }
                EXPECT_EQ(numbers<float>(out[0]), a);
                EXPECT_EQ(numbers<float>(out[1]), b);
                EXPECT_EQ(numbers<float>(out[2]), seen);
            }
}

TEST(WholeLoops, BranchesOutsideAreTheNearest) {
    const std::string text =
        "{ lambda ; a:i32[6] b:f32[]. let c:f32[] d:f32[6] = scan[_split_transpose=False jaxpr={ lambda ; e:f32[] f:i32[]. let g:f32[] = "
        "cond[branches=({ lambda ; h:f32[]. let i:f32[] = add h 1.0:f32[] in (i,) } { lambda ; h:f32[]. let i:f32[] = mul h 2.0:f32[] in "
        "(i,) } { lambda ; h:f32[]. let i:f32[] = neg h in (i,) })] f e in (g, g) } length=6 linear=(False, False) num_carry=1 "
        "num_consts=0 "
        "reverse=False unroll=1] b a in (c, d) }";
    const std::vector<std::int32_t> chosen{-5, 1, 2, 7, 0, 1};
    const std::vector<ArrayPtr> out = both_ways(text, {array(AvalRef(DType::S32, {6}), chosen), array(f32({}), std::vector<float>{3})});
    EXPECT_EQ(numbers<float>(out[1]), (std::vector<float>{4, 8, -8, 8, 9, 18}));
}

/// One number at a time of an array that is carried along, at places of which some lie outside.
std::string writing(const std::string& primitive, const std::string& mode) {
    return "{ lambda ; a:f32[40] b:i32[5,1] c:f32[5]. let d:f32[40] = scan[_split_transpose=False jaxpr={ lambda ; e:f32[40] f:i32[1] "
           "g:f32[]. "
           "let h:f32[40] = " +
           primitive +
           "[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(), inserted_window_dims=(0,), "
           "scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=()) indices_are_sorted=True mode="
           "GatherScatterMode." +
           mode +
           " unique_indices=True update_consts=() update_jaxpr=None] e f g in (h,) } length=5 linear=(False, False, "
           "False) num_carry=1 num_consts=0 reverse=False unroll=1] a b c in (d,) }";
}

TEST(WholeLoops, WhatLiesOutsideIsDroppedOrBroughtInside) {
    std::vector<float> before(40);
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = static_cast<float>(i);
    const std::vector<std::int32_t> places{3, 40, -1, 39, 3};
    const std::vector<float> given{10, 20, 30, 40, 50};
    const std::vector<ArrayPtr> in{floats(before), array(AvalRef(DType::S32, {5, 1}), places), floats(given)};
    for (const bool clip : {false, true})
        for (const bool add : {false, true}) {
            std::vector<float> want = before;
            for (std::size_t i = 0; i < places.size(); ++i) {
                std::int32_t at = places[i];
                if (clip) at = std::clamp(at, 0, 39);
                if (at < 0 || at >= 40) continue;
                float& to = want[static_cast<std::size_t>(at)];
                to = add ? to + given[i] : given[i];
            }
            const std::string text = writing(add ? "scatter-add" : "scatter", clip ? "CLIP" : "FILL_OR_DROP");
            EXPECT_EQ(numbers<float>(both_ways(text, in)[0]), want) << text;
        }
}

/// A window of two rows of three, placed by numbers of which some are too large.
TEST(WholeLoops, SlicesAreUpdatedInside) {
    const std::string text =
        "{ lambda ; a:i32[8,9] b:i32[4] c:i32[2,3]. let d:i32[8,9] = scan[_split_transpose=False jaxpr={ lambda ; e:i32[2,3] f:i32[8,9] "
        "g:i32[]. let h:i32[8,9] = dynamic_update_slice f e g g in (h,) } length=4 linear=(False, False, False) num_carry=1 num_consts=1 "
        "reverse=False unroll=1] c a b in (d,) }";
    std::vector<std::int32_t> want(72, 0);
    const std::vector<std::int32_t> places{-3, 2, 100, 5}, window{1, 2, 3, 4, 5, 6};
    for (const std::int32_t p : places) {
        const int row = std::clamp(p, 0, 6), col = std::clamp(p, 0, 6);
        for (int i = 0; i < 6; ++i) want[static_cast<std::size_t>((row + i / 3) * 9 + col + i % 3)] = window[static_cast<std::size_t>(i)];
    }
    const std::vector<ArrayPtr> in{array(AvalRef(DType::S32, {8, 9}), std::vector<std::int32_t>(72, 0)),
                                   array(AvalRef(DType::S32, {4}), places), array(AvalRef(DType::S32, {2, 3}), window)};
    EXPECT_EQ(numbers<std::int32_t>(both_ways(text, in)[0]), want);
}

/// Small products in every order of dimensions, beside the routine's.
TEST(WholeLoops, SmallProductsAreThoseOfTheRoutines) {
    const std::vector<std::array<std::string, 4>> products{{"f32[4]", "f32[4,16]", "(([0], [0]), ([], []))", "f32[16]"},
                                                           {"f32[10,10]", "f32[10]", "(([1], [0]), ([], []))", "f32[10]"},
                                                           {"f32[10,10]", "f32[10]", "(([0], [0]), ([], []))", "f32[10]"},
                                                           {"f32[20]", "f32[20]", "(([0], [0]), ([], []))", "f32[]"},
                                                           {"f32[3,4]", "f32[4,5]", "(([1], [0]), ([], []))", "f32[3,5]"},
                                                           {"f32[4,3]", "f32[5,4]", "(([0], [1]), ([], []))", "f32[3,5]"},
                                                           {"f32[2,3,4]", "f32[2,4,3]", "(([2], [1]), ([0], [0]))", "f32[2,3,3]"},
                                                           {"f32[2,3,4]", "f32[2,3,5]", "(([0, 1], [0, 1]), ([], []))", "f32[4,5]"}};
    for (const auto& [lhs, rhs, dims, result] : products) {
        SCOPED_TRACE(lhs + " by " + rhs + " " + dims);
        both_ways("{ lambda ; a:" + lhs + " b:" + rhs + " c:f32[7]. let d:" + result +
                      " = broadcast_in_dim[broadcast_dimensions=() shape=(" + result.substr(4, result.size() - 5) +
                      (result.find(',') == std::string::npos && result.size() > 5 ? ",)" : ")") + " sharding=None] 0.0:f32[]; e:" + result +
                      " = scan[_split_transpose=False jaxpr={ lambda ; f:" + lhs + " g:" + rhs + " h:" + result + " i:f32[]. let j:" + rhs +
                      " = mul g i; k:" + result + " = dot_general[dimension_numbers=" + dims + "] f j; l:" + result +
                      " = add h k in (l,) } length=7 linear=(False, False, False, False) num_carry=1 num_consts=2 reverse=False unroll=1] "
                      "a b d c in "
                      "(e,) }",
                  {});
    }
}

/// A caller passes null for what isn't kept, though the loop has it as an operand.
TEST(WholeLoops, WhatIsNotKeptIsNotRead) {
    for (const char* type : {"f32[]", "f32[3]", "f32[40]"}) {
        const std::string t = type;
        const JaxprPtr j = program(
            "{ lambda ; a:f32[] b:" + t + " c:" + t + ". let d:f32[] _:" + t + " = scan[_split_transpose=False jaxpr={ lambda ; e:" + t +
            " f:f32[] g:" + t + ". let h:f32[] = mul f 2.0:f32[]; i:" + t +
            " = sin g in (h, i) } length=3 linear=(False, False, False) num_carry=2 num_consts=1 reverse=False unroll=1] b a c in (d,) }");
        const auto executable = Executable::compile_in_place(j, {}, {true, false, false});
        const ArrayPtr x = array(f32({}), std::vector<float>{1.5});
        const ArrayConst* in[] = {x.get(), nullptr, nullptr};
        std::vector<ArrayPtr> given, out;
        executable->run_in_place(in, given, out);
        EXPECT_EQ(numbers<float>(out.at(0)), (std::vector<float>{12})) << t;
    }
}

}  // namespace
}  // namespace jaxscope
