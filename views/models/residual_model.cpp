#include "models/residual_model.h"

#include <filesystem>

#include "base/units.h"
#include "report/explain_text.h"
#include "theme/theme.h"

namespace jaxscope::views {

ResidualModel::ResidualModel(QObject* parent) : TableModel(parent) {
    set_columns({"Bytes", "Value", "Source (JAX)", "Your line", "Why saved"}, {Bytes}, {Value, Line});
}

void ResidualModel::set_report(std::shared_ptr<const ResidualReport> report, std::int64_t as_it_is) {
    beginResetModel();
    report_ = std::move(report);
    as_it_is_ = as_it_is;
    endResetModel();
}

int ResidualModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !report_ ? 0 : static_cast<int>(report_->rows.size());
}

QVariant ResidualModel::data(const QModelIndex& index, int role) const {
    if (!report_ || !index.isValid() || index.row() >= rowCount()) return {};
    const ResidualRow& row = report_->rows[static_cast<std::size_t>(index.row())];
    if (role == SortRole && index.column() == Bytes) return static_cast<qlonglong>(row.bytes);
    if (role == SortRole && index.column() == Line) return utf8(row.file) + QString::number(row.line).rightJustified(8, '0');
    if (role == Qt::ToolTipRole && index.column() == Line) return utf8(row.file);
    if (role != Qt::DisplayRole && role != SortRole && role != Qt::ToolTipRole) return style(index.column(), role);
    switch (index.column()) {
        case Bytes:
            return utf8(bytes_text(row.bytes));
        case Value:
            return utf8(row.aval);
        case Source:
            return utf8(row.source);
        case Line:
            return row.line > 0 ? utf8(short_place(row.file, row.line)) : QStringLiteral("\u2014");
        case Why:
            return utf8(why_saved(row));
        default:
            return {};
    }
}

QString ResidualModel::total() const {
    if (!report_) return {};
    return utf8(count_text(static_cast<std::int64_t>(report_->rows.size())) + " values, " + bytes_text(report_->total_bytes) +
                (as_it_is_ >= 0 ? " \u00b7 " + bytes_text(as_it_is_) + " as it is" : ""));
}

Picked ResidualModel::picked(int row) const {
    Picked picked;
    picked.residual = report_->rows[static_cast<std::size_t>(row)].id;
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
