#pragma once
#include <fstream>
#include <string>

namespace jaxscope {

/// The one way in which jaxscope writes files: into a temporary file beside `path`, renamed over it by `commit`. Without `commit`
/// (an error on the way) the old file stays as it was and the temporary one is removed.
class AtomicFile {
public:
    explicit AtomicFile(std::string path);  ///< throws Error{BadUsage} when the folder can't be written
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    std::ostream& stream() { return out_; }
    /// Flushes, syncs and renames. Throws Error{CannotRun} when the disk is full.
    void commit();

private:
    std::string path_, temporary_;
    std::ofstream out_;
    bool done_ = false;
};

}  // namespace jaxscope
