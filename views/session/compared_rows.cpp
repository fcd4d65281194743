// SPDX-License-Identifier: Apache-2.0
// What the session knows of policies beside each other: the what-if table, rows of budgets, and XLA's word.
#include "base/units.h"
#include "session/session.h"
#include "theme/theme.h"

namespace jaxscope::views {

void Session::compare() {
    if (!as_it_is_.done || !program_) return;
    const int region = choices().region;
    if (region == compared_region_ && (comparing_.busy() || compared_.size() > fitted_.size())) return;
    compare_region(region);
    Choices plain = this->plain();
    plain.region = region;
    auto inspection = std::make_shared<Inspection>(program_, plain, as_it_is_.inspection.get());
    comparing_.start([this, inspection]() -> std::function<void()> {
        auto rows = std::make_shared<std::vector<PolicyRow>>(inspection->policies({}, false));
        return [this, rows] { take_compared(std::move(*rows)); };
    });
}

/// What XLA said of a policy stays beside figures that are made anew.
void Session::take_compared(std::vector<PolicyRow> rows) {
    for (PolicyRow& row : rows)
        for (PolicyRow& before : compared_)
            if (before.policy == row.policy && row.compiled.empty()) row.compiled = std::move(before.compiled);
    compared_ = std::move(rows);
    for (const Fitted& f : fitted_) compared_.push_back(f.row);
    Q_EMIT compared_changed();
}

void Session::forget_compared() {
    comparing_.cancel();
    compared_.clear();
    fitted_.clear();
    stop_fitting();
}

/// Rows are of one region; those of budgets stay as long as it is that.
void Session::compare_region(int region) {
    if (region != compared_region_) forget_compared();
    compared_region_ = region;
}

void Session::fit(std::int64_t budget) {
    if (!as_it_is_.done || !program_) return;
    compare_region(choices().region);
    Choices plain = this->plain();
    plain.region = choices().region;
    auto inspection = std::make_shared<Inspection>(program_, plain, as_it_is_.inspection.get());
    fitting_.start([this, inspection, plain, budget]() -> std::function<void()> {
        auto found = std::make_shared<BudgetFit>();
        QString problem;
        try {
            *found = fit_budget(*inspection, budget);
        } catch (const std::exception& e) {
            problem = in_words(e);
        }
        return [this, found, problem, plain] {
            problem.isEmpty() ? receive_fit(*found, plain) : Q_EMIT failed(problem);
            Q_EMIT fitting_changed();
        };
    });
    Q_EMIT fitting_changed();
}

void Session::stop_fitting() {
    if (!fitting_.busy()) return;
    fitting_.cancel();
    Q_EMIT fitting_changed();
}

void Session::receive_fit(const BudgetFit& fit, const Choices& plain) {
    if (!fit.as_it_is || fit.placement) {
        Fitted made;
        made.row.policy = "budget " + bytes_text(fit.budget) + (fit.fits ? "" : ", which nothing meets");
        made.row.residual_bytes = fit.found.residual_bytes;
        made.row.planned_peak = fit.found.planned_peak;
        made.row.recomputed_flops = fit.found.recomputed_flops;
        made.row.total_flops = fit.found.total_flops;
        made.row.around = fit.placement;
        made.fits = fit.fits;
        if (!fit.fits) made.row.problem = "doesn't fit: the nearest of what was tried";
        made.choices = jaxscope::fitted(plain, fit);
        std::erase_if(fitted_, [&](const Fitted& f) { return f.row.policy == made.row.policy; });
        std::erase_if(compared_, [&](const PolicyRow& r) { return r.policy == made.row.policy; });
        compared_.push_back(made.row);
        fitted_.push_back(std::move(made));
        Q_EMIT compared_changed();
    }
    Q_EMIT fitted(fit);
}

const Choices* Session::fitted_choices(const QString& row) const {
    for (const Fitted& f : fitted_)
        if (utf8(f.row.policy) == row) return &f.choices;
    return nullptr;
}

/// Whatever else is chosen beside it.
const Session::Fitted* Session::find_fitted(const Choices& choices) const {
    for (const Fitted& f : fitted_)
        if (f.choices.by_hand && f.choices.by_hand == choices.by_hand && f.choices.marked_at == choices.marked_at) return &f;
    return nullptr;
}

QString Session::fitted_row(const Choices& choices) const {
    const Fitted* found = find_fitted(choices);
    return found != nullptr ? utf8(found->row.policy) : QString();
}

bool Session::misses_budget(const Choices& choices) const {
    const Fitted* found = find_fitted(choices);
    return found != nullptr && !found->fits;
}

void Session::ask_xla(const XlaQuestion& question) {
    if (!as_it_is_.done || !program_) return;
    Choices plain = this->plain();
    plain.region = choices().region;
    compare_region(plain.region);
    comparing_.cancel();
    auto inspection = std::make_shared<Inspection>(program_, plain, as_it_is_.inspection.get());
    asking_.start([this, inspection, question]() -> std::function<void()> {
        auto rows = std::make_shared<std::vector<PolicyRow>>();
        QString problem;
        try {
            *rows = inspection->policies({}, false);
            ask_xla_of_policies(*inspection, {}, question, *rows);
        } catch (const std::exception& e) {
            problem = in_words(e);
        }
        return [this, rows, problem] {
            if (!rows->empty()) take_compared(std::move(*rows));
            Q_EMIT asking_changed();
            if (!problem.isEmpty()) Q_EMIT failed(problem);
        };
    });
    Q_EMIT asking_changed();
}

void Session::stop_asking_xla() {
    if (!asking_.busy()) return;
    asking_.cancel();
    Q_EMIT asking_changed();
}

}  // namespace jaxscope::views
