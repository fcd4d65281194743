// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of a jaxpr as JAX prints it, with its equations. Comes in: a jaxpr, lines to mark. Goes out: equations that are clicked or
// pointed at. Never here: how a jaxpr is printed, and what an equation is to others.
#include <QPlainTextEdit>
#include <memory>

#include "background/background.h"
#include "ir/print/printer.h"

namespace jaxscope::views {

class ReadableColours;

/// Printed in the background when it is looked at for the first time. Of a long text the first lines are shown, and how many there are.
class JaxprText : public QPlainTextEdit {
    Q_OBJECT
public:
    static constexpr int kMostLines = 20'000, kLinesAtOnce = 100;
    explicit JaxprText(QWidget* parent = nullptr);
    ~JaxprText() override;
    /// `width`: where lines are broken (PrintOptions).
    void set_jaxpr(const JaxprPtr& jaxpr, int width = PrintOptions().width);
    /// A sentence in place of a jaxpr.
    void tell(const QString& sentence);
    bool busy() const { return printing_.busy() || (printed_ && shown_parts_ < printed_->parts.size()); }
    /// In the order of the text; empty until it is printed.
    const std::vector<EqnLine>& equations() const;
    /// The equation that begins on the line (from 0), else the one of which it is a part: the last one before. Null: none.
    const EqnLine* equation_at(int line) const;
    /// Lines to stand out, from 0; `bring_into_view`: the first of them.
    void mark(const std::vector<int>& lines, bool bring_into_view);
    const std::vector<int>& marked_lines() const { return marked_; }
    virtual void restyle();

Q_SIGNALS:
    void printed();  ///< all of it is shown
    void clicked(const jaxscope::EqnLine* equation);
    void pointed_at(const jaxscope::EqnLine* equation);  ///< null: at none any more

protected:
    void showEvent(QShowEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    struct Printed {
        QStringList parts;  ///< of kLinesAtOnce lines each
        std::vector<EqnLine> equations;
        std::int64_t lines = 0;
    };
    void print();
    void take(const std::shared_ptr<const Printed>& printed);
    void show_more();
    void point_at(const EqnLine* equation);

    JaxprPtr jaxpr_;
    int width_ = 0;
    std::shared_ptr<const Printed> printed_;
    bool asked_ = false;
    int shown_parts_ = 0;
    std::vector<int> marked_;
    const EqnLine* pointed_ = nullptr;
    Latest printing_;
    std::unique_ptr<ReadableColours> colours_;
};

}  // namespace jaxscope::views
