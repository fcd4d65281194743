// Input that is wrong on purpose, one case a line: what is said, and where. What it may cost is measured in
// tests/differential/test_hostile.py.
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "base/limits.h"
#include "capture_builder.h"
#include "io/arrays/npz.h"
#include "io/capture/reader.h"
#include "io/text/parser.h"
#include "ir/followed.h"
#include "ir/primitive.h"
#include "ir/print/printer.h"

namespace jaxscope {
namespace {

using json = nlohmann::ordered_json;

/// The first line of the message; checks what holds for every message.
std::string refusal(const std::function<void()>& read) {
    const auto begin = std::chrono::steady_clock::now();
    std::string text;
    try {
        read();
        return "no error";
    } catch (const Error& e) {
        text = full_text(e);
        EXPECT_EQ(exit_code(e.code), 2) << text;
    }
    EXPECT_LE(text.size(), 1024u);
    EXPECT_TRUE(std::none_of(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7F;
    })) << text;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << text;
    return text.substr(0, text.find('\n'));
}
std::string of_text(const std::string& text) {
    return refusal([&] { read_jaxpr_text(text, "t"); });
}
std::string of_capture(const std::string& bytes) {
    return refusal([&] { read_capture_text(bytes, "c"); });
}
std::string repeated(std::string_view piece, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += piece;
    return out;
}

/// A program of one line: the equations begin in column 34.
std::string with_equation(const std::string& eqn) { return "{ lambda ; a:f32[3] b:f32[]. let " + eqn + " in (c,) }"; }

TEST(HostileText, IsRefusedWhereItIsWrong) {
    struct Case {
        std::string text, expected;
    };
    const std::string jit = "jit[name=f jaxpr=";
    const std::string deep = repeated("{ lambda ; a:f32[]. let b:f32[] = " + jit, 10000) + "{ lambda ; a:f32[]. let  in (a,) }" +
                             repeated("] a in (b,) }", 10000);
    const Case cases[] = {
        // Variables
        {with_equation("c:f32[3] = sin z"), "t:1:49: expected a variable that is defined above, found 'z' [bad-input]"},
        {"{ lambda ; a:f32[]. let  in (z,) }", "t:1:30: expected a variable that is defined above, found 'z' [bad-input]"},
        {with_equation("c:f32[3] = sin a; c:f32[3] = sin a"), "t:1:52: expected a new variable, found 'c' again [bad-input]"},
        {with_equation("c:f32[3] = sin c"), "t:1:49: expected a variable that is defined above, found 'c' [bad-input]"},
        // Arity and types
        {with_equation("c:f32[3] = sin a b"), "t:1:34: sin: expected 1 operands, found 2 [type-mismatch]"},
        {with_equation("c:f32[3] = sin"), "t:1:34: sin: expected 1 operands, found 0 [type-mismatch]"},
        {with_equation("c:f32[3] d:f32[3] = sin a"), "t:1:34: expected 1 results of sin, found 2 [type-mismatch]"},
        {with_equation("c:f32[4] = sin a"), "t:1:34: expected f32[3] from sin, found f32[4] [type-mismatch]"},
        {with_equation("\n  c:f16[3] = sin a"), "t:2:3: expected f32[3] from sin, found f16[3] [type-mismatch]"},
        {with_equation("c:f32[] = jit[name=f jaxpr={ lambda ; d:f32[]. let\n  e:f32[2] = neg d in (e,) }] b"),
         "t:2:3: expected f32[] from neg, found f32[2] [type-mismatch]"},
        {with_equation("c:f32[] = " + jit + "{ lambda ; d:f32[]. let  in (d,) }] a b"),
         "t:1:34: jit: expected 1 inputs as its body has, found 2 [type-mismatch]"},
        {with_equation("c:f32[] = " + jit + "{ lambda ; d:f32[]. let  in (d,) }] a"),
         "t:1:34: jit: expected input 0 of type f32[] as its body has, found f32[3] [type-mismatch]"},
        {with_equation("c:f32[] = remat2[differentiated=False jaxpr={ lambda ; d:f32[]. let  in (d,) } policy=None prevent_cse=True] a"),
         "t:1:34: remat2: expected input 0 of type f32[] as its body has, found f32[3] [type-mismatch]"},
        {with_equation("c:f32[] = custom_jvp_call[name=g call_jaxpr={ lambda ; d:f32[]. let  in (d,) } jvp=h symbolic_zeros=False] a"),
         "t:1:34: custom_jvp_call: expected input 0 of type f32[] as its body has, found f32[3] [type-mismatch]"},
        {with_equation(
             "c:f32[] = custom_vjp_call[name=g bwd=i call_jaxpr={ lambda ; d:f32[]. let  in (d,) } fwd=h symbolic_zeros=False] b b"),
         "t:1:34: custom_vjp_call: expected 1 inputs as its body has, found 2 [type-mismatch]"},
        // Dtypes, shapes
        {with_equation("c:f33[3] = sin a"), "t:1:36: expected a dtype, found 'f33' [bad-input]"},
        {"{ lambda ; a:quux[3]. let  in (a,) }", "t:1:14: expected a dtype, found 'quux' [bad-input]"},
        {"{ lambda ; a:f32[-3]. let  in (a,) }", "t:1:14: expected a dimension from 0 to 2^63 - 1, found -3 [bad-input]"},
        {"{ lambda ; a:f32[99999999999999999999]. let  in (a,) }",
         "t:1:14: expected a dimension from 0 to 2^63 - 1, found 99999999999999999999 [bad-input]"},
        {"{ lambda ; a:f32[4611686018427387904,2]. let  in (a,) }",
         "t:1:14: expected a size below 2^63, found a product of dimensions that exceeds it [bad-input]"},
        {"{ lambda ; a:f32[" + repeated("1,", 100) + "1]. let  in (a,) }",
         "t:1:14: expected at most 64 dimensions, found 101 [limit-exceeded]"},
        // Numbers
        {with_equation("c:f32[] = mul b 1e999999:f32[]"), "t:1:50: expected a literal of f32[], found '1e999999:f32[]' [bad-input]"},
        {std::string("{ lambda ; a:\0f32[]. let  in (a,) }", 35), "t:1:14: expected a type, found '\\x00f32[]' [bad-input]"},
        {"{ lambda ; a:f32[\xff]. let  in (a,) }", "t:1:18: expected UTF-8, found the byte '\\xff' [bad-input]"},
        {with_equation("c:f32[] = mul b one:f32[]"), "t:1:50: expected a literal of f32[], found 'one:f32[]' [bad-input]"},
        {with_equation("c:i32[] = neg 2147483648:i32[]"), "t:1:48: expected a literal of i32[], found '2147483648:i32[]' [bad-input]"},
        {with_equation("c:u8[] = neg -1:u8[]"), "t:1:47: expected a literal of u8[], found '-1:u8[]' [bad-input]"},
        {with_equation("c:i32[] = neg nan:i32[]"), "t:1:48: expected a literal of i32[], found 'nan:i32[]' [bad-input]"},
        {with_equation("c:f32[] = reduce_sum[axes=(99999999999999999999,)] a"), "t:1:55: expected an integer, found a float [bad-input]"},
        // Parameters
        {with_equation("c:f32[] = reduce_sum a"), "t:1:34: expected the parameter 'axes', found none [bad-input]"},
        {with_equation("c:f32[] = reduce_sum[axes=foo] a"), "t:1:55: expected a sequence of integers, found a string [bad-input]"},
        {with_equation("c:f32[] = jit[name=f jaxpr=g] a"),
         "t:1:61: expected a jaxpr, or the name of one that a `let` defines, found 'g' [bad-input]"},
        {with_equation("c:f32[] = jit[name=f jaxpr=None] a"),
         "t:1:61: expected a jaxpr, or the name of one that a `let` defines, found 'None' [bad-input]"},
        {with_equation("c:f32[] = jit[name=f jaxpr=] a"), "t:1:61: expected the value of parameter 'jaxpr', found ']' [bad-input]"},
        // Nesting and cycles
        {deep, "t:1:13057: expected jaxprs nested at most 256 deep, found more [limit-exceeded]"},
        {with_equation("c:f32[] = foo[x=" + repeated("(", 100000) + "] a"),
         "t:1:100062: expected a parameter, found the end of the text [bad-input]"},
        {"{ lambda ; a:" + repeated("[", 100000) + ". let  in () }",
         "t:1:14: expected a type, found '" + repeated("[", 40) + "' [bad-input]"},
        {"let f = { lambda ; a:f32[]. let b:f32[] = " + jit + "f] a in (b,) } in { lambda ; a:f32[]. let b:f32[] = " + jit +
             "f] a in (b,) }",
         "t:1:33: expected jaxprs that don't call themselves, found one that does [bad-input]"},
        {"let f = { lambda ; a:f32[]. let b:f32[] = " + jit + "g] a in (b,) } in\nlet g = { lambda ; a:f32[]. let b:f32[] = " + jit +
             "f] a in (b,) } in { lambda ; a:f32[]. let b:f32[] = " + jit + "f] a in (b,) }",
         "t:2:33: expected jaxprs that don't call themselves, found one that does [bad-input]"},
        // Several programs, no types, Refs
        {"{ lambda ; a:f32[]. let  in (a,) }\n{ lambda ; a:f32[]. let  in (a,) }",
         "t:2:1: expected one program in a file, and the end of the text behind it, found '{' [bad-input]"},
        {"{ lambda ; a. let  in (a,) }", "t:1:13: expected ':' and the type of 'a' (print_shapes=True prints it), found '.' [bad-input]"},
        {"{ lambda ; a:Ref{f32[3]}. let b:f32[] <- a[z] in (b,) }",
         "t:1:43: expected indices that are defined above, found '[z]' [bad-input]"},
        {"{ lambda ; a:Ref{f32[3]}. let b:f32[] <- a[ in (b,) }", "t:1:53: expected an index, found the end of the text [bad-input]"},
        {"{ lambda ; a:Ref{f32[3]}. let b:f32[] <- z[0] in (b,) }",
         "t:1:42: expected a variable that is defined above, found 'z[0]' [bad-input]"},
        {"{ lambda ; a:f32[3]. let b:token = sin a in (b,) }", "t:1:26: expected f32[3] from sin, found token [type-mismatch]"},
        // Duplicates
        {repeated("let f = { lambda ; a:f32[]. let  in (a,) } in\n", 3),
         "t:3:1: expected a jaxpr with a name of its own behind 'f', found 'let' [bad-input]"},
        // Bytes that are no text, truncation
        {"{ lambda ; a:f32[3]. let b:f32[3] = \xff\xfe a in (b,) }", "t:1:37: expected UTF-8, found the byte '\\xff' [bad-input]"},
        {std::string("{ lambda ; a:f32[3]. let b:f32[3] = s\0in\x1b[31m a in (b,) }", 57),
         "t:1:38: expected a variable that is defined above, found '\\x00in' [bad-input]"},
        {"{ lambda ; a:f32[3]. let b:f32[3] = sin " + repeated("x", 1000000) + " in (b,) }",
         "t:1:41: expected a variable that is defined above, found '" + repeated("x", 40) + "' [bad-input]"},
        {"{ lambda ; a:f32[3]. let\n  b:f32[3] = ", "t:2:12: expected a primitive, found the end of the text [bad-input]"},
        {repeated("{ lambda ", 10000), "t:1:10: expected a variable, found '{' [bad-input]"},
        {repeated("let f = ", 10000), "t:1:9: expected '{', found 'let' [bad-input]"},
    };
    for (const Case& k : cases) EXPECT_EQ(of_text(k.text), "jaxscope: " + k.expected) << k.text.substr(0, 200);
}

// ---- Captures ----

TEST(HostileCapture, IsRefusedWhereItIsWrong) {
    struct Case {
        const char* pointer;
        json value;
        const char* expected;
    };
    const Case cases[] = {
        {"/jaxprs/1/eqns/0/1/0", 57, "$.jaxprs[1].eqns[0][1][0]: expected a variable below 2, found 57 [bad-input]"},
        {"/jaxprs/1/eqns/0/1/0", 3, "$.jaxprs[1].eqns[0][1][0]: expected a variable below 2, found 3 [bad-input]"},
        {"/jaxprs/1/eqns/0/1/0", 9223372036854775808u,
         "$.jaxprs[1].eqns[0][1][0]: expected an integer, found 9223372036854775808 [bad-input]"},
        {"/jaxprs/1/eqns/1/1", {2}, "$.jaxprs[1].eqns[1]: mul: expected 2 operands, found 1 [type-mismatch]"},
        {"/jaxprs/1/eqns/1/2/0", 1, "$.jaxprs[1].eqns[1]: expected f32[3] from mul, found f32[] [type-mismatch]"},
        {"/jaxprs/1/consts/0", 3, "$.jaxprs[1]: expected a constant of i32[2,2], found f32[3] [type-mismatch]"},
        {"/avals/0/0", "float33", "$.avals[0][0]: expected a dtype, found 'float33' [bad-input]"},
        {"/avals/0/1",
         {4611686018427387904, 2},
         "$.avals[0][1]: expected a size below 2^63, found a product of dimensions that exceeds it [bad-input]"},
        {"/avals/0/1/0", 1.5, "$.avals[0][1][0]: expected an integer, found 1.5 [bad-input]"},
        {"/params/1/jaxpr/closed_jaxpr", 1, "$.params[1].jaxpr.closed_jaxpr: expected a jaxpr below 1, found 1 [bad-input]"},
        {"/params/1/jaxpr", nullptr, "$.jaxprs[1].eqns[0]: expected a jaxpr, found None [bad-input]"},
        {"/literals/0/1", "1e99999", "$.literals[0][1]: expected a number, \"nan\", \"inf\" or \"-inf\", found '1e99999' [bad-input]"},
        {"/arrays/0/values/1/1", "nan", "$.arrays[0].values: expected a value of int32, found 'nan' [bad-input]"},
        {"/strings/0", "", "$.jaxprs[0].eqns[0][0]: expected the name of a primitive, found '' [bad-input]"},
        {"/regions",
         {{{"name", "x"}, {"kind", "grad"}, {"jaxpr", 77}}},
         "$.regions[0].jaxpr: expected a jaxpr below 2, found 77 [bad-input]"},
    };
    for (const Case& k : cases) {
        json c = test::small_capture();
        c["strings"][0] = "sin";
        c[json::json_pointer(k.pointer)] = k.value;
        EXPECT_EQ(of_capture(c.dump()), std::string("jaxscope: c: ") + k.expected);
    }
}

TEST(HostileCapture, KeysComeOnce) {
    std::string text = test::small_capture().dump();
    text.insert(text.find("\"avals\""), "\"strings\": [], ");
    EXPECT_EQ(of_capture(text), "jaxscope: c: $.strings: expected the key 'strings' once, found it again [bad-input]");
}

TEST(HostileCapture, NumbersThatNoDoubleHolds) {
    std::string text = test::small_capture().dump();
    text.replace(text.find("[1,2.0]"), 7, "[1,1e999]");
    EXPECT_EQ(of_capture(text).substr(0, 53), "jaxscope: c: $.literals[0]: expected JSON, found '1e9");
    text = test::small_capture().dump();
    text.replace(text.find("[1,2.0]"), 7, "[1," + std::string(1000000, '9') + "]");
    EXPECT_EQ(of_capture(text).substr(0, 51), "jaxscope: c: $.literals[0]: expected JSON, found '9");
}

TEST(HostileCapture, TheUsersLineStandsBelow) {
    json c = test::small_capture();
    c["jaxprs"][1]["eqns"][1][2][0] = 1;
    try {
        read_capture_text(c.dump(), "c");
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(full_text(e),
                  "jaxscope: c: $.jaxprs[1].eqns[1]: expected f32[3] from mul, found f32[] [type-mismatch]\n"
                  "  in checking eqn 1: mul f32[3] f32[]\n  in train.py:41\n  in the jaxpr of f");
    }
}

TEST(HostileCapture, ControlCharactersOfNamesAreEscapedInTheText) {
    json c = test::small_capture();
    c["strings"][0] = "opq\x1b[31m\x07";
    const std::string text = to_text(*read_capture_text(c.dump(), "c")->jaxpr);
    EXPECT_NE(text.find("opq\\x1b[31m\\x07"), std::string::npos) << text;
}

/// `n` jaxprs of which each holds the one before twice in a record, as custom_linear_solve does.
json records(std::size_t n) {
    json c = test::small_capture();
    c["jaxprs"] = json::array();
    c["params"] = json::array();
    for (std::size_t i = 0; i < n; ++i) {
        json eqns = json::array();
        if (i > 0) eqns.push_back({0, {0}, {0}, i - 1, 0, 0});
        c["jaxprs"].push_back({{"constvars", json::array()}, {"invars", {0}}, {"eqns", eqns}, {"outvars", {0}}});
        const json called = {{"closed_jaxpr", i}};
        const json fields = json::array({json::array({"matvec", called}), json::array({"vecmat", called})});
        c["params"].push_back({{"jaxprs", {{"record", "_LinearSolveTuple"}, {"fields", fields}, {"text", ""}}}});
    }
    c["program"]["jaxpr"] = n - 1;
    return c;
}

TEST(HostileCapture, ProgramsInsideEquationsThatDoubleAreNotPrinted) {
    const ProgramPtr few = read_capture_text(records(8).dump(), "c");
    EXPECT_GT(to_text(*few->jaxpr).size(), 5000u);
    const ProgramPtr many = read_capture_text(records(60).dump(), "c");
    EXPECT_EQ(refusal([&] { to_text(*many->jaxpr); }),
              "jaxscope: expected at most 33554432 bytes of programs printed inside equations, found more [limit-exceeded]");
}

TEST(HostileCapture, ManySourcesOfOneLongTracebackAreCut) {
    json c = test::small_capture();
    c["tracebacks"][0] = json(std::vector<int>(10000, 0));
    c["sources"] = json::array();
    for (int i = 0; i < 20000; ++i) c["sources"].push_back({0, 0, "train.py:" + std::to_string(i)});
    const ProgramPtr p = read_capture_text(c.dump(), "c");
    EXPECT_EQ(p->jaxpr->eqns[0].source->frames().size(), 10000u) << "the first ones whole";
}

TEST(HostileCapture, Zstd) {
    const auto zstd = [](const std::string& text) {
        std::string out(ZSTD_compressBound(text.size()), '\0');
        out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
        return out;
    };
    const std::string whole = zstd(test::small_capture().dump());
    EXPECT_EQ(of_capture(whole), "no error");
    EXPECT_EQ(of_capture(whole.substr(0, whole.size() - 3)),
              "jaxscope: c: expected the rest of a zstd frame, found the end of the file [bad-input]");
    EXPECT_EQ(of_capture("\x28\xb5\x2f\xfd garbage").substr(0, 46), "jaxscope: c: expected a zstd frame, found: Dat");
    EXPECT_EQ(of_capture(zstd("{\"format\": \"jaxscope.capture\", \"version\": 1}")),
              "jaxscope: c: $: expected the key 'program', found none [bad-input]");
    EXPECT_EQ(of_capture(zstd(std::string(64 << 20, ' '))),
              "jaxscope: c: expected a compressed file that expands at most 200 times, found more [limit-exceeded]");
    EXPECT_EQ(of_capture(zstd("{\"x\": " + std::string(100000, '['))),
              "jaxscope: c: $.x: expected at most 1000 values inside each other, found more [limit-exceeded]");
}

// ---- What would grow without bound when followed ----

TEST(Followed, ACallCountsEachTime) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
        const std::string call = "jit[name=f jaxpr=f" + std::to_string(i + 1) + "] ";
        text += "let f" + std::to_string(i) + " = { lambda ; a:f32[]. let b:f32[] = " + call + "a; c:f32[] = " + call + "b in (c,) } in\n";
    }
    text +=
        "let f60 = { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } in\n{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=f0] a in (b,) "
        "}";
    const ProgramPtr p = read_jaxpr_text(text, "t");
    EXPECT_EQ(to_text(*p->jaxpr).size(), to_text(*read_jaxpr_text(to_text(*p->jaxpr), "again")->jaxpr).size());
    try {
        refuse_runaway(*p->jaxpr);
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(e.code, ErrorCode::CannotRun);
        EXPECT_STREQ(e.fact(),
                     "expected at most 4000000 equations when every call of a jaxpr counts, found 3458764513820540927 out of 122");
    }
}

