// SPDX-License-Identifier: Apache-2.0
#include "jit/graph/build_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/cancel.h"
#include "calls/control_flow.h"
#include "calls/host/callbacks.h"
#include "calls/host/debug.h"
#include "ir/followed.h"
#include "ir/interpret.h"
#include "jit/graph/known_params.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/turn_blocks.h"
#include "jit/kernels/library.h"
#include "jit/targets.h"
#include "lax/collectives/collectives.h"
#include "lax/params/products.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "lax/reductions/windows.h"

namespace jaxscope::exec {

namespace {

JaxprPtr jaxpr_param(const ParamsRef& params, Sym name) {
    if (const Attr* a = params->find(name))
        if (const auto* j = a->get<Attr::JaxprRef>()) return j->jaxpr;
    throw Error(ErrorCode::BadInput, "expected a jaxpr in parameter " + name.str());
}

/// JAX's _should_barrier: remat is kept apart from its forward twin unless inside a scan, which keeps them apart anyway.
bool wants_barrier(const ParamsRef& params) {
    const auto flag = [&](Sym name) {
        const Attr* a = params->find(name);
        if (!a) return false;
        if (const bool* b = a->get<bool>()) return *b;
        if (const auto* s = a->get_seq())  // prevent_cse may be given per input
            return std::any_of(s->items.begin(), s->items.end(), [](const Attr& x) { return x.get<bool>() && *x.get<bool>(); });
        return false;
    };
    return flag("differentiated") && flag("prevent_cse");
}

class GraphBuilder {
public:
    struct Body {
        JaxprPtr jaxpr;  ///< kept, since expansions make jaxprs that nothing else holds
        GraphPtr graph;
    };
    using Bodies = std::unordered_map<const Jaxpr*, Body>;
    GraphBuilder(Bodies& bodies, bool in_branch, const GraphOptions& options)
        : bodies_(bodies), in_branch_(in_branch), options_(options), rewrite_(graph_, options.target != nullptr) {}

    GraphPtr build(const Jaxpr& j, Sym prefix) {
        simplify(j, prefix);
        return finish();
    }

private:
    /// All but what joins sums with products.
    void simplify(const Jaxpr& j, Sym prefix) {
        graph_.path = prefix;
        const std::size_t expected = most_nodes(j);
        graph_.nodes.reserve(expected);
        graph_.values.reserve(expected + j.num_constvars + j.num_invars);
        const std::vector<ValueId> consts = constants(j);
        for (std::uint32_t i = 0; i < j.num_invars; ++i)
            graph_.inputs.push_back(rewrite_.add_value(j.aval(j.invar(i)), GraphValue::Kind::Input, i));
        graph_.outputs = inline_jaxpr(j, consts, graph_.inputs, prefix);
        drop_dead_nodes(graph_);
        fold_transposes(graph_);
        if (!options_.target) {  // XLA's compilers don't
            accumulate_scatters(graph_);
            drop_dead_nodes(graph_);
        }
    }
    GraphPtr finish() {
        if (!options_.target) accumulate_products(graph_);
        drop_dead_nodes(graph_);
        return std::make_shared<const Graph>(std::move(graph_));
    }

    /// About how many there will be: nodes are what a plan needs most memory for, and a vector that doubles has room for twice as many.
    static std::size_t most_nodes(const Jaxpr& j) {
        std::size_t inlined = 0;
        for (const Eqn& e : j.eqns)
            if (e.prim->flow == Flow::Call || e.prim->flow == Flow::RuledCall || e.prim->flow == Flow::Remat)
                for (const JaxprPtr& body : e.params->jaxprs()) inlined += body->eqns.size();
        return j.eqns.size() + std::min(inlined, j.eqns.size());
    }

    std::vector<ValueId> constants(const Jaxpr& j) {
        std::vector<ValueId> out;
        for (std::uint32_t i = 0; i < j.num_constvars; ++i)
            out.push_back(rewrite_.constant(i < j.consts.size() ? j.consts[i] : nullptr, j.aval(j.constvar(i))));
        return out;
    }

