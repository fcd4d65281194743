#include "io/capture/reader.h"
#include "io/capture/writer.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cmath>

#include "base/limits.h"
#include "capture_builder.h"
#include "ir/primitive.h"
#include "ir/print/printer.h"
#include "ir/types/element.h"

namespace jaxscope {
namespace {

using json = nlohmann::ordered_json;  // tables come in the format's order
using test::small_capture;

ProgramPtr read(const json& capture) { return read_capture_text(capture.dump(), "test.jaxscope"); }

Error error_of_text(const std::string& text) {
    try {
        read_capture_text(text, "test.jaxscope");
    } catch (const Error& e) {
        EXPECT_LE(full_text(e).size(), 1100u);
        return e;
    }
    ADD_FAILURE() << "read without an error";
    return Error(ErrorCode::Cancelled, "");
}
std::string message(const json& capture) { return error_of_text(capture.dump()).fact(); }

TEST(CaptureReader, ReadsWhatIsThere) {
    const ProgramPtr p = read(small_capture());
    EXPECT_EQ(p->name.str(), "f");
    EXPECT_EQ(p->jax_version, "0.10.2");
    EXPECT_EQ(p->jaxpr->eqns.size(), 3u);
    EXPECT_EQ(p->jaxpr->num_constvars, 1u);
    EXPECT_STREQ(p->jaxpr->eqns[0].prim->name.c_str(), "jit") << "pjit is jit's older name";
    EXPECT_EQ(p->jaxpr->eqns[0].source.loc().file, "train.py");
    EXPECT_EQ(p->jaxpr->eqns[0].source.loc().line, 41);
    EXPECT_EQ(p->jaxpr->eqns[0].source->summary().str(), "train.py:41:5 (f)");
    EXPECT_EQ(p->jaxpr->eqns[0].source->name_stack.str(), "jvp(loss)");
    EXPECT_TRUE(p->jaxpr->dropped(p->jaxpr->output(p->jaxpr->eqns[2], 0)));
    EXPECT_EQ(p->jaxpr->eqns[0].params->jaxprs()[0]->name.str(), "inner");
    EXPECT_TRUE(p->donated[0]);
    EXPECT_EQ(p->differentiate, std::vector<int>{0});
    ASSERT_EQ(p->static_args.size(), 1u);
    EXPECT_EQ(p->static_args[0].second.str(), "True");
    EXPECT_EQ(p->files[0].text, "import jax\n");
}

TEST(CaptureReader, KeepsValuesOfArrays) {
    const ProgramPtr p = read(small_capture());
    const ArrayPtr ints = p->jaxpr->consts[0];
    ASSERT_EQ(ints->data.size(), 16u);
    EXPECT_EQ(load_element(DType::S32, ints->data.data() + 12).integer, 4);
    EXPECT_FALSE(p->values[0]->known()) << "left out of the capture";
    json c = small_capture();
    c["jaxprs"][1]["constvars"] = {3, 4};
    c["jaxprs"][1]["consts"] = {1, 2};
    c["jaxprs"][1]["eqns"] = json::array();
    c["jaxprs"][1]["outvars"] = {2};
    const ProgramPtr q = read(c);
    EXPECT_EQ(load_element(DType::U32, q->jaxpr->consts[0]->data.data() + 12).integer, 4294967295);
    const Element e = load_element(DType::C64, q->jaxpr->consts[1]->data.data() + 8);
    EXPECT_TRUE(std::isinf(e.number.real()) && std::isnan(e.number.imag()));
}

TEST(CaptureReader, SharedVariablesStayInsideTheirJaxpr) {
    json c = small_capture();
    c["jaxprs"][1]["shared_vars"] = {{0, 2, 7}, {4, 1, 3}};
    const ProgramPtr p = read(c);
    EXPECT_EQ(p->jaxpr->shared_id(Var{1}), std::optional<std::uint32_t>(8));
    EXPECT_EQ(p->jaxpr->shared_id(Var{4}), std::optional<std::uint32_t>(3));
    EXPECT_FALSE(p->jaxpr->shared_id(Var{2}).has_value());
    for (const json& runs :
         {json{{4, 2, 0}}, json{{0, 0, 0}}, json{{-1, 1, 0}}, json{{2, 1, 0}, {2, 1, 1}}, json{{0, 1}}, json{{0, 1, 1ll << 40}}}) {
        c["jaxprs"][1]["shared_vars"] = runs;
        EXPECT_THROW(read(c), Error) << runs;
    }
}

TEST(CaptureReader, LiteralsKeepHowTheyWereWritten) {
    json c = small_capture();
    c["jaxprs"][1]["eqns"][1][1][1] = -3;
    const ProgramPtr p = read(c);
    const Literal& l = *p->jaxpr->inputs(p->jaxpr->eqns[1])[1].literal();
    EXPECT_EQ(l.real, static_cast<double>(1e-5f)) << "rounded to f32";
    EXPECT_EQ(value_text(l), "1e-05");
}

TEST(CaptureReader, ReadsZstd) {
    const std::string packed = test::zstd(small_capture().dump());
    const ProgramPtr p = read_capture_text(packed, "test");
    EXPECT_EQ(p->jaxpr->eqns.size(), 3u);
    EXPECT_EQ(p->file_bytes, static_cast<std::int64_t>(packed.size()));
    EXPECT_NE(std::string(error_of_text(packed.substr(0, packed.size() / 2)).fact()).find("end of the file"), std::string::npos);
    std::string damaged = packed;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
    EXPECT_EQ(error_of_text(damaged).code, ErrorCode::BadInput);
}

TEST(CaptureReader, RefusesACompressedFileThatExpandsTooMuch) {
    // A string of one letter: one below the limit of 200 times is hard to hit, far above it is not.
    json c = small_capture();
    c["files"][0]["text"] = std::string(64 << 20, 'x');
    EXPECT_EQ(error_of_text(test::zstd(c.dump())).code, ErrorCode::LimitExceeded);
    c["files"][0]["text"] = std::string(900 << 10, 'x');
    EXPECT_NO_THROW(read_capture_text(test::zstd(c.dump()), "small enough to harm nobody"));
}

TEST(CaptureReader, NamesThePathOfEveryError) {
    struct Case {
        const char* pointer;
        json value;
        const char* expected;
    };
    const Case cases[] = {
        {"/format", "x", "$.format: expected \"jaxscope.capture\", found 'x'"},
        {"/version", 3, "$.version: expected version 1 or 2 of the capture format, found 3"},
        {"/avals/0/0", "float33", "$.avals[0][0]: expected a dtype, found 'float33'"},
        {"/avals/0/1/0", -1, "$.avals[0][1][0]: expected a dimension of at least 0, found -1"},
        {"/avals/0/1", "x", "$.avals[0][1]: expected an array, found 'x'"},
        {"/frames/0/0", 7, "$.frames[0][0]: expected a file below 1, found 7"},
        {"/literals/0/0", 0, "$.literals[0][0]: expected the aval of a scalar, found f32[3]"},
        {"/literals/0/1", "seven", "$.literals[0][1]: expected a number, \"nan\", \"inf\" or \"-inf\", found 'seven'"},
        {"/arrays/0/values/1", {3}, "$.arrays[0].values: expected a list of 2, not 1 (i32[2,2]), found something else in its values"},
        {"/arrays/0/values/1/1", 4294967296, "$.arrays[0].values: expected a value of int32, found 4294967296"},
        {"/jaxprs/1/eqns/0/1/0", 99, "$.jaxprs[1].eqns[0][1][0]: expected a variable below 2, found 99"},
        {"/jaxprs/1/eqns/1/1/1", -9, "$.jaxprs[1].eqns[1][1][1]: expected a literal below 3, found 8"},
        {"/jaxprs/1/eqns/1/2/0", 17, "$.jaxprs[1].eqns[1][2][0]: expected an aval below 5, found 17"},
        {"/jaxprs/1/eqns/1/0", 9, "$.jaxprs[1].eqns[1][0]: expected a string below 4, found 9"},
        {"/jaxprs/1/eqns/1/3", 9, "$.jaxprs[1].eqns[1][3]: expected parameters below 3, found 9"},
        {"/jaxprs/1/eqns/1/4", 1, "$.jaxprs[1].eqns[1][4]: expected a source below 1, found 1"},
        {"/jaxprs/1/outvars/0", 5, "$.jaxprs[1].outvars[0]: expected a variable below 5, found 5"},
        {"/params/1/jaxpr/closed_jaxpr", 1, "$.params[1].jaxpr.closed_jaxpr: expected a jaxpr below 1, found 1"},
        {"/params/2/new_dtype/dtype", "f", "$.params[2].new_dtype.dtype: expected a dtype, found 'f'"},
        {"/program/jaxpr", 2, "$.program.jaxpr: expected a jaxpr below 2, found 2"},
        {"/program/donated", {true, false}, "$.program.donated: expected one entry for each of the 1 inputs, found an array of 2"},
        {"/strings/0", 3, "$.strings[0]: expected a string, found 3"},
    };
    for (const Case& k : cases) {
        json c = small_capture();
        c[json::json_pointer(k.pointer)] = k.value;
        EXPECT_EQ(message(c), k.expected);
    }
}

TEST(CaptureReader, AClosedJaxprHasItsConstants) {
    json c = small_capture();
    c["jaxprs"][0]["constvars"] = {0};
    c["jaxprs"][0]["consts"] = nullptr;
    EXPECT_EQ(message(c), "$.params[1].jaxpr.closed_jaxpr: expected a closed jaxpr (as many consts as constvars), found 0");
}

TEST(CaptureReader, ReadsHowMarkedCallsAreMapped) {
    json c = small_capture();
    c["marked"] = json::parse(R"({"jaxpr": 1, "calls": [
        {"mark": 4, "half": "backward", "jaxpr": 0, "batch": [{"axis": 1, "size": 3, "in": [0], "out": [null]}]}]})");
    const ProgramPtr p = read(c);
    ASSERT_EQ(p->marked_calls.size(), 1u);
    const MarkedCall& call = p->marked_calls[0];
    EXPECT_TRUE(call.mark == 4 && call.backward && call.jaxpr == p->jaxpr->eqns[0].params->jaxprs().at(0));
    ASSERT_EQ(call.batch.size(), 1u);
    EXPECT_EQ(call.batch[0].in, std::vector<int>{0});
    EXPECT_EQ(call.batch[0].out, std::vector<int>{MarkedCall::kNotMapped});
    EXPECT_EQ(capture_text(*read_capture_text(capture_text(*p), "again")), capture_text(*p));
    const std::tuple<const char*, json, const char*> wrong[] = {
        {"/marked/calls/0/half", "both", "$.marked.calls[0].half: expected \"forward\" or \"backward\", found 'both'"},
        {"/marked/calls/0/batch/0/in", {0, 0}, "$.marked.calls[0].batch[0].in: expected one axis or null for each of the 1 inputs"},
        {"/marked/calls/0/batch/0/in", {1}, "$.marked.calls[0].batch[0]: expected axes of size 3 of the call's values"},
        {"/marked/calls/0/batch/0/size", 4, "$.marked.calls[0].batch[0]: expected axes of size 4 of the call's values"},
        {"/marked/calls/0/jaxpr", 2, "$.marked.calls[0].jaxpr: expected a jaxpr below 2, found 2"}};
    for (const auto& [pointer, value, expected] : wrong) {
        json w = c;
        w[json::json_pointer(pointer)] = value;
        EXPECT_EQ(message(w).find(expected), 0u) << message(w);
    }
}

