#include "io/text/parser.h"
#include "io/text/surroundings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "base/error.h"
#include "base/limits.h"
#include "io/capture/reader.h"
#include "io/printed_text.h"
#include "ir/primitive.h"
#include "ir/print/printer.h"
#include "ir/type_check.h"

namespace jaxscope {
namespace {

namespace fs = std::filesystem;

std::string again(const std::string& text, bool source = false) {
    return to_text(*parse_jaxpr_text(text, "test.jaxpr")->jaxpr, {.source = source});
}
std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}
Error error_of(const std::string& text) {
    try {
        parse_jaxpr_text(text, "test.jaxpr");
    } catch (const Error& e) {
        EXPECT_LT(full_text(e).size(), 1100u);
        return e;
    }
    ADD_FAILURE() << "no error: " << text;
    return Error(ErrorCode::Cancelled, "");
}

// ---- What JAX printed comes back ----

class PrintedText : public testing::TestWithParam<std::string> {};

std::vector<std::string> texts() {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(fs::path(JAXSCOPE_SOURCE_DIR) / "tests/io/printed")) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(".txt")) out.push_back(name.substr(0, name.size() - 4));
    }
    std::sort(out.begin(), out.end());
    return out;
}

TEST_P(PrintedText, IsAFixpoint) {
    const std::string text = read_file(fs::path(JAXSCOPE_SOURCE_DIR) / "tests/io/printed" / (GetParam() + ".txt"));
    const bool source = GetParam().ends_with(".source");
    EXPECT_TRUE(again(text, source) == with_sorted_sets(text)) << GetParam();
    std::string crlf;
    for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    EXPECT_TRUE(again("\xEF\xBB\xBF" + crlf, source) == with_sorted_sets(text)) << "CRLF and a byte order mark";
}
std::string test_name(std::string s) {
    std::replace(s.begin(), s.end(), '.', '_');
    return s;
}
INSTANTIATE_TEST_SUITE_P(Texts, PrintedText, testing::ValuesIn(texts()), [](const auto& i) { return test_name(i.param); });

// ---- Older versions ----

class OlderText : public testing::TestWithParam<std::string> {};

std::vector<std::string> older_texts() {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(fs::path(JAXSCOPE_SOURCE_DIR) / "tests/io/older"))
        if (entry.path().extension() == ".jaxpr") out.push_back(entry.path().stem().string());
    std::sort(out.begin(), out.end());
    return out;
}
/// Every equation as often as it is called, its variables by their types alone: which jaxprs are one object differs between versions.
void equations_of(const Jaxpr& j, std::vector<std::string>& out) {
    for (const Eqn& e : j.eqns) {
        std::string one = e.prim->name.c_str();
        for (const Atom a : j.inputs(e)) one += " " + (a.is_literal() ? value_text(*a.literal()) + ":" : "") + to_text(j.aval(a));
        for (std::uint32_t k = 0; k < e.n_out; ++k) one += " -> " + to_text(j.aval(j.output(e, k)));
        out.push_back(one);
        for (const JaxprPtr& inner : e.params->jaxprs()) equations_of(*inner, out);
    }
}

TEST_P(OlderText, IsReadAsItsCaptureIsAndPrintedAsAFixpoint) {
    const fs::path file = fs::path(JAXSCOPE_SOURCE_DIR) / "tests/io/older" / (GetParam() + ".jaxpr");
    const std::string text = to_text(*read_jaxpr_text(read_file(file), "test.jaxpr")->jaxpr);
    EXPECT_TRUE(to_text(*read_jaxpr_text(text, "printed")->jaxpr) == text);
    const std::string capture = fs::path(file).replace_extension(".jaxscope").string();
    if (!fs::exists(capture)) return;
    // Literals have the types that they had, though nothing in the text says so.
    std::vector<std::string> of_text, of_capture;
    equations_of(*parse_jaxpr_text(text, "printed")->jaxpr, of_text);
    equations_of(*read_capture(capture)->jaxpr, of_capture);
    EXPECT_EQ(of_text, of_capture);
}
INSTANTIATE_TEST_SUITE_P(Texts, OlderText, testing::ValuesIn(older_texts()), [](const auto& i) { return test_name(i.param); });

// ---- Pieces ----