    std::vector<ValueId> inline_jaxpr(const Jaxpr& j, const std::vector<ValueId>& consts, const std::vector<ValueId>& args, Sym prefix) {
        Interpreter run(
            j, {.doing = "compiling", .path = prefix}, [this](LiteralRef l) { return rewrite_.literal(l); }, ValueId(0));
        run.bind_consts(consts);
        run.bind_inputs(args);
        return run.forward([&](const Eqn& e, const std::vector<ValueId>& in) {
            const auto index = static_cast<std::uint32_t>(run.index());
            if (!in_branch_) return add_equation(make_op(j, e), in, prefix, index);
            try {
                return add_equation(make_op(j, e), in, prefix, index);
            } catch (const Error& error) {
                if (error.code != ErrorCode::UnknownPrimitive && error.code != ErrorCode::NoRule) throw;
                return add_refusal(make_op(j, e), in, error);
            }
        });
    }

    /// Between memory spaces a value is copied: what it holds on the device can go while it stands on the host.
    std::vector<ValueId> add_routine(const Op& op, const std::vector<ValueId>& in, bool writes = false, bool once = false) {
        Node n;
        n.kind = NodeKind::Library;
        n.work = std::make_shared<const Work>(
            Work{op, std::nullopt, std::make_shared<const KernelSpec>(KernelSpec{RuntimeKernel{writes}}), nullptr});
        n.in.assign(in.begin(), in.end());
        return once ? rewrite_.merged(std::move(n)) : rewrite_.add_node(std::move(n));
    }

    /// It is met, and reads nothing unless somebody wants to see what it looks at.
    std::vector<ValueId> add_onlooker(Op op, const std::vector<ValueId>& in) {
        const bool writes = options_.write_prints && op.prim == &kDebugPrint;
        if (options_.show_operands || writes) return add_routine(op, in, writes);
        op.in.clear();
        return add_routine(op, {});
    }

    /// Checks call Python only where something is wrong: what can't run there is refused when it is met.
    std::vector<ValueId> add_refusal(Op op, const std::vector<ValueId>& in, const Error& error) {
        return add_routine(refused_when_met(std::move(op), error), in);
    }

    std::vector<ValueId> add_equation(Op op, const std::vector<ValueId>& in, Sym prefix, std::uint32_t eqn) {
        // Transposition marks what it makes in the name stack; equations inside its calls don't repeat that.
        const bool backward = backward_ || op.source->name_stack.has_transform(stack_names::kTranspose);
        rewrite_.at(prefix, eqn, op.source, backward);
        check_params(op);
        switch (op.prim->flow) {
            case Flow::Call:
            case Flow::RuledCall:
            case Flow::Remat:
                return add_call(op, in, prefix, eqn, backward);
            case Flow::Scan:
                if (written_out(op)) return add_written_out(op, in, prefix, eqn, backward);
                return add_scan(op, in, prefix, eqn, backward);
            case Flow::While:
                return add_while(op, in, prefix, eqn);
            case Flow::Cond:
                return add_cond(std::move(op), in, prefix, eqn);
            case Flow::Barrier:
                return rewrite_.barrier(op, in);
            case Flow::LinearSolve:
                return add_linear_solve(op, in, prefix, eqn);
            case Flow::Straight:
                break;
        }
        if (moves_between_spaces(op)) return add_routine(op, in);
        // XLA merges equal collectives, and keeps what was gathered for all who read it.
        if (options_.over_devices && names_mesh_axes(op)) return add_routine(op, in, false, options_.target != nullptr);
        if (host_function(op.params)) return add_routine(op, in);  // each call is one: equal ones aren't merged
        if (auto out = without_elements(op)) return *out;
        if (options_.target && is_window_op(*op.prim)) return add_routine(op, in);
        if (options_.target && op.prim == &kConvGeneralDilated) return add_convolution(op, in);
        if (only_looks(op) && op.prim->kernel) return add_onlooker(std::move(op), in);
        JaxprPtr instead = op.prim->expand && op.prim->kernel ? op.prim->expand.fn(op) : nullptr;
        if (!instead) {
            if (auto out = rewrite_.add(op, in)) return *out;
            if (op.prim->expand) instead = op.prim->expand.fn(op);
        }
        if (instead) return inline_jaxpr(*instead, constants(*instead), in, prefix);  // its equations stand for this one
        refuse(op);
    }

