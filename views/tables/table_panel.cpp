// SPDX-License-Identifier: Apache-2.0
#include "tables/table_panel.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QShortcut>
#include <QStackedLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <numeric>

#include "commands/short_texts.h"
#include "theme/theme.h"

namespace jaxscope::views {

TablePanel::TablePanel(TableModel* model, Selection* selection, QWidget* parent)
    : QWidget(parent),
      model_(model),
      selection_(selection),
      proxy_(new TableProxy(this)),
      table_(new QTableView),
      filter_(new QLineEdit),
      head_(new QHBoxLayout),
      total_(new ShortLabel),
      empty_(new QLabel) {
    proxy_->setSourceModel(model_);
    table_->setModel(proxy_);
    table_->setSortingEnabled(true);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setShowGrid(false);
    table_->setWordWrap(false);
    table_->setTabKeyNavigation(false);  // else the Tab key never leads out of it
    table_->setFrameShape(QFrame::NoFrame);
    table_->setTextElideMode(Qt::ElideMiddle);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setDefaultSectionSize(24);
    table_->horizontalHeader()->setHighlightSections(false);
    table_->horizontalHeader()->setFont(text_font(10, true));
    filter_->setPlaceholderText(tr("Filter"));
    filter_->setClearButtonEnabled(true);
    filter_->setMaximumWidth(220);
    empty_->setAlignment(Qt::AlignCenter);
    empty_->setWordWrap(true);
    empty_->setMargin(24);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    head_->setContentsMargins(14, 6, 14, 4);
    head_->setSpacing(8);
    head_->addWidget(total_);
    head_->addStretch();
    head_->addWidget(filter_);
    auto* body = new QStackedLayout;
    body->addWidget(table_);
    body->addWidget(empty_);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(head_);
    layout->addLayout(body, 1);
    connect(filter_, &QLineEdit::textChanged, proxy_, &TableProxy::set_filter);
    connect(model_, &QAbstractItemModel::modelReset, this, [this, body] {
        refresh();
        body->setCurrentIndex(model_->rowCount() == 0 ? 1 : 0);
        fit_columns();
        follow(selection_->picked());  // the row of the same value, wherever it stands now
    });
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
        if (!index.isValid() || following_) return;
        const Picked picked = model_->picked(proxy_->mapToSource(index).row());
        if (!picked.empty())
            selection_->pick(picked);
        else if (model_->picks())
            selection_->clear();  // a row of what is gone: nothing that was selected before is meant
    });
    connect(selection_, &Selection::changed, this, &TablePanel::follow);
    connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) { Q_EMIT row_clicked(proxy_->mapToSource(index).row()); });
    auto* copy = new QShortcut(QKeySequence::Copy, table_, nullptr, nullptr, Qt::WidgetShortcut);
    connect(copy, &QShortcut::activated, this, [this] { QGuiApplication::clipboard()->setText(selected_as_tsv()); });
    on_theme_change(this, &TablePanel::refresh);
    refresh();
    body->setCurrentIndex(1);
}

void TablePanel::show_column(int column, bool shown) {
    if (table_->isColumnHidden(column) == !shown) return;
    table_->setColumnHidden(column, !shown);
    fit_columns();
}

void TablePanel::add_to_head(QWidget* widget) { head_->insertWidget(head_->count() - 1, widget); }

void TablePanel::set_name(const QString& name) {
    table_->setAccessibleName(name);
    filter_->setAccessibleName(tr("Filter of %1").arg(name));
}

void TablePanel::refresh() {
    total_->setText(model_->total());
    total_->setStyleSheet(QStringLiteral("color: %1").arg(QLatin1String(theme().palette().muted)));
    empty_->setText(model_->why_empty());
    empty_->setToolTip(model_->problem());
    empty_->setStyleSheet(total_->styleSheet());
}

