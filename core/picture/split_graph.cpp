// SPDX-License-Identifier: Apache-2.0
#include "picture/split_graph.h"

#include <algorithm>
#include <map>

#include "base/cancel.h"
#include "base/units.h"
#include "picture/crossing_routes.h"
#include "picture/inner_ends.h"

namespace jaxscope {
namespace {

constexpr double kMostStretch = 1.25;          // of the taller half, to make crossing lines level
constexpr int kInRow = 2;                      // of a half
constexpr std::size_t kTangentNodes = kInRow;  // rows of tangents would push what is computed out of sight
constexpr double kGutter = 240;                // between the halves: room for the labels of the crossing lines

/// Columns, not carpets: each half is read from top to bottom. Tags stand away from the boundary, where the crossing lines run.
constexpr LayoutOptions half(LayoutOptions::Tags tags) {
    return {.node_gap = 24, .rank_gap = 28, .max_row = kInRow, .max_span = 3, .tags = tags};
}

void shift(GraphLayout& layout, double dx) {
    for (Rect& r : layout.nodes) r.x += dx;
    for (Portal& p : layout.portals) p.rect.x += dx;
    for (auto& line : layout.lines)
        for (Point& p : line.points) p.x += dx;
}

/// One row of a half: its top-level nodes that stand side by side, and what they are tied to in the other half.
struct Row {
    double top = 0, bottom = 0;
    double distance = 0, ties = 0;  ///< down to the nodes at the other ends of its crossings, in all; how many these are
    double moved = 0;
};

std::vector<Row> rows_of(const VisibleGraph& graph, const GraphLayout& layout) {
    std::vector<Row> nodes;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
        if (graph.nodes[n].frame == VisibleGraph::kTop) nodes.push_back({layout.nodes[n].y, layout.nodes[n].bottom()});
    std::sort(nodes.begin(), nodes.end(), [](const Row& a, const Row& b) { return a.top < b.top; });
    std::vector<Row> rows;
    for (const Row& node : nodes) {
        if (rows.empty() || node.top >= rows.back().bottom)
            rows.push_back(node);
        else
            rows.back().bottom = std::max(rows.back().bottom, node.bottom);
    }
    return rows;
}

/// Where `y` goes when the rows move: with its row, between two rows in proportion.
double moved_to(const std::vector<Row>& rows, double y) {
    const auto below = std::upper_bound(rows.begin(), rows.end(), y, [](double at, const Row& row) { return at < row.top; });
    if (below == rows.begin()) return y;
    const Row& above = below[-1];
    if (y <= above.bottom || below == rows.end()) return y + above.moved;
    const double part = (y - above.bottom) / (below->top - above.bottom);
    return y + above.moved + part * (below->moved - above.moved);
}

/// The moves down, growing from row to row, that come nearest to what the rows' ties ask for: isotonic regression by pooling neighbours
/// that would change places. Rows without ties move with those before them.
void move_rows(std::vector<Row>& rows, double most) {
    struct Pool {
        double sum = 0, count = 0;
        std::size_t first = 0;
        double mean() const { return sum / count; }
    };
    std::vector<Pool> pools;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows[r].ties == 0) continue;
        pools.push_back({rows[r].distance, rows[r].ties, r});
        while (pools.size() > 1 && pools.back().mean() < pools[pools.size() - 2].mean()) {
            const Pool last = pools.back();
            pools.pop_back();
            pools.back().sum += last.sum;
            pools.back().count += last.count;
        }
    }
    double moved = 0;
    auto pool = pools.begin();
    for (std::size_t r = 0; r < rows.size(); ++r) {
        if (pool != pools.end() && pool->first == r) moved = std::clamp((pool++)->mean(), 0.0, most);
        rows[r].moved = moved;
    }
}