    /// An argument, or one that was only converted.
    bool comes_from_outside(ValueId root) const {
        const GraphValue& value = graph_.values[root];
        if (value.kind != GraphValue::Kind::Result) return value.kind == GraphValue::Kind::Input;
        const Node& n = graph_.nodes[value.index];
        return n.op().prim == &kConvertElementType && graph_.values[graph_.root(n.in[0])].kind == GraphValue::Kind::Input;
    }
    /// An argument comes in the layout that wastes least memory. Where that isn't the convolution's, it reads a copy, and all that read the
    /// same argument read the same copy: images of three colours, whose batch is smaller than a row of lanes.
    std::vector<ValueId> add_convolution(const Op& op, std::vector<ValueId> in) {
        const Dims& spec = op.as<ConvParams>().dimension_numbers.lhs_spec;
        const Aval& x = *op.in[0];
        const bool given = comes_from_outside(graph_.root(in[0]));
        const int batch = static_cast<int>(spec[0]), features = static_cast<int>(spec[1]);
        const TargetDevice& device = *options_.target;
        const bool rows_of_lanes = x.shape[static_cast<std::size_t>(batch)] % device.lanes == 0;  // it comes with its batch last
        if (given && !rows_of_lanes &&
            padded_bytes(x, device) < std::min(padded_bytes(x, device, batch, features), padded_bytes(x, device, features, batch))) {
            const auto [copy, is_new] = relaid_.try_emplace(graph_.root(in[0]), in[0]);
            if (is_new) {
                Op relay = op;
                relay.prim = &kCopyP;
                relay.params = {};
                relay.in = relay.out = {op.in[0]};
                copy->second = add_routine(relay, {in[0]}).front();
            }
            in[0] = copy->second;
        }
        if (auto out = rewrite_.add(op, in)) return *out;
        refuse(op);
    }

    /// Tangents of integers (float0) take no bytes, whatever their shape: nothing is computed, and nothing can be read of them.
    std::optional<std::vector<ValueId>> without_elements(const Op& op) {
        const auto empty = [](AvalRef a) { return a->dtype == DType::Float0; };
        const bool makes = std::any_of(op.out.begin(), op.out.end(), empty), reads = std::any_of(op.in.begin(), op.in.end(), empty);
        if ((!makes && !reads) || only_looks(op)) return std::nullopt;
        if (op.prim == &kConvertElementType && !makes) return std::vector{zeros(op)};  // what JAX reads there
        if (!op.prim->lower && op.prim->lower.words_of_jax) return std::nullopt;
        if (!std::all_of(op.out.begin(), op.out.end(), empty))
            throw Error(ErrorCode::NoRule, "expected operands with elements for '" + op.prim->name + "', found float0");
        std::vector<ValueId> out;
        for (const AvalRef a : op.out) {
            auto nothing = std::make_shared<ArrayConst>();
            nothing->aval = a;
            out.push_back(rewrite_.constant(nothing, a));
        }
        return out;
    }

    ValueId zeros(const Op& op) {
        const AvalRef all = op.out[0];
        const LiteralRef zero = make_literal(AvalRef(all->dtype, {}), std::int64_t{0});
        return rewrite_.add_part(op, kBroadcastInDim, make_params(BroadcastInDimParams{all->shape, {}}), {rewrite_.literal(zero)}, all);
    }

    /// Once for each set of parameters, which equations share. The interpreter names the equation.
    void check_params(const Op& op) {
        if (checked_.emplace(op.prim, &*op.params).second) refuse_unknown_params(op);
    }

    [[noreturn]] static void refuse(const Op& op) {
        if (op.prim->lower.words_of_jax) throw Error(ErrorCode::NoRule, op.prim->lower.absent);
        if (op.prim->opaque)
            throw Error(ErrorCode::UnknownPrimitive,
                        "expected a primitive that jaxscope can run, found '" + op.prim->name + "', which it doesn't know");
        throw Error(ErrorCode::NoRule,
                    "expected a primitive that jaxscope can run, found '" + op.prim->name + "' without a kernel: " + op.prim->lower.absent);
    }

