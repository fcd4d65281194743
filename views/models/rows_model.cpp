// SPDX-License-Identifier: Apache-2.0
#include "models/rows_model.h"

namespace jaxscope::views {

RowsModel::RowsModel(QStringList titles, QVector<int> numeric, QVector<int> code, QString empty, QObject* parent)
    : TableModel(parent), numeric_columns_(numeric), empty_(std::move(empty)) {
    set_columns(std::move(titles), std::move(numeric), std::move(code));
}

void RowsModel::set_rows(std::vector<TableRow> rows, const QString& total, Finder find) {
    beginResetModel();
    rows_ = std::move(rows);
    total_ = total;
    find_ = std::move(find);
    found_.assign(rows_.size(), std::nullopt);
    endResetModel();
}

QVariant RowsModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const std::vector<TableRow::Cell>& cells = row(index.row()).cells;
    if (index.column() >= static_cast<int>(cells.size())) return {};
    const TableRow::Cell& cell = cells[static_cast<std::size_t>(index.column())];
    if (role == SortRole && numeric_columns_.contains(index.column())) return cell.value;
    if (role == Qt::DisplayRole || role == SortRole || role == Qt::ToolTipRole) return cell.text;
    return style(index.column(), role);
}

Picked RowsModel::picked(int number) const {
    Picked out;
    const TableRow& at = row(number);
    out.input = at.input;
    if (at.input >= 0 || at.line == 0 || !find_) return out;
    std::optional<EqnPath>& found = found_[static_cast<std::size_t>(number)];
    if (!found) found = find_(at.file, at.line);
    out.program = found;
    return out;
}

int RowsModel::row_of(const Picked& picked) const {
    for (int r = 0; r < rowCount(); ++r) {
        if (picked.input >= 0 && row(r).input == picked.input) return r;
        const std::optional<EqnPath>& found = found_[static_cast<std::size_t>(r)];
        if (picked.input < 0 && found && found == picked.program) return r;
    }
    return -1;
}

}  // namespace jaxscope::views
