// SPDX-License-Identifier: Apache-2.0
#include "devices/steps.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "calls/control_flow.h"
#include "sharding/flatten.h"
#include "transforms/cut.h"

namespace jaxscope {

namespace {

/// Does `is_it` hold of the equation, or of one inside of it?
bool within(const Eqn& e, bool (*is_it)(const Eqn&)) {
    if (is_it(e)) return true;
    const std::vector<JaxprPtr> bodies = e.params->jaxprs();
    return std::any_of(bodies.begin(), bodies.end(), [&](const JaxprPtr& j) {
        return std::any_of(j->eqns.begin(), j->eqns.end(), [&](const Eqn& inner) { return within(inner, is_it); });
    });
}
/// Does it take other devices, or the device's own place?
bool of_devices(const Eqn& e) {
    return within(e, [](const Eqn& x) { return is_collective(*x.prim); });
}
bool looks(const Eqn& e) {
    return within(e, [](const Eqn& x) { return x.n_out == 0; });
}

class Cutter {
public:
    Cutter(JaxprPtr j, const sharding::Mesh& mesh, std::size_t here, bool debug_prints)
        : j_(*j), mesh_(mesh), here_(here), debug_prints_(debug_prints), cutter_(j_) {
        out_.jaxpr = std::move(j);
    }
    DeviceSteps run() {
        // A device's own place needs nobody else: it is known before the equations around it, which stay one program.
        std::uint32_t begin = 0;
        const auto end = static_cast<std::uint32_t>(j_.eqns.size());
        for (std::uint32_t i = 0; i < end; ++i) {
            const Eqn& e = j_.eqns[i];
            if (e.prim == &kAxisIndex) {
                out_.steps.push_back(place(e));
            } else if (of_devices(e)) {
                compute(begin, i);
                out_.steps.push_back(e.prim->flow == Flow::Straight ? meeting(e) : control(e));
                begin = i + 1;
            }
        }
        compute(begin, end);
        note_last_reads();
        return std::move(out_);
    }

private:
    DeviceStep step(DeviceStep::Kind kind, const Eqn& e) const {
        DeviceStep s{.kind = kind};
        s.in.assign(j_.inputs(e).begin(), j_.inputs(e).end());
        for (std::uint32_t k = 0; k < e.n_out; ++k) s.out.push_back(Var{e.first_out + k});
        s.op = make_op(j_, e);
        s.at = e.source;
        return s;
    }
    void expect_axes(const Op& op, const std::vector<Sym>& axes) const {
        for (const Sym a : axes)
            if (std::none_of(mesh_.axes.begin(), mesh_.axes.end(), [&](const auto& m) { return m.name == a; }))
                throw Error(ErrorCode::CannotRun, "expected an axis of " + to_text(mesh_) + ", found '" + a.str() + "' in " + op.prim->name)
                    .at(op.source.loc());
    }
    DeviceStep place(const Eqn& e) const {
        DeviceStep s = step(DeviceStep::Kind::Place, e);
        s.axes = collective_axes(*s.op);
        expect_axes(*s.op, s.axes);
        return s;
    }
    DeviceStep meeting(const Eqn& e) const {
        DeviceStep s = step(DeviceStep::Kind::Meet, e);
        s.axes = collective_axes(*s.op);
        expect_axes(*s.op, s.axes);
        s.groups = collective_groups(*s.op, mesh_.size_of(s.axes));
        for (const auto& group : s.groups) {
            Meeting& meeting = s.meetings[group.size()];
            if (meeting.executable) continue;
            meeting.group = collective_over(*s.op, group.size());
            meeting.executable = Executable::compile_in_place(meeting.group.jaxpr);
        }
        return s;
    }
    DeviceStep control(const Eqn& e) const {
        DeviceStep s = step(e.prim->flow == Flow::Scan    ? DeviceStep::Kind::Scan
                            : e.prim->flow == Flow::While ? DeviceStep::Kind::While
                                                          : DeviceStep::Kind::Cond,
                            e);
        std::vector<JaxprPtr> bodies;
        if (s.kind == DeviceStep::Kind::Scan)
            bodies = {s.op->as<ScanParams>().jaxpr.jaxpr};
        else if (s.kind == DeviceStep::Kind::While)
            bodies = {s.op->as<WhileParams>().cond_jaxpr.jaxpr, s.op->as<WhileParams>().body_jaxpr.jaxpr};
        else if (e.prim->flow == Flow::Cond)
            bodies = s.op->as<CondParams>().branches;
        else
            throw Error(ErrorCode::CannotRun, std::string("expected no collective in the body of ") + e.prim->name).at(e.source.loc());
        for (const JaxprPtr& body : bodies) s.bodies.push_back(cut_into_steps(body, mesh_, here_, debug_prints_));
        s.with = who_meets(s.bodies);
        return s;
    }
    /// Of each device the first of those whom it meets in one of these, directly or through others.
    std::vector<std::size_t> who_meets(const std::vector<DeviceSteps>& bodies) const {
        std::vector<std::size_t> first(static_cast<std::size_t>(mesh_.devices()));
        std::iota(first.begin(), first.end(), std::size_t{0});
        bool any = false;
        const auto join = [&](std::size_t a, std::size_t b) {
            any = true;
            const std::size_t low = std::min(first[a], first[b]), high = std::max(first[a], first[b]);
            if (low != high) std::replace(first.begin(), first.end(), high, low);
        };
        for (const DeviceSteps& body : bodies)
            for (const DeviceStep& s : body.steps)
                for (std::size_t d = 0; d < first.size(); ++d) {
                    if (s.kind == DeviceStep::Kind::Meet) {
                        if (s.op->prim == &kPpermute) join(d, 0);  // XLA's waits for all devices, whoever sends
                        for (const std::size_t other : group_of(mesh_, s, d)) join(d, other);
                    }
                    if (!s.with.empty()) join(d, s.with[d]);
                }
        return any ? first : std::vector<std::size_t>();
    }