    std::vector<ValueId> add_call(const Op& op, std::vector<ValueId> in, Sym prefix, std::uint32_t eqn, bool backward) {
        JaxprPtr body = jaxpr_param(op.params, op.prim->body);
        if (op.prim->flow == Flow::Remat && wants_barrier(op.params)) {
            if (options_.remat == RematLowering::Barrier) in = rewrite_.barrier(op, in);
            body = lowered_remat(body, options_.remat);
        }
        std::vector<ValueId> consts = constants(*body);
        if (body->num_constvars && in.size() == body->num_constvars + body->num_invars && body->consts.empty()) {
            consts.assign(in.begin(), in.begin() + body->num_constvars);  // an open jaxpr whose constvars are passed in front
            in.erase(in.begin(), in.begin() + body->num_constvars);
        }
        const bool outer = std::exchange(backward_, backward);
        std::vector<ValueId> out = inline_jaxpr(*body, consts, in, child(prefix, eqn, op.prim->body));
        backward_ = outer;
        return out;
    }

    static Sym child(Sym prefix, std::uint32_t eqn, const std::string& param) {
        return Sym((prefix.empty() ? "" : prefix.str() + "/") + std::to_string(eqn) + "/" + param);
    }

    GraphPtr body_graph(const JaxprPtr& j, Sym prefix, bool branch = false) {
        if (const auto known = bodies_.find(j.get()); known != bodies_.end()) return known->second.graph;
        GraphPtr made = GraphBuilder(bodies_, in_branch_ || branch, options_).build(*j, prefix);
        bodies_[j.get()] = {j, made};
        return made;
    }

    void add_body(Node& n, const JaxprPtr& j, Sym path, bool branch = false) {
        n.bodies.push_back(body_graph(j, path, branch));
        n.body_paths.push_back(path);
    }

    /// `bodies`: jaxprs and the parameters that hold them.
    std::vector<ValueId> add_control(NodeKind kind, const Op& op, const std::vector<ValueId>& in,
                                     const std::vector<std::pair<const char*, JaxprPtr>>& bodies, Sym prefix, std::uint32_t eqn) {
        Node n;
        n.kind = kind;
        for (const auto& [param, jaxpr] : bodies) add_body(n, jaxpr, child(prefix, eqn, param));
        n.work = std::make_shared<const Work>(Work{op, std::nullopt, nullptr, nullptr});
        n.in.assign(in.begin(), in.end());
        return rewrite_.add_node(std::move(n));
    }

    /// In blocks of turns where that pays.
    std::vector<ValueId> add_scan(const Op& op, const std::vector<ValueId>& in, Sym prefix, std::uint32_t eqn, bool backward) {
        const JaxprPtr j = jaxpr_param(op.params, op.prim->body);
        const Sym path = child(prefix, eqn, op.prim->body);
        Node n;
        n.kind = NodeKind::Scan;
        n.path_prefix = prefix, n.eqn = eqn, n.source = op.source, n.backward = backward;
        n.work = std::make_shared<const Work>(Work{op, std::nullopt, nullptr, nullptr});
        n.body_paths.push_back(path);
        std::optional<TurnBlocks> blocks;
        if (!options_.target && !options_.over_devices && !bodies_.contains(j.get())) {
            GraphBuilder body(bodies_, in_branch_, options_);
            body.simplify(*j, path);
            blocks = in_blocks_of_turns(body.graph_, n);
            if (!blocks) bodies_[j.get()] = {j, body.finish()};
        }
        if (!blocks) {
            n.bodies.push_back(body_graph(j, path));
            n.in.assign(in.begin(), in.end());
            return rewrite_.add_node(std::move(n));
        }
        n.bodies.push_back(blocks->body);
        return add_blocks(std::move(n), blocks->turns, in);
    }
    /// A scan over blocks of `turns` turns: stacked operands and results are seen as arrays of blocks.
    std::vector<ValueId> add_blocks(Node n, std::int64_t turns, const std::vector<ValueId>& in) {
        const Op scan = n.op();
        ScanParams p = scan.as<ScanParams>();
        const auto by_block = [&](AvalRef a) {
            Dims shape = a->shape;
            shape[0] = turns;
            shape.insert(shape.begin(), p.length / turns);
            return with_shape(a, std::move(shape));
        };
        const auto seen_as = [&](ValueId v, AvalRef a) {
            return rewrite_.add_part(scan, kReshape, make_params(ReshapeParams{a->shape}), {v}, a);
        };
        Op op = scan;
        for (std::size_t i = 0; i < in.size(); ++i) {
            const bool is_stacked = i >= static_cast<std::size_t>(p.num_consts + p.num_carry);
            if (is_stacked) op.in[i] = by_block(op.in[i]);
            n.in.push_back(is_stacked ? seen_as(in[i], op.in[i]) : in[i]);
        }
        const auto carries = static_cast<std::size_t>(p.num_carry);
        for (std::size_t i = carries; i < op.out.size(); ++i) op.out[i] = by_block(op.out[i]);
        p.length /= turns;
        op.params = make_params(p);
        n.work = std::make_shared<const Work>(Work{op, std::nullopt, nullptr, nullptr});
        std::vector<ValueId> out = rewrite_.add_node(std::move(n));
        for (std::size_t i = carries; i < out.size(); ++i) out[i] = seen_as(out[i], scan.out[i]);
        return out;
    }

