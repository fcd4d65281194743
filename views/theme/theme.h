// SPDX-License-Identifier: Apache-2.0
#pragma once
// Colours, type and text of the window. Comes in: dark or light. Goes out: colours and fonts, read at paint time. Never here: the colours'
// values (report/palette.h has them for reports as well), widgets.
#include <QColor>
#include <QFont>
#include <QObject>
#include <QPalette>
#include <QString>

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
    QString style_sheet() const;

private:
    bool dark_;
};

/// Tells widgets that colours of their own are to be set anew.
class ThemeChanges : public QObject {
    Q_OBJECT
Q_SIGNALS:
    void changed();
};

/// The theme in force; `set_theme` styles the whole application.
const Theme& theme();
void set_theme(bool dark);
ThemeChanges* theme_changes();

constexpr double kReadableContrast = 4.5;  ///< of text and its ground: level AA of the Web Content Accessibility Guidelines
double contrast(const QColor& a, const QColor& b);
/// A colour for text on a ground: the one that is wanted, as much nearer to the ink as it must be to be read.
QColor readable_on(const QColor& ground, const QColor& wanted);

QFont text_font(int pixels = 12, bool bold = false);
QFont mono_font(int pixels = 12);
QFont head_font();  ///< section heads: 10 px semibold capitals

QString utf8(const std::string& text);

}  // namespace jaxscope::views