/// Moves the rows of a half down to what they are tied to, so that the lines that cross are level where they can be; their order stays.
/// `height`: the tallest that the half may become by that.
void level_crossings(const VisibleGraph& graph, GraphLayout& layout, const std::vector<std::pair<double, double>>& ties, double height) {
    std::vector<Row> rows = rows_of(graph, layout);
    for (const auto& [own, other] : ties) {
        const auto below = std::upper_bound(rows.begin(), rows.end(), own, [](double at, const Row& row) { return at < row.top; });
        if (below == rows.begin()) continue;
        below[-1].distance += other - own;
        ++below[-1].ties;
    }
    move_rows(rows, std::max(height - layout.height, 0.0));
    // A frame and what it holds belong to one row and move by the same distance.
    for (Rect& rect : layout.nodes) rect.y = moved_to(rows, rect.y);
    for (Portal& portal : layout.portals) portal.rect.y = moved_to(rows, portal.rect.cy()) - portal.rect.h / 2;
    for (auto& line : layout.lines)
        for (Point& p : line.points) p.y = moved_to(rows, p.y);
    if (!rows.empty()) layout.height += rows.back().moved;
}

/// Lines that carry next to nothing, beside what is saved in all, hide those that matter: one for each node that they lead to.
std::vector<SplitPicture::Crossing> put_small_together(std::vector<SplitPicture::Crossing> all) {
    constexpr std::int64_t kSmallShare = 500;
    constexpr std::size_t kFewest = 2;
    std::int64_t total = 0;
    for (const auto& crossing : all) total += crossing.bytes;
    const auto is_small = [&](const SplitPicture::Crossing& c) { return !c.arguments && c.bytes <= total / kSmallShare; };
    std::map<std::uint32_t, std::vector<std::size_t>> small;
    for (std::size_t c = 0; c < all.size(); ++c)
        if (is_small(all[c])) small[all[c].to].push_back(c);
    std::vector<SplitPicture::Crossing> out;
    for (std::size_t c = 0; c < all.size(); ++c) {
        const std::vector<std::size_t>* together = is_small(all[c]) ? &small[all[c].to] : nullptr;
        if (together == nullptr || together->size() < kFewest) {
            out.push_back(std::move(all[c]));
            continue;
        }
        if (together->front() != c) continue;
        SplitPicture::Crossing one = all[c];
        one.bytes = 0;
        one.steps = 1;
        one.residuals.clear();
        for (const std::size_t k : *together) {
            one.bytes += all[k].bytes;
            one.residuals.insert(one.residuals.end(), all[k].residuals.begin(), all[k].residuals.end());
            one.small.push_back(all[k].from);
        }
        out.push_back(std::move(one));
    }
    return out;
}

std::string crossing_label(const SplitPicture::Crossing& crossing) {
    const std::string bytes = bytes_text(crossing.bytes), count = std::to_string(crossing.residuals.size());
    if (!crossing.small.empty()) return count + " small, " + bytes;
    if (crossing.steps > 1) return bytes_text(crossing.bytes / crossing.steps) + " \u00d7 " + count_text(crossing.steps) + " steps";
    return bytes + (crossing.residuals.size() > 1 ? " \u00d7" + count : "") + (crossing.arguments ? " args" : "");
}

/// Names of the unknown part's inputs: residuals have none, tangents are called after their arguments.
std::vector<Sym> tangent_names(const SplitReport& split) {
    const std::vector<Sym>& inputs = split.known->arg_names;
    std::vector<Sym> names(split.num_residuals, Sym("residual"));
    for (std::size_t i = 0; i < inputs.size() && i < split.wrt.size(); ++i)
        if (split.wrt[i]) names.emplace_back("d " + inputs[i].str());
    for (std::size_t i = names.size(); i < split.unknown->num_invars; ++i)
        names.emplace_back("tangent " + std::to_string(i - split.num_residuals));
    names.resize(split.unknown->num_invars);
    return names;
}

}  // namespace

