#include "analysis/stages/transformed.h"

#include <gtest/gtest.h>

#include "analysis/equations/eqn_path.h"
#include "analysis/inspection.h"
#include "io/capture/reader.h"
#include "ir/print/printer.h"

namespace jaxscope {
namespace {

using Kind = TransformStage::Kind;

class Transformed : public testing::Test {
protected:
    explicit Transformed(Choices choices = {})
        : inspection_(read_capture(std::string(JAXSCOPE_SOURCE_DIR "/samples/captures/residuals.jaxscope")), std::move(choices)) {}
    const Jaxpr& stage(Kind kind) const { return *inspection_.transformed().at(static_cast<std::size_t>(kind)).jaxpr; }
    Inspection inspection_;
};

TEST_F(Transformed, StagesStandInTheOrderOfTheirKinds) {
    const auto& stages = inspection_.transformed();
    ASSERT_EQ(stages.size(), 7u);
    for (std::size_t k = 0; k < stages.size(); ++k) {
        EXPECT_EQ(static_cast<std::size_t>(stages[k].kind), k);
        EXPECT_TRUE(stages[k].jaxpr) << stages[k].problem;
    }
}

TEST_F(Transformed, HalvesAreThoseOfTheSplit) {
    EXPECT_EQ(stage(Kind::Known).outvars.size(), inspection_.split().known->outvars.size());
    EXPECT_EQ(to_text(stage(Kind::Unknown)), to_text(*inspection_.split().unknown));
    EXPECT_EQ(stage(Kind::Transposed).num_invars, stage(Kind::Function).outvars.size() + inspection_.split().num_residuals);
}

TEST_F(Transformed, JvpGivesTangentsBehindTheResults) {
    EXPECT_EQ(stage(Kind::Jvp).outvars.size(), 2 * stage(Kind::Function).outvars.size());
}

TEST_F(Transformed, VmapPutsAnAxisInFrontOfInputsAndResults) {
    const Jaxpr& mapped = stage(Kind::Vmap);
    EXPECT_EQ(mapped.aval(mapped.outvars[0])->shape.at(0), kVmapExamples);
}

TEST_F(Transformed, EquationsOfTheBackwardPassStandAtThePlacesOfTheFunctions) {
    int found = 0;
    for (const Eqn& e : stage(Kind::Transposed).eqns)
        if (e.source->traceback != TracebackRef()) found += traced_at(stage(Kind::Function), e.source->traceback).has_value() ? 1 : 0;
    EXPECT_GT(found, 3);
    EXPECT_FALSE(traced_at(stage(Kind::Function), TracebackRef()).has_value());
}

}  // namespace
}  // namespace jaxscope
