#include "analysis/explain.h"

#include <algorithm>
#include <sstream>

#include "analysis/equations/linearity.h"
#include "analysis/graph/graph_index.h"
#include "analysis/graph/graph_model.h"
#include "base/error.h"
#include "base/units.h"
#include "ir/primitive.h"

namespace jaxscope {
namespace {

constexpr int kContextLines = 2;

std::string quoted(const std::string& text) { return "'" + text + "'"; }

std::string parameter_text(const Attr& value) {
    struct Print {
        std::string operator()(const Attr::None&) const { return "None"; }
        std::string operator()(bool v) const { return v ? "True" : "False"; }
        std::string operator()(std::int64_t v) const { return std::to_string(v); }
        std::string operator()(double v) const { return (std::ostringstream() << v).str(); }
        std::string operator()(const std::complex<double>& v) const { return (std::ostringstream() << v).str(); }
        std::string operator()(Sym v) const { return v.str(); }
        std::string operator()(DType v) const { return info(v).name; }
        std::string operator()(AvalRef v) const { return to_text(v); }
        std::string operator()(const Attr::Enum& v) const { return v.type.str() + "." + v.member.str(); }
        std::string operator()(const std::shared_ptr<const Attr::Seq>& v) const {
            std::string text = "(";
            for (const Attr& item : v->items) text += (text.size() > 1 ? ", " : "") + parameter_text(item);
            return text + ")";
        }
        std::string operator()(const std::shared_ptr<const Attr::Record>& v) const {
            return v->text.empty() ? v->type.str() : v->text.str();
        }
        std::string operator()(const Attr::JaxprRef& v) const { return count_text(count_equations(*v.jaxpr)) + " equations"; }
        std::string operator()(const ArrayPtr& v) const { return to_text(v->aval); }
        std::string operator()(const PolicyPtr& v) const { return v->name.empty() ? v->text.str() : v->name.str(); }
        std::string operator()(const Attr::Rule& v) const { return v.text.str(); }
        std::string operator()(const Attr::Object& v) const { return v.text.str(); }
    };
    return std::visit(Print{}, value.variant());
}

class Explainer {
public:
    Explainer(const Program& program, const Picked& picked, const KnownStages& stages, const Choices& choices)
        : program_(program), picked_(picked), stages_(stages), choices_(choices) {}

    Explanation run() {
        if (picked_.empty()) {
            about_program();
            return std::move(out_);
        }
        if (is_argument())
            about_argument();
        else
            about_equation();
        about_residual();
        about_donation();
        about_buffer();
        if (out_.title.empty()) out_.title = "Selection";
        add_code();
        return std::move(out_);
    }

private:
    void say(std::string sentence) { out_.sentences.push_back(std::move(sentence)); }

    void about_program() {
        out_.title = program_title(program_);
        out_.subtitle = program_subtitle(program_);
        if (stages_.plan != nullptr)
            say("Memory peaks at " + bytes_text(stages_.plan->planned_peak) + ": " + bytes_text(stages_.plan->arguments) +
                " of arguments, " + bytes_text(stages_.plan->temporaries) + " of temporaries, " +
                bytes_text(stages_.plan->outputs - stages_.plan->aliased) + " of outputs that take no donated memory.");
        if (const RunReport* run = stages_.run; run != nullptr)
            say("Measured: a peak of " + bytes_text(run->result.measured_peak) + "; a step takes " +
                seconds_text(run->result.median_seconds) +
                (run->synthesised.empty() ? "." : ", with made-up values for inputs that were not captured."));
        if (const ResidualReport* r = stages_.residuals; r != nullptr && !r->rows.empty()) {
            say("The backward pass keeps " + count_text(static_cast<std::int64_t>(r->rows.size())) + " values of the forward pass, " +
                bytes_text(r->total_bytes) + " in all.");
            const auto largest = std::max_element(r->rows.begin(), r->rows.end(), [](auto& a, auto& b) { return a.bytes < b.bytes; });
            say("The largest is " + largest->aval + ", " + bytes_text(largest->bytes) + ", " + largest->source + ".");
        }
        if (const DonationReport* d = stages_.donation; d != nullptr && !d->donated.empty()) {
            const auto unused = std::count_if(d->donated.begin(), d->donated.end(), [](const DonatedLeaf& l) { return !l.used; });
            say(unused == 0 ? "Every donated buffer is reused: " + bytes_text(d->saved_bytes) + " saved."
                            : count_text(unused) + " donated buffers are not reused; the Donation table says why.");
        }
        say("Select a node, a table row or a place in the timeline to ask about it.");
    }

