//! A copy of the source, in which bugs are planted and built.
//!
//! It is always at the same place, `source` in the target directory, since cargo takes a package at
//! another path for another package and would build everything anew. Only files that differ are
//! written, so that a build has little to do. A lock keeps a second proof out.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use super::{Bug, Trouble};
use crate::runner::Stopwatch;

/// What makes a simulator out of a patch soonest. At a higher level of optimisation, functions of one
/// package end up in the code of another, and with fewer units of code generation much stands beside what
/// is patched: either way a small patch makes the compiler do much again.
const PROFILE: [&str; 3] = ["lto=false", "codegen-units=256", "incremental=true"];
const OF_PACKAGES: [&str; 2] = ["opt-level=1", "debug=false"];
const PACKAGES: [&str; 3] = ["kaas-coordinator", "model", "sim"];

/// How much of a tool's complaint is told.
const COMPLAINT: usize = 12;

/// A copy of the source.
#[derive(Debug)]
pub struct Workshop {
    root: PathBuf,
    copy: PathBuf,
    target: PathBuf,
    _lock: File,
}

/// A simulator that was built.
#[derive(Debug)]
pub struct Build {
    /// Where it is, until the next is built.
    pub program: PathBuf,
    /// How long it took.
    pub took: Duration,
}

impl Workshop {
    /// Copies the source of the git checkout we are in, as it is now.
    pub fn open(target: Option<&Path>) -> Result<Self, Trouble> {
        let top = run(Command::new("git").args(["rev-parse", "--show-toplevel"]))?;
        let root = match lines(&top.stdout).first() {
            Some(root) if top.status.success() => PathBuf::from(root),
            Some(_) | None => {
                let cure = "this is no git checkout; run it in one of the simulator's source";
                return Err(Trouble::Outside(cure.to_owned()));
            }
        };
        let target = match (target, env::var_os("CARGO_TARGET_DIR")) {
            (Some(target), _) => target.to_owned(),
            (None, Some(cargos)) => Path::new(&cargos).join("prove"),
            (None, None) => root.join("target/prove"),
        };
        let copy = target.join("source");
        fs::create_dir_all(&copy).map_err(failed("create", &copy))?;
        let target = target.canonicalize().map_err(failed("find", &target))?;
        let path = target.join("lock");
        let lock = File::create(&path).map_err(failed("create", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let cure = format!(
                    "another proof is at work in {}; wait, or name another with --target-dir",
                    target.display()
                );
                return Err(Trouble::Outside(cure));
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
        }
        let workshop = Self { root, copy: target.join("source"), target, _lock: lock };
        workshop.copy_all()?;
        Ok(workshop)
    }

    /// Where the source is that was copied.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The copy, in which nothing changes but by us.
    pub fn copy(&self) -> &Path {
        &self.copy
    }

    /// The commit that was copied, and whether it was changed since.
    pub fn commit(&self) -> Result<String, Trouble> {
        let git = |args: &[&str]| run(Command::new("git").current_dir(&self.root).args(args));
        let hash = git(&["rev-parse", "--short", "HEAD"])?;
        let status = git(&["status", "--porcelain", "--untracked-files=no"])?;
        let changed = if status.stdout.is_empty() { "" } else { ", changed since" };
        Ok(String::from_utf8_lossy(&hash.stdout).trim().to_owned() + changed)
    }

    /// Whether a bug's patch applies.
    pub fn check(&self, bug: &Bug) -> Result<(), Trouble> {
        self.apply(bug, &["--check"])
    }

    /// Plants a bug and builds the simulator; then the copy is as it was, and the program is there
    /// until the next is built.
    pub fn build_with(&self, bug: &Bug) -> Result<Build, Trouble> {
        let planted = self.apply(bug, &[]);
        let built = planted.and_then(|()| self.build(&format!("{} does not", bug.path.display())));
        let restored = bug.files.iter().try_for_each(|it| self.copy_one(it));
        built.and_then(|it| restored.map(|()| it))
    }

    /// Builds the simulator; `who` begins the complaint if that fails.
    pub fn build(&self, who: &str) -> Result<Build, Trouble> {
        let watch = Stopwatch::start();
        let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let mut command = Command::new(cargo);
        command.current_dir(&self.copy).env_remove("RUSTFLAGS").env("RUSTC_WRAPPER", "");
        command.args(["build", "--quiet", "--release", "--package", "sim", "--target-dir"]);
        command.arg(&self.target);
        for setting in settings() {
            command.args(["--config", &format!("profile.release.{setting}")]);
        }
        let output = run(&mut command)?;
        if !output.status.success() {
            let complaint = complaint(&output);
            return Err(Trouble::Patch(format!("{who} compile any more:\n{complaint}")));
        }
        Ok(Build { program: self.target.join("release/sim"), took: watch.elapsed() })
    }

    fn apply(&self, bug: &Bug, flags: &[&str]) -> Result<(), Trouble> {
        let path = bug.path.canonicalize().map_err(failed("find", &bug.path))?;
        let mut git = Command::new("git");
        // The copy may lie inside the checkout, whose index has no say here.
        git.current_dir(&self.copy).env("GIT_CEILING_DIRECTORIES", &self.target);
        let output = run(git.arg("apply").args(flags).arg(path))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Trouble::Patch(format!(
            "{} does not apply any more: make the change again by hand, and the patch with \
             `git diff` behind the same header\n{}",
            bug.path.display(),
            complaint(&output)
        )))
    }