    /// Equations [begin, end) without those that say a device's place, as a program of their own.
    void compute(std::uint32_t begin, std::uint32_t end) {
        JaxprCut cut = cutter_.cut(begin, end, j_.name, [](const Eqn& e) { return e.prim == &kAxisIndex; });
        if (cut.out.empty() && std::none_of(cut.jaxpr->eqns.begin(), cut.jaxpr->eqns.end(), looks)) return;
        DeviceStep s{.kind = DeviceStep::Kind::Compute};
        s.in.assign(cut.in.begin(), cut.in.end());
        s.out = std::move(cut.out);
        s.jaxpr = std::move(cut.jaxpr);
        s.at = j_.eqns[end - 1].source;
        JitOptions options;
        options.debug_prints = debug_prints_;
        for (std::size_t d = 0; d < here_; ++d) {
            s.executables.push_back(Executable::compile_in_place(s.jaxpr, {}, {}, options));
            s.looks = s.executables.back()->note_onlookers();
        }
        out_.steps.push_back(std::move(s));
    }

    void note_last_reads() {
        std::vector<bool> read(j_.num_vars(), false);
        for (const Atom a : j_.outvars)
            if (a.is_var()) read[a.var().index] = true;
        for (std::size_t i = out_.steps.size(); i-- > 0;) {
            DeviceStep& s = out_.steps[i];
            const auto note = [&](Var v) {
                if (!read[v.index]) s.last.push_back(v);
                read[v.index] = true;
            };
            for (const Var v : s.out) note(v);
            for (const Atom a : s.in)
                if (a.is_var()) note(a.var());
        }
    }

    const Jaxpr& j_;
    const sharding::Mesh& mesh_;
    std::size_t here_;
    bool debug_prints_;
    JaxprCutter cutter_;
    DeviceSteps out_;
};

}  // namespace

std::vector<std::size_t> group_of(const sharding::Mesh& mesh, const DeviceStep& s, std::size_t device) {
    const std::int64_t own = mesh.position(static_cast<std::int64_t>(device), s.axes);
    std::vector<std::size_t> out;
    for (const auto& group : s.groups) {
        if (std::find(group.begin(), group.end(), own) == group.end()) continue;
        for (const std::int64_t k : group)
            out.push_back(static_cast<std::size_t>(mesh.moved(static_cast<std::int64_t>(device), s.axes, k)));
    }
    if (s.meetings.at(out.size()).group.mesh_order) std::sort(out.begin(), out.end());
    return out;
}

DeviceSteps cut_into_steps(const JaxprPtr& body, const sharding::Mesh& mesh, std::size_t here, bool debug_prints) {
    return Cutter(sharding::flattened(*body), mesh, here, debug_prints).run();
}

}  // namespace jaxscope
