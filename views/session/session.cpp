// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <QElapsedTimer>

#include "analysis/sharding/per_device.h"
#include "analysis/stages/subject.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/units.h"
#include "io/load_program.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

/// One stage's result, sharing the inspection's life.
template <class T>
std::shared_ptr<const T> part_of(const std::shared_ptr<const Inspection>& whole, const T& part) {
    return std::shared_ptr<const T>(whole, &part);
}

/// Computes one stage after the other and tells of each. False: cancelled.
template <class Tell>
bool compute_stages(const std::shared_ptr<Inspection>& inspection, const Tell& tell) {
    QElapsedTimer clock;
    clock.start();
    Look look;
    look.inspection = inspection;
    bool cancelled = false;
    const CancelScope scope(inspection->token());
    const auto stage = [&](const char* name, auto compute) {
        if (cancelled) return;
        try {
            compute();
        } catch (const Error& e) {
            cancelled = e.code == ErrorCode::Cancelled;
            if (e.code == ErrorCode::NotFound && inspection->choices().changes_program()) look.refused = utf8(std::string(e.fact()));
            look.problems[name] = in_words(e);
        } catch (const std::exception& e) {
            look.problems[name] = in_words(e);
        }
        look.seconds = static_cast<double>(clock.nsecsElapsed()) * 1e-9;
        if (!cancelled) tell(look);
    };
    stage("residuals", [&] { look.residuals = part_of<ResidualReport>(inspection, inspection->residuals()); });
    stage("donation", [&] { look.donation = part_of<DonationReport>(inspection, inspection->donation()); });
    stage("split", [&] { look.split = part_of<SplitReport>(inspection, inspection->split()); });
    stage("memory", [&] {
        look.plan = part_of<MemoryPlan>(inspection, inspection->plan());
        look.step = part_of<Step>(inspection, inspection->step());
    });
    stage("selection", [&] {
        const Program& program = inspection->program();
        const auto region = inspection->region();
        const Region* differentiated = region ? &program.regions[static_cast<std::size_t>(*region)] : nullptr;
        auto made = std::make_shared<Correspondence>(program, differentiated, look.stages());
        Picked first;
        if (!program.jaxpr->eqns.empty()) first.program = EqnPath{{}, 0};
        made->complete(first);  // builds its indices here and not at the first click
        if (look.residuals) look.saved = std::make_shared<const std::vector<SavedValue>>(saved_values(*made, *look.residuals));
        look.correspondence = std::move(made);
        look.places = inspection->policy_places();
        look.done = true;
    });
    // Late, because nothing but a word depends on it.
    if (look.only_would_differentiate())
        stage("gradient", [&] {
            Choices differentiated = inspection->choices();
            differentiated.as_step = true;
            const auto tried = std::make_shared<const Inspection>(inspection->program_ptr(), differentiated, inspection.get());
            look.gradient = part_of<Step>(tried, tried->step());
        });
    stage("advice", [&] { look.tried = std::make_shared<const std::vector<TriedPolicy>>(try_policies(*inspection)); });
    return !cancelled;
}

/// The history of a program that was just opened. What holds no gradient, and whose capture asks for none, is looked at as it is.
std::vector<Choices> just_opened(const Program& program) {
    Choices plain;
    plain.as_step = is_differentiated(program);
    return {plain};
}

/// Of the same file read again. Steps that have come to mean the same are one.
std::vector<Choices> kept_history(const std::vector<Choices>& history, const Program& from, const Program& to) {
    std::vector<Choices> out;
    for (const Choices& c : history)
        if (Choices kept = carried_over(c, from, to); out.empty() || !(kept == out.back())) out.push_back(std::move(kept));
    return out;
}

}  // namespace

QString in_words(const std::exception& e) {
    const auto* error = dynamic_cast<const Error*>(&e);
    if (error == nullptr && dynamic_cast<const std::bad_alloc*>(&e) != nullptr)
        return QStringLiteral("expected enough memory, found none left");
    // Whatever else is thrown is no fault of the file's; the window goes on with what it has.
    if (error == nullptr)
        return QStringLiteral("a bug in jaxscope: %1\nplease report it with what you chose and the file that is open").arg(utf8(e.what()));
    const QString text = utf8(full_text(*error));
    const QString prefix = QStringLiteral("jaxscope: ");  // a terminal's; the window is jaxscope anyway
    return text.startsWith(prefix) ? text.mid(prefix.size()) : text;
}

constexpr unsigned kStack = 256u << 20;  // passes recurse over nested jaxprs, 256 deep at most

Session::Session(QObject* parent)
    : QObject(parent),
      worker_(kStack),
      mailbox_(std::make_shared<Mailbox>(this)),
      comparing_(this, kStack),
      asking_(this, kStack),
      marking_(this, kStack),
      fitting_(this, kStack) {}