constexpr const char* kSmall = "{ lambda ; a:f32[3] b:f32[]. let c:f32[3] = sin a; d:f32[3] = mul c b in (d,) }";

TEST(TextParser, OneLineAndOddSpacing) {
    EXPECT_EQ(again(kSmall), kSmall);
    EXPECT_EQ(again("{lambda;a:f32[3]   b:f32[ ].let\n\n c:f32[3]=sin   a\n d:f32[3]=mul c\tb\n\nin(d,)}\n\n"), again(kSmall));
    EXPECT_EQ(again("# from a notebook\n" + std::string(kSmall) + "\n# the end"), again(kSmall));
}

TEST(TextParser, NamesInputsByTheirVariables) {
    const ProgramPtr p = parse_jaxpr_text(kSmall, "test");
    EXPECT_EQ(p->in_paths, (std::vector<Sym>{"a", "b"}));
    EXPECT_EQ(p->out_paths, std::vector<Sym>{""});
    EXPECT_EQ(p->donated, (std::vector<bool>{false, false}));
}

TEST(TextParser, HiddenParametersAreThereAgain) {
    const ProgramPtr p =
        parse_jaxpr_text("{ lambda ; a:f32[3]. let b:f32[2,3] = broadcast_in_dim[broadcast_dimensions=(1,)] a in (b,) }", "test");
    const Params& params = *p->jaxpr->eqns[0].params;
    ASSERT_NE(params.find("shape"), nullptr);
    EXPECT_EQ(*params.find("shape"), Attr::tuple({2, 3}));
    EXPECT_TRUE(params.find("sharding")->is_none());
    const ProgramPtr q = parse_jaxpr_text(
        "{ lambda ; a:f32[3]. let b:f32[3] = jit[name=f jaxpr={ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }] a in (b,) }", "test");
    const Params& jit = *q->jaxpr->eqns[0].params;
    EXPECT_EQ(*jit.find("donated_invars"), Attr::tuple({false}));
    EXPECT_EQ(jit.jaxprs().at(0)->name.str(), "f");
}

/// JAX's batching rules leave Python's ranges in dimension numbers.
TEST(TextParser, RangesStandForTuples) {
    const auto text = [](const std::string& range) {
        return "{ lambda ; a:f32[4,3] b:i32[2,1] c:f32[2,3]. let\n    d:f32[4,3] = scatter-add[\n"
               "      dimension_numbers=ScatterDimensionNumbers(update_window_dims=" +
               range +
               ", inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), "
               "scatter_indices_batching_dims=())\n"
               "      indices_are_sorted=False\n      mode=GatherScatterMode.FILL_OR_DROP\n      unique_indices=False\n"
               "      update_consts=()\n      update_jaxpr=None\n    ] a b c\n  in (d,) }";
    };
    for (const char* same : {"range(1, 2)", "range(1, 3, 2)", "range(1, -1, -2)"})
        EXPECT_EQ(to_text(*parse_jaxpr_text(text(same), "test")->jaxpr), text(same));
    EXPECT_NO_THROW(check_program(*parse_jaxpr_text(text("range(1, 2)"), "test")));
    for (const char* other :
         {"range(1, 2, 0)", "range(1)", "range()", "range(1,", "range(a, b)", "range(0, 99999999999999999999)", "range(0, 1 << 40)"})
        EXPECT_THROW(check_program(*parse_jaxpr_text(text(other), "test")), Error) << other;
}

TEST(TextParser, OlderVersions) {
    const ProgramPtr p = parse_jaxpr_text(
        "{ lambda ; a:f32[]. let b:f32[] = mul a 2.0; c:f32[] = pjit[name=f jaxpr={ lambda ; d:f32[]. let  in (d,) }] b in (c,) }", "test");
    EXPECT_EQ(p->jaxpr->aval(p->jaxpr->inputs(p->jaxpr->eqns[0])[1]), AvalRef(DType::F32, {})) << "a literal without its type";
    EXPECT_STREQ(p->jaxpr->eqns[1].prim->name.c_str(), "jit");
}