// ---- Archives ----

std::string npy(const std::string& header, const std::string& data = "") {
    std::string out("\x93NUMPY\x01\x00", 8);
    const auto n = static_cast<std::uint16_t>(header.size());
    return out.append(reinterpret_cast<const char*>(&n), 2) + header + data;
}
TEST(HostileNpy, IsRefused) {
    struct Case {
        std::string bytes, expected;
    };
    const Case cases[] = {
        {"", "expected an array of NumPy in 'x', found no npy header"},
        {npy("{'descr': '<f4'").substr(0, 14), "expected an array of NumPy in 'x', found a truncated header"},
        {npy("{'fortran_order': False, 'shape': (3,), }"), "expected an array of NumPy in 'x', found a header without 'descr':"},
        {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }"),
         "expected an array of NumPy in 'x', found a structured dtype"},
        {npy("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"), "expected a dtype of JAX in 'x', found '|O'"},
        {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }"), "expected an array of NumPy in 'x', found a damaged shape"},
        {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
         "expected an array of NumPy in 'x', found a damaged shape"},
        {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 2), }"),
         "expected a size below 2^63, found a product of dimensions that exceeds it"},
        {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }", "1234"),
         "expected 4000000000000 bytes of elements in 'x', found 4"},
        {npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", "1234567"), "expected 16 bytes of elements in 'x', found 7"},
    };
    for (const Case& k : cases) {
        const std::string found = refusal([&] { parse_npy(k.bytes, "x"); });
        EXPECT_EQ(found, "jaxscope: " + k.expected + " [bad-input]");
    }
}

}  // namespace
}  // namespace jaxscope
