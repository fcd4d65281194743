// SPDX-License-Identifier: Apache-2.0
#pragma once
// The user's files with what each line holds. Comes in: a program's files, line costs (picture). Goes out: the line that was clicked, as a
// selection. Never here: whose line holds what.
#include <QPlainTextEdit>
#include <map>
#include <memory>

#include "picture/line_costs.h"
#include "selection/selection.h"
#include "session/session.h"

class QComboBox;
class QLabel;
class QStackedWidget;
namespace jaxscope::views {

class ReadableColours;
class ShortLabel;

/// One file's text, read only, with a margin at its left: the line's number, what it makes autodiff save, what of it is alive at the peak,
/// and after a run the time that it took.
class CodePane : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit CodePane(QWidget* parent = nullptr);
    ~CodePane() override;
    void set_text(const QString& path, const QString& text);
    void set_costs(const FileCosts& costs);
    /// Of a run, by line; empty: nothing was run, and there is no column for it.
    void set_times(std::map<int, double> seconds);
    /// Marks a line, and brings it into view; 0: none.
    void mark(int line);
    int marked() const { return marked_; }
    void restyle();
    /// What stands in the margin beside a line, as it is painted.
    QString margin_text(int line) const;

Q_SIGNALS:
    void line_clicked(int line);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    class Margin;
    class Head;
    void paint_margin(QWidget& margin, const QRect& rect);
    void paint_line(QPainter& painter, const QRect& row, int line) const;
    void place_margin();
    int line_at(int y) const;
    int number_width() const;
    int margin_width() const;
    FileCosts costs_;
    std::map<int, double> seconds_;
    std::int64_t most_saved_ = 0, most_at_peak_ = 0;  ///< of one line
    double most_seconds_ = 0;
    int marked_ = 0;
    QString path_;
    Margin* margin_;
    Head* head_;
    std::unique_ptr<ReadableColours> colours_;
};

/// The Source tab: which file, its text, and a button that opens it in the editor.
class SourceView : public QWidget {
    Q_OBJECT
public:
    explicit SourceView(Selection* selection, QWidget* parent = nullptr);
    void set_program(ProgramPtr program);
    void set_look(const Look& look);
    void restyle() { code_->restyle(); }
    QComboBox* files() const { return files_; }
    CodePane* code() const { return code_; }
    /// Where the shown file is on this machine; empty: it isn't here.
    QString file_here() const;

Q_SIGNALS:
    void open_requested(const QString& file, int line);

private:
    void fill_files();
    void show_file(const std::string& path);
    void follow(const Picked& picked);
    void pick(int line);
    Selection* selection_;
    ProgramPtr program_;
    Look look_;
    std::vector<FileCosts> costs_;
    std::string shown_;  ///< path of the file
    QComboBox* files_;
    QWidget* open_;
    ShortLabel* total_;
    QLabel* nothing_;
    QStackedWidget* pages_;
    CodePane* code_;
};

}  // namespace jaxscope::views