Session::~Session() {
    ++generation_;
    cancel_all();
    mailbox_->close();
}

void Session::cancel_all() {
    for (const auto& inspection : {running_, following_, executing_})
        if (inspection) inspection->cancel();
    if (reading_) reading_->cancel();
    if (!executing_) return;
    executing_.reset();
    Q_EMIT running_changed();
}

const Choices& Session::choices() const {
    static const Choices none;
    return history_.empty() ? none : history_.back();
}

void Session::set_busy(const QString& what) {
    busy_ = !what.isEmpty();
    Q_EMIT busy_changed(what);
}

void Session::open(const QString& file, History history) { read(file, false, std::move(history)); }
void Session::reload(const QString& file) { read(file, true, {}); }

void Session::read(const QString& file, bool again, History history) {
    const int generation = ++generation_;
    cancel_all();
    set_busy(tr("Reading %1").arg(file));
    reading_ = std::make_shared<CancelToken>();
    worker_.start([this, file, again, history = std::move(history), generation, token = reading_, mailbox = mailbox_] {
        const CancelScope scope(*token);
        ProgramPtr program;
        QString problem;
        try {
            program = load_program(file.toStdString());
        } catch (const std::exception& e) {
            problem = in_words(e);
        }
        mailbox->post([this, program, problem, generation, file, again, history] {
            if (generation != generation_) return;
            set_busy({});
            if (!program) {
                Q_EMIT open_failed(problem);
                return;
            }
            const bool same = again && program_ && file == file_;
            take(program, same      ? kept_history(history_, *program_, *program)
                          : history ? history(*program, just_opened(*program).front())
                                    : just_opened(*program));
            file_ = file;
        });
    });
}

void Session::open(ProgramPtr program) {
    std::vector<Choices> history = just_opened(*program);
    take(std::move(program), std::move(history));
    file_.clear();
}

void Session::take(ProgramPtr program, std::vector<Choices> history) {
    program_ = std::move(program);
    history_ = std::move(history);
    undone_.clear();
    forget_compared();
    stop_asking_xla();
    other_target_.reset();
    as_it_is_ = current_ = Look{};
    Q_EMIT opened();
    Q_EMIT choices_changed();
    inspect();
}

void Session::choose(const Choices& wanted) {
    Choices choices = wanted;
    choices.as_step = choices.as_step || choices.changes_program();  // stays on when the policy goes: like is compared with like
    if (!program_ || choices == this->choices()) return;
    history_.push_back(std::move(choices));
    undone_.clear();
    Q_EMIT choices_changed();
    inspect();
}

void Session::choose_target(const TargetDevice* target) {
    if (!program_ || target == choices().jit.target) return;
    for (std::vector<Choices>* list : {&history_, &undone_})
        for (Choices& c : *list) c.jit.target = target;
    forget_compared();
    if (as_it_is_.done) other_target_ = as_it_is_.inspection;
    as_it_is_ = Look{};
    Q_EMIT choices_changed();
    inspect();
}

void Session::mark(const Picked& picked, HandVerdict verdict) {
    if (!program_ || !current_.done) return;
    const PickedFacts facts = facts_of(*program_, picked, current_.stages(), choices());
    if (facts.eqn == nullptr) {
        Q_EMIT failed(facts.is_argument ? tr("Arguments are there anyway: nothing is saved or recomputed of them.")
                                        : tr("Nothing is selected whose value could be saved or recomputed."));
        return;
    }
    marking_.start([this, value = mark_of(*facts.jaxpr, *facts.eqn), verdict, of = current_.inspection]() -> std::function<void()> {
        try {
            auto choices = std::make_shared<const Choices>(marked(*of, value, verdict));
            return [this, choices, reach = reach_of(*of, value)] {
                reach_ = reach;
                choose(*choices);
                reach_ = {};
            };
        } catch (const std::exception& e) {
            return [this, problem = in_words(e)] { Q_EMIT failed(problem); };
        }
    });
}

void Session::undo() {
    if (!can_undo()) return;
    undone_.push_back(std::move(history_.back()));
    history_.pop_back();
    Q_EMIT choices_changed();
    inspect();
}

void Session::set_undone(std::vector<Choices> undone) {
    undone_ = std::move(undone);
    Q_EMIT choices_changed();
}

void Session::redo() {
    if (!can_redo()) return;
    history_.push_back(std::move(undone_.back()));
    undone_.pop_back();
    Q_EMIT choices_changed();
    inspect();
}

Choices Session::plain() const {
    Choices plain = history_.front();
    plain.as_step = choices().as_step || choices().changes_program();
    return plain;
}