    /// A scan whose turns the program wants written out, all or half of them at a time, as XLA then compiles them: a few element-wise
    /// steps, which fuse. Of larger bodies the loop is kept, and with it what it keeps apart.
    static bool written_out(const Op& op) {
        constexpr std::int64_t kMostTurns = 32, kMostEquations = 8;
        const auto& p = op.as<ScanParams>();
        const auto* unroll = p.unroll.get<std::int64_t>();
        if (!unroll || *unroll < 2 || p.length < 1 || p.length > kMostTurns || (p.length + 1) / 2 > *unroll) return false;
        const std::vector<Eqn>& body = p.jaxpr.jaxpr->eqns;
        return std::ssize(body) <= kMostEquations &&
               std::all_of(body.begin(), body.end(), [](const Eqn& e) { return e.prim->flow == Flow::Straight && e.prim->lower; });
    }
    std::vector<ValueId> add_written_out(const Op& op, const std::vector<ValueId>& in, Sym prefix, std::uint32_t eqn, bool backward) {
        const auto& p = op.as<ScanParams>();
        const Jaxpr& body = *p.jaxpr.jaxpr;
        const auto consts = static_cast<std::ptrdiff_t>(p.num_consts), carries = static_cast<std::ptrdiff_t>(p.num_carry);
        const auto apply = [&](const Primitive& prim, const ParamsRef& params, const std::vector<ValueId>& operands, AvalRef result) {
            rewrite_.at(prefix, eqn, op.source, backward);  // the body's equations say where they stand themselves
            return rewrite_.add_part(op, prim, params, operands, result);
        };
        const auto element = [&](ValueId v, std::int64_t turn) {
            const AvalRef all = graph_.values[v].aval;
            SliceParams part{Dims(all->shape.size(), 0), all->shape};
            part.start_indices[0] = turn, part.limit_indices[0] = turn + 1;
            Dims one = all->shape, rest(one.begin() + 1, one.end());
            one[0] = 1;
            const ValueId row = apply(kSlice, make_params(part), {v}, AvalRef(all->dtype, one));
            return apply(kReshape, make_params(ReshapeParams{rest}), {row}, AvalRef(all->dtype, rest));
        };
        std::vector<ValueId> carry(in.begin() + consts, in.begin() + consts + carries);
        std::vector<std::vector<ValueId>> stacked(op.out.size() - carry.size(), std::vector<ValueId>(static_cast<std::size_t>(p.length)));
        for (std::int64_t t = 0; t < p.length; ++t) {
            const std::int64_t turn = p.reverse ? p.length - 1 - t : t;
            std::vector<ValueId> args(in.begin(), in.begin() + consts);
            args.insert(args.end(), carry.begin(), carry.end());
            for (auto x = in.begin() + consts + carries; x != in.end(); ++x) args.push_back(element(*x, turn));
            const std::vector<ValueId> out = inline_jaxpr(body, constants(body), args, child(prefix, eqn, op.prim->body));
            carry.assign(out.begin(), out.begin() + carries);
            for (std::size_t k = 0; k < stacked.size(); ++k) stacked[k][static_cast<std::size_t>(turn)] = out[carry.size() + k];
        }
        for (std::size_t k = 0; k < stacked.size(); ++k)
            carry.push_back(apply(kStack, make_params(StackParams{0}), stacked[k], op.out[static_cast<std::size_t>(carries) + k]));
        return carry;
    }

