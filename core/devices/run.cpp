// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <span>
#include <unordered_map>

#include "base/cancel.h"
#include "base/error.h"
#include "calls/control_flow.h"
#include "devices/carrier.h"
#include "devices/device_program.h"
#include "devices/looks.h"
#include "devices/steps.h"
#include "devices/team.h"
#include "ir/types/element.h"
#include "ir/types/literal_array.h"

namespace jaxscope {

namespace {

std::int64_t bytes_of(const ArrayPtr& a) { return a ? a->aval->bytes() : 0; }

std::shared_ptr<ArrayConst> filled(AvalRef aval) {
    auto a = std::make_shared<ArrayConst>();
    a->aval = aval;
    a->data.assign(static_cast<std::size_t>(aval->bytes()), std::byte{0});
    return a;
}
std::int64_t scalar_of(const ArrayConst& a) {
    JAXSCOPE_ASSERT(a.aval->rank() == 0);
    return load_element(a.aval->dtype, a.data.data()).integer;
}

class Run final : public DeviceExecutable {
public:
    Run(const sharding::Mesh& mesh, const JaxprPtr& body, bool debug_prints, Carrier* carrier)
        : mesh_(mesh),
          carrier_(carrier),
          here_(devices_here(mesh, carrier)),
          steps_(cut_into_steps(body, mesh, here_.size(), debug_prints)),
          looks_(steps_),
          live_(devices(), 0),
          peak_(devices()),
          held_(devices()),
          at_work_(devices(), true),
          team_(devices()) {
        if (carrier && looks_.any())
            throw Error(ErrorCode::CannotRun, "expected a program that looks at no values (debug_print) over several processes, found one");
    }

    DeviceArrays run(const DeviceArrays& inputs, const std::vector<bool>& donated) override {
        const std::lock_guard lock(running_);
        peak_.assign(devices(), {});
        at_work_.assign(devices(), true);
        looks_.clear();
        const KeptInputs kept(*this, inputs, donated);
        return program(steps_, inputs);
    }
    const std::vector<DevicePeak>& peaks() const override { return peak_; }
    std::vector<Onlooker> take_onlookers() override { return looks_.take(); }

private:
    /// Of this process: all, or one where each is a process of its own. Values are kept by their numbers among these.
    std::size_t devices() const { return here_.size(); }
    static std::vector<std::size_t> devices_here(const sharding::Mesh& mesh, const Carrier* carrier) {
        if (carrier && carrier->size() != static_cast<std::size_t>(mesh.devices()))
            throw Error(ErrorCode::CannotRun, "expected a process for each of the program's " + std::to_string(mesh.devices()) +
                                                  " devices, found " + std::to_string(carrier->size()))
                .advise("mpirun -n " + std::to_string(mesh.devices()) + " jaxscope run --mpi ...");
        if (carrier) return {carrier->rank()};
        std::vector<std::size_t> all(static_cast<std::size_t>(mesh.devices()));
        std::iota(all.begin(), all.end(), std::size_t{0});
        return all;
    }

    /// What stands for the variables of one jaxpr on each device. A device's memory is counted by what it holds.
    class Frame {
    public:
        Frame(Run& run, const Jaxpr& j) : run_(run), j_(j), values_(run.devices(), std::vector<ArrayPtr>(j.num_vars())) {}
        ~Frame() {
            for (std::size_t d = 0; d < values_.size(); ++d)
                for (const ArrayPtr& a : values_[d]) run_.release(d, a.get());
        }
        Frame(const Frame&) = delete;
        Frame& operator=(const Frame&) = delete;
        void set(std::size_t device, Var v, ArrayPtr a) {
            ArrayPtr& at = values_[device][v.index];
            run_.hold(device, a.get());
            run_.release(device, at.get());
            at = std::move(a);
            run_.note_peak(device, 0);
        }
        ArrayPtr get(std::size_t device, Atom a) const { return a.is_literal() ? array_of(a.literal()) : values_[device][a.var().index]; }
        void drop(std::size_t device, Var v) { set(device, v, nullptr); }
        std::vector<ArrayPtr> get(std::size_t device, std::span<const Atom> atoms) const {
            std::vector<ArrayPtr> out;
            for (const Atom a : atoms) out.push_back(get(device, a));
            return out;
        }
        DeviceArrays get(std::span<const Atom> atoms) const {
            DeviceArrays out;
            for (std::size_t d = 0; d < values_.size(); ++d) out.push_back(get(d, atoms));
            return out;
        }