TEST(CaptureReader, RefusesJsonThatIsNone) {
    EXPECT_NE(std::string(error_of_text("").fact()).find("end of the file"), std::string::npos);
    EXPECT_NE(std::string(error_of_text("{\"format\": \"jaxscope.capture\", \"version\": 1, \"avals\": [[").fact()).find("$.avals[0]"),
              std::string::npos);
    EXPECT_NE(std::string(error_of_text("[1, 2]").fact()).find("one JSON object"), std::string::npos);
    EXPECT_NE(std::string(error_of_text("{\"format\": \"\xff\"}").fact()).find("no valid UTF-8"), std::string::npos);
    std::string whole = small_capture().dump();
    for (std::size_t n = 0; n < whole.size(); n += 7) error_of_text(whole.substr(0, n));
}

TEST(CaptureReader, LimitsNesting) {
    const auto deep = [](std::size_t n) { return "{\"x\":" + std::string(n, '[') + std::string(n, ']') + "}"; };
    EXPECT_EQ(error_of_text(deep(kMaxJsonDepth.value)).code, ErrorCode::LimitExceeded);
    EXPECT_EQ(error_of_text(deep(kMaxJsonDepth.value - 1)).code, ErrorCode::BadInput) << "only the rest is missing";
    EXPECT_EQ(error_of_text(deep(100000)).code, ErrorCode::LimitExceeded);
}

