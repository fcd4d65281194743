// SPDX-License-Identifier: Apache-2.0
#include "compare/budget_box.h"

#include <QHBoxLayout>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "report/fit/fit_report.h"
#include "theme/theme.h"

namespace jaxscope::views {

BudgetBox::BudgetBox(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), line_(new QLineEdit), button_(new QPushButton) {
    line_->setPlaceholderText(tr("Budget: 4GiB"));
    line_->setAccessibleName(tr("Budget of memory"));
    line_->setToolTip(tr("The cheapest values to save so that the planned peak is within it become a row here"));
    line_->setFixedWidth(110);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    row->addWidget(line_);
    row->addWidget(button_);
    connect(line_, &QLineEdit::returnPressed, this, &BudgetBox::look);
    connect(button_, &QPushButton::clicked, this, [this] { session_->fitting() ? session_->stop_fitting() : look(); });
    connect(session_, &Session::fitting_changed, this, &BudgetBox::show_state);
    show_state();
}

void BudgetBox::look() {
    try {
        const std::int64_t budget = parse_size(line_->text().trimmed().toStdString());
        session_->fit(budget);
    } catch (const Error& e) {
        Q_EMIT refused(in_words(e));
    }
}

void BudgetBox::show_state() { button_->setText(session_->fitting() ? tr("Stop") : tr("Fit")); }

QString words(const BudgetFit& fit, const Program& program) {
    const QString budget = utf8(bytes_text(fit.budget)), before = utf8(bytes_text(fit.before.planned_peak));
    if (fit.as_it_is && !fit.placement) return BudgetBox::tr("%1 is enough as it is: the planned peak is %2.").arg(budget, before);
    const FitReport report = fit_report(fit, program);
    const QString peak = utf8(bytes_text(fit.found.planned_peak));
    if (!fit.fits && report.where.empty())
        return BudgetBox::tr("Nothing that was tried fits %1; the program as it is needs %2.").arg(budget, before);
    const QString values = fit.saved.size() == 1 ? BudgetBox::tr("one value") : BudgetBox::tr("%1 values").arg(fit.saved.size());
    const QString what = BudgetBox::tr("%1 saved in a checkpoint %2").arg(values, utf8(report.where));
    if (!fit.fits) return BudgetBox::tr("Nothing that was tried fits %1. The least is %2, with %3.").arg(budget, peak, what);
    const double more =
        fit.before.total_flops > 0 ? (fit.found.recomputed_flops - fit.before.recomputed_flops) / fit.before.total_flops : 0;
    if (fit.as_it_is)
        return BudgetBox::tr(
                   "%1 is enough as it is: the planned peak is %2. With %3 it is %4, for %5 % less work. It is a row of the table.")
            .arg(budget, before, what, peak)
            .arg(-100 * more, 0, 'f', 1);
    return BudgetBox::tr("Fits %1: the planned peak is %2 instead of %3, with %4, for %5 % more work. It is a row of the table.")
        .arg(budget, peak, before, what)
        .arg(100 * std::max(0.0, more), 0, 'f', 1);
}

}  // namespace jaxscope::views