    /// Makes the copy what the checkout is.
    fn copy_all(&self) -> Result<(), Trouble> {
        let mut git = Command::new("git");
        let listed = run(git.current_dir(&self.root).args(["ls-files", "-z"]))?;
        let names = listed.stdout.split(|it| *it == 0).filter(|it| !it.is_empty());
        let files: BTreeSet<_> =
            names.map(|it| PathBuf::from(&*String::from_utf8_lossy(it))).collect();
        for file in files.iter().filter(|it| self.root.join(it).is_file()) {
            self.copy_one(file)?;
        }
        remove_strangers(&self.copy, Path::new(""), &files)
    }

    /// Makes one file of the copy what it is in the checkout; it is not written if it is that.
    fn copy_one(&self, file: &Path) -> Result<(), Trouble> {
        let (from, to) = (self.root.join(file), self.copy.join(file));
        if !from.exists() {
            return fs::remove_file(&to).map_err(failed("remove", &to));
        }
        let content = fs::read(&from).map_err(failed("read", &from))?;
        if fs::read(&to).is_ok_and(|it| it == content) {
            return Ok(());
        }
        let dir = to.parent().expect("a file is in a directory");
        fs::create_dir_all(dir).map_err(failed("create", dir))?;
        fs::write(&to, content).map_err(failed("write", &to))
    }
}

fn settings() -> impl Iterator<Item = String> {
    let of = |package| OF_PACKAGES.map(|it| format!("package.{package}.{it}"));
    PROFILE.into_iter().map(str::to_owned).chain(PACKAGES.into_iter().flat_map(of))
}

/// Removes what an earlier source had and this one has not.
fn remove_strangers(copy: &Path, dir: &Path, files: &BTreeSet<PathBuf>) -> Result<(), Trouble> {
    let full = copy.join(dir);
    for entry in fs::read_dir(&full).map_err(failed("list", &full))? {
        let entry = entry.map_err(failed("list", &full))?;
        let path = dir.join(entry.file_name());
        if entry.file_type().is_ok_and(|it| it.is_dir()) {
            remove_strangers(copy, &path, files)?;
        } else if !files.contains(&path) {
            fs::remove_file(entry.path()).map_err(failed("remove", &path))?;
        }
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<Output, Trouble> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.output().map_err(|error| Trouble::Outside(format!("could not run {program}: {error}")))
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

/// The first lines of what a tool complained about.
fn complaint(output: &Output) -> String {
    let lines = lines(&output.stderr);
    let lines: Vec<_> = lines.iter().take(COMPLAINT).map(|it| format!("  {it}")).collect();
    lines.join("\n")
}

fn failed(verb: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Trouble {
    let what = format!("could not {verb} {}", path.display());
    move |error| Trouble::Outside(format!("{what}: {error}"))
}
