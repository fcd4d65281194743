// SPDX-License-Identifier: Apache-2.0
#include "models/residual_model.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/units.h"
#include "picture/line_costs.h"
#include "report/explain_text.h"
#include "theme/theme.h"

namespace jaxscope::views {

ResidualModel::ResidualModel(QObject* parent) : TableModel(parent) {
    set_columns({"Bytes", "Value", "Source (JAX)", "Your line", "Why saved", ""}, {Bytes}, {Value, Line});
}

void ResidualModel::set_report(std::shared_ptr<const ResidualReport> report, std::shared_ptr<const ResidualReport> as_it_is,
                               bool would_be) {
    beginResetModel();
    report_ = std::move(report);
    as_it_is_ = as_it_is == report_ ? nullptr : std::move(as_it_is);
    would_be_ = would_be;
    compare();
    endResetModel();
}

/// Which value it is, whatever name policies and marks give it.
static std::pair<std::string, std::string> value_of(const ResidualRow& row) {
    return {row.aval, row.maker.empty() ? row.source : row.maker};
}

/// Which rows are new, and which of the program as it is are gone.
void ResidualModel::compare() {
    added_.assign(static_cast<std::size_t>(num_now()), false);
    removed_.clear();
    if (!report_ || !as_it_is_) return;
    std::map<std::pair<std::string, std::string>, std::vector<int>> before;
    for (std::size_t r = as_it_is_->rows.size(); r-- > 0;) before[value_of(as_it_is_->rows[r])].push_back(static_cast<int>(r));
    for (std::size_t r = 0; r < report_->rows.size(); ++r) {
        auto& same = before[value_of(report_->rows[r])];
        if (same.empty())
            added_[r] = true;
        else
            same.pop_back();
    }
    for (const auto& [what, rows] : before) removed_.insert(removed_.end(), rows.begin(), rows.end());
}

std::set<std::string> ResidualModel::added_equations() const {
    std::set<std::string> out;
    for (int r = 0; r < num_now(); ++r)
        if (is_added(r)) out.insert(report_->rows[static_cast<std::size_t>(r)].equation);
    return out;
}

const ResidualRow& ResidualModel::row(int number) const {
    if (!is_removed(number)) return report_->rows[static_cast<std::size_t>(number)];
    return as_it_is_->rows[static_cast<std::size_t>(removed_[static_cast<std::size_t>(number - num_now())])];
}

int ResidualModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !report_ ? 0 : num_now() + static_cast<int>(removed_.size());
}

QVariant ResidualModel::data(const QModelIndex& index, int role) const {
    if (!report_ || !index.isValid() || index.row() >= rowCount()) return {};
    const ResidualRow& row = this->row(index.row());
    const bool added = is_added(index.row()), removed = is_removed(index.row());
    if (role == Qt::ForegroundRole && (removed || (added && index.column() == Change)))
        return theme()(removed ? theme().palette().muted : theme().palette().residual_text);
    if (role == Qt::FontRole && removed && index.column() != Change) {
        QFont font = style(index.column(), role).value<QFont>();
        font.setItalic(true);
        return font;
    }
    if (role == SortRole && index.column() == Bytes) return static_cast<qlonglong>(held_bytes(row));
    if (role == SortRole && index.column() == Line) return utf8(row.file) + QString::number(row.line).rightJustified(8, '0');
    if (role == Qt::ToolTipRole && index.column() == Line) return utf8(row.file);
    if (role != Qt::DisplayRole && role != SortRole && role != Qt::ToolTipRole) return style(index.column(), role);
    switch (index.column()) {
        case Change:
            if (role == Qt::ToolTipRole) return removed ? tr("No longer saved") : added ? tr("Not saved as it is") : QVariant();
            return removed ? QStringLiteral("\u2212") : added ? QStringLiteral("+") : QString();
        case Bytes:
            return utf8(bytes_text(held_bytes(row)));
        case Value:
            if (role == Qt::ToolTipRole && !row.spec.empty()) return tr("%1 in all, spread as %2").arg(utf8(row.aval), utf8(row.spec));
            return utf8(row.local.empty() ? row.aval : row.local);
        case Source:
            return utf8(row.source);
        case Line:
            return row.line > 0 ? utf8(short_place(row.file, row.line)) : QStringLiteral("\u2014");
        case Why:
            return removed ? tr("no longer") : utf8(why_saved(row));
        default:
            return {};
    }
}

QString ResidualModel::total() const {
    if (!report_) return {};
    const auto held = [](const ResidualReport& r) { return bytes_text(r.device_bytes.value_or(r.total_bytes)); };
    std::int64_t on_host = 0;
    for (const ResidualRow& row : report_->rows) on_host += row.on_host ? held_bytes(row) : 0;
    return utf8(count_text(static_cast<std::int64_t>(report_->rows.size())) + " values, " + held(*report_) +
                (on_host > 0 ? ", " + bytes_text(on_host) + " of it on the host" : "") + (report_->device_bytes ? " on each device" : "") +
                (would_be_ ? ", if this were differentiated" : "") +
                (as_it_is_ ? " \u00b7 " + held(*as_it_is_) + " as it is, " + count_text(std::count(added_.begin(), added_.end(), true)) +
                                 " added, " + count_text(static_cast<std::int64_t>(removed_.size())) + " removed"
                           : ""));
}

Picked ResidualModel::picked(int row) const {
    Picked picked;
    if (!is_removed(row)) picked.residual = report_->rows[static_cast<std::size_t>(row)].id;
    return picked;
}

int ResidualModel::row_of(const Picked& picked) const {
    const ResidualRow* row = report_ && picked.residual ? find_residual(*report_, *picked.residual) : nullptr;
    return row == nullptr ? -1 : static_cast<int>(row - report_->rows.data());
}

QString ResidualModel::empty_text() const {
    return report_ ? tr("Nothing is saved: the backward pass needs no value of the forward pass.")
                   : tr("No residuals yet. Open a capture that differentiates something, or choose what to differentiate above.");
}

}  // namespace jaxscope::views