TEST(TextParser, LiteralsThatLookLikeVariables) {
    const ProgramPtr p = parse_jaxpr_text(
        "{ lambda ; a:f32[]. let\n    b:f32[] = max a\n      inf:f32[]\n    c:f32[] = max b nan:f32[]\n    in:f32[] = add c\n      a\n  in "
        "(in, 1.5:f32[]) }",
        "test");
    ASSERT_EQ(p->jaxpr->eqns.size(), 3u);
    EXPECT_TRUE(p->jaxpr->inputs(p->jaxpr->eqns[0])[1].is_literal());
    EXPECT_TRUE(p->jaxpr->outvars[0].is_var()) << "a variable may be called in";
    EXPECT_TRUE(p->jaxpr->outvars[1].is_literal());
}

TEST(TextParser, PoliciesByName) {
    const auto policy = [](const std::string& text) {
        const ProgramPtr p = parse_jaxpr_text(
            "{ lambda ; a:f32[]. let b:f32[] = remat2[differentiated=False jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) } "
            "policy=" +
                text + " prevent_cse=True] a in (b,) }",
            "test");
        PolicyPtr found;
        from_attr(*p->jaxpr->eqns[0].params->find("policy"), found);
        return found;
    };
    EXPECT_EQ(policy("None"), nullptr);
    EXPECT_EQ(policy("DotsSaveable(only_if_no_batch_dims=True)")->name.str(), "dots_with_no_batch_dims_saveable");
    const PolicyPtr names = policy("SaveOnlyTheseNames(saveable_names=frozenset({'h', 'attn'}))");
    EXPECT_EQ(names->name.str(), "save_only_these_names");
    EXPECT_EQ(names->args.size(), 2u);
    EXPECT_EQ(policy("<function everything_saveable at 0x7f0012345678>")->name.str(), "everything_saveable");
    EXPECT_TRUE(policy("<function mine.<locals>.<lambda> at 0x7f0012345678>")->name.empty()) << "what it decides is not in the text";
}

TEST(TextParser, ShardedTypes) {
    const char* text = "{ lambda ; a:f32[8@x,4] b:f32[2@(x,y),3]{V:z}. let  in (a, b) }";
    EXPECT_EQ(again(text), text);
    const ProgramPtr p = parse_jaxpr_text(text, "test");
    EXPECT_EQ(p->jaxpr->aval(p->jaxpr->invar(0))->sharding.str(), "P('x', None)") << "as captures write it";
    EXPECT_EQ(p->jaxpr->aval(p->jaxpr->invar(1))->sharding.str(), "P(('x', 'y'), None) vma=z");
    EXPECT_EQ(p->jaxpr->aval(p->jaxpr->invar(1))->shape, (Dims{2, 3}));
}

TEST(TextParser, SharedJaxprsAreOneObject) {
    const char* text =
        "let f = { lambda ; a:f32[]. let b:f32[] = jit[name=g jaxpr=g] a; c:f32[] = jit[name=g jaxpr=g] b in (c,) } in\n"
        "let g = { lambda ; d:f32[]. let e:f32[] = sin d in (e,) } in\n"
        "{ lambda ; h:f32[]. let i:f32[] = jit[name=f jaxpr=f] h; j:f32[] = jit[name=f jaxpr=f] i in (j,) }";
    const ProgramPtr p = parse_jaxpr_text(text, "test");
    EXPECT_EQ(all_jaxprs(*p->jaxpr).size(), 3u);
    EXPECT_EQ(again(again(text)), again(text));
}

TEST(TextParser, ErrorsHaveLineAndColumn) {
    struct Case {
        const char* text;
        const char* expected;
        int line, column;
    };
    const Case cases[] = {
        {"", "expected '{', found the end of the text", 1, 1},
        {"{ lambda ; a:f32[3]. let b:f32[3] = sin c in (b,) }", "expected a variable that is defined above, found 'c'", 1, 41},
        {"{ lambda ; a:f32[3]. let\n    b:f32[3] = sin é\n  in (b,) }", "expected a variable that is defined above, found 'é'", 2, 20},
        {"{ lambda ; a:f32[3]. let\n    b:f32[3] = sin a\n  in (b,)", "expected '}', found the end of the text", 3, 6},
        {"{ lambda ; a:f32[3] a:f32[]. let  in () }", "expected a new variable, found 'a' again", 1, 21},
        {"{ lambda ; a. let  in () }", "expected ':' and the type of 'a'", 1, 13},
        {"{ lambda ; a:f32[9223372036854775807,8]. let  in () }", "expected a size below 2^63", 1, 14},
        {"{ lambda ; a:f32[]. let b:f32[] = add a x:f32[] in () }", "expected a literal of f32[], found 'x:f32[]'", 1, 41},
        {"{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=] a in () }", "expected the value of parameter 'jaxpr'", 1, 52},
    };
    for (const Case& k : cases) {
        const Error e = error_of(k.text);
        EXPECT_EQ(std::string(e.fact()).substr(0, std::string(k.expected).size()), k.expected) << k.text;
        EXPECT_EQ(e.loc.line, k.line) << k.text;
        EXPECT_EQ(e.loc.column, k.column) << k.text;
        EXPECT_EQ(e.loc.file, "test.jaxpr");
    }
}