void TablePanel::set_widths(const QVector<int>& widths, int stretched) {
    widths_ = widths;
    stretched_ = stretched;
    QHeaderView* header = table_->horizontalHeader();
    header->setMinimumSectionSize(40);
    for (int c = 0; c < widths.size(); ++c) {
        header->setSectionResizeMode(c, c == stretched ? QHeaderView::Stretch : QHeaderView::Interactive);
        header->resizeSection(c, widths[c]);
    }
    connect(header, &QHeaderView::sectionResized, this, [this](int column) {
        const bool by_hand = !fitting_ && column != stretched_ && QGuiApplication::mouseButtons() != Qt::NoButton;
        if (by_hand) widths_.clear();  // from now on they are the user's
    });
}

/// Columns are as wide as what stands in them, in order, as far as there is room beside the one that takes what is left. Where they don't
/// fit anyhow, and scroll, little is cut.
void TablePanel::fit_columns() {
    constexpr int kPadding = 26, kMost = 420, kMore = 40;
    if (!isVisible() || model_->rowCount() == 0 || widths_.isEmpty()) return;
    QHeaderView* header = table_->horizontalHeader();
    QVector<int> wanted, least;
    for (int c = 0; c < widths_.size(); ++c) {
        const bool hidden = table_->isColumnHidden(c);
        wanted << (hidden ? 0 : std::min(kMost, std::max(width_of_longest(c) + kPadding, header->sectionSizeHint(c))));
        least << std::min(widths_[c], wanted[c]);
    }
    int room = table_->viewport()->width() - std::accumulate(least.begin(), least.end(), 0);
    const bool scrolls = room < 0;
    if (scrolls) room = kMore * widths_.size();
    fitting_ = true;
    if (stretched_ >= 0) header->setSectionResizeMode(stretched_, scrolls ? QHeaderView::Interactive : QHeaderView::Stretch);
    for (int c = 0; c < widths_.size(); ++c) {
        if ((c == stretched_ && !scrolls) || table_->isColumnHidden(c)) continue;
        const int more = std::min({wanted[c] - least[c], room, scrolls ? kMore : kMost});
        room -= more;
        header->resizeSection(c, least[c] + more);
    }
    fitting_ = false;
}

/// Only the text of most letters is measured: laying out all of a long table takes longer than the window may stand still.
int TablePanel::width_of_longest(int column) const {
    constexpr int kMostRows = 500;
    QModelIndex longest;
    int letters = -1;
    for (int row = 0; row < std::min(kMostRows, model_->rowCount()); ++row) {
        const QModelIndex at = model_->index(row, column);
        const int here = at.data().toString().size();
        if (here > letters) letters = here, longest = at;
    }
    if (!longest.isValid()) return 0;
    const QVariant font = longest.data(Qt::FontRole);
    return QFontMetrics(font.isValid() ? font.value<QFont>() : table_->font()).horizontalAdvance(longest.data().toString());
}

void TablePanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_columns();
}

void TablePanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    fit_columns();
}

void TablePanel::sort_by(int column, Qt::SortOrder order) { table_->sortByColumn(column, order); }

QString TablePanel::selected_as_tsv() const {
    QModelIndexList rows = table_->selectionModel()->selectedRows();
    std::sort(rows.begin(), rows.end());
    QStringList lines;
    for (const QModelIndex& row : rows) {
        QStringList cells;
        for (int c = 0; c < proxy_->columnCount(); ++c) cells << row.sibling(row.row(), c).data().toString();
        lines << cells.join('\t');
    }
    return lines.join('\n');
}

int TablePanel::current_row() const {
    const QModelIndex at = table_->currentIndex();
    return at.isValid() ? proxy_->mapToSource(at).row() : -1;
}

void TablePanel::follow(const Picked& picked) {
    following_ = true;
    const int row = model_->row_of(picked);
    const QModelIndex index = row < 0 ? QModelIndex() : proxy_->mapFromSource(model_->index(row, 0));
    if (index.isValid()) {
        if (!table_->selectionModel()->isRowSelected(index.row(), {})) table_->selectRow(index.row());
        table_->scrollTo(index);
    } else {
        table_->setCurrentIndex({});  // said to be none: else Qt makes it the first row once the table has the focus
    }
    following_ = false;
}

}  // namespace jaxscope::views
