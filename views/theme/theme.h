// SPDX-License-Identifier: Apache-2.0
#pragma once
// Colours, type and text of the window. Comes in: dark or light. Goes out: colours and fonts, read at paint time. Never here: the colours'
// values (report/palette.h has them for reports as well), widgets.
#include <QColor>
#include <QFont>
#include <QObject>
#include <QPalette>
#include <QPointer>
#include <QString>
#include <QWidget>
#include <vector>

#include "report/palette.h"

namespace jaxscope::views {

/// Colours and type of the window, read at paint time so that the theme can change while it runs. Colours themselves are declared
/// once, in report/palette.h.
class Theme {
public:
    explicit Theme(bool dark_theme = false) : dark_(dark_theme) {}
    bool dark() const { return dark_; }
    const Palette& palette() const { return dark_ ? dark_palette() : light_palette(); }
    QColor operator()(const char* colour) const;  ///< one of `palette`
    QPalette widget_palette() const;

private:
    bool dark_;
};

/// Carries the theme through all widgets, some of them in each event; the windows stand still until all have it.
class ThemeChanges : public QObject {
    Q_OBJECT
public:
    void begin();
    bool busy() const { return !still_.empty() || !waiting_.empty(); }

Q_SIGNALS:
    void changed();  ///< colours of one's own are to be set anew

private:
    void look_up_some();
    void end();
    void hold(QWidget* widget);
    void show_next();
    std::vector<QPointer<QWidget>> waiting_;  ///< for the sheet's colours, the last one first
    std::vector<QPointer<QWidget>> still_;    ///< windows and their panes
    bool telling_ = false;
};

/// The theme in force; `set_theme` styles the whole application: what is there already within the next events.
const Theme& theme();
void set_theme(bool dark);
ThemeChanges* theme_changes();
/// `act` when the theme changes: in an event of its own, for all of them together would take long.
template <class Of, class Act>
void on_theme_change(Of* of, Act act) {
    QObject::connect(theme_changes(), &ThemeChanges::changed, of, act, Qt::QueuedConnection);
}

constexpr double kReadableContrast = 4.5;  ///< of text and its ground: level AA of the Web Content Accessibility Guidelines
double contrast(const QColor& a, const QColor& b);
/// A colour for text on a ground: the one that is wanted, as much nearer to the ink as it must be to be read.
QColor readable_on(const QColor& ground, const QColor& wanted);

QFont text_font(int pixels = 12, bool bold = false);
QFont mono_font(int pixels = 12);
QFont head_font();          ///< section heads: 10 px semibold capitals
QString head_menu_style();  ///< of a QToolButton that is a head and opens a menu

QString utf8(const std::string& text);

}  // namespace jaxscope::views
