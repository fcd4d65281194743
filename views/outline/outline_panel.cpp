// SPDX-License-Identifier: Apache-2.0
#include "outline/outline_panel.h"

#include <QHeaderView>
#include <QSplitter>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/units.h"
#include "picture/line_costs.h"
#include "report/explain_text.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr std::size_t kMostLines = 200;

void plain(QTreeView* tree, int number_width) {
    tree->setUniformRowHeights(true);
    tree->setIndentation(14);
    tree->setFrameShape(QFrame::NoFrame);
    tree->setEditTriggers(QAbstractItemView::NoEditTriggers);
    tree->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    tree->setTextElideMode(Qt::ElideMiddle);
    tree->header()->setStretchLastSection(false);
    tree->header()->setMinimumSectionSize(30);
    tree->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    tree->header()->setSectionResizeMode(1, QHeaderView::Fixed);
    tree->header()->resizeSection(1, number_width);
    tree->header()->setHighlightSections(false);
}

}  // namespace

OutlinePanel::OutlinePanel(Selection* selection, QWidget* parent)
    : QWidget(parent), selection_(selection), model_(new OutlineModel(this)), tree_(new QTreeView), files_(new QTreeWidget) {
    tree_->setModel(model_);
    plain(tree_, 58);
    tree_->setAccessibleName(tr("Outline"));
    files_->setAccessibleName(tr("Saved, by line"));
    files_->setColumnCount(2);
    files_->setHeaderLabels({tr("SAVED, BY LINE"), tr("BYTES")});
    files_->headerItem()->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
    files_->setRootIsDecorated(false);
    plain(files_, 78);
    auto* splitter = new QSplitter(Qt::Vertical);
    splitter->setHandleWidth(1);
    splitter->addWidget(tree_);
    splitter->addWidget(files_);
    splitter->setSizes({460, 220});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(splitter);
    connect(tree_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& index) {
        const GraphItem* item = model_->item(index);
        if (item == nullptr || following_) return;
        Picked picked;
        picked.program = item->equation();
        if (!picked.program) picked.group = item->key;
        selection_->pick(picked);
    });
    connect(tree_, &QTreeView::doubleClicked, this, [this](const QModelIndex& index) {
        if (const GraphItem* item = model_->item(index)) Q_EMIT reveal_requested(EqnPath{item->jaxpr_path, item->begin});
    });
    connect(files_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
        if (item == nullptr) return;
        Picked picked;
        picked.residual = first_of_line_[static_cast<std::size_t>(item->data(0, Qt::UserRole).toInt())];
        selection_->pick(picked);
    });
    connect(selection_, &Selection::changed, this, &OutlinePanel::follow);
}

void OutlinePanel::set_model(std::shared_ptr<const GraphModel> model) {
    model_->set_model(model.get());
    graph_ = std::move(model);
    follow(selection_->picked());
}

void OutlinePanel::set_residuals(const ResidualReport* report) {
    const QSignalBlocker quiet(files_);
    files_->clear();
    first_of_line_.clear();
    if (report == nullptr) return;
    struct Line {
        std::int64_t bytes = 0;
        ResidualId first;
    };
    std::map<std::pair<std::string, int>, Line> lines;
    for (const ResidualRow& row : report->rows) {
        if (row.line <= 0) continue;
        const auto [it, fresh] = lines.try_emplace({row.file, row.line});
        if (fresh) it->second.first = row.id;
        it->second.bytes += held_bytes(row);
    }
    std::vector<std::pair<std::pair<std::string, int>, Line>> order(lines.begin(), lines.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
    order.resize(std::min(order.size(), kMostLines));
    for (const auto& [place, line] : order) {
        auto* item = new QTreeWidgetItem({utf8(short_place(place.first, place.second)), utf8(bytes_text(line.bytes))});
        item->setToolTip(0, utf8(place.first + ":" + std::to_string(place.second)));
        item->setData(0, Qt::UserRole, static_cast<int>(first_of_line_.size()));
        first_of_line_.push_back(line.first);
        item->setFont(0, mono_font(11));
        item->setFont(1, mono_font(11));
        item->setTextAlignment(1, int(Qt::AlignRight | Qt::AlignVCenter));
        files_->addTopLevelItem(item);
    }
}

void OutlinePanel::follow(const Picked& picked) {
    following_ = true;
    if (graph_ != nullptr && picked.program) {
        try {
            const QModelIndex index = model_->find(graph_->keys_around(*picked.program));
            tree_->setCurrentIndex(index);
            tree_->scrollTo(index);
        } catch (const Error&) {  // picked in a program that is no longer open
        }
    } else if (picked.group.empty()) {
        tree_->clearSelection();
    }
    following_ = false;
}

}  // namespace jaxscope::views
