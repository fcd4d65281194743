// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fstream>
#include <initializer_list>
#include <string>

namespace jaxscope {

/// The one way in which jaxscope writes files: into a temporary file beside `path`, renamed over it by `commit`. Without `commit`
/// (an error on the way) the old file stays as it was and the temporary one is removed; where the file system can, it has no name before
/// it is whole, so that not even SIGKILL leaves it behind. Symbolic links are followed. What is no
/// regular file (/dev/stdout, a pipe) can't be replaced and is written to directly.
class AtomicFile {
public:
    explicit AtomicFile(std::string path);  ///< throws Error{BadUsage} for a directory, and when the folder can't be written
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    std::ostream& stream() { return out_; }
    /// Flushes, syncs and renames. Throws Error{CannotRun} when the disk is full.
    void commit() { commit({this}); }
    /// Renames none before all are whole on the disk, and nothing stops it from renaming the last once it renamed the first.
    static void commit(std::initializer_list<AtomicFile*> files);

private:
    int make_temporary();
    void make_whole();
    void give_name();
    void put_in_place();

    std::string path_, target_, temporary_;  ///< as named; where links lead; empty when written directly, or without a name as yet
    int nameless_ = -1;                      ///< the temporary file, where it has no name before it is whole
    std::ofstream out_;
    bool done_ = false;
};

/// `asked` is called when files are whole and about to be put in place. If it throws, they aren't: whoever can stop the process decides
/// there that it won't any more, so that no result is left behind by what is said to have been cancelled.
void ask_before_files_change(void (*asked)());

/// While it stands, what this thread writes is for a child process, not a result: nobody is asked.
class FilesForAChild {
public:
    FilesForAChild();
    ~FilesForAChild();
    FilesForAChild(const FilesForAChild&) = delete;
    FilesForAChild& operator=(const FilesForAChild&) = delete;
};

/// Removes the temporary files of all AtomicFiles: for a process that ends without unwinding.
void remove_unfinished_files();

}  // namespace jaxscope
