// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QDialog>

class QCheckBox;
class QComboBox;
class QLineEdit;

namespace jaxscope::app {

enum class ThemeChoice { System, Light, Dark };
ThemeChoice kept_theme();
void keep_theme(ThemeChoice choice);
/// Is it dark? `system`: of the desktop, as it was before the window's own colours.
bool is_dark(ThemeChoice choice, bool system);
/// Of the desktop; asked before the application is styled.
bool system_is_dark();

/// In percent of the desktop's own; read before the application begins.
int kept_scale();

/// What opens a line of source: words with {file} and {line}; empty: the desktop decides.
QString kept_editor();
bool opens_last_at_start();

/// What stays as the user wants it, from one day to the next. All holds at once, but for the size.
class Preferences : public QDialog {
    Q_OBJECT
public:
    explicit Preferences(QWidget* parent = nullptr);
    QComboBox* theme_box() const { return theme_; }
    QComboBox* scale_box() const { return scale_; }
    QLineEdit* editor() const { return editor_; }
    QLineEdit* python() const { return python_; }
    QCheckBox* open_last() const { return last_; }

private:
    void lay_out();
    QComboBox *theme_, *scale_;
    QLineEdit *editor_, *python_;
    QCheckBox* last_;
};

}  // namespace jaxscope::app