    private:
        Run& run_;
        const Jaxpr& j_;
        DeviceArrays values_;
    };
    /// Arguments that the caller keeps are there from the first step to the last.
    class KeptInputs {
    public:
        KeptInputs(Run& run, const DeviceArrays& inputs, const std::vector<bool>& donated) : run_(run), inputs_(inputs), donated_(donated) {
            each([&](std::size_t d, const ArrayConst* a) { run_.hold(d, a); });
        }
        ~KeptInputs() {
            each([&](std::size_t d, const ArrayConst* a) { run_.release(d, a); });
        }
        KeptInputs(const KeptInputs&) = delete;
        KeptInputs& operator=(const KeptInputs&) = delete;

    private:
        template <class F>
        void each(F&& f) const {
            for (std::size_t d = 0; d < inputs_.size(); ++d)
                for (std::size_t i = 0; i < inputs_[d].size(); ++i)
                    if (i >= donated_.size() || !donated_[i]) f(d, inputs_[d][i].get());
        }
        Run& run_;
        const DeviceArrays& inputs_;
        const std::vector<bool>& donated_;
    };
    /// An array counts once, however many variables of nested jaxprs stand for it.
    void hold(std::size_t device, const ArrayConst* a) {
        if (a && held_[device][a]++ == 0) live_[device] += a->aval->bytes();
    }
    void release(std::size_t device, const ArrayConst* a) {
        if (!a || --held_[device].at(a) != 0) return;
        held_[device].erase(a);
        live_[device] -= a->aval->bytes();
    }
    void note_peak(std::size_t device, std::int64_t more) {
        DevicePeak& p = peak_[device];
        if (live_[device] + more <= p.bytes) return;
        p = {live_[device] + more, more, at_ ? at_->at : SourceRef()};
    }

    DeviceArrays program(const DeviceSteps& p, const DeviceArrays& inputs) {
        const Jaxpr& j = *p.jaxpr;
        Frame f(*this, j);
        each_at_work([&](std::size_t d) {
            for (std::uint32_t i = 0; i < j.num_constvars; ++i) {
                const ArrayPtr known = i < j.consts.size() ? j.consts[i] : nullptr;
                f.set(d, j.constvar(i), known && known->known() ? known : ArrayPtr(filled(j.aval(j.constvar(i)))));
            }
            for (std::uint32_t i = 0; i < j.num_invars; ++i) f.set(d, j.invar(i), inputs[d].at(i));
        });
        for (const DeviceStep& s : p.steps) {
            check_cancelled();
            step(s, f);
            for (std::size_t d = 0; d < devices(); ++d)
                for (const Var v : s.last) f.drop(d, v);
        }
        return f.get(j.outvars);
    }

    void step(const DeviceStep& s, Frame& f) {
        at_ = &s;
        switch (s.kind) {
            case DeviceStep::Kind::Compute:
                team_.each([&](std::size_t d) {
                    if (at_work_[d]) compute(s, f, d);
                });
                return looks_.note(s);
            case DeviceStep::Kind::Meet:
                return meet(s, f);
            case DeviceStep::Kind::Place:
                return place(s, f);
            case DeviceStep::Kind::Scan:
                return scan(s, f);
            case DeviceStep::Kind::While:
                return loop(s, f);
            case DeviceStep::Kind::Cond:
                return branch(s, f);
        }
    }
    void compute(const DeviceStep& s, Frame& f, std::size_t d) {
        const std::vector<ArrayPtr> in = f.get(d, s.in);
        std::vector<const ArrayConst*> inputs;
        for (const ArrayPtr& a : in) inputs.push_back(a.get());
        std::vector<ArrayPtr> out;
        Executable& e = *s.executables[d];
        e.run_in_place(inputs, {}, out);
        std::int64_t made = e.plan().planned_peak;
        for (const ArrayPtr& a : out) made += bytes_of(a);
        note_peak(d, made);
        for (std::size_t k = 0; k < out.size(); ++k) f.set(d, s.out[k], std::move(out[k]));
    }
    void place(const DeviceStep& s, Frame& f) {
        each_at_work([&](std::size_t d) {
            const std::int64_t own = mesh_.position(static_cast<std::int64_t>(here_[d]), s.axes);
            f.set(d, s.out[0], array_of(make_literal(AvalRef(DType::S32, {}), own)));
        });
    }
    /// Groups meet one after the other, in the order of their first devices.
    void meet(const DeviceStep& s, Frame& f) {
        for (std::size_t d = 0; d < devices(); ++d) {
            const std::size_t device = here_[d];
            const std::vector<std::size_t> group = group_of(mesh_, s, device);
            if (!at_work_[d] || (!carrier_ && group.front() != device)) continue;
            const Meeting& meeting = s.meetings.at(group.size());
            std::vector<ArrayPtr> held, out;
            for (const Atom a : s.in) {
                const std::vector<ArrayPtr> met = of_all(group, f, a);
                held.insert(held.end(), met.begin(), met.end());
            }
            std::vector<const ArrayConst*> inputs;
            for (const ArrayPtr& a : held) inputs.push_back(a.get());
            meeting.executable->run_in_place(inputs, {}, out);
            for (std::size_t r = 0; r < s.out.size(); ++r)
                for (std::size_t k = 0; k < group.size(); ++k) {
                    const ArrayPtr& got = out[meeting.group.each ? r * group.size() + k : r];
                    if (!carrier_) f.set(group[k], s.out[r], got);
                    if (carrier_ && group[k] == device) f.set(d, s.out[r], got);
                }
        }
    }
    /// What each member of a group has of a value.
    std::vector<ArrayPtr> of_all(const std::vector<std::size_t>& group, const Frame& f, Atom a) const {
        std::vector<ArrayPtr> out;
        if (!carrier_) {
            for (const std::size_t d : group) out.push_back(f.get(d, a));
            return out;
        }
        const ArrayPtr own = f.get(0, a);
        for (Bytes& bytes : carrier_->exchange(group, own->data)) {
            const auto got = std::make_shared<ArrayConst>();
            got->aval = own->aval;
            got->data = std::move(bytes);
            out.push_back(got);
        }
        return out;
    }