SplitGraph::SplitGraph(const SplitReport& split, Grouping grouping)
    : known_(split.known, grouping, split.known->arg_names), unknown_(split.unknown, grouping, tangent_names(split)) {
    const Jaxpr &known = *split.known, &unknown = *split.unknown;
    known_options_.shown_results.assign(known.outvars.size(), true);
    for (std::size_t k = 0; k < known.outvars.size(); ++k) {
        if (k >= split.residual_of_known.size() || !split.residual_of_known[k]) continue;
        known_options_.shown_results[k] = false;
        residual_atoms_.push_back(known.outvars[k]);
    }
    measure(split.residuals);
    const std::uint32_t inputs = unknown.num_constvars + unknown.num_invars;
    unknown_options_.input_nodes = kTangentNodes;
    unknown_options_.hidden_inputs.assign(inputs, false);
    unknown_options_.linear_inputs.assign(inputs, true);
    for (std::uint32_t k = 0; k < inputs; ++k) {
        const bool residual = k < unknown.num_constvars || k - unknown.num_constvars < split.num_residuals;
        unknown_options_.hidden_inputs[k] = residual;
        unknown_options_.linear_inputs[k] = !residual;
    }
    readers_.resize(residual_atoms_.size());
    for (std::uint32_t i = 0; i < unknown.eqns.size(); ++i) {
        check_cancelled();
        for (const Atom a : unknown.inputs(unknown.eqns[i])) {
            if (a.is_literal() || a.var().index < unknown.num_constvars) continue;
            const std::uint32_t k = a.var().index - unknown.num_constvars;
            if (k < readers_.size() && (readers_[k].empty() || readers_[k].back() != i)) readers_[k].push_back(i);
        }
    }
}

/// The table's own figures, so that one value has one size everywhere.
void SplitGraph::measure(const ResidualReport& report) {
    std::map<int, std::int64_t> of_input;
    std::map<std::string, std::int64_t> of_equation;
    for (const ResidualRow& row : report.rows) {
        if (!row.device_bytes) continue;
        if (row.input >= 0)
            of_input[row.input] = *row.device_bytes;
        else
            of_equation[row.equation] = *row.device_bytes;
    }
    for (std::uint32_t k = 0; k < residual_atoms_.size(); ++k) {
        bytes_.push_back(residual_atoms_[k].is_literal() ? 0 : known_.root().aval(residual_atoms_[k])->bytes());
        const auto input = of_input.find(input_of(k));
        const std::optional<EqnPath> made = of_equation.empty() ? std::nullopt : producer_of(k);
        const auto equation = made ? of_equation.find(to_text(*made)) : of_equation.end();
        if (input != of_input.end()) bytes_[k] = input->second;
        if (equation != of_equation.end()) bytes_[k] = equation->second;
    }
}

std::optional<EqnPath> SplitGraph::producer_of(std::uint32_t residual) const {
    if (residual >= residual_atoms_.size() || residual_atoms_[residual].is_literal()) return {};
    const std::uint32_t eqn = known_.producer(known_.root(), residual_atoms_[residual].var());
    if (eqn == VisibleGraph::kNone) return {};
    return EqnPath{{}, eqn};
}

bool SplitGraph::is_value_of(std::uint32_t residual, const EqnPath& eqn) const {
    constexpr int kHops = 2;
    std::optional<EqnPath> at = producer_of(residual);
    for (int hop = 0; at && hop <= kHops; ++hop) {
        if (*at == eqn) return true;
        std::optional<std::uint32_t> before = renamed_by(known_.root(), at->eqn);
        if (!before) before = moved_by(known_.root(), at->eqn);
        at = before ? std::optional(EqnPath{{}, *before}) : std::nullopt;
    }
    return false;
}

int SplitGraph::input_of(std::uint32_t residual) const {
    if (residual >= residual_atoms_.size() || residual_atoms_[residual].is_literal()) return -1;
    const Jaxpr& known = known_.root();
    const std::uint32_t var = residual_atoms_[residual].var().index;
    return var >= known.num_constvars && var < known.num_constvars + known.num_invars ? static_cast<int>(var - known.num_constvars) : -1;
}

static void note(GraphMarks& marks, const GraphModel& model, const EqnPath& path, std::int64_t bytes) {
    for (const std::string& key : model.keys_around(path)) {
        marks[key].saved_bytes += bytes;
        ++marks[key].saved_values;
    }
}

GraphMarks SplitGraph::known_marks() const {
    GraphMarks marks;
    for (std::uint32_t k = 0; k < residual_atoms_.size(); ++k)
        if (const std::optional<EqnPath> path = producer_of(k)) note(marks, known_, *path, bytes_of(k));
    return marks;
}

GraphMarks SplitGraph::unknown_marks() const {
    GraphMarks marks;
    for (std::uint32_t k = 0; k < residual_atoms_.size(); ++k)
        if (!residual_atoms_[k].is_literal())
            for (const std::uint32_t reader : readers_[k]) note(marks, unknown_, EqnPath{{}, reader}, bytes_of(k));
    return marks;
}

