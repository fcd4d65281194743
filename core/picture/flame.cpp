// SPDX-License-Identifier: Apache-2.0
#include "picture/flame.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/memory_timeline.h"
#include "base/error.h"
#include "picture/line_costs.h"

namespace jaxscope {
namespace {

struct HeldBytes {
    std::int64_t bytes = 0;
    bool argument = false;
    std::optional<ResidualId> residual;
    std::optional<BufferId> buffer;
};

/// Stacks as they come; put in order by `finish`.
class Flames {
public:
    /// `frames`: innermost first. The user's own where there are any; none: `otherwise`, and under it `detail`.
    void add(const std::vector<Frame>& frames, const char* otherwise, const std::string& detail, const HeldBytes& value) {
        if (frames.empty()) return add({otherwise, detail}, value);
        total_ += value.bytes;
        int at = -1;
        const bool own = std::any_of(frames.begin(), frames.end(), [](const Frame& f) { return f.project; });
        for (auto f = frames.rbegin(); f != frames.rend(); ++f)
            if (f->project || !own) at = step(at, {f->function.str(), f->file.str(), f->line}, value);
    }
    /// Names from the ground up; empty ones are left out.
    void add(const std::vector<std::string>& names, const HeldBytes& value) {
        total_ += value.bytes;
        int at = -1;
        for (const std::string& name : names)
            if (!name.empty()) at = step(at, {name, "", 0}, value);
    }

    FlameGraph finish() {
        FlameGraph out;
        out.bytes = total_;
        place(-1, 0, 0, out);
        return out;
    }

private:
    using Place = std::tuple<std::string, std::string, int>;
    struct Open {
        FlameNode node;
        std::int64_t largest = -1;
    };
    int step(int parent, const Place& place, const HeldBytes& value) {
        const auto [it, is_new] = known_.try_emplace({parent, place}, static_cast<int>(all_.size()));
        if (is_new) {
            FlameNode node;
            std::tie(node.function, node.file, node.line) = place;
            all_.push_back({std::move(node)});
            children_[parent].push_back(it->second);
        }
        Open& open = all_[static_cast<std::size_t>(it->second)];
        open.node.bytes += value.bytes;
        open.node.argument = value.argument;
        if (value.bytes > open.largest) {
            open.largest = value.bytes;
            open.node.residual = value.residual;
            open.node.buffer = value.buffer;
        }
        return it->second;
    }
    void place(int of, int parent_out, int depth, FlameGraph& out) {
        std::vector<int> below = children_[of];
        std::stable_sort(below.begin(), below.end(), [&](int a, int b) { return bytes(a) > bytes(b); });
        std::int64_t begin = of < 0 ? 0 : out.nodes[static_cast<std::size_t>(parent_out)].begin;
        for (const int child : below) {
            FlameNode node = all_[static_cast<std::size_t>(child)].node;
            node.parent = of < 0 ? -1 : parent_out;
            node.depth = depth;
            node.begin = begin;
            begin += node.bytes;
            out.depth = std::max(out.depth, depth + 1);
            out.nodes.push_back(std::move(node));
            place(child, static_cast<int>(out.nodes.size()) - 1, depth + 1, out);
        }
    }
    std::int64_t bytes(int node) const { return all_[static_cast<std::size_t>(node)].node.bytes; }

    std::vector<Open> all_;
    std::map<std::pair<int, Place>, int> known_;
    std::map<int, std::vector<int>> children_;
    std::int64_t total_ = 0;
};

/// "params" of "params['w']": the argument that a leaf belongs to.
std::string argument_name(const Program& program, int input) {
    if (input < 0 || static_cast<std::size_t>(input) >= program.arg_of_input.size()) return {};
    const auto argument = static_cast<std::size_t>(program.arg_of_input[static_cast<std::size_t>(input)]);
    return argument < program.arg_names.size() ? program.arg_names[argument].str() : std::string();
}

std::string region_argument(const Program& program, const ResidualReport& residuals, int input) {
    if (!residuals.region) return argument_name(program, input);
    const Region& region = program.regions[static_cast<std::size_t>(*residuals.region)];
    if (input < 0 || static_cast<std::size_t>(input) >= region.arg_of_input.size()) return {};
    const auto argument = static_cast<std::size_t>(region.arg_of_input[static_cast<std::size_t>(input)]);
    return argument < region.arg_names.size() ? region.arg_names[argument].str() : std::string();
}

constexpr const char* kArguments = "arguments";

/// Those that a user or a library named.
std::vector<std::string> scopes(const NameStack& stack) {
    std::vector<std::string> names;
    for (const NameStack::Entry& entry : stack.entries())
        if (!entry.transform && entry.name != stack_names::kRematted) names.push_back(entry.name.str());
    if (names.empty()) names.emplace_back(kNoScope);
    return names;
}

/// Equations inside of others stand in their scopes, too.
std::vector<std::string> scopes_of(const ResidualRow& row, const Jaxpr* known) {
    if (known == nullptr || row.equation.empty()) return {kNoScope};
    try {
        return scopes(resolve(*known, parse_eqn_path(row.equation)).source->name_stack);
    } catch (const Error&) {  // of another split
        return {kNoScope};
    }
}

/// A type as tables print it: "f32[4,16]".
std::vector<std::string> types(const std::string& aval) { return {aval.substr(0, aval.find('[')), aval}; }

}  // namespace

FlameGraph flame_of_step(const Program& program, const MemoryPlan& plan, int step, FlameBy by) {
    Flames flames;
    for (const int b : alive_at(plan, step)) {
        const PlannedBuffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
        if (buffer.alias_of || buffer.role == BufferRole::Constant) continue;  // counted as the argument; counted apart
        const bool argument = buffer.role == BufferRole::Argument;
        const std::string name = argument ? argument_name(program, buffer.number) : std::string();
        const HeldBytes held{buffer.bytes, argument, {}, id_of(plan, b)};
        if (by == FlameBy::Types)
            flames.add(types(to_text(buffer.aval)), held);
        else if (by == FlameBy::Roles)
            flames.add({role_name(buffer.role), argument ? name : buffer.primitive.str()}, held);
        else if (argument)
            flames.add({kArguments, name}, held);
        else if (by == FlameBy::Scopes)
            flames.add(scopes(buffer.source->name_stack), held);
        else
            flames.add(buffer.source->frames(), kNoLine, {}, held);
    }
    return flames.finish();
}

FlameGraph flame_of_residuals(const Program& program, const ResidualReport& residuals, FlameBy by, const Jaxpr* known) {
    Flames flames;
    for (const ResidualRow& row : residuals.rows) {
        const bool argument = row.id.input >= 0;
        const std::string name = argument ? region_argument(program, residuals, row.id.input) : std::string();
        const HeldBytes held{held_bytes(row), argument, row.id, {}};
        if (by == FlameBy::Types)
            flames.add(types(row.aval), held);
        else if (by == FlameBy::Roles)
            flames.add({argument               ? "argument"
                        : row.equation.empty() ? "constant"
                        : row.on_host          ? "offloaded"
                                               : "residual",
                        argument ? name : row.name},
                       held);
        else if (argument)
            flames.add({kArguments, name}, held);
        else if (by == FlameBy::Scopes)
            flames.add(scopes_of(row, known), held);
        else
            flames.add(row.frames, "constants", {}, held);
    }
    return flames.finish();
}

}  // namespace jaxscope