/// `n` jaxprs, each calling the one before.
json nested(std::size_t n) {
    json c = small_capture();
    c["jaxprs"] = json::array();
    c["params"] = json::array();
    for (std::size_t i = 0; i < n; ++i) {
        json eqns = json::array();
        if (i > 0) eqns.push_back({2, {0}, {0}, i - 1, 0, 0});
        if (i > 0) eqns.push_back({2, {1}, {0}, i - 1, 0, 0});
        c["jaxprs"].push_back({{"constvars", json::array()}, {"invars", {0}}, {"eqns", eqns}, {"outvars", {0}}});
        c["params"].push_back({{"jaxpr", {{"closed_jaxpr", i}}}});
    }
    c["program"]["jaxpr"] = n - 1;
    return c;
}

TEST(CaptureReader, LimitsJaxprsInsideJaxprsAndCountsThemOnce) {
    const ProgramPtr p = read(nested(kMaxNesting.value));
    EXPECT_EQ(nesting_depth(*p->jaxpr), static_cast<int>(kMaxNesting.value));
    EXPECT_EQ(count_equations(*p->jaxpr), INT64_MAX) << "2^256 equations if inlined, read at once";
    EXPECT_LT(to_text(*p->jaxpr).size(), 100000u) << "each jaxpr is printed once";
    EXPECT_EQ(error_of_text(nested(kMaxNesting.value + 1).dump()).code, ErrorCode::LimitExceeded);
}

TEST(CaptureReader, UnknownKeysAreSkipped) {
    json c = small_capture();
    c["jaxprs"][0]["future"] = {{"a", {1, 2, {3}}}};
    c["program"]["future"] = true;
    std::string text = c.dump();
    text.insert(1, "\"future\":[{\"deep\":[1,[2]]},null,\"x\"],");
    EXPECT_NO_THROW(read_capture_text(text, "test"));
}

TEST(CaptureReader, HugeShapesCostNothingAndOverflowIsRefused) {
    json c = small_capture();
    c["avals"][2] = {"int32", {4294967296, 1024}};
    c["arrays"][0] = {{"aval", 2}};
    EXPECT_EQ(read(c)->jaxpr->consts[0]->aval->bytes(), std::int64_t{4} * 4294967296 * 1024);
    c["arrays"][0] = {{"aval", 2}, {"values", {1, 2}}};
    EXPECT_NE(message(c).find("a list of"), std::string::npos);
    c["avals"][2] = {"int32", {4294967296, 4294967296}};
    EXPECT_NE(message(c).find("$.avals[2][1]: expected a size below 2^63"), std::string::npos);
}

}  // namespace
}  // namespace jaxscope
