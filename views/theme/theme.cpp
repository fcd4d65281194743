// SPDX-License-Identifier: Apache-2.0
#include "theme/theme.h"

#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QFontDatabase>
#include <QHash>
#include <QSplitter>
#include <QStyle>
#include <QTimer>
#include <QWidget>
#include <algorithm>
#include <cmath>

namespace jaxscope::views {
namespace {

Theme& current() {
    static Theme value;
    return value;
}

/// Our own fonts lie beside the program's data; without them the desktop's do.
QString family(const char* wanted, QFontDatabase::SystemFont fallback) {
    static const QStringList installed = [] {
        const QDir folder(QCoreApplication::applicationDirPath());
        for (const char* fonts : {"share/jaxscope/fonts", "../share/jaxscope/fonts"})
            for (const QFileInfo& font : QDir(folder.filePath(QLatin1String(fonts))).entryInfoList({"*.otf", "*.ttf"}, QDir::Files))
                QFontDatabase::addApplicationFont(font.filePath());
        return QFontDatabase().families();
    }();
    return installed.contains(QLatin1String(wanted)) ? QString::fromLatin1(wanted) : QFontDatabase::systemFont(fallback).family();
}

/// Painting asks for fonts by the thousand: one that was made has its letters at hand, and looking through what is installed takes longer
/// than drawing. Never destroyed: what it holds of Qt goes before it would.
QFont kept_font(bool mono, int pixels, bool bold) {
    thread_local auto* const made = new QHash<int, QFont>;
    const int key = pixels * 4 + (mono ? 2 : 0) + (bold ? 1 : 0);
    if (const auto known = made->constFind(key); known != made->constEnd()) return *known;
    QFont font(mono ? family("JetBrains Mono", QFontDatabase::FixedFont) : family("Inter", QFontDatabase::GeneralFont));
    font.setPixelSize(pixels);
    if (bold) font.setWeight(QFont::DemiBold);
    if (mono) font.setStyleHint(QFont::Monospace);
    return *made->insert(key, font);
}

/// "#rrggbb", which is what palettes are made of.
int hex_digit(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

QString style_sheet() {
    QString sheet = QStringLiteral(
        "QMainWindow, QSplitter { background: @rule; }"
        "QSplitter::handle { background: @rule; }"
        "QToolTip { background: @panel; color: @ink; border: 1px solid @rule; padding: 4px; }"
        "QTreeView, QTableView { background: @panel; border: none; outline: none; selection-background-color: @selected; selection-color: "
        "@ink; }"
        "QTreeView::item { height: 24px; border: none; padding: 0px 6px 0px 6px; }"
        "QTreeView::item:hover, QTableView::item:hover { background: @hover; }"
        "QTreeView::item:selected, QTableView::item:selected { background: @selected; color: @ink; }"
        "QTreeView::branch:selected { background: @selected; }"
        "QHeaderView { background: @panel; border: none; }"
        "QHeaderView::section { background: @panel; color: @muted; border: none; border-bottom: 1px solid @rule; padding: 4px 11px 4px "
        "8px; "
        "font-size: 10px; font-weight: 600; }"
        "QTabWidget { background: @panel; } QTabWidget::pane { border: none; border-top: 1px solid @rule; } QTabBar { background: @panel; "
        "qproperty-drawBase: 0; }"
        "QTableView::item { border: none; padding: 0px 8px; } QHeaderView::up-arrow, QHeaderView::down-arrow { subcontrol-origin: padding; "
        "subcontrol-position: center right; width: 7px; height: 7px; right: 1px; }"
        "QTabBar::tab { background: @panel; color: @muted; padding: 7px 4px 6px 4px; margin: 0 12px 0 8px; border: none; border-bottom: "
        "3px solid transparent; }"
        "QTabBar::tab:selected { color: @ink; border-bottom: 3px solid @known; }"
        "QTabBar::tab:hover { color: @ink; } QTabBar::tab:selected:focus { background: @selected; }"
        "QComboBox, QLineEdit { background: @panel; border: 1px solid @rule; border-radius: 4px; padding: 2px 6px; "
        "min-height: 20px; selection-background-color: @selected; selection-color: @ink; }"
        "QComboBox:focus, QLineEdit:focus { border-color: @known; }"
        "QComboBox::drop-down { border: none; width: 16px; }"
        "QComboBox QAbstractItemView { background: @panel; color: @ink; border: 1px solid @rule; selection-background-color: @selected; "
        "selection-color: @ink; }"
        "QPushButton { background: @panel; color: @ink; border: 1px solid @rule; border-radius: 4px; padding: 4px 10px; min-height: 18px; }"
        "QPushButton:hover { background: @hover; } QPushButton:disabled { color: @muted; }"
        "QPushButton:focus { border-color: @known; }"
        "QPushButton#primary { background: @known; color: @onknown; border-color: @known; font-weight: 600; }"
        "QToolButton[checkable=\"true\"], QToolButton[lettered=\"true\"] { background: @panel; color: @ink; border: 1px solid @rule; "
        "border-radius: 4px; padding: 3px 8px; "
        "}"
        "QToolButton[checkable=\"true\"]:checked { background: @selected; border-color: @known; }"
        "QMenu { background: @panel; color: @ink; border: 1px solid @rule; } QMenu::item:selected { background: @selected; }"
        "QScrollBar:vertical { background: transparent; width: 10px; margin: 0; } QScrollBar:horizontal { background: transparent; height: "
        "10px; margin: 0; }"
        "QScrollBar::handle { background: @edge; border-radius: 3px; margin: 2px; min-height: 24px; min-width: 24px; }"
        "QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; } QScrollBar::add-page, QScrollBar::sub-page { background: "
        "transparent; }"
        "QCheckBox::indicator:unchecked, QRadioButton::indicator:unchecked, QAbstractItemView::indicator:unchecked { border: 1px solid "
        "@muted; border-radius: 2px; background: @panel; }"
        "QRadioButton::indicator:unchecked { border-radius: 6px; }"
        "QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }"
        "QAbstractScrollArea::corner { background: transparent; border: none; }"
        "QGraphicsView { border: none; background: @canvas; }"
        "QScrollArea { border: none; background: @panel; }");
    // Longer names first: @known is the beginning of none of the others, @rule and the rest are unique.
    const std::pair<const char*, const char*> names[] = {{"@onknown", "bright-text"},   {"@selected", "highlight"}, {"@known", "link"},
                                                         {"@canvas", "alternate-base"}, {"@panel", "window"},       {"@muted", "dark"},
                                                         {"@hover", "midlight"},        {"@rule", "mid"},           {"@edge", "shadow"},
                                                         {"@ink", "window-text"}};
    for (const auto& [name, value] : names) sheet.replace(QLatin1String(name), QStringLiteral("palette(%1)").arg(QLatin1String(value)));
    return sheet;
}

constexpr int kAtOnce = 15;  // ms of an event

}  // namespace

QColor Theme::operator()(const char* colour) const {
    const auto part = [&](int at) { return hex_digit(colour[at]) * 16 + hex_digit(colour[at + 1]); };
    return {part(1), part(3), part(5)};
}

const Theme& theme() { return current(); }

void set_theme(bool dark) {
    const bool first = qApp->styleSheet().isEmpty();
    if (dark == current().dark() && !first) return;
    current() = Theme(dark);
    qApp->setPalette(theme().widget_palette());
    if (!first) return theme_changes()->begin();
    qApp->setFont(text_font());
    qApp->setStyleSheet(style_sheet());
}

void ThemeChanges::begin() {
    const bool looking = !waiting_.empty();
    for (QWidget* window : QApplication::topLevelWidgets()) {
        if (!window->isVisible() || !window->updatesEnabled()) continue;
        hold(window);
        for (const QSplitter* splitter : window->findChildren<QSplitter*>())
            for (int pane = 0; pane < splitter->count(); ++pane)
                if (QWidget* widget = splitter->widget(pane); qobject_cast<QSplitter*>(widget) == nullptr && widget->isVisible())
                    hold(widget);
    }
    waiting_.clear();
    for (QWidget* widget : QApplication::allWidgets()) waiting_.emplace_back(widget);
    if (!looking) QTimer::singleShot(0, this, &ThemeChanges::look_up_some);
    telling_ = false;
}

/// The sheet names roles of the palette and stays; but Qt looks them up once for each widget, and has no other way to ask for it again.
/// To set another sheet takes five times as long.
void ThemeChanges::look_up_some() {
    QElapsedTimer clock;
    clock.start();
    for (; !waiting_.empty() && clock.elapsed() < kAtOnce; waiting_.pop_back()) {
        QWidget* widget = waiting_.back();
        if (widget == nullptr || !widget->testAttribute(Qt::WA_StyleSheet)) continue;
        widget->style()->unpolish(widget);
        widget->style()->polish(widget);
    }
    if (!waiting_.empty()) return QTimer::singleShot(0, this, &ThemeChanges::look_up_some);
    telling_ = true;
    Q_EMIT changed();
    QMetaObject::invokeMethod(this, &ThemeChanges::end, Qt::QueuedConnection);  // behind all whom that told
}

void ThemeChanges::end() {
    if (!telling_) return;  // another theme was chosen meanwhile
    telling_ = false;
    show_next();
}

void ThemeChanges::hold(QWidget* widget) {
    widget->setUpdatesEnabled(false);
    still_.emplace_back(widget);
}

/// A window, then what is in its panes: each is painted before the next one.
void ThemeChanges::show_next() {
    if (still_.empty() || !waiting_.empty()) return;  // another theme was chosen meanwhile
    const QPointer<QWidget> widget = still_.front();
    still_.erase(still_.begin());
    if (widget != nullptr) {
        widget->setUpdatesEnabled(true);
        // Qt believes that it has asked for what was to be painted meanwhile, and asks no more.
        QCoreApplication::postEvent(widget->window(), new QEvent(QEvent::UpdateRequest));
    }
    QTimer::singleShot(0, this, &ThemeChanges::show_next);
}

ThemeChanges* theme_changes() {
    static ThemeChanges changes;
    return &changes;
}

double contrast(const QColor& a, const QColor& b) {
    const auto linear = [](double c) { return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    const auto light = [&](const QColor& c) {
        return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
    };
    const double x = light(a), y = light(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

QColor readable_on(const QColor& ground, const QColor& wanted) {
    const QColor ink = theme()(theme().palette().ink);
    QColor out = wanted;
    constexpr int kSteps = 10;
    for (int step = 1; step <= kSteps && contrast(out, ground) < kReadableContrast; ++step) {
        const auto between = [&](double from, double to) { return from + (to - from) * step / kSteps; };
        out = QColor::fromRgbF(between(wanted.redF(), ink.redF()), between(wanted.greenF(), ink.greenF()),
                               between(wanted.blueF(), ink.blueF()));
    }
    return out;
}

QFont text_font(int pixels, bool bold) { return kept_font(false, pixels, bold); }
QFont mono_font(int pixels) { return kept_font(true, pixels, false); }

QFont head_font() {
    QFont font = text_font(10, true);
    font.setLetterSpacing(QFont::AbsoluteSpacing, 0.4);
    font.setCapitalization(QFont::AllUppercase);
    return font;
}

QString head_menu_style() {
    const Palette& p = theme().palette();
    return QStringLiteral(
               "QToolButton { color: %1; border: none; padding: 0px 12px 0px 0px; background: transparent; }"
               "QToolButton:hover, QToolButton:focus { color: %2; } QToolButton::menu-indicator { width: 9px; "
               "subcontrol-position: right center; right: 0px; }")
        .arg(QLatin1String(p.muted), QLatin1String(p.ink));
}

QString utf8(const std::string& text) { return QString::fromUtf8(text.data(), static_cast<int>(text.size())); }

QPalette Theme::widget_palette() const {
    const Palette& p = palette();
    const Theme& colour = *this;
    QPalette out;
    out.setColor(QPalette::Window, colour(p.panel));
    out.setColor(QPalette::Base, colour(p.panel));
    out.setColor(QPalette::AlternateBase, colour(p.canvas));
    out.setColor(QPalette::Button, colour(p.panel));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText, QPalette::HighlightedText})
        out.setColor(role, colour(p.ink));
    out.setColor(QPalette::ToolTipBase, colour(p.panel));
    out.setColor(QPalette::Highlight, colour(p.selected_row));
    out.setColor(QPalette::PlaceholderText, colour(p.muted));
    // What the sheet asks for by these names, as there are no others.
    out.setColor(QPalette::Mid, colour(p.rule));
    out.setColor(QPalette::Midlight, colour(p.hover));
    out.setColor(QPalette::Shadow, colour(p.edge));
    out.setColor(QPalette::Dark, colour(p.muted));
    out.setColor(QPalette::Link, colour(p.known));
    out.setColor(QPalette::BrightText, dark_ ? colour("#14181d") : colour("#ffffff"));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        out.setColor(QPalette::Disabled, role, colour(p.muted));
    return out;
}

}  // namespace jaxscope::views
