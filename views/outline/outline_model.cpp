// SPDX-License-Identifier: Apache-2.0
#include "outline/outline_model.h"

#include "base/units.h"
#include "theme/theme.h"

namespace jaxscope::views {

struct OutlineModel::Row {
    GraphItem item;
    Row* parent = nullptr;
    int number = 0;
    bool fetched = false;
    std::vector<std::unique_ptr<Row>> rows;
};

OutlineModel::OutlineModel(QObject* parent) : QAbstractItemModel(parent), root_(std::make_unique<Row>()) {}
OutlineModel::~OutlineModel() = default;

void OutlineModel::set_model(const GraphModel* model) {
    beginResetModel();
    model_ = model;
    root_ = std::make_unique<Row>();
    root_->fetched = model == nullptr;
    if (model != nullptr) {
        root_->item = model->root_item();
        root_->item.expandable = true;
    }
    endResetModel();
}

OutlineModel::Row* OutlineModel::row_of(const QModelIndex& index) const {
    return index.isValid() ? static_cast<Row*>(index.internalPointer()) : root_.get();
}

const GraphItem* OutlineModel::item(const QModelIndex& index) const { return index.isValid() ? &row_of(index)->item : nullptr; }

QModelIndex OutlineModel::index(int row, int column, const QModelIndex& parent) const {
    const Row* above = row_of(parent);
    if (row < 0 || static_cast<std::size_t>(row) >= above->rows.size() || column < 0 || column >= columnCount()) return {};
    return createIndex(row, column, above->rows[static_cast<std::size_t>(row)].get());
}

QModelIndex OutlineModel::parent(const QModelIndex& child) const {
    if (!child.isValid()) return {};
    Row* above = row_of(child)->parent;
    return above == root_.get() ? QModelIndex() : createIndex(above->number, 0, above);
}

int OutlineModel::rowCount(const QModelIndex& parent) const {
    return parent.column() > 0 ? 0 : static_cast<int>(row_of(parent)->rows.size());
}
int OutlineModel::columnCount(const QModelIndex&) const { return 2; }
bool OutlineModel::hasChildren(const QModelIndex& parent) const {
    return parent.column() <= 0 && model_ != nullptr &&
           (row_of(parent)->fetched ? !row_of(parent)->rows.empty() : row_of(parent)->item.expandable);
}
bool OutlineModel::canFetchMore(const QModelIndex& parent) const {
    return parent.column() <= 0 && model_ != nullptr && !row_of(parent)->fetched && row_of(parent)->item.expandable;
}

void OutlineModel::fetchMore(const QModelIndex& parent) {
    if (!canFetchMore(parent)) return;
    Row* above = row_of(parent);
    above->fetched = true;
    std::vector<GraphItem> items = model_->children(above->item);
    if (items.empty()) return;
    beginInsertRows(parent, 0, static_cast<int>(items.size()) - 1);
    for (GraphItem& item : items) {
        auto row = std::make_unique<Row>();
        row->item = std::move(item);
        row->parent = above;
        row->number = static_cast<int>(above->rows.size());
        above->rows.push_back(std::move(row));
    }
    endInsertRows();
}

QModelIndex OutlineModel::find(const std::vector<std::string>& around) {
    QModelIndex at;
    for (const std::string& key : around) {
        if (canFetchMore(at)) fetchMore(at);
        QModelIndex next;
        for (int r = 0; r < rowCount(at) && !next.isValid(); ++r)
            if (row_of(index(r, 0, at))->item.key == key) next = index(r, 0, at);
        if (!next.isValid()) return at;
        at = next;
    }
    return at;
}

QVariant OutlineModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const GraphItem& item = row_of(index)->item;
    if (role == KeyRole) return utf8(item.key);
    if (role == Qt::ToolTipRole) return utf8(item.title + "\n" + item.detail);
    if (index.column() == 0) {
        if (role == Qt::DisplayRole) return utf8(item.title);
        if (role == Qt::FontRole) return text_font(12, item.expandable);
        return {};
    }
    if (role == Qt::DisplayRole) return item.expandable ? utf8(count_text(item.equations)) : QString();
    if (role == Qt::TextAlignmentRole) return int(Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::ForegroundRole) return theme()(theme().palette().muted);
    if (role == Qt::FontRole) return mono_font(11);
    return {};
}

QVariant OutlineModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::DisplayRole) return section == 0 ? tr("OUTLINE") : tr("EQNS");
    if (role == Qt::TextAlignmentRole && section == 1) return int(Qt::AlignRight | Qt::AlignVCenter);
    return {};
}

}  // namespace jaxscope::views
