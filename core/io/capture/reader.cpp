// SPDX-License-Identifier: Apache-2.0
#include "io/capture/reader.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/zero_bytes.h"
#include "io/arrays/npz.h"
#include "io/capture/byte_source.h"
#include "io/capture/document.h"
#include "ir/type_check.h"

namespace jaxscope {

namespace {

/// The bytes of a source one by one, as nlohmann's parser asks for them.
class ByteIterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;
    ByteIterator() = default;
    explicit ByteIterator(ByteSource& source) : source_(&source) { refill(); }
    char operator*() const { return *at_; }
    ByteIterator& operator++() {
        if (++at_ == end_) refill();
        return *this;
    }
    friend bool operator==(const ByteIterator& a, const ByteIterator& b) { return a.at_ == b.at_; }

private:
    void refill() {
        const std::string_view chunk = source_->next();
        refuse_zero_bytes(chunk, before_, source_->name());
        before_ += static_cast<std::int64_t>(chunk.size());
        at_ = chunk.empty() ? nullptr : chunk.data();
        end_ = at_ + chunk.size();
    }
    ByteSource* source_ = nullptr;
    std::int64_t before_ = 0;
    const char* at_ = nullptr;
    const char* end_ = nullptr;
};

/// Hands the parser's events on. All errors leave as exceptions, so every event says "go on".
class SaxAdapter {
public:
    explicit SaxAdapter(CaptureDocument& document) : document_(document) {}
    bool null() { return document_.scalar_null(), true; }
    bool boolean(bool v) { return document_.scalar_bool(v), true; }
    bool number_integer(std::int64_t v) { return document_.scalar_int(v), true; }
    bool number_unsigned(std::uint64_t v) { return document_.scalar_uint(v), true; }
    bool number_float(double v, const std::string&) { return document_.scalar_float(v), true; }
    bool string(std::string& v) { return document_.scalar_string(v), true; }
    bool binary(nlohmann::json::binary_t&) { return true; }
    bool start_object(std::size_t) { return document_.begin(JsonKind::Object), true; }
    bool key(std::string& v) { return document_.key(v), true; }
    bool end_object() { return document_.end(), true; }
    bool start_array(std::size_t) { return document_.begin(JsonKind::Array), true; }
    bool end_array() { return document_.end(), true; }
    bool parse_error(std::size_t position, const std::string& last, const nlohmann::json::exception& e) {
        const std::string what = e.what();
        std::string found = "'" + printable(last, 40) + "'";
        if (what.find("unexpected end of input") != std::string::npos) found = "the end of the file";
        if (what.find("ill-formed UTF-8") != std::string::npos) found += " (no valid UTF-8)";
        document_.syntax_error(found + " at byte " + std::to_string(position));
    }

private:
    CaptureDocument& document_;
};

std::shared_ptr<Program> parse(ByteSource& source, CaptureDocument& document, std::shared_ptr<Program> program) {
    SaxAdapter sax(document);
    nlohmann::json::sax_parse(ByteIterator(source), ByteIterator(), &sax);
    document.finish();
    program->file_bytes = source.bytes_in();
    return program;
}

FilePlaces places_in(const std::vector<JaxprPtr>& jaxprs, const std::string& file) {
    return [&jaxprs, &file](const Jaxpr& j, std::size_t eqn, const Error&) {
        const auto at = std::find_if(jaxprs.begin(), jaxprs.end(), [&](const JaxprPtr& p) { return p.get() == &j; });
        FilePlace place{{file}, "$.jaxprs[" + std::to_string(at - jaxprs.begin()) + "]"};
        if (eqn != kWholeJaxpr) place.path += ".eqns[" + std::to_string(eqn) + "]";
        return place;
    };
}

ProgramPtr read(ByteSource& source, const std::string& archive, const ReadOptions& options) {
    auto program = std::make_shared<Program>();
    try {
        CaptureDocument document(*program, source.name());
        parse(source, document, program);
        program->path = source.name();
        if (options.arrays && !archive.empty()) read_archive_arrays(archive, document.tables().arrays());
        if (options.check) check_program(*program, places_in(document.tables().jaxprs(), source.name()));
    } catch (Error& e) {
        e.at({source.name()});
        throw;
    }
    return program;
}

}  // namespace

ProgramPtr read_capture(const std::string& path, const ReadOptions& options) {
    const bool standard_input = path == "-";
    const auto source = ByteSource::file(standard_input ? "/dev/stdin" : path);
    return read(*source, standard_input ? std::string() : archive_of(path), options);
}

ProgramPtr read_capture_text(std::string_view bytes, const std::string& name, const ReadOptions& options) {
    const auto source = ByteSource::text(bytes, name);
    return read(*source, {}, options);
}

}  // namespace jaxscope