    std::vector<ValueId> add_while(const Op& op, const std::vector<ValueId>& in, Sym prefix, std::uint32_t eqn) {
        const JaxprPtr cond = jaxpr_param(op.params, "cond_jaxpr");
        if (cond->aval(cond->outvars.front())->rank() > 0) {  // one answer an example: under vmap
            const JaxprPtr scalar = op.prim->expand.fn(op);
            return inline_jaxpr(*scalar, {}, in, prefix);
        }
        return add_control(NodeKind::While, op, in, {{"cond_jaxpr", cond}, {"body_jaxpr", jaxpr_param(op.params, "body_jaxpr")}}, prefix,
                           eqn);
    }

    std::vector<ValueId> add_cond(Op op, const std::vector<ValueId>& in, Sym prefix, std::uint32_t eqn) {
        const Attr* branches = op.params->find("branches");
        if (!branches || !branches->get_seq()) throw Error(ErrorCode::BadInput, "expected a sequence of jaxprs in parameter branches");
        Node n;
        n.kind = NodeKind::Cond;
        for (std::size_t b = 0; b < branches->get_seq()->items.size(); ++b) {
            const auto* ref = branches->get_seq()->items[b].get<Attr::JaxprRef>();
            if (!ref) throw Error(ErrorCode::BadInput, "expected a jaxpr in parameter branches");
            add_body(n, ref->jaxpr, child(prefix, eqn, b ? "branches[" + std::to_string(b) + "]" : "branches"), true);
        }
        n.work = std::make_shared<const Work>(Work{std::move(op), std::nullopt, nullptr, nullptr});
        n.in.assign(in.begin(), in.end());
        return rewrite_.add_node(std::move(n));
    }

    /// The solution is what the `solve` jaxpr computes of its own constants and b.
    std::vector<ValueId> add_linear_solve(const Op& op, const std::vector<ValueId>& in, Sym prefix, std::uint32_t eqn) {
        const Attr* lengths = op.params->find("const_lengths");
        const Attr* jaxprs = op.params->find("jaxprs");
        if (!lengths || !lengths->get_record() || !jaxprs || !jaxprs->get_record())
            throw Error(ErrorCode::BadInput, "expected const_lengths and jaxprs");
        std::size_t before = 0, own = 0, total = 0;
        bool found = false;
        for (const auto& [field, value] : lengths->get_record()->fields) {
            const auto* n = value.get<std::int64_t>();
            const auto length = static_cast<std::size_t>(n ? *n : 0);
            if (field == Sym("solve"))
                own = length, found = true;
            else if (!found)
                before += length;
            total += length;
        }
        for (const auto& [field, value] : jaxprs->get_record()->fields) {
            const auto* ref = value.get<Attr::JaxprRef>();
            if (field != Sym("solve") || !ref) continue;
            std::vector<ValueId> args(in.begin() + static_cast<std::ptrdiff_t>(before),
                                      in.begin() + static_cast<std::ptrdiff_t>(before + own));
            args.insert(args.end(), in.begin() + static_cast<std::ptrdiff_t>(total), in.end());
            return inline_jaxpr(*ref->jaxpr, constants(*ref->jaxpr), args, child(prefix, eqn, "jaxprs"));
        }
        throw Error(ErrorCode::BadInput, "expected a jaxpr named solve in parameter jaxprs");
    }

    Bodies& bodies_;
    bool in_branch_;
    GraphOptions options_;
    Graph graph_;
    GraphRewriter rewrite_;
    std::map<ValueId, ValueId> relaid_;  ///< argument -> what convolutions read of it
    std::set<std::pair<const Primitive*, const Params*>> checked_;
    bool backward_ = false;
};

}  // namespace

GraphPtr build_graph(const JaxprPtr& program, const GraphOptions& options) {
    refuse_runaway(*program);
    GraphBuilder::Bodies bodies;
    return GraphBuilder(bodies, false, options).build(*program, Sym());
}

}  // namespace jaxscope::exec