    /// The same on all who meet in it, or none of them would arrive where the others wait.
    void expect_agreement(const DeviceStep& s, const std::vector<std::int64_t>& values, const char* what) const {
        if (s.with.empty()) return;
        const auto expect_same = [&](std::size_t device, std::int64_t value, std::size_t first, std::int64_t firsts) {
            if (value != firsts)
                throw Error(ErrorCode::CannotRun, std::string("expected all devices that meet in a ") + s.op->prim->name + " to agree on " +
                                                      what + ", found device " + std::to_string(device) + " elsewhere than device " +
                                                      std::to_string(first) + ": on real devices they would wait for each other forever")
                    .at(s.op->source.loc());
        };
        if (!carrier_) return each_at_work([&](std::size_t d) { expect_same(d, values[d], s.with[d], values[s.with[d]]); });
        std::vector<std::size_t> all;
        for (std::size_t d = 0; d < s.with.size(); ++d)
            if (s.with[d] == s.with[here_[0]]) all.push_back(d);
        const std::vector<std::int64_t> theirs = numbers_of(all, values[0]);
        for (std::size_t k = 1; k < all.size(); ++k) expect_same(all[k], theirs[k], all[0], theirs[0]);
    }
    std::vector<std::int64_t> numbers_of(const std::vector<std::size_t>& group, std::int64_t own) const {
        std::vector<std::int64_t> out;
        for (const Bytes& bytes : carrier_->exchange(group, std::as_bytes(std::span(&own, 1))))
            std::memcpy(&out.emplace_back(), bytes.data(), sizeof(own));
        return out;
    }
    void put(const DeviceStep& s, Frame& f, DeviceArrays results) {
        each_at_work([&](std::size_t d) {
            for (std::size_t k = 0; k < s.out.size(); ++k) f.set(d, s.out[k], std::move(results[d][k]));
        });
    }
    /// Devices that don't meet in a loop or branch go their own ways. While this stands, the others wait.
    class Some {
    public:
        explicit Some(Run& run) : run_(run), before_(run.at_work_) {}
        ~Some() { run_.at_work_ = before_; }
        Some(const Some&) = delete;
        Some& operator=(const Some&) = delete;
        /// Of those that were at work, the ones whose number is `wanted`. None: false.
        bool choose(const std::vector<std::int64_t>& numbers, std::int64_t wanted) {
            for (std::size_t d = 0; d < before_.size(); ++d) run_.at_work_[d] = before_[d] && numbers[d] == wanted;
            return std::find(run_.at_work_.begin(), run_.at_work_.end(), true) != run_.at_work_.end();
        }

    private:
        Run& run_;
        std::vector<bool> before_;
    };
    template <class F>
    void each_at_work(F&& f) const {
        for (std::size_t d = 0; d < devices(); ++d)
            if (at_work_[d]) f(d);
    }
    template <class Value>
    std::vector<std::int64_t> of_each(Value&& value) const {
        std::vector<std::int64_t> out(devices());
        each_at_work([&](std::size_t d) { out[d] = value(d); });
        return out;
    }

