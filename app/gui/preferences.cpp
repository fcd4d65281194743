// SPDX-License-Identifier: Apache-2.0
#include "preferences.h"

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QVBoxLayout>
#include <algorithm>

#include "commands/choice_box.h"
#include "theme/theme.h"

namespace jaxscope::app {

using namespace views;

namespace {

constexpr const char* kTheme = "window/theme";
constexpr const char* kScale = "window/scale";
constexpr const char* kEditor = "editor/command";
constexpr const char* kPython = "capture/python";
constexpr const char* kLast = "start/open_last";
constexpr int kScales[] = {75, 100, 110, 125, 150, 175, 200};

}  // namespace

ThemeChoice kept_theme() {
    const QString kept = QSettings().value(kTheme).toString();
    return kept == QLatin1String("dark") ? ThemeChoice::Dark : kept == QLatin1String("light") ? ThemeChoice::Light : ThemeChoice::System;
}

void keep_theme(ThemeChoice choice) {
    const char* const names[] = {"system", "light", "dark"};
    QSettings().setValue(kTheme, QString::fromUtf8(names[static_cast<int>(choice)]));
}

bool is_dark(ThemeChoice choice, bool system) { return choice == ThemeChoice::System ? system : choice == ThemeChoice::Dark; }

bool system_is_dark() {
    static const bool asked = [] {
        const QPalette palette = QApplication::palette();
        return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
    }();
    return asked;
}

int kept_scale() {
    constexpr int kSmallest = 50, kLargest = 400, kAsItIs = 100;
    const int kept = QSettings().value(kScale, kAsItIs).toInt();
    return kept < kSmallest || kept > kLargest ? kAsItIs : kept;
}

QString kept_editor() { return QSettings().value(kEditor).toString(); }
bool opens_last_at_start() { return QSettings().value(kLast, false).toBool(); }

Preferences::Preferences(QWidget* parent)
    : QDialog(parent), theme_(new ChoiceBox), scale_(new ChoiceBox), editor_(new QLineEdit), python_(new QLineEdit), last_(new QCheckBox) {
    setWindowTitle(tr("Preferences"));
    theme_->addItems({tr("As the desktop"), tr("Light"), tr("Dark")});
    theme_->setCurrentIndex(static_cast<int>(kept_theme()));
    for (const int scale : kScales) scale_->addItem(tr("%1 %").arg(scale), scale);
    scale_->setCurrentIndex(std::max(0, scale_->findData(kept_scale())));
    editor_->setText(kept_editor());
    editor_->setPlaceholderText(QStringLiteral("code -g {file}:{line}"));
    python_->setText(QSettings().value(kPython).toString());
    python_->setPlaceholderText(tr("python3, or that of the environment that JAX is in"));
    last_->setText(tr("Open what was open last when jaxscope starts"));
    last_->setChecked(opens_last_at_start());
    lay_out();
    connect(theme_, QOverload<int>::of(&QComboBox::activated), this, [](int chosen) {
        keep_theme(static_cast<ThemeChoice>(chosen));
        set_theme(is_dark(kept_theme(), system_is_dark()));
    });
    connect(scale_, QOverload<int>::of(&QComboBox::activated), this, [this] { QSettings().setValue(kScale, scale_->currentData()); });
    connect(editor_, &QLineEdit::textChanged, this, [](const QString& text) { QSettings().setValue(kEditor, text.trimmed()); });
    connect(python_, &QLineEdit::textChanged, this, [](const QString& text) { QSettings().setValue(kPython, text.trimmed()); });
    connect(last_, &QCheckBox::toggled, this, [](bool on) { QSettings().setValue(kLast, on); });
}

void Preferences::lay_out() {
    auto* form = new QFormLayout;
    form->setHorizontalSpacing(16);
    form->setVerticalSpacing(10);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    const auto row = [&](const QString& name, QWidget* field) {
        field->setAccessibleName(QString(name).remove(QLatin1Char('&')));
        if (field != last_) field->setMinimumWidth(320);
        auto* label = new QLabel(name);
        label->setBuddy(field);
        form->addRow(label, field);
    };
    row(tr("&Colours"), theme_);
    row(tr("&Size of everything"), scale_);
    auto* later = new QLabel(tr("Holds from the next start."));
    later->setEnabled(false);
    form->addRow(QString(), later);
    row(tr("&Editor for source lines"), editor_);
    row(tr("&Python that captures"), python_);
    row(QString(), last_);
    last_->setAccessibleName(last_->text());
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 20, 24, 16);
    column->setSpacing(16);
    column->addLayout(form);
    column->addWidget(buttons);
}

}  // namespace jaxscope::app