void Session::inspect() {
    const int generation = ++generation_;
    cancel_all();
    const bool base = is_plain();
    // Stages that don't depend on what was changed are shared with the program as it is, which is what differences are told against:
    // a choice made before that one is looked at waits for it.
    std::shared_ptr<Inspection> first;
    const std::shared_ptr<const Inspection> known = as_it_is_.inspection ? as_it_is_.inspection : other_target_;
    const bool is_known = as_it_is_.done && as_it_is_.inspection->choices() == plain();
    if (!base && !is_known) first = std::make_shared<Inspection>(program_, plain(), known.get());
    const std::shared_ptr<const Inspection> share = first ? first : known;
    auto inspection = std::make_shared<Inspection>(program_, choices(), share.get());
    running_ = first ? first : inspection;
    set_busy(tr("Inspecting"));
    worker_.start([this, first, inspection, share, generation, base, mailbox = mailbox_] {
        const auto tell = [&](bool of_base) {
            return [this, generation, of_base, &mailbox](const Look& look) {
                mailbox->post([this, generation, of_base, look] { receive(generation, of_base, look); });
            };
        };
        if (first && !compute_stages(first, tell(true))) return;
        compute_stages(inspection, tell(base));
    });
    following_ = inspection;
}

QString Session::too_large() const {
    if (!current_.done || !current_.plan) return {};
    const PerDevice& cut = current_.inspection->per_device();
    const auto devices = cut ? cut.program->mesh.devices() : 1;
    const std::int64_t machine = machine_memory(), each = current_.plan->planned_peak;
    if (static_cast<double>(each) * static_cast<double>(devices) <= static_cast<double>(machine)) return {};
    const QString needs = utf8(bytes_text(each)), has = utf8(bytes_text(machine));
    return devices > 1 ? tr("it needs %1 on each of %2 devices, and this machine has %3 of memory").arg(needs).arg(devices).arg(has)
                       : tr("it needs %1, and this machine has %2 of memory").arg(needs, has);
}

void Session::run() {
    if (!can_run() || executing_) return;
    // An inspection of its own, which can be stopped without losing what is known of the other.
    executing_ = std::make_shared<Inspection>(program_, choices(), current_.inspection.get());
    Q_EMIT running_changed();
    worker_.start([this, of = executing_, mailbox = mailbox_] {
        constexpr int kRepeat = 5;
        std::shared_ptr<const ApartRun> run;
        QString problem;
        try {
            run = std::make_shared<const ApartRun>(run_apart(*of, kRepeat));
        } catch (const std::exception& e) {
            problem = in_words(e);
        }
        mailbox->post([this, of, run, problem] { receive_run(of, run, problem); });
    });
}

void Session::stop_run() {
    if (!executing_) return;
    executing_->cancel();
    executing_.reset();
    Q_EMIT running_changed();
}

void Session::receive_run(const std::shared_ptr<Inspection>& of, const std::shared_ptr<const ApartRun>& run, const QString& problem) {
    if (of != executing_) return;  // stopped, or another choice was made
    executing_.reset();
    current_.run = run ? std::shared_ptr<const RunReport>(run, &run->report) : nullptr;
    current_.line_times = run ? std::shared_ptr<const std::vector<LineTime>>(run, &run->line_times) : nullptr;
    if (run)
        current_.problems.remove(QStringLiteral("run"));
    else
        current_.problems[QStringLiteral("run")] = problem;
    if (is_plain()) as_it_is_ = current_;
    Q_EMIT running_changed();
    Q_EMIT updated();
}

/// What can't be applied is no choice: the one before it is back, with its figures, and nothing of it is kept.
void Session::refuse(const QString& why) {
    history_.pop_back();
    Q_EMIT choices_changed();
    if (current_.tried && shows_choices()) {
        ++generation_;
        cancel_all();
        set_busy({});
        Q_EMIT updated();
    } else {
        inspect();
    }
    Q_EMIT failed(tr("What was chosen can't be applied here, and nothing was changed: %1.").arg(why));
}

void Session::receive(int generation, bool base, const Look& look) {
    if (generation != generation_) return;
    if (!base && !look.refused.isEmpty() && can_undo()) return refuse(look.refused);
    if (base) as_it_is_ = look;
    const bool chosen = base == is_plain();
    if (chosen) {
        // Advice comes when all else is done, perhaps after a run.
        const Look before = current_;
        current_ = look;
        if (before.inspection == look.inspection) current_.run = before.run, current_.line_times = before.line_times;
        if (const QString why = before.problems.value(QStringLiteral("run")); !why.isEmpty() && before.inspection == look.inspection)
            current_.problems[QStringLiteral("run")] = why;
    }
    if (base && look.done && !chosen) running_ = following_;
    if (chosen && look.done) set_busy({});
    Q_EMIT updated();
}

}  // namespace jaxscope::views
