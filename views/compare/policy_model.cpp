// SPDX-License-Identifier: Apache-2.0
#include "compare/policy_model.h"

#include <cmath>

#include "base/units.h"
#include "report/explain_text.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

const QString kAsItIs = QStringLiteral("as it is");

/// "around: dots_saveable" is what the table calls "dots_saveable".
QString plain(const QString& policy) {
    const QString around = QStringLiteral("around: ");
    return policy.startsWith(around) ? policy.mid(around.size()) : policy;
}

QString or_dash(bool there, const std::string& text) { return there ? utf8(text) : QStringLiteral("\u2014"); }

std::optional<std::int64_t> xla_peak(const PolicyRow& row) { return row.compiled.empty() ? std::nullopt : row.compiled.front().peak; }

/// Who said it, and how long that took.
QString xla_words(const PolicyRow& row) {
    if (row.compiled.empty()) return PolicyModel::tr("XLA wasn't asked: Run, Ask XLA about the policies");
    const CompiledFigure& c = row.compiled.front();
    if (!c.peak) return utf8(c.target + ": " + c.problem);
    return PolicyModel::tr("%1, by XLA's own memory analysis (%2%3), %4")
        .arg(utf8(c.target), utf8(c.device), c.version.empty() ? QString() : utf8(", compiler " + c.version),
             c.kept ? PolicyModel::tr("read from the disk") : PolicyModel::tr("compiled in %1").arg(utf8(seconds_text(c.compile_seconds))));
}

}  // namespace

PolicyModel::PolicyModel(QObject* parent) : TableModel(parent) { set_target({}); }

void PolicyModel::set_target(const QString& target) {
    set_columns({"Policy", "Saved", "Recomputed", target.isEmpty() ? QStringLiteral("Planned peak") : tr("On %1").arg(target), "vs as is",
                 "XLA's peak", "Measured", "Time", "What is missing"},
                {Saved, Recomputed, Peak, Against, Xla, Measured, Time}, {Policy});
    Q_EMIT headerDataChanged(Qt::Horizontal, Policy, Problem);
}

void PolicyModel::clear() {
    beginResetModel();
    rows_.clear();
    applied_ = -1;
    endResetModel();
}

QString PolicyModel::words(int row) const {
    const PolicyRow& at = rows_[static_cast<std::size_t>(row)];
    return at.as_it_is ? kAsItIs : utf8(at.policy);
}

int PolicyModel::find(const QString& policy) const {
    for (std::size_t r = 0; r < rows_.size(); ++r)
        if (words(static_cast<int>(r)) == plain(policy)) return static_cast<int>(r);
    return -1;
}

std::optional<std::int64_t> PolicyModel::as_it_is_peak() const {
    for (const PolicyRow& row : rows_)
        if (row.as_it_is) return row.planned_peak;
    return {};
}

PolicyRow& PolicyModel::row_for(const QString& policy) {
    const int at = find(policy);
    if (at >= 0) return rows_[static_cast<std::size_t>(at)];
    PolicyRow row;
    row.policy = plain(policy).toStdString();
    row.as_it_is = plain(policy) == kAsItIs;
    rows_.push_back(std::move(row));
    return rows_.back();
}

void PolicyModel::set_rows(const std::vector<PolicyRow>& rows) {
    const QString chosen = applied_ >= 0 ? words(applied_) : QString();
    beginResetModel();
    for (const PolicyRow& row : rows) {
        PolicyRow& here = row_for(row.as_it_is ? kAsItIs : utf8(row.policy));
        const auto measured = here.measured_peak;
        const auto median = here.run_median;
        auto compiled = std::move(here.compiled);
        here = row;
        if (here.compiled.empty()) here.compiled = std::move(compiled);
        if (measured) here.measured_peak = measured, here.run_median = median;
    }
    applied_ = find(chosen);
    endResetModel();
}

