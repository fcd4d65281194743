// SPDX-License-Identifier: Apache-2.0
#include "models/table_model.h"

#include "theme/theme.h"

namespace jaxscope::views {

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= titles_.size()) return {};
    if (role == Qt::DisplayRole) return titles_[section].toUpper();
    if (role == Qt::TextAlignmentRole) return int((numeric_.contains(section) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    return {};
}

void TableModel::set_columns(QStringList titles, QVector<int> numeric, QVector<int> code) {
    titles_ = std::move(titles);
    numeric_ = std::move(numeric);
    code_ = std::move(code);
}

QVariant TableModel::style(int column, int role) const {
    if (role == Qt::TextAlignmentRole) return int((numeric_.contains(column) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (role == Qt::FontRole) return code_.contains(column) || numeric_.contains(column) ? mono_font(11) : text_font();
    return {};
}

TableProxy::TableProxy(QObject* parent) : QSortFilterProxyModel(parent) {
    setSortRole(TableModel::SortRole);
    setSortCaseSensitivity(Qt::CaseInsensitive);
}

void TableProxy::set_filter(const QString& text) {
    filter_ = text.trimmed();
    invalidateFilter();
}

bool TableProxy::filterAcceptsRow(int row, const QModelIndex& parent) const {
    if (filter_.isEmpty()) return true;
    for (int column = 0; column < sourceModel()->columnCount(parent); ++column)
        if (sourceModel()->index(row, column, parent).data().toString().contains(filter_, Qt::CaseInsensitive)) return true;
    return false;
}

}  // namespace jaxscope::views
