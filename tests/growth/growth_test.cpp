// A process that opens one program after the other, as the window does for days, must give back what it used for those that are closed.
#include <gtest/gtest.h>
#include <malloc.h>

#include <nlohmann/json.hpp>

#include "analysis/inspection.h"
#include "io/capture/byte_source.h"
#include "io/capture/reader.h"
#include "io/text/parser.h"
#include "ir/transform_cache.h"
#include "support/sanitized.h"
#include "transforms/policies.h"

namespace jaxscope {
namespace {

using nlohmann::ordered_json;

ordered_json sample(const std::string& name) {
    const auto source = ByteSource::file(std::string(JAXSCOPE_SOURCE_DIR) + "/samples/captures/" + name + ".jaxscope");
    std::string text;
    for (std::string_view chunk = source->next(); !chunk.empty(); chunk = source->next()) text += chunk;
    return ordered_json::parse(text);
}

/// Somebody else's program of that form: other files, functions, lines, scopes and numbers.
std::string variant(ordered_json capture, int number) {
    const std::string mark = "_" + std::to_string(number);
    for (auto& file : capture["files"]) file["path"] = file["path"].get<std::string>() + mark + ".py";
    ordered_json& strings = capture["strings"];
    for (auto& frame : capture["frames"]) {
        frame[1] = frame[1].get<int>() + number;
        strings.push_back(strings[frame[5].get<std::size_t>()].get<std::string>() + mark);
        frame[5] = strings.size() - 1;
    }
    for (auto& source : capture["sources"])
        if (source[2].is_string()) source[2] = source[2].get<std::string>() + mark;
    for (auto& stack : capture["name_stacks"]) stack = stack.get<std::string>() + mark;
    for (auto& literal : capture["literals"])
        if (literal[1].is_number_float()) literal[1] = literal[1].get<double>() * (1 + number / 1024.0);
    return capture.dump();
}

/// Shapes that no other program has, a jitted body that a rule makes (clip), a checkpoint, a scan.
std::string text_of_size(int n) {
    const std::string row = "f32[" + std::to_string(n) + "]", table = "f32[5," + std::to_string(n) + "]";
    return "{ lambda ; a:" + table + " b:" + row + ". let\n" + "    c:f32[] d:" + table + " = scan[jaxpr={ lambda ; e:f32[] f:" + row +
           ". let g:" + row + " = sin f; h:f32[] = reduce_sum[axes=(0,)] g; i:f32[] = add e h; j:" + row +
           " = mul g g in (i, j) } length=5 linear=(False, False) num_carry=1 num_consts=0 reverse=False unroll=1] 0.0:f32[] a\n" +
           "    k:" + table + " = remat2[differentiated=False jaxpr={ lambda ; l:" + table + ". let m:" + table + " = tanh l; o:" + table +
           " = exp m in (o,) } policy=None prevent_cse=True] d\n" + "    p:" + table + " = cumlogsumexp[axis=1 reverse=False] k\n" +
           "    q:f32[] = reduce_sum[axes=(0, 1)] p\n    r:f32[] = reduce_sum[axes=(0,)] b\n    s:f32[] = add q r\n    t:f32[] = add s c\n "
           " in (t,) }";
}

void look_at(const ProgramPtr& program) {
    Choices as_it_is;
    as_it_is.wrt_all = true;
    const Inspection inspection(program, as_it_is);
    EXPECT_GT(inspection.residuals().rows.size(), 0u);
    EXPECT_GT(inspection.split().known->eqns.size(), 0u);
    EXPECT_GT(inspection.plan().planned_peak, 0);
    Choices other = as_it_is;
    other.policy = parse_policy("dots_saveable");
    const Inspection again(program, other, &inspection);
    EXPECT_GT(again.residuals().rows.size(), 0u);
    EXPECT_GT(again.plan().planned_peak, 0);
}

std::int64_t heap() {
    malloc_trim(0);
    const struct mallinfo2 m = mallinfo2();
    return static_cast<std::int64_t>(m.uordblks + m.hblkhd);
}

TEST(Growth, TwoHundredDistinctProgramsOpenedAndClosed) {
    if (JAXSCOPE_SANITIZED) GTEST_SKIP();  // whose allocator doesn't say what it holds
    const ordered_json captures[] = {sample("mlp"), sample("transformer_lm_scan"), sample("transformer_lm")};
    const auto open = [&](int i) {
        const ProgramPtr program =
            i % 4 == 3 ? read_jaxpr_text(text_of_size(100 + i), "t") : read_capture_text(variant(captures[i % 4], i), "c");
        look_at(program);
    };
    for (int i = 0; i < 8; ++i) open(i);
    const std::int64_t before = heap();
    for (int i = 8; i < 208; ++i) open(i);
    const std::int64_t grown = heap() - before;
    RecordProperty("grown", std::to_string(grown));
    EXPECT_LT(grown, 30 << 20) << "bytes of heap for each of 200 programs: " << grown / 200;
    EXPECT_EQ(TransformCache::current().size(), 0u) << "results of transformations that belong to no program";
}

Choices saving_name(int i) {
    Choices c;
    c.wrt_all = true;
    c.policy = parse_policy("save_only_these_names('n" + std::to_string(i) + "')");
    return c;
}

TEST(Growth, PoliciesTriedAllDayOnOneProgram) {
    if (JAXSCOPE_SANITIZED) GTEST_SKIP();
    const ProgramPtr program = read_capture_text(sample("transformer_lm_scan").dump(), "c");
    const Inspection first(program, saving_name(0));
    const ResidualReport& held = first.residuals();
    const std::int64_t bytes = held.total_bytes;
    const auto look = [&](int i) {
        const Inspection one(program, saving_name(i), &first);
        EXPECT_GT(one.split().known->eqns.size(), 0u);
        EXPECT_GT(one.plan().planned_peak, 0);
    };
    for (int i = 1; i < 100; ++i) look(i);
    const std::int64_t before = heap();
    for (int i = 100; i < 300; ++i) look(i);
    EXPECT_LT(heap() - before, 10 << 20) << "what was computed for policies that nobody looks at any more";
    EXPECT_EQ(&first.residuals(), &held) << "what an open inspection returned goes with it, not before";
    EXPECT_EQ(held.total_bytes, bytes);
}

}  // namespace
}  // namespace jaxscope
