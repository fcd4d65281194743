// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/stages/stages.h"
#include "picture/graph_layout.h"

namespace jaxscope {

/// The split as a picture: the known part at the left, the unknown part at the right, residuals the only lines that cross.
struct SplitPicture {
    VisibleGraph known, unknown;
    GraphLayout known_layout, unknown_layout;  ///< in one system of coordinates
    /// Residuals of one node that one node needs, as one line; of those that hold next to nothing all that one node needs are one.
    struct Crossing {
        std::uint32_t from = 0, to = 0;  ///< nodes of `known` and `unknown`
        std::int64_t bytes = 0;
        std::vector<std::uint32_t> residuals;  ///< numbers: the k-th residual result of `known`, input k of `unknown`
        std::string label;                     ///< "8.0 KiB", "48.0 KiB \u00d76", "2.0 KiB \u00d7 24 steps"
        std::int64_t steps = 1;                ///< of the loop that each is made or read in, part by part; 1: in none that is open
        bool arguments = false;                ///< saved arguments of a crowd
        std::vector<std::uint32_t> small;      ///< nodes of `known` that they come from, where several small ones were put together
        bool from_boundary() const { return arguments || !small.empty(); }  ///< there the line begins
        Point begin, end;
        std::vector<Point> points;  ///< of its line: cubic Bezier curves, 1 + 3n points
        double label_y = 0;         ///< middle of its label on the boundary; labels don't overlap
    };
    std::vector<Crossing> crossings;
    double boundary = 0;  ///< x of the line between the two
    double width = 0, height = 0;
};

/// Makes split pictures of one split; keeps what doesn't depend on the expanded groups. Not thread-safe.
class SplitGraph {
public:
    explicit SplitGraph(const SplitReport& split, Grouping grouping = Grouping::Half);
    const GraphModel& known() const { return known_; }
    const GraphModel& unknown() const { return unknown_; }
    SplitPicture picture(const std::set<std::string>& expanded_known, const std::set<std::string>& expanded_unknown) const;
    /// The known part's variable that is residual number k: its equation, or nothing where an argument is saved as it is.
    std::optional<EqnPath> producer_of(std::uint32_t residual) const;
    /// Is residual number k what `eqn` makes, or another name for it (JAX saves the cast of a named value)?
    bool is_value_of(std::uint32_t residual, const EqnPath& eqn) const;
    /// The input of the function that residual number k is, or -1 where it is computed.
    int input_of(std::uint32_t residual) const;
    std::size_t num_residuals() const { return residual_atoms_.size(); }
    /// What of each half makes, or reads, how much of what is saved.
    GraphMarks known_marks() const;
    GraphMarks unknown_marks() const;

private:
    /// Of one device, where the values lie on several.
    std::int64_t bytes_of(std::uint32_t residual) const { return bytes_[residual]; }
    void measure(const ResidualReport& report);
    std::vector<SplitPicture::Crossing> crossings(const SplitPicture& picture) const;
    std::vector<std::pair<double, double>> ties(const SplitPicture& picture, bool of_known) const;
    GraphModel known_, unknown_;
    std::vector<Atom> residual_atoms_;                 ///< results of `known`
    std::vector<std::int64_t> bytes_;                  ///< of each of them
    std::vector<std::vector<std::uint32_t>> readers_;  ///< per residual: equations of `unknown` that read it
    VisibleOptions known_options_, unknown_options_;
};

}  // namespace jaxscope
