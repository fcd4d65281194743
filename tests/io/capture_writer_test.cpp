#include "io/capture/writer.h"

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