std::vector<SplitPicture::Crossing> SplitGraph::crossings(const SplitPicture& picture) const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, SplitPicture::Crossing> merged;
    for (std::uint32_t k = 0; k < residual_atoms_.size(); ++k) {
        check_cancelled();
        if (residual_atoms_[k].is_literal()) continue;
        const std::uint32_t var = residual_atoms_[k].var().index;
        const std::uint32_t eqn = known_.producer(known_.root(), residual_atoms_[k].var());
        const InnerEnd from = eqn == VisibleGraph::kNone ? InnerEnd{picture.known.node_of_input[var]}
                                                         : made_at(known_, picture.known, eqn, var - known_.root().eqns[eqn].first_out);
        if (from.node == VisibleGraph::kNone) continue;
        std::vector<std::uint32_t> seen;
        for (const std::uint32_t reader : readers_[k])
            for (const InnerEnd& to : read_at(unknown_, picture.unknown, reader, {unknown_.root().num_constvars + k})) {
                if (std::find(seen.begin(), seen.end(), to.node) != seen.end() || seen.size() >= 8)
                    continue;  // selecting it tells the rest
                seen.push_back(to.node);
                auto& crossing = merged[{from.node, to.node}];
                const std::int64_t steps = std::max(from.times, to.times);
                crossing.steps = crossing.residuals.empty() || crossing.steps == steps ? steps : 1;
                crossing.from = from.node;
                crossing.to = to.node;
                crossing.bytes += bytes_of(k);
                crossing.residuals.push_back(k);
            }
    }
    std::vector<SplitPicture::Crossing> all;
    for (auto& [ends, crossing] : merged) {
        crossing.arguments = picture.known.nodes[crossing.from].kind == GraphItem::Kind::Inputs;
        all.push_back(std::move(crossing));
    }
    std::vector<SplitPicture::Crossing> out = put_small_together(std::move(all));
    for (auto& crossing : out) {
        crossing.label = crossing_label(crossing);
        const Rect &from = picture.known_layout.nodes[crossing.from], &to = picture.unknown_layout.nodes[crossing.to];
        crossing.begin = {from.right(), from.cy()};
        crossing.end = {to.x, to.cy()};
        if (crossing.from_boundary()) crossing.begin = {picture.boundary, crossing.end.y};
    }
    return out;
}

/// The heights of the nodes at both ends of each crossing, one's own half first. A saved argument has no place of its own at the left.
std::vector<std::pair<double, double>> SplitGraph::ties(const SplitPicture& picture, bool of_known) const {
    std::vector<std::pair<double, double>> out;
    for (const auto& crossing : crossings(picture)) {
        const double left = picture.known_layout.nodes[crossing.from].cy(), right = picture.unknown_layout.nodes[crossing.to].cy();
        if (!crossing.from_boundary()) out.emplace_back(of_known ? left : right, of_known ? right : left);
    }
    return out;
}

SplitPicture SplitGraph::picture(const std::set<std::string>& expanded_known, const std::set<std::string>& expanded_unknown) const {
    SplitPicture picture;
    picture.known = known_.visible(expanded_known, known_options_);
    for (VisibleGraph::Node& node : picture.known.nodes) node.role = Role::Forward;
    picture.unknown = unknown_.visible(expanded_unknown, unknown_options_);
    picture.known_layout = layout_graph(picture.known, half(LayoutOptions::Tags::Left));
    picture.unknown_layout = layout_graph(picture.unknown, half(LayoutOptions::Tags::Right));
    picture.boundary = picture.known_layout.width + kGutter / 2;
    shift(picture.unknown_layout, picture.known_layout.width + kGutter);
    picture.width = picture.known_layout.width + kGutter + picture.unknown_layout.width;
    const double tallest = kMostStretch * std::max(picture.known_layout.height, picture.unknown_layout.height);
    level_crossings(picture.unknown, picture.unknown_layout, ties(picture, false), tallest);
    level_crossings(picture.known, picture.known_layout, ties(picture, true), tallest);
    picture.height = std::max(picture.known_layout.height, picture.unknown_layout.height);
    picture.crossings = crossings(picture);
    place_labels(picture.crossings);
    route_crossings(picture);
    return picture;
}

}  // namespace jaxscope
