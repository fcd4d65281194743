// SPDX-License-Identifier: Apache-2.0
#include "report/explain_text.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/units.h"
#include "ir/primitive.h"
#include "picture/graph_index.h"
#include "picture/graph_model.h"
#include "report/memory_report.h"

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
        : program_(program), picked_(picked), stages_(stages), facts_(facts_of(program, picked, stages, choices)) {}

    Explanation run() {
        if (picked_.empty()) {
            about_program();
            return std::move(out_);
        }
        if (facts_.is_argument)
            about_argument();
        else if (facts_.eqn != nullptr)
            about_equation();
        about_residual();
        about_donation();
        about_buffer();
        if (out_.title.empty()) out_.title = "Selection";
        add_code();
        return std::move(out_);
    }

private:
    std::string fresh_outputs() const {
        const std::int64_t bytes = stages_.plan->outputs - stages_.plan->aliased;
        return bytes > 0 ? bytes_text(bytes) + " of outputs that take no donated memory." : "all outputs in donated memory.";
    }
    std::string why_no_gradient() const {
        const Step& tried = stages_.step != nullptr && stages_.step->lacks_gradient ? *stages_.step : *stages_.gradient;
        std::string why = tried.why_no_gradient;
        while (!why.empty() && why.back() == '.') why.pop_back();
        return why.empty() ? "" : ": " + why;
    }
    void say(std::string sentence) { out_.sentences.push_back(std::move(sentence)); }

    bool over_devices() const { return stages_.residuals != nullptr && stages_.residuals->device_bytes; }
    /// Does the equation stand in the body of a loop, where what is said of it is said of one iteration?
    bool in_loop() const {
        const std::pair<const std::optional<EqnPath>*, const Jaxpr*> places[] = {
            {&picked_.program, program_.jaxpr.get()}, {&picked_.known, stages_.split != nullptr ? stages_.split->known.get() : nullptr}};
        for (const auto& [path, root] : places) {
            if (!*path || root == nullptr) continue;
            try {
                JaxprPath at;
                for (const JaxprPath::Step& step : (*path)->jaxpr.steps) {
                    const Flow flow = resolve(*root, EqnPath{at, step.eqn}).prim->flow;
                    if (flow == Flow::Scan || flow == Flow::While) return true;
                    at.steps.push_back(step);
                }
                return false;
            } catch (const Error&) {  // a pick of another program
            }
        }
        return false;
    }

    /// "7.54 MiB of temporaries, 3.00 MiB of it residuals": what the Memory tab draws apart.
    std::string temporaries() const {
        std::int64_t residuals = 0;
        for (const int b : stages_.plan->at_peak)
            if (const PlannedBuffer& buffer = stages_.plan->buffers[static_cast<std::size_t>(b)]; buffer.role == BufferRole::Residual)
                residuals += buffer.bytes;
        return bytes_text(stages_.plan->temporaries) + " of temporaries" +
               (residuals > 0 ? ", " + bytes_text(residuals) + " of it residuals" : "");
    }
    /// What stands in the host's memory is no part of the device's peak.
    void about_spaces() {
        for (const SpaceUse& use : stages_.plan->spaces)
            if (use.space == MemorySpace::Host)
                say("Of it " + bytes_text(use.peak) + " at most are on the host, where values are offloaded to.");
    }

    void about_program() {
        out_.title = program_title(program_);
        out_.subtitle = program_subtitle(program_);
        const bool shared = over_devices();
        if (stages_.plan != nullptr)
            say((stages_.step != nullptr ? "Memory of " + words(stages_.step->of) : std::string("Memory")) +
                (shared ? " on each device" : "") + " peaks at " + bytes_text(stages_.plan->planned_peak) + ": " +
                bytes_text(stages_.plan->arguments) + " of arguments, " + temporaries() + ", " + fresh_outputs());
        if (stages_.plan != nullptr) about_spaces();
        if (shared) say("Figures are one device's; types of arrays in graph and split are those of the wholes.");
        if (const RunReport* run = stages_.run; run != nullptr)
            say((run->result.measured_peak ? "Measured: a peak of " + bytes_text(*run->result.measured_peak)
                                           : "The peak could not be measured: " + run->result.measurement_problem) +
                "; a step takes " + seconds_text(run->result.median_seconds) +
                (run->synthesised.empty() ? "." : ", with made-up values for inputs that were not captured."));
        if (const ResidualReport* r = stages_.residuals; r != nullptr && !r->rows.empty()) {
            const bool can = !stages_.lacks_gradient();
            const bool planned = stages_.step == nullptr || stages_.step->of.kind != StepName::Kind::Program || r->region;
            if (!can) say("The program has no backward pass, and the peak is without one" + why_no_gradient() + ".");
            say((!can      ? "A linearization of the forward pass keeps "
                 : planned ? "The backward pass keeps "
                           : "The program is planned as it is. Differentiated, it would keep ") +
                count_text(static_cast<std::int64_t>(r->rows.size())) + " values of the forward pass, " + bytes_text(r->total_bytes) +
                " in all" + (shared ? "; " + bytes_text(*r->device_bytes) + " on each device." : "."));
            if (can && planned && stages_.plan != nullptr && r->device_bytes.value_or(r->total_bytes) > stages_.plan->planned_peak)
                say("That is more than the peak: jaxscope's executor holds fewer of them, and computes cheap ones again.");
            const auto largest = std::max_element(r->rows.begin(), r->rows.end(), [](auto& a, auto& b) { return a.bytes < b.bytes; });
            say("The largest is " + largest->aval + ", " + bytes_text(largest->bytes) + ", " + largest->source + ".");
        }
        if (const DonationReport* d = stages_.donation; d != nullptr && !d->donated.empty()) {
            const auto unused = std::count_if(d->donated.begin(), d->donated.end(), [](const DonatedLeaf& l) { return !l.used; });
            say(unused == 0 ? "Every donated buffer is reused: " + bytes_text(d->saved_bytes) + " saved."
                            : counted(unused, "donated buffer is", "donated buffers are") + " not reused; the Donation table says why.");
            for (const std::string& finding : d->findings) say("Donation: " + finding + ".");
        }
        say("Select a node, a table row or a place in the timeline to ask about it.");
    }

    void about_argument() {
        if (facts_.input) {
            const AvalRef aval = program_.jaxpr->aval(program_.jaxpr->invar(*facts_.input));
            out_.title = program_.in_paths[*facts_.input].str();
            out_.subtitle = to_text(aval) + ", " + bytes_text(aval->bytes());
        }
        if (facts_.first_reader == nullptr) return;
        const Eqn& reader = *facts_.first_reader;
        out_.place = reader.source.loc();
        say(std::string("An argument, first read by ") + reader.prim->name +
            (out_.place.line > 0 ? " at " + short_place(out_.place.file, out_.place.line) : std::string()) + ".");
    }

    void about_equation() {
        describe(*facts_.jaxpr, *facts_.eqn);
        using Part = PickedFacts::Part;
        out_.markable = facts_.residual != nullptr || facts_.part == Part::Forward || facts_.part == Part::Recomputed;
        if (!out_.title.empty()) verdict();
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
        if (eqn.prim->opaque)
            say("jaxscope doesn't know this primitive: it is shown with the types that were recorded, but can be neither differentiated "
                "nor run.");
        if (const std::string stack = eqn.source->name_stack.str(); !stack.empty()) out_.facts.emplace_back("scope", stack);
        if (facts_.bytes)
            out_.facts.emplace_back(over_devices() ? "makes in all" : in_loop() ? "makes each time" : "makes", bytes_text(*facts_.bytes));
        if (facts_.flops) out_.facts.emplace_back(in_loop() ? "computes each time" : "computes", flops_text(*facts_.flops));
        for (const auto& [name, value] : eqn.params->entries()) {
            std::string text = printable(parameter_text(value), 120);
            out_.parameters.emplace_back(name.str(), std::move(text));
        }
    }

    void verdict() {
        if (picked_.residual) return;  // about_residual says it
        switch (facts_.part) {
            case PickedFacts::Part::Recomputed:
                out_.verdict = "recomputed";
                out_.role = Role::Recomputed;
                say("Not saved: " + policy_words() + " Its value is computed again in the backward pass.");
                out_.facts.emplace_back("if saved", "+ " + bytes_text(facts_.bytes.value_or(0)));
                break;
            case PickedFacts::Part::Forward:
                out_.verdict = "forward, not saved";
                out_.role = Role::Forward;
                say(held_backward()
                        ? "It belongs to the forward pass, and JAX doesn't save its value. jaxscope's executor holds it until the "
                          "backward pass nevertheless, which computes from it again what JAX would save."
                        : "It belongs to the forward pass and nothing in the backward pass needs its value.");
                break;
            case PickedFacts::Part::Backward:
                out_.verdict = "backward";
                out_.role = Role::Backward;
                say("It is linear in the tangents: it belongs to the backward pass.");
                break;
            case PickedFacts::Part::Outside:
                out_.verdict = "outside the split";
                say("It doesn't belong to the differentiated function: it comes before or after it.");
                break;
            case PickedFacts::Part::Around:
                out_.verdict = "holds the gradient";
                say("It holds the differentiated function, forward and backward pass: open it to see what is saved between them.");
                break;
            case PickedFacts::Part::BackwardBefore:
                out_.verdict = "backward";
                out_.role = Role::Backward;
                say("It belongs to the backward pass as the program was captured; the split derives a backward pass of its own.");
                break;
            case PickedFacts::Part::Unknown:
                break;
        }
    }

    std::string policy_words() const {
        const PolicyPtr& policy = facts_.policy;
        if (!policy) return "the checkpoint around it doesn't keep this value.";
        std::string text = "the policy " + policy->name.str();
        if (!policy->args.empty()) {
            text += "(";
            for (const Attr& arg : policy->args) text += (text.back() == '(' ? "" : ", ") + parameter_text(arg);
            text += ")";
        }
        return text + " doesn't keep this value.";
    }

    bool held_backward() const { return facts_.buffer != nullptr && facts_.buffer->role == BufferRole::Residual; }

    /// Of several devices what each of them keeps, and the whole.
    static std::string held_words(const ResidualRow& row) {
        if (!row.device_bytes || *row.device_bytes == row.bytes) return bytes_text(row.bytes);
        return bytes_text(*row.device_bytes) + " on each device (" + bytes_text(row.bytes) + " in all)";
    }

    void about_residual() {
        if (facts_.residual == nullptr) return;
        const ResidualRow& row = *facts_.residual;
        if (out_.title.empty()) {
            out_.title = row.aval;
            out_.subtitle = row.source;
            out_.place = {row.file, row.line, 0};
        }
        out_.verdict = row.on_host ? "offloaded" : "saved";
        out_.saved = true;
        say((row.on_host ? "Offloaded to the host's memory until the backward pass: " : "Saved for the backward pass: ") + held_words(row) +
            ", " + row.source + ".");
        if (row.input >= 0)
            say("It is an argument, so saving it costs nothing while the caller holds it anyway.");
        else if (!row.name.empty())
            say("It is kept because it has the name " + quoted(row.name) + ".");
        else if (row.on_host)
            say("A checkpoint's policy asks for it.");
        else
            say("The backward pass reads it, and no checkpoint policy asks for it to be recomputed.");
        if (facts_.residual_is_inside) say("It is computed inside of this call, and is none of the results that the program has of it.");
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
        if (facts_.donated == nullptr) return;
        const DonatedLeaf& leaf = *facts_.donated;
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
        if (facts_.buffer == nullptr) return;
        const PlannedBuffer& buffer = *facts_.buffer;
        if (out_.title.empty()) {
            out_.title = to_text(buffer.aval);
            out_.subtitle = std::string(role_name(buffer.role)) + (buffer.number >= 0 ? " " + std::to_string(buffer.number) : "");
            out_.place = buffer.source.loc();
        }
        const bool opened = facts_.buffer_plan != stages_.plan;
        const bool on_host = facts_.residual != nullptr && facts_.residual->on_host;
        if (out_.saved && !on_host && !facts_.residual_is_inside && buffer.role == BufferRole::Temporary)
            say("jaxscope's executor doesn't hold it that long: what the backward pass reads of it is computed again.");
        say("In memory (" + bytes_text(buffer.bytes) + ", " + role_name(buffer.role) + ") from step " +
            std::to_string(std::max(buffer.first_step, 0)) + " to step " + std::to_string(buffer.last_step) + " of " +
            std::to_string(facts_.buffer_plan->steps.size()) + (opened ? " in an iteration of the loop" : "") +
            (facts_.at_peak ? ", and so at the peak" : ", but not at the peak") + (opened ? " inside of it." : "."));
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
    const PickedFacts facts_;
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
    if (!row.name.empty()) return (row.on_host ? "offloaded by its name, " : "its name, ") + quoted(row.name);
    if (row.on_host) return "offloaded by a policy";
    if (row.equation.empty()) return "constant";
    return "backward reads it";
}

Explanation explain(const Program& program, const Picked& picked, const KnownStages& stages, const Choices& choices) {
    return Explainer(program, picked, stages, choices).run();
}

}  // namespace jaxscope
