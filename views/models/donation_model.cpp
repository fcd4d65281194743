// SPDX-License-Identifier: Apache-2.0
#include "models/donation_model.h"

#include <algorithm>

#include "base/units.h"
#include "theme/theme.h"

namespace jaxscope::views {

DonationModel::DonationModel(QObject* parent) : TableModel(parent) {
    set_columns({"Reused", "Bytes", "Value", "Donated argument", "Output", "Reason"}, {Bytes}, {Value, Path, Output});
}

void DonationModel::set_report(std::shared_ptr<const DonationReport> report) {
    beginResetModel();
    report_ = std::move(report);
    endResetModel();
}

int DonationModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !report_ ? 0 : static_cast<int>(report_->donated.size() + report_->kept_back.size());
}

const DonatedLeaf& DonationModel::leaf(int row) const {
    const auto at = static_cast<std::size_t>(row);
    return is_kept_back(row) ? report_->kept_back[at - report_->donated.size()] : report_->donated[at];
}

Qt::ItemFlags DonationModel::flags(const QModelIndex& index) const {
    const Qt::ItemFlags usual = TableModel::flags(index);
    return index.column() == Used ? usual | Qt::ItemIsUserCheckable : usual;
}

bool DonationModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::CheckStateRole || index.column() != Used || !report_ || index.row() >= rowCount()) return false;
    Q_EMIT leaf_ticked(leaf(index.row()).input, value.toInt() == Qt::Checked);
    return true;
}

QVariant DonationModel::data(const QModelIndex& index, int role) const {
    if (!report_ || !index.isValid() || index.row() >= rowCount()) return {};
    const DonatedLeaf& leaf = this->leaf(index.row());
    const bool kept = is_kept_back(index.row());
    if (role == SortRole && index.column() == Bytes) return static_cast<qlonglong>(leaf.bytes);
    if (role == Qt::CheckStateRole && index.column() == Used) return kept ? Qt::Unchecked : Qt::Checked;
    if (role == Qt::ForegroundRole && index.column() == Used && kept) return theme()(theme().palette().muted);
    if (role == Qt::ForegroundRole && index.column() == Used)
        return theme()(leaf.used ? theme().palette().donated_text : theme().palette().unknown_text);
    if (role != Qt::DisplayRole && role != SortRole && role != Qt::ToolTipRole) return style(index.column(), role);
    switch (index.column()) {
        case Used:
            return kept ? tr("kept") : leaf.used ? QStringLiteral("\u27f2 yes") : QStringLiteral("\u2298 no");
        case Bytes:
            return utf8(bytes_text(leaf.bytes));
        case Value:
            return utf8(leaf.aval);
        case Path:
            return utf8(leaf.path);
        case Output:
            return leaf.output ? utf8(leaf.output_path.empty() ? "result " + std::to_string(*leaf.output) : leaf.output_path)
                               : QStringLiteral("\u2014");
        case Reason:
            return utf8(leaf.reason);
        default:
            return {};
    }
}

QString DonationModel::total() const {
    if (!report_) return {};
    const auto used = std::count_if(report_->donated.begin(), report_->donated.end(), [](const DonatedLeaf& leaf) { return leaf.used; });
    return utf8(count_text(used) + " of " + count_text(static_cast<std::int64_t>(report_->donated.size())) + " reused, " +
                bytes_text(report_->saved_bytes) + " saved");
}

Picked DonationModel::picked(int row) const {
    Picked picked;
    (is_kept_back(row) ? picked.input : picked.donated) = leaf(row).input;
    return picked;
}

int DonationModel::row_of(const Picked& picked) const {
    const DonatedLeaf* leaf = report_ ? find_donated(*report_, picked.donated) : nullptr;
    return leaf == nullptr ? -1 : static_cast<int>(leaf - report_->donated.data());
}

QString DonationModel::empty_text() const {
    return report_ ? tr("Nothing is donated. Tick an argument under Donate above to see which outputs could take its memory.")
                   : tr("No donations yet. Open a capture first.");
}

}  // namespace jaxscope::views
