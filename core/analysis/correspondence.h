#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "analysis/eqn_path.h"
#include "analysis/inspection.h"

namespace jaxscope {

/// What is selected, as each table and picture knows it. One equation of the user's stands in several jaxprs (the captured program, the
/// differentiated function, both halves of the split); whoever shows one of them reads its own field.
struct Picked {
    std::optional<EqnPath> program;  ///< in Program::jaxpr
    std::optional<EqnPath> region;   ///< in the differentiated function's jaxpr
    std::optional<EqnPath> known, unknown;
    int residual = -1;  ///< row of ResidualReport
    int donated = -1;   ///< row of DonationReport
    int buffer = -1;    ///< of MemoryPlan
    std::string group;  ///< key of a group that was picked instead of an equation, in the jaxpr of the field below
    enum class Where : std::uint8_t { Program, Known, Unknown } group_in = Where::Program;
    friend bool operator==(const Picked&, const Picked&) = default;
    bool empty() const { return *this == Picked{}; }
};

/// Finds an equation's counterparts: the same place in the user's source, primitive and result type. Transformations keep these, so
/// a forward equation is found in all jaxprs; a backward equation has none in the function before autodiff. Where several fit, the first.
class Correspondence {
public:
    /// Any of the pointers but `program` may be null. They must outlive this object.
    Correspondence(const Program& program, const Jaxpr* region, const SplitReport* split, const ResidualReport* residuals,
                   const MemoryPlan* plan);
    ~Correspondence();
    /// Fills in what is missing of a pick with one or more fields set; the fields that are set stay.
    Picked complete(Picked picked) const;

private:
    struct Index;
    std::unique_ptr<Index> index_;
};

}  // namespace jaxscope
