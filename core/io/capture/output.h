// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json_writer.h"
#include "io/arrays/npz.h"
#include "io/capture/write_options.h"
#include "ir/program.h"

namespace jaxscope {

/// The tables of a capture while it is being written: every `add` gives the index of an element, which is written at its first use.
class CaptureOutput {
public:
    CaptureOutput(const Program& program, const WriteOptions& options, std::vector<NpzArray>* archive);
    std::string text();

private:
    /// Elements as JSON; equal elements are one.
    class Table {
    public:
        std::int64_t add(std::string element);
        std::int64_t append(const std::string& element);  ///< though an equal one may be there
        const std::string& elements() const { return text_; }

    private:
        std::string text_;
        std::unordered_map<std::string, std::int64_t> index_;
        std::int64_t size_ = 0;
    };
    std::int64_t string(Sym s);
    std::int64_t aval(AvalRef a);
    std::int64_t file(const std::string& path, bool project);
    std::int64_t frame(const Frame& f);
    std::int64_t source(SourceRef s);
    std::int64_t context(ContextRef c);
    std::int64_t literal(LiteralRef l);
    std::int64_t array(const ArrayPtr& a);
    std::int64_t params(const ParamsRef& p);
    std::int64_t jaxpr(const JaxprPtr& j) const;

    void attr(JsonWriter& w, const Attr& a);
    void record(JsonWriter& w, const Attr::Record& r);
    void policy(JsonWriter& w, const PolicySpec& p);
    void sequence(JsonWriter& w, const Attr::Seq& s);
    void add_jaxprs(const JaxprPtr& root);
    void write_jaxpr(const Jaxpr& j);
    void write_eqn(JsonWriter& w, const Jaxpr& j, const Eqn& e);
    void write_atoms(JsonWriter& w, std::span<const Atom> atoms);
    std::string rules();
    std::string marked();
    std::string program();
    std::string regions();
    std::string xla() const;
    std::string targets() const;  ///< with its key; nothing where there are none
    std::string head();

    const Program& program_;
    const WriteOptions& options_;
    std::vector<NpzArray>* archive_;
    Table strings_, avals_, frames_, tracebacks_, name_stacks_, sources_, contexts_, literals_, arrays_, params_;
    std::string files_, jaxprs_;
    std::unordered_map<std::string, std::int64_t> file_index_;
    std::unordered_map<std::uint32_t, std::int64_t> string_ids_, aval_ids_, source_ids_, context_ids_, literal_ids_;
    std::unordered_map<const ArrayConst*, std::int64_t> array_ids_;
    std::vector<ArrayPtr> kept_arrays_;
    struct ParamsHash {
        std::size_t operator()(const ParamsRef& p) const { return p->hash(); }
    };
    std::unordered_map<ParamsRef, std::int64_t, ParamsHash> params_ids_;
    std::unordered_map<const Jaxpr*, std::int64_t> jaxpr_ids_;
    std::vector<JaxprPtr> roots_;
};

/// `write(writer)` as a text of its own.
template <class Write>
std::string json_text(Write write) {
    std::ostringstream out;
    JsonWriter w(out, false);
    write(w);
    return std::move(out).str();
}
void write_elements(JsonWriter& w, const ArrayConst& a);
void write_literal_value(JsonWriter& w, const Literal& l);

}  // namespace jaxscope
