// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "analysis/advice.h"
#include "analysis/equations/eqn_path.h"
#include "analysis/identities.h"
#include "analysis/stages/stages.h"
#include "donation/pairing.h"

namespace jaxscope {

/// What is selected, as each table and picture knows it. One equation of the user's stands in several jaxprs (the captured program, the
/// differentiated function, both halves of the split); whoever shows one of them reads its own field.
struct Picked {
    std::optional<EqnPath> program;  ///< in Program::jaxpr
    std::optional<EqnPath> region;   ///< in the differentiated function's jaxpr
    std::optional<EqnPath> known, unknown;
    int input = -1;  ///< leaf number among the program's inputs
    std::optional<ResidualId> residual;
    int donated = -1;  ///< the donated leaf's number among the program's inputs
    std::optional<BufferId> buffer;
    std::string group;  ///< key of a group that was picked instead of an equation, in the jaxpr of the field below
    enum class Where : std::uint8_t { Program, Known, Unknown } group_in = Where::Program;
    friend bool operator==(const Picked&, const Picked&) = default;
    bool empty() const { return *this == Picked{}; }
    /// What of it means the same under another policy: all but numbers in forward parts, splits and plans.
    Picked without_derived() const;
};

/// What an inspection has so far; null where a stage is still being computed or can't be had.
struct KnownStages {
    const ResidualReport* residuals = nullptr;
    const SplitReport* split = nullptr;
    const DonationReport* donation = nullptr;
    const MemoryPlan* plan = nullptr;
    const RunReport* run = nullptr;
    const std::vector<TriedPolicy>* tried = nullptr;
    const Step* step = nullptr;      ///< that `plan` and `run` speak of
    const Step* gradient = nullptr;  ///< the program differentiated; null where that isn't known
    /// Of a program that is planned as it is, too: can it be differentiated? True where nobody has tried.
    bool lacks_gradient() const { return (step != nullptr && step->lacks_gradient) || (gradient != nullptr && gradient->lacks_gradient); }
    const ResidualRow* find(const std::optional<ResidualId>& id) const {
        return residuals && id ? find_residual(*residuals, *id) : nullptr;
    }
    const PlannedBuffer* find(const std::optional<BufferId>& id) const { return plan && id ? find_buffer(*plan, *id) : nullptr; }
    const DonatedLeaf* donated(int input) const { return donation && input >= 0 ? find_donated(*donation, input) : nullptr; }
};

/// Finds an equation's counterparts: the same place in the user's source, primitive and result type, and among equations that agree in
/// those (layers of a model) the one with the same number. Transformations keep these, so a forward equation is found in all jaxprs;
/// a backward equation has none in the function before autodiff. An argument's counterparts are its rows and the first equation that
/// reads it.
class Correspondence {
public:
    /// `region`: the differentiated function, or null where that is the program itself. All that is given must outlive this object.
    Correspondence(const Program& program, const Region* region, const KnownStages& stages);
    ~Correspondence();
    /// Fills in what is missing of a pick with one or more fields set; the fields that are set stay.
    Picked complete(Picked picked) const;

private:
    struct Index;
    struct Place {
        Sym summary;
        const Primitive* primitive;
        AvalRef result;
    };
    std::optional<Place> place_of(Picked& picked) const;
    void complete_input(Picked& picked) const;
    std::optional<ResidualId> saved_in_memory_of(const EqnPath& known) const;
    std::optional<BufferId> buffer_laid_out(const Picked& picked) const;
    std::optional<BufferId> buffer_of(const Picked& picked, const Place& place, std::size_t number) const;
    std::unique_ptr<Index> index_;
};

}  // namespace jaxscope