    bool is_argument() const {
        const auto* rows = stages_.residuals != nullptr ? &stages_.residuals->rows : nullptr;
        const bool is_row = rows != nullptr && picked_.residual >= 0 && static_cast<std::size_t>(picked_.residual) < rows->size();
        return picked_.input >= 0 || (is_row && (*rows)[static_cast<std::size_t>(picked_.residual)].input >= 0);
    }

    void about_argument() {
        const auto input = static_cast<std::size_t>(picked_.input);
        if (picked_.input >= 0 && input < program_.in_paths.size()) {
            const AvalRef aval = program_.jaxpr->aval(program_.jaxpr->invar(static_cast<std::uint32_t>(input)));
            out_.title = program_.in_paths[input].str();
            out_.subtitle = to_text(aval) + ", " + bytes_text(aval->bytes());
        }
        if (!picked_.program) return;
        try {
            const Eqn& reader = resolve(*program_.jaxpr, *picked_.program);
            out_.place = reader.source.loc();
            say(std::string("An argument, first read by ") + reader.prim->name +
                (out_.place.line > 0 ? " at " + short_place(out_.place.file, out_.place.line) : std::string()) + ".");
        } catch (const Error&) {  // a pick of another program
        }
    }

    /// The equation itself, from whichever jaxpr knows it.
    void about_equation() {
        const std::pair<const std::optional<EqnPath>*, const Jaxpr*> places[] = {
            {&picked_.program, program_.jaxpr.get()},
            {&picked_.known, stages_.split != nullptr ? stages_.split->known.get() : nullptr},
            {&picked_.unknown, stages_.split != nullptr ? stages_.split->unknown.get() : nullptr},
        };
        for (const auto& [path, root] : places) {
            if (!*path || root == nullptr) continue;
            try {
                const Jaxpr& jaxpr = resolve(*root, (*path)->jaxpr);
                describe(jaxpr, resolve(*root, **path));
                break;
            } catch (const Error&) {  // a pick of another program
            }
        }
        if (out_.title.empty()) return;
        verdict();
    }

    void describe(const Jaxpr& jaxpr, const Eqn& eqn) {
        out_.title = equation_title(eqn);
        std::string operands;
        for (const Atom a : jaxpr.inputs(eqn)) {
            operands += (operands.empty() ? "" : ", ") + (a.is_literal() ? value_text(*a.literal()) : to_text(jaxpr.aval(a)));
            if (operands.size() > 90) {
                operands += ", \u2026";
                break;
            }
        }
        out_.subtitle = results_text(jaxpr, eqn) + " = " + eqn.prim->name + "(" + operands + ")";
        out_.place = eqn.source.loc();
        for (std::uint32_t k = 0; k < eqn.n_out; ++k) bytes_ += jaxpr.aval(jaxpr.output(eqn, k))->bytes();
        if (eqn.prim->opaque)
            say("jaxscope doesn't know this primitive: it is shown with the types that were recorded, but can be neither differentiated "
                "nor run.");
        if (const std::string stack = eqn.source->name_stack.str(); !stack.empty()) out_.facts.emplace_back("scope", stack);
        out_.facts.emplace_back("makes", bytes_text(bytes_));
        if (eqn.prim->cost) {
            try {
                out_.facts.emplace_back("computes", flops_text(eqn.prim->cost.fn(make_op(jaxpr, eqn)).flops));
            } catch (const Error&) {
            }
        }
        for (const auto& [name, value] : eqn.params->entries()) {
            std::string text = printable(parameter_text(value), 120);
            out_.parameters.emplace_back(name.str(), std::move(text));
        }
    }

