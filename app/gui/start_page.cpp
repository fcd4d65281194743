// SPDX-License-Identifier: Apache-2.0
#include "start_page.h"

#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "io/load_program.h"
#include "theme/theme.h"

namespace jaxscope::app {

using namespace views;

StartPage::StartPage(QWidget* parent)
    : QWidget(parent),
      recent_(new QListWidget),
      samples_(new QListWidget),
      open_(new QPushButton(tr("Open a capture"))),
      capture_(new QPushButton(tr("Capture a Python program"))),
      paste_(new QPushButton(tr("Paste a jaxpr"))),
      last_(new QPushButton),
      tour_(new QPushButton(tr("Tour of the window"))),
      none_yet_(new QLabel(tr("None yet. What you open or capture stands here; to begin with, try a sample."))) {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    open_->setObjectName(QStringLiteral("primary"));
    setFocusProxy(open_);
    open_->setToolTip(tr("A .jaxscope file, or text that JAX printed (Ctrl+O); a file can be dropped here, too"));
    capture_->setToolTip(tr("Runs a function of a Python file, or a script, and records its JAX program (Ctrl+N)"));
    paste_->setToolTip(tr("What print(jax.make_jaxpr(f)(x)) wrote, from the clipboard (Ctrl+Shift+V)"));
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(open_);
    buttons->addWidget(capture_);
    buttons->addWidget(paste_);
    buttons->addStretch();
    buttons->addWidget(tour_);
    tour_->setToolTip(tr("Seven cards, on a sample: what stands where, and what it is for (Shift+F1)"));
    last_->hide();
    none_yet_->setWordWrap(true);
    none_yet_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    none_yet_->setMargin(4);
    none_yet_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Ignored);  // the list in its place has no least height, either
    auto* lists = new QHBoxLayout;
    lists->addWidget(titled(tr("Recent files"), recent_), 1);
    lists->addWidget(titled(tr("Samples"), samples_), 1);
    auto* how = new QLabel(tr("In a terminal, captures are made with\njaxscope capture train.py:program -o step.jaxscope"));
    how->setFont(mono_font(11));
    how->setTextInteractionFlags(Qt::TextSelectableByMouse);
    how->setWordWrap(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(40, 28, 40, 20);
    column->setSpacing(14);
    column->addLayout(buttons);
    column->addWidget(last_, 0, Qt::AlignLeft);
    column->addLayout(lists, 1);
    column->addWidget(how);
    for (const BundledSample& sample : bundled_samples()) {
        auto* item = new QListWidgetItem(utf8(sample.name), samples_);
        item->setToolTip(utf8(sample.title));
        item->setData(Qt::UserRole, QStringLiteral("sample:") + utf8(sample.name));
    }
    const auto choose = [this](const QListWidgetItem* item) { Q_EMIT open_requested(item->data(Qt::UserRole).toString()); };
    for (QListWidget* list : {recent_, samples_}) connect(list, &QListWidget::itemActivated, this, choose);
    for (QListWidget* list : {recent_, samples_}) connect(list, &QListWidget::itemClicked, this, choose);
    connect(open_, &QPushButton::clicked, this, [this] { Q_EMIT open_requested({}); });
    connect(capture_, &QPushButton::clicked, this, &StartPage::capture_requested);
    connect(paste_, &QPushButton::clicked, this, &StartPage::paste_requested);
    connect(last_, &QPushButton::clicked, this, &StartPage::last_requested);
    connect(tour_, &QPushButton::clicked, this, &StartPage::tour_requested);
}

void StartPage::set_last(const QString& names) {
    constexpr int kRoom = 560;
    last_->setVisible(!names.isEmpty());
    last_->setText(last_->fontMetrics().elidedText(tr("Go on with %1").arg(names), Qt::ElideRight, kRoom));
    last_->setToolTip(tr("What was open last, with the choices that were made: %1").arg(names));
}

QWidget* StartPage::titled(const QString& title, QListWidget* list) const {
    auto* holder = new QWidget;
    auto* column = new QVBoxLayout(holder);
    column->setContentsMargins(0, 0, 0, 0);
    auto* head = new QLabel(title);
    head->setFont(head_font());
    column->addWidget(head);
    auto* either = new QStackedWidget;  // as high as one of them
    either->addWidget(list);
    if (list == recent_) either->addWidget(none_yet_);
    column->addWidget(either, 1);
    list->setAccessibleName(title);
    list->setFrameShape(QFrame::NoFrame);
    list->setMinimumSize(60, 40);
    return holder;
}

void StartPage::set_recent(const QStringList& files) {
    recent_->clear();
    const auto same_name = [&](const QString& name) {
        return std::count_if(files.begin(), files.end(), [&](const QString& other) { return QFileInfo(other).fileName() == name; });
    };
    for (const QString& file : files) {
        const QString name = QFileInfo(file).fileName();
        auto* item = new QListWidgetItem(same_name(name) > 1 ? tr("%1  in %2").arg(name, QFileInfo(file).dir().dirName()) : name, recent_);
        item->setToolTip(file);
        item->setData(Qt::UserRole, file);
    }
    if (auto* either = qobject_cast<QStackedWidget*>(recent_->parentWidget())) either->setCurrentIndex(files.isEmpty() ? 1 : 0);
}

}  // namespace jaxscope::app
