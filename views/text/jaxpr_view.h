// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program's text as JAX prints it. Comes in: a program, the selection. Goes out: the equation that was clicked, as a selection. Never
// here: how a jaxpr is printed.
#include <QPlainTextEdit>
#include <memory>

#include "background/background.h"
#include "ir/print/printer.h"
#include "ir/program.h"
#include "selection/selection.h"
#include "session/session.h"

namespace KSyntaxHighlighting {
class SyntaxHighlighter;
}

namespace jaxscope::views {

/// Made in the background when it is looked at for the first time. Of a long text the first lines are shown, and how many there are.
class JaxprView : public QPlainTextEdit {
    Q_OBJECT
public:
    static constexpr int kMostLines = 20'000, kLinesAtOnce = 100;
    explicit JaxprView(Selection* selection, QWidget* parent = nullptr);
    ~JaxprView() override;
    void set_program(const ProgramPtr& program);
    bool busy() const { return printing_.busy() || (printed_ && shown_parts_ < printed_->parts.size()); }
    int marked() const { return marked_; }  ///< line of what is selected, from 1; 0: none
    void restyle();

protected:
    void showEvent(QShowEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;

private:
    struct Printed {
        QStringList parts;  ///< of kLinesAtOnce lines each
        std::vector<EqnLine> equations;
        std::int64_t lines = 0;
    };
    void print();
    void take(const std::shared_ptr<const Printed>& printed);
    void show_more();
    void mark_selected(bool bring_into_view);
    void pick_line(int line);

    Selection* selection_;
    ProgramPtr program_;
    std::shared_ptr<const Printed> printed_;
    bool asked_ = false, own_pick_ = false;
    int shown_parts_ = 0;
    int marked_ = 0;
    Latest printing_;
    std::unique_ptr<KSyntaxHighlighting::SyntaxHighlighter> colours_;
};

}  // namespace jaxscope::views