    void verdict() {
        const bool again = stages_.split != nullptr && picked_.unknown && recomputed();
        if (picked_.residual >= 0) return;  // about_residual says it
        if (again) {
            out_.verdict = "recomputed";
            out_.role = Role::Recomputed;
            say("Not saved: " + policy_words() + " Its value is computed again in the backward pass.");
            out_.facts.emplace_back("if saved", "+ " + bytes_text(bytes_));
            return;
        }
        if (picked_.known && stages_.split != nullptr) {
            out_.verdict = "forward, not saved";
            out_.role = Role::Forward;
            say("It belongs to the forward pass and nothing in the backward pass needs its value.");
        } else if (picked_.unknown) {
            out_.verdict = "backward";
            out_.role = Role::Backward;
            say("It is linear in the tangents: it belongs to the backward pass.");
        } else if (stages_.split != nullptr) {
            out_.verdict = "outside the split";
            say("It doesn't belong to the differentiated function: it comes before, after, or of the backward pass as the program was "
                "captured.");
        }
    }

    bool recomputed() const {
        try {
            return is_recomputed(*stages_.split->unknown, stages_.split->num_residuals, *picked_.unknown);
        } catch (const Error&) {
            return false;
        }
    }

    std::string policy_words() const {
        const PolicyPtr policy = choices_.policy                   ? choices_.policy
                                 : choices_.replace_policy.empty() ? nullptr
                                                                   : choices_.replace_policy.front().policy;
        if (!policy) return "the checkpoint around it doesn't keep this value.";
        std::string text = "the policy " + policy->name.str();
        if (!policy->args.empty()) {
            text += "(";
            for (const Attr& arg : policy->args) text += (text.back() == '(' ? "" : ", ") + parameter_text(arg);
            text += ")";
        }
        return text + " doesn't keep this value.";
    }

    void about_residual() {
        if (picked_.residual < 0 || stages_.residuals == nullptr ||
            static_cast<std::size_t>(picked_.residual) >= stages_.residuals->rows.size())
            return;
        const ResidualRow& row = stages_.residuals->rows[static_cast<std::size_t>(picked_.residual)];
        if (out_.title.empty()) {
            out_.title = row.aval;
            out_.subtitle = row.source;
            out_.place = {row.file, row.line, 0};
        }
        out_.verdict = "saved";
        out_.saved = true;
        say("Saved for the backward pass: " + bytes_text(row.bytes) + ", " + row.source + ".");
        if (row.input >= 0)
            say("It is an argument, so saving it costs nothing while the caller holds it anyway.");
        else if (!row.name.empty())
            say("It is kept because it has the name " + quoted(row.name) + ".");
        else
            say("The backward pass reads it, and no checkpoint policy asks for it to be recomputed.");
        const std::int64_t total = std::max<std::int64_t>(stages_.residuals->total_bytes, 1);
        out_.facts.emplace_back("share",
                                (row.bytes * 100 < total ? "under 1" : std::to_string(row.bytes * 100 / total)) + " % of what is saved");
        if (row.input >= 0 || stages_.tried == nullptr) return;
        if (const auto advice = advice_on(*stages_.residuals, row, *stages_.tried)) {
            out_.facts.emplace_back("saved in all, with the policy below", "\u2212 " + bytes_text(advice->saved_bytes));
            out_.python = advice->python;
        }
    }