TEST(TextParser, CyclesAndDepthAreRefused) {
    EXPECT_EQ(error_of("let f = { lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=f] a in (b,) } in { lambda ; a:f32[]. let b:f32[] = "
                       "jit[name=f jaxpr=f] a in (b,) }")
                  .code,
              ErrorCode::BadInput);
    std::string open, close;
    for (int i = 0; i < 10000; ++i) {
        open += "{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=";
        close += "] a in (b,) }";
    }
    EXPECT_EQ(error_of(open + "{ lambda ; a:f32[]. let  in (a,) }" + close).code, ErrorCode::LimitExceeded);
}

/// What `print` makes of it, however it is dressed.
TEST(TextParser, LogsNotebooksAndTerminals) {
    const std::string wanted = again(kSmall);
    std::string prefixed = "starting\n", first_line = "2026-01-01 INFO train: ", coloured;
    for (const std::string& line : lines_of(kSmall)) prefixed += "[rank 0] " + line + "\n";
    first_line += std::string(kSmall) + "\n2026-01-01 INFO train: step {1}\n";
    coloured = std::regex_replace(std::string(kSmall), std::regex("lambda|let|:f32"), "\x1b[34;1m$&\x1b[0m");
    for (const std::string& text :
         {prefixed, first_line, coloured, "Out[3]: " + std::string(kSmall), "```\n" + std::string(kSmall) + "\n```\n"}) {
        EXPECT_TRUE(looks_like_jaxpr_text(text)) << text;
        EXPECT_EQ(again(text), wanted) << text;
    }
    const Error e = error_of("[rank 0] { lambda ; a:f32[]. let\n[rank 0]     b:f32[] = sin zz\n[rank 0]   in (b,) }");
    EXPECT_EQ(e.loc.line, 2);
    EXPECT_EQ(e.loc.column, 28);
}

TEST(TextParser, NameStacks) {
    const ProgramPtr p = parse_jaxpr_text(
        "{ lambda ; a:f32[]. let\n    b:f32[] = sin a # f.py:3:4 (f)\n                    # [jvp(loss)]\n"
        "    c:f32[] = cos b # [layer # 1 (a)]\n  in (c,) }",
        "test");
    EXPECT_EQ(p->jaxpr->eqns[0].source->summary().str(), "f.py:3:4 (f)");
    EXPECT_EQ(p->jaxpr->eqns[0].source->name_stack.str(), "jvp(loss)");
    EXPECT_EQ(p->jaxpr->eqns[1].source->name_stack.str(), "layer # 1 (a)");
}

/// Lines that were joined leave comments inside of parameters: no part of a value, or what was printed wouldn't be what is read.
TEST(TextParser, CommentsOfJoinedLines) {
    const auto iota = [](const std::string& comment) {
        return "{ lambda ; . let\n    a:f32[4] = iota[\n      dimension=0\n      dtype=float32\n      shape=(4,)\n      sharding=No" +
               comment + " ]\n  in (a,) }";
    };
    for (const char* comment : {" #   ", " # f.py:3:4 (f)", " # f.py:3:4 (f) # f.py:3:4 (g) #", " # # #"}) {
        const std::string text = again(iota(comment));
        EXPECT_EQ(text, again(iota(""))) << comment;
        EXPECT_EQ(text, again(text)) << comment;
    }
}

