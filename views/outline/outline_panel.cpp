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

/// The keys that lead to what is picked in the program, its own last; empty: it isn't there.
std::vector<std::string> keys_to(const GraphModel& graph, const Picked& picked) {
    try {
        if (picked.program) return graph.keys_around(*picked.program);
        if (picked.group.empty() || picked.group_in != Picked::Where::Program) return {};
        // Of a group, "12/jaxpr/3-19", those of its first equation, as far as the group's own.
        std::vector<std::string> keys = graph.keys_around(parse_eqn_path(picked.group.substr(0, picked.group.rfind('-'))));
        const auto own = std::find(keys.begin(), keys.end(), picked.group);
        keys.erase(own == keys.end() ? keys.begin() : own + 1, keys.end());
        return keys;
    } catch (const Error&) {  // picked in a program that is no longer open; inputs and results, which the outline leaves out
        return {};
    }
}

}  // namespace

OutlinePanel::OutlinePanel(Selection* selection, QWidget* parent)
    : QWidget(parent), selection_(selection), model_(new OutlineModel(this)), tree_(new QTreeView), files_(new QTreeWidget) {
    tree_->setModel(model_);
    plain(tree_, 58);
    tree_->setAccessibleName(tr("Outline"));
    files_->setAccessibleName(tr("Saved, by line"));
    files_->setColumnCount(2);
    files_->setHeaderLabels({tr("SAVED AT"), tr("BYTES")});
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
        if (item == nullptr || following_) return;
        Picked picked;
        picked.residual = of_line_[static_cast<std::size_t>(item->data(0, Qt::UserRole).toInt())].front();
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
    of_line_.clear();
    if (report == nullptr) return;
    struct Line {
        std::int64_t bytes = 0;
        std::vector<ResidualId> values;
    };
    std::map<std::pair<std::string, int>, Line> lines;
    for (const ResidualRow& row : report->rows) {
        if (row.line <= 0) continue;
        const auto it = lines.try_emplace({row.file, row.line}).first;
        it->second.values.push_back(row.id);
        it->second.bytes += held_bytes(row);
    }
    std::vector<std::pair<std::pair<std::string, int>, Line>> order(lines.begin(), lines.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
    order.resize(std::min(order.size(), kMostLines));
    for (auto& [place, line] : order) {
        auto* item = new QTreeWidgetItem({utf8(short_place(place.first, place.second)), utf8(bytes_text(line.bytes))});
        item->setToolTip(0, utf8(place.first + ":" + std::to_string(place.second)));
        item->setData(0, Qt::UserRole, static_cast<int>(of_line_.size()));
        of_line_.push_back(std::move(line.values));
        item->setFont(0, mono_font(11));
        item->setFont(1, mono_font(11));
        item->setTextAlignment(1, int(Qt::AlignRight | Qt::AlignVCenter));
        files_->addTopLevelItem(item);
    }
    follow_line(selection_->picked());
}

void OutlinePanel::follow(const Picked& picked) {
    following_ = true;
    const std::vector<std::string> keys = graph_ != nullptr ? keys_to(*graph_, picked) : std::vector<std::string>{};
    const QModelIndex index = keys.empty() ? QModelIndex() : model_->find(keys);
    tree_->setCurrentIndex(index);  // none, too: what was selected there can be clicked again
    if (index.isValid()) tree_->scrollTo(index);
    follow_line(picked);
    following_ = false;
}

void OutlinePanel::follow_line(const Picked& picked) {
    QTreeWidgetItem* line = nullptr;
    for (int row = 0; row < files_->topLevelItemCount() && picked.residual && line == nullptr; ++row) {
        const std::vector<ResidualId>& values = of_line_[static_cast<std::size_t>(row)];
        if (std::find(values.begin(), values.end(), *picked.residual) != values.end()) line = files_->topLevelItem(row);
    }
    files_->setCurrentItem(line);
}

}  // namespace jaxscope::views