    void about_donation() {
        if (picked_.donated < 0 || stages_.donation == nullptr ||
            static_cast<std::size_t>(picked_.donated) >= stages_.donation->donated.size())
            return;
        const DonatedLeaf& leaf = stages_.donation->donated[static_cast<std::size_t>(picked_.donated)];
        out_.title = leaf.path;
        out_.subtitle = leaf.aval + ", " + bytes_text(leaf.bytes);
        out_.verdict = std::string(out_.saved ? "saved, " : "") + (leaf.used ? "donated, reused" : "donated, not reused");
        if (leaf.used)
            say("Its memory is reused by " +
                (leaf.output_path.empty() ? "result " + std::to_string(leaf.output.value_or(0)) : leaf.output_path) + ".");
        else
            say("Its memory is not reused.");
        if (leaf.reason.empty()) return;
        std::string why = leaf.reason + (leaf.reason.back() == '.' ? "" : ".");
        if (why.front() >= 'a' && why.front() <= 'z') why.front() = static_cast<char>(why.front() - 'a' + 'A');
        say(std::move(why));
    }

    void about_buffer() {
        if (picked_.buffer < 0 || stages_.plan == nullptr || static_cast<std::size_t>(picked_.buffer) >= stages_.plan->buffers.size())
            return;
        const PlannedBuffer& buffer = stages_.plan->buffers[static_cast<std::size_t>(picked_.buffer)];
        if (out_.title.empty()) {
            out_.title = to_text(buffer.aval);
            out_.subtitle = std::string(role_name(buffer.role)) + (buffer.number >= 0 ? " " + std::to_string(buffer.number) : "");
            out_.place = buffer.source.loc();
        }
        const auto& peak = stages_.plan->at_peak;
        const bool at_peak = std::find(peak.begin(), peak.end(), picked_.buffer) != peak.end();
        say("In memory (" + bytes_text(buffer.bytes) + ", " + role_name(buffer.role) + ") from step " +
            std::to_string(std::max(buffer.first_step, 0)) + " to step " + std::to_string(buffer.last_step) + " of " +
            std::to_string(stages_.plan->steps.size()) + (at_peak ? ", and so at the peak." : ", but not at the peak."));
    }

    void add_code() {
        if (out_.place.line <= 0) return;
        const auto file =
            std::find_if(program_.files.begin(), program_.files.end(), [&](const SourceFile& f) { return f.path == out_.place.file; });
        if (file == program_.files.end() || !file->text) return;
        std::istringstream lines(*file->text);
        std::string text;
        for (int number = 1; std::getline(lines, text); ++number) {
            if (number > out_.place.line + kContextLines) break;
            if (number >= out_.place.line - kContextLines) out_.code.push_back({number, text, number == out_.place.line});
        }
    }

    const Program& program_;
    const Picked& picked_;
    const KnownStages& stages_;
    const Choices& choices_;
    std::int64_t bytes_ = 0;
    Explanation out_;
};

}  // namespace

std::string program_title(const Program& program) {
    if (!program.name.empty()) return program.name.str();
    const std::string file = program.path.substr(program.path.rfind('/') + 1);
    return file.empty() ? "program" : file;
}

std::string program_subtitle(const Program& program) {
    return counted(count_equations(*program.jaxpr), "equation", "equations") +
           (program.jax_version.empty() ? "" : ", JAX " + program.jax_version);
}

std::string short_place(const std::string& file, int line) {
    const std::size_t slash = file.find_last_of('/');
    return (slash == std::string::npos ? file : file.substr(slash + 1)) + ':' + std::to_string(line);
}

std::string why_saved(const ResidualRow& row) {
    if (row.input >= 0) return "argument";
    if (!row.name.empty()) return "its name, " + quoted(row.name);
    if (row.equation.empty()) return "constant";
    return "backward reads it";
}

std::vector<int> alive_at(const MemoryPlan& plan, int step) {
    std::vector<int> alive;
    for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
        const PlannedBuffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
        if (buffer.first_step <= step && step <= buffer.last_step && !buffer.alias_of && buffer.role != BufferRole::Constant)
            alive.push_back(b);
    }
    std::stable_sort(alive.begin(), alive.end(), [&](int a, int b) {
        return plan.buffers[static_cast<std::size_t>(a)].bytes > plan.buffers[static_cast<std::size_t>(b)].bytes;
    });
    return alive;
}

Explanation explain(const Program& program, const Picked& picked, const KnownStages& stages, const Choices& choices) {
    return Explainer(program, picked, stages, choices).run();
}

}  // namespace jaxscope