/// Reads, writes and additions of Refs, and arrays of symbolic shape: shown as they are.
TEST(TextParser, RefsAndSymbolicShapes) {
    const std::string text =
        "{ lambda a:i32[2]; b:Ref{f32[3,4]} c:i32[] d:f32[2*b + 1,4]. let\n"
        "    e:f32[2,4] <- b[c:c+2,:]\n"
        "    f:f32[4], b[1:,:][0,:] <- b[1:,:][0,:], 2.0:f32[]\n"
        "    b[...] <- e\n"
        "    b[c,0] += f\n"
        "    g:f32[2*b + 1,4] = sin d\n"
        "    h:f32[2,4] <- b[a,:]\n"
        "  in (f, g, h) }";
    EXPECT_EQ(again(text), text);
    const ProgramPtr p = read_jaxpr_text(text, "test");
    EXPECT_EQ(p->jaxpr->eqns[0].n_in, 2u) << "c:c+2 is one index";
    EXPECT_STREQ(p->jaxpr->eqns[3].prim->name.c_str(), "addupdate");
    EXPECT_EQ(p->jaxpr->eqns[3].n_in, 4u);
    EXPECT_EQ(again("{ lambda ; a:Ref<default>{float32[3]}. let a[:] <- 1.0 in () }"),
              "{ lambda ; a:Ref<default>{f32[3]}. let a[:] <- 1.0:f32[] in () }");
}

TEST(TextParser, EveryTruncationIsAnError) {
    const std::string text = read_file(fs::path(JAXSCOPE_SOURCE_DIR) / "tests/io/printed/remat_both.txt");
    for (std::size_t n = 0; n < text.size() - 1; n += 97) error_of(text.substr(0, n));
}

TEST(TextParser, TellsTextFromCaptures) {
    EXPECT_TRUE(looks_like_jaxpr_text(kSmall));
    EXPECT_TRUE(looks_like_jaxpr_text("\xEF\xBB\xBF\n# comment\nlet f = {"));
    EXPECT_FALSE(looks_like_jaxpr_text("hello { lam"));
    EXPECT_TRUE(looks_like_jaxpr_text("{lambda ; a:f32[]. let in () }"));
    EXPECT_FALSE(looks_like_jaxpr_text("{\"format\": \"jaxscope.capture\"}"));
    EXPECT_FALSE(looks_like_jaxpr_text("\x28\xb5\x2f\xfd"));
}

TEST(TextParser, VariablesThatJaxprsShareKeepTheirNames) {
    // Both jits have one variable c, whatever their equations read.
    const std::string text = R"({ lambda ; a:f32[] b:f32[]. let
    c:f32[] = sin a
    d:f32[] = jit[
      name=f
      jaxpr={ lambda ; c:f32[]. let d:f32[] = cos c in (d,) }
    ] c
    e:f32[] = jit[
      name=f
      jaxpr={ lambda ; c:f32[]. let d:f32[] = cos c in (d,) }
    ] b
  in (d, e) })";
    const ProgramPtr program = parse_jaxpr_text(text, "t");
    EXPECT_EQ(to_text(*program->jaxpr), text);
    const auto inner = [&](std::size_t e) { return program->jaxpr->eqns[e].params->jaxprs().front(); };
    EXPECT_NE(inner(1), inner(2));
    EXPECT_EQ(inner(1)->shared_id(inner(1)->invar(0)), inner(2)->shared_id(inner(2)->invar(0)));
    EXPECT_TRUE(inner(1)->shared_id(inner(1)->invar(0)).has_value());
}

TEST(TextParser, NamesOfInputsAndResultsAreNoSharing) {
    const std::string text = R"({ lambda ; a:f32[]. let
    b:f32[] = jit[
      name=f
      jaxpr={ lambda ; a:f32[]. let b:f32[] = cos a in (b,) }
    ] a
    c:f32[] = jit[
      name=f
      jaxpr={ lambda ; a:f32[]. let c:f32[] = cos a in (c,) }
    ] a
  in (b, c) })";
    const ProgramPtr program = parse_jaxpr_text(text, "t");
    EXPECT_EQ(to_text(*program->jaxpr), text);
    for (const std::size_t e : {0, 1}) EXPECT_TRUE(program->jaxpr->eqns[e].params->jaxprs().front()->shared_vars.empty());
}

}  // namespace
}  // namespace jaxscope