void PolicyModel::note(const QString& policy, const Look& look) {
    if (!look.done) return;
    beginResetModel();
    PolicyRow& row = row_for(policy);
    if (look.residuals) row.residual_bytes = look.residuals->total_bytes;
    if (look.split) row.recomputed_flops = look.split->recomputed_flops, row.total_flops = look.split->total_flops;
    if (look.plan) row.planned_peak = look.plan->planned_peak;
    if (look.run) row.measured_peak = look.run->result.measured_peak, row.run_median = look.run->result.median_seconds;
    row.problem.clear();
    for (const QString& problem : look.problems) row.problem = problem.toStdString();
    endResetModel();
}

void PolicyModel::set_applied(const QString& policy) {
    const int row = find(policy);
    if (row == applied_) return;
    beginResetModel();
    applied_ = row;
    endResetModel();
}

int PolicyModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(rows_.size()); }

QVariant PolicyModel::cell(const PolicyRow& row, int column) const {
    switch (column) {
        case Policy:
            return row.as_it_is ? kAsItIs : utf8(row.policy);
        case Saved:
            return or_dash(row.residual_bytes.has_value(), bytes_text(row.residual_bytes.value_or(0)));
        case Recomputed:
            return or_dash(row.residual_bytes.has_value(), flops_text(row.recomputed_flops));
        case Peak:
            return or_dash(row.planned_peak.has_value(), bytes_text(row.planned_peak.value_or(0)));
        case Against: {
            if (!row.planned_peak || row.as_it_is || !as_it_is_peak()) return {};
            const double change = sort_value(row, Against);
            if (std::abs(change) < 0.05) return tr("same");
            return QStringLiteral("%1%2 %")
                .arg(change < 0 ? QStringLiteral("\u2212") : QStringLiteral("+"))
                .arg(std::abs(change), 0, 'f', 1);
        }
        case Xla: {
            const auto peak = xla_peak(row);
            return or_dash(peak.has_value(), bytes_text(peak.value_or(0)));
        }
        case Measured:
            return or_dash(row.measured_peak.has_value(), bytes_text(row.measured_peak.value_or(0)));
        case Time:
            return or_dash(row.run_median.has_value(), seconds_text(row.run_median.value_or(0)));
        case Problem:
            return utf8(row.problem.empty() && !row.compiled.empty() ? row.compiled.front().problem : row.problem);
        default:
            return {};
    }
}

double PolicyModel::sort_value(const PolicyRow& row, int column) const {
    switch (column) {
        case Saved:
            return static_cast<double>(row.residual_bytes.value_or(-1));
        case Recomputed:
            return row.recomputed_flops;
        case Peak:
            return static_cast<double>(row.planned_peak.value_or(-1));
        case Against: {
            const double base = static_cast<double>(as_it_is_peak().value_or(0));
            return base > 0 && row.planned_peak ? 100 * (static_cast<double>(*row.planned_peak) / base - 1) : 0;
        }
        case Xla:
            return static_cast<double>(xla_peak(row).value_or(-1));
        case Measured:
            return static_cast<double>(row.measured_peak.value_or(-1));
        default:
            return row.run_median.value_or(-1);
    }
}

QVariant PolicyModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const PolicyRow& row = rows_[static_cast<std::size_t>(index.row())];
    const bool text = index.column() == Policy || index.column() == Problem;
    if (role == SortRole && !text) return sort_value(row, index.column());
    if (role == Qt::ForegroundRole && index.column() == Against && row.planned_peak) {
        const double change = sort_value(row, Against);
        const Palette& p = theme().palette();
        return theme()(change < 0 ? p.donated_text : change > 0 ? p.unknown_text : p.muted);
    }
    if (role == Qt::ToolTipRole && index.column() == Xla) return xla_words(row);
    if (role != Qt::DisplayRole && role != SortRole && role != Qt::ToolTipRole) return style(index.column(), role);
    return cell(row, index.column());
}

QString PolicyModel::total() const {
    if (rows_.empty()) return {};
    return rows_.size() == 1 ? tr("1 policy") : tr("%1 policies; a click applies one").arg(rows_.size());
}

QString PolicyModel::empty_text() const {
    return tr("The standard policies are tried in the background once a program is open and this table is looked at.");
}

}  // namespace jaxscope::views