    void scan(const DeviceStep& s, Frame& f) {
        const auto& p = s.op->as<ScanParams>();
        const auto consts = static_cast<std::size_t>(p.num_consts), carries = static_cast<std::size_t>(p.num_carry);
        const DeviceArrays in = f.get(s.in);
        DeviceArrays now = in, out(devices());
        std::vector<std::vector<std::shared_ptr<ArrayConst>>> stacked(devices());
        for (auto& of_device : stacked)
            for (std::size_t k = carries; k < s.out.size(); ++k) of_device.push_back(filled(s.op->out[k]));
        for (std::int64_t i = 0; i < p.length; ++i) {
            const std::int64_t at = p.reverse ? p.length - 1 - i : i;
            each_at_work([&](std::size_t d) {
                for (std::size_t k = consts + carries; k < in[d].size(); ++k) now[d][k] = taken(*in[d][k], at);
            });
            const DeviceArrays results = program(s.bodies[0], now);
            each_at_work([&](std::size_t d) {
                for (std::size_t k = 0; k < carries; ++k) now[d][consts + k] = results[d][k];
                for (std::size_t k = carries; k < s.out.size(); ++k) stack(*stacked[d][k - carries], at, *results[d][k]);
            });
        }
        for (std::size_t d = 0; d < devices(); ++d) {
            for (std::size_t k = 0; k < carries; ++k) out[d].push_back(now[d][consts + k]);
            out[d].insert(out[d].end(), stacked[d].begin(), stacked[d].end());
        }
        put(s, f, std::move(out));
    }
    static ArrayPtr taken(const ArrayConst& a, std::int64_t i) {
        const auto element = filled(unstacked(a.aval));
        if (!element->data.empty())
            std::memcpy(element->data.data(), a.data.data() + static_cast<std::size_t>(i) * element->data.size(), element->data.size());
        return element;
    }
    static void stack(ArrayConst& to, std::int64_t i, const ArrayConst& element) {
        if (!element.data.empty())
            std::memcpy(to.data.data() + static_cast<std::size_t>(i) * element.data.size(), element.data.data(), element.data.size());
    }

    void loop(const DeviceStep& s, Frame& f) {
        const auto& p = s.op->as<WhileParams>();
        const auto cond_consts = static_cast<std::ptrdiff_t>(p.cond_nconsts);
        const std::ptrdiff_t consts = cond_consts + static_cast<std::ptrdiff_t>(p.body_nconsts);
        const DeviceArrays in = f.get(s.in);
        DeviceArrays carry;
        for (const auto& x : in) carry.emplace_back(x.begin() + consts, x.end());
        {
            Some some(*this);
            for (;;) {
                check_cancelled();
                const DeviceArrays answers = program(s.bodies[0], with_front(in, 0, cond_consts, carry));
                const std::vector<std::int64_t> more = of_each([&](std::size_t d) { return scalar_of(*answers[d][0]); });
                expect_agreement(s, more, "the condition");
                if (!some.choose(more, 1)) break;
                DeviceArrays next = program(s.bodies[1], with_front(in, cond_consts, consts, carry));
                each_at_work([&](std::size_t d) { carry[d] = std::move(next[d]); });
            }
        }
        put(s, f, std::move(carry));
    }
    static DeviceArrays with_front(const DeviceArrays& in, std::ptrdiff_t begin, std::ptrdiff_t end, const DeviceArrays& carry) {
        DeviceArrays out;
        for (std::size_t d = 0; d < in.size(); ++d) {
            out.emplace_back(in[d].begin() + begin, in[d].begin() + end);
            out[d].insert(out[d].end(), carry[d].begin(), carry[d].end());
        }
        return out;
    }
    void branch(const DeviceStep& s, Frame& f) {
        DeviceArrays in = f.get(s.in);
        const std::vector<std::int64_t> chosen =
            of_each([&](std::size_t d) { return std::clamp<std::int64_t>(scalar_of(*in[d][0]), 0, std::ssize(s.bodies) - 1); });
        for (auto& x : in) x.erase(x.begin());
        expect_agreement(s, chosen, "the branch");
        Some some(*this);
        for (std::size_t b = 0; b < s.bodies.size(); ++b)
            if (some.choose(chosen, static_cast<std::int64_t>(b))) put(s, f, program(s.bodies[b], in));
    }

    sharding::Mesh mesh_;
    Carrier* carrier_;
    std::vector<std::size_t> here_;
    DeviceSteps steps_;
    DeviceLooks looks_;
    const DeviceStep* at_ = nullptr;  ///< the step at work
    std::vector<std::int64_t> live_;
    std::vector<DevicePeak> peak_;
    std::vector<std::unordered_map<const ArrayConst*, int>> held_;
    std::vector<bool> at_work_;
    std::mutex running_;
    DeviceTeam team_;
};

}  // namespace

std::shared_ptr<DeviceExecutable> DeviceExecutable::compile(const sharding::Mesh& mesh, const JaxprPtr& body, bool debug_prints,
                                                            Carrier* carrier) {
    return std::make_shared<Run>(mesh, body, debug_prints, carrier);
}

}  // namespace jaxscope
