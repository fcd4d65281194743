#include "io/capture/writer.h"
#include "ir/compiled_operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "capture_builder.h"
#include "io/capture/reader.h"
#include "ir/primitive.h"
#include "ir/print/attr_text.h"
#include "ir/print/printer.h"

namespace jaxscope {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> captures() {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(fs::path(JAXSCOPE_SOURCE_DIR) / "tests/io/printed"))
        if (entry.path().extension() == ".jaxscope") out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
}

void expect_same_jaxpr(const JaxprPtr& a, const JaxprPtr& b) {
    ASSERT_EQ(static_cast<bool>(a), static_cast<bool>(b));
    if (!a) return;
    EXPECT_EQ(to_text(*a, {.source = true}), to_text(*b, {.source = true}));
    EXPECT_EQ(a->arg_names, b->arg_names);
    EXPECT_EQ(a->effects, b->effects);
    ASSERT_EQ(a->consts.size(), b->consts.size());
    for (std::size_t i = 0; i < a->consts.size(); ++i) EXPECT_EQ(a->consts[i]->data, b->consts[i]->data);
    ASSERT_EQ(a->eqns.size(), b->eqns.size());
    for (std::size_t i = 0; i < a->eqns.size(); ++i) {
        EXPECT_TRUE(a->eqns[i].source == b->eqns[i].source);
        EXPECT_TRUE(a->eqns[i].context == b->eqns[i].context);
        EXPECT_EQ(a->eqns[i].effects, b->eqns[i].effects);
    }
}

TEST(CaptureWriter, KeepsWhatCompilersSaid) {
    Program p = *read_capture(captures().front().string(), {.arrays = false});
    XlaFacts fits, refused;
    fits.target = "tpu:v5p:2x2x1";
    fits.temporaries = 512;
    fits.peak = 900;
    fits.aliases = {{0, 1}};
    refused.target = "tpu:v5e:2x2";
    refused.out_of_memory = OutOfMemory{120, std::nullopt, {{64, "f32[4]", "jit(f)/sin", "HLO temp", "a.py", 7}}, "RESOURCE_EXHAUSTED"};
    CompiledOperations operations;
    operations.opcodes = {"dot", "tanh"};
    operations.bodies = {{"", {{3, 1, 2, 1, 64}}}, {"3/jaxpr", {{0, 0, 1, 0, 0}}}};
    operations.unnamed = 5;
    fits.operations = std::make_shared<const CompiledOperations>(operations);
    CompiledOperations none;
    none.unknown = "why";
    refused.operations = nullptr;
    p.xla.known = true;
    p.xla.operations = std::make_shared<const CompiledOperations>(none);
    p.targets = {fits, refused};
    const ProgramPtr again = read_capture_text(capture_text(p), "written");
    ASSERT_EQ(again->targets.size(), 2u);
    EXPECT_EQ(again->targets[0].target, fits.target);
    EXPECT_EQ(again->targets[0].temporaries, 512);
    EXPECT_EQ(again->targets[0].peak, 900);
    EXPECT_EQ(again->targets[0].aliases, fits.aliases);
    EXPECT_FALSE(again->targets[0].out_of_memory);
    ASSERT_TRUE(again->targets[0].operations && again->xla.operations);
    EXPECT_FALSE(again->targets[1].operations);
    EXPECT_EQ(again->xla.operations->unknown, "why");
    const CompiledOperations& kept = *again->targets[0].operations;
    EXPECT_EQ(kept.opcodes, operations.opcodes);
    EXPECT_EQ(kept.unnamed, 5);
    ASSERT_EQ(kept.bodies.size(), 2u);
    EXPECT_EQ(kept.bodies[1].jaxpr, "3/jaxpr");
    ASSERT_EQ(kept.bodies[0].rows.size(), 1u);
    const CompiledOperations::Row& row = kept.bodies[0].rows[0];
    EXPECT_EQ(std::tuple(row.eqn, row.opcode, row.count, row.stored, row.bytes), std::tuple(3u, 1u, 2, 1, 64));
    ASSERT_TRUE(again->targets[1].out_of_memory);
    const OutOfMemory& o = *again->targets[1].out_of_memory;
    EXPECT_EQ(o.needed, 120);
    EXPECT_FALSE(o.available);
    ASSERT_EQ(o.buffers.size(), 1u);
    EXPECT_EQ(o.buffers[0].op_name, "jit(f)/sin");
    EXPECT_EQ(o.buffers[0].line, 7);
}

TEST(CaptureWriter, ReadsBackAsTheSameProgram) {
    for (const fs::path& path : captures()) {
        SCOPED_TRACE(path.stem().string());
        const ProgramPtr a = read_capture(path.string(), {.arrays = false});
        const std::string text = capture_text(*a);
        const ProgramPtr b = read_capture_text(text, "written");
        expect_same_jaxpr(a->jaxpr, b->jaxpr);
        expect_same_jaxpr(a->marked, b->marked);
        EXPECT_EQ(a->in_paths, b->in_paths);
        EXPECT_EQ(a->out_paths, b->out_paths);
        EXPECT_EQ(a->donated, b->donated);
        EXPECT_EQ(a->flags, b->flags);
        EXPECT_EQ(a->differentiate, b->differentiate);
        EXPECT_EQ(a->jax_version, b->jax_version);
        EXPECT_EQ(all_jaxprs(*a->jaxpr).size(), all_jaxprs(*b->jaxpr).size()) << "what was one object is one again";
        ASSERT_EQ(a->regions.size(), b->regions.size());
        for (std::size_t i = 0; i < a->regions.size(); ++i) {
            expect_same_jaxpr(a->regions[i].jaxpr, b->regions[i].jaxpr);
            EXPECT_EQ(a->regions[i].wrt_inputs, b->regions[i].wrt_inputs);
            EXPECT_EQ(a->regions[i].mark, b->regions[i].mark);
        }
        ASSERT_EQ(a->rules->rules.size(), b->rules->rules.size());
        for (std::size_t i = 0; i < a->rules->rules.size(); ++i) expect_same_jaxpr(a->rules->rules[i].jaxpr, b->rules->rules[i].jaxpr);
        EXPECT_EQ(capture_text(*b), text) << "writing is a fixpoint";
    }
}

TEST(CaptureWriter, PutsBigArraysIntoTheArchive) {
    std::string name = (fs::temp_directory_path() / "jaxscope-capture-XXXXXX").string();
    const fs::path folder = mkdtemp(name.data());
    const std::string path = (folder / "x.jaxscope").string();
    const ProgramPtr a = read_capture_text(test::small_capture().dump(), "small");
    write_capture(*a, path, {.compress = true, .inline_elements = 2});
    EXPECT_TRUE(fs::exists(folder / "x.npz"));
    const ProgramPtr b = read_capture(path);
    ASSERT_TRUE(b->jaxpr->consts[0]->known());
    EXPECT_EQ(a->jaxpr->consts[0]->data, b->jaxpr->consts[0]->data);
    fs::remove(folder / "x.npz");
    EXPECT_FALSE(read_capture(path)->jaxpr->consts[0]->known()) << "a capture travels without its archive";
    fs::remove_all(folder);
}

}  // namespace
}  // namespace jaxscope
