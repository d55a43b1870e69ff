"""Programs of a few seconds: a database, version control, a compiler, interpreters, compressors."""
import random
from typing import Dict

from runner import Outcome, Program, Runner, digest

WORDS = "memory page heap array kernel device host copy fault block stream list tree node leaf root".split()


def text(lines: int, seed: int) -> bytes:
    """Compresses like prose; the same on every machine."""
    chosen = random.Random(seed)
    return "".join(" ".join(chosen.choices(WORDS, k=9)) + f" {chosen.randrange(10**6)}\n"
                   for _ in range(lines)).encode()


def sqlite3(run: Runner) -> Outcome:
    run.need("sqlite3")
    rows = 200000 if run.full else 20000
    script = f"""
        PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY;
        CREATE TABLE item(id INTEGER PRIMARY KEY, grp INT, weight REAL, name TEXT, data BLOB);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
            INSERT INTO item SELECT i, i * 7919 % 613, i * 0.37, printf('name %06d', i * 104729 % {rows}),
                                    zeroblob(i % 97) FROM n;
        INSERT INTO item SELECT id + {rows}, grp, weight, name, zeroblob(3000000) FROM item WHERE id <= 3;
        CREATE INDEX by_name ON item(name); CREATE INDEX by_group ON item(grp, weight);
        SELECT grp, count(*), round(sum(weight), 3), max(name), sum(length(data)) FROM item GROUP BY grp ORDER BY 2, 1;
        SELECT name, rank() OVER (PARTITION BY grp ORDER BY weight DESC) AS r FROM item WHERE grp < 20 ORDER BY r, name;
        SELECT a.grp, count(*) FROM item a JOIN item b ON a.grp = b.grp AND b.id < 400 GROUP BY a.grp ORDER BY 1;
        SELECT length(group_concat(name)), hex(substr(group_concat(name), 1, 40)) FROM item;
        SELECT json_group_array(json_object('n', name, 'w', weight)) FROM item WHERE grp = 5;
        UPDATE item SET name = upper(name), data = x'' WHERE grp % 3 = 0;
        DELETE FROM item WHERE grp % 5 = 0; VACUUM; PRAGMA integrity_check;
        SELECT count(*), group_concat(DISTINCT substr(name, 1, 6)) FROM item;
        """
    queries = "".join(f"SELECT count(*), round(avg(weight), 6) FROM item WHERE name LIKE '%{i:03d}%' OR grp = {i};\n"
                      for i in range(200 if run.full else 60))
    result = run.call("sqlite3", "data.db", stdin=(script + queries).encode())
    dump = run.call("sqlite3", "data.db", ".dump")
    return {"summary": f"{rows} rows", "queries": result, "dump": [dump[0], digest(dump[1]), dump[2]],
            "database": run.hashes("data.db")}


def history(commits: int) -> bytes:
    """For git fast-import: files that change, are added and removed."""
    stream = []
    for i in range(1, commits + 1):
        content = text(50 + i % 200, i % 40)
        big = text(40000, i) if i % 100 == 1 else b""
        stream.append(b"commit refs/heads/main\nmark :%d\n" % i)
        stream.append(b"committer A <a@example.org> %d +0000\ndata 8\nnumber %d\n" % (10**9 + i * 60, i % 10))
        stream += [b"from :%d\n" % (i - 1)] if i > 1 else []
        stream.append(b"M 644 inline folder%d/file%d\ndata %d\n%s\n" % (i % 17, i % 101, len(content), content))
        stream += [b"M 644 inline big\ndata %d\n%s\n" % (len(big), big)] if big else []
    return b"".join(stream)


def git(run: Runner) -> Outcome:
    run.need("git")
    own = {"GIT_CONFIG_NOSYSTEM": "1", "HOME": str(run.folder), "GIT_CONFIG_COUNT": "3",
           "GIT_CONFIG_KEY_0": "pack.threads", "GIT_CONFIG_VALUE_0": "1",  # threads race for what they find
           "GIT_CONFIG_KEY_1": "core.bigFileThreshold", "GIT_CONFIG_VALUE_1": "1m",
           "GIT_CONFIG_KEY_2": "gc.writeCommitGraph", "GIT_CONFIG_VALUE_2": "true"}
    commits = 2000 if run.full else 120
    run.must("git", "init", "-q", "-b", "main", "origin", **own)
    run.must("git", "-C", "origin", "fast-import", "--quiet", stdin=history(commits), **own)
    clone = run.call("git", "clone", "-q", "--no-local", "origin", "clone", **own)
    gc = run.call("git", "-C", "clone", "gc", "-q", "--aggressive", "--prune=now", **own)
    fsck = run.call("git", "-C", "clone", "fsck", "--full", "--strict", "--no-progress", **own)
    log = run.must("git", "-C", "clone", "log", "-p", "--stat", "-M", **own)
    objects = run.must("git", "-C", "clone", "cat-file", "--batch-all-objects", "--batch-check", **own)
    blame = run.must("git", "-C", "clone", "blame", "big", **own)
    packs = run.hashes("clone/.git/objects/pack/*.pack", "clone/.git/objects/pack/*.idx")
    return {"summary": f"{commits} commits", "clone": clone, "gc": gc, "fsck": fsck, "log": digest(log),
            "objects": objects, "blame": digest(blame), "packs": packs,
            "files": run.hashes("clone/folder*/*", "clone/big")}


def gcc(run: Runner) -> Outcome:
    run.need("gcc")
    # Folders that need neither generated headers nor other projects.
    sources = [path for folder in "views tools benchmarks/preload".split()
               for path in sorted((run.source / folder).glob("*.c")) if "cuda" not in path.name]
    sources = sources if run.full else sources[:3]
    # What the build says to tools.
    folders = [f'-DFERRY_{what}_FOLDER="{folder}"' for what, folder in (("LIBRARY", "lib"), ("DATA", "share"))]
    said = {}
    for path in sources:
        out = f"{path.parent.name}_{path.stem}.o"
        includes = [f"-I{run.source / folder}" for folder in (".", "include", "benchmarks")]
        said[out] = run.must("gcc", "-std=gnu11", "-O2", "-g", "-fPIC", *folders, *includes, "-c", str(path), "-o", out)
    return {"summary": f"{len(sources)} files", "said": said, "objects": run.hashes("*.o")}


PERL = r"""
my (%count, @lines);
while (<STDIN>) { push @lines, $_; $count{$_}++ for split; s/(\w+) (\w+)/$2 $1/g; $joined .= $_; }
print "$_ $count{$_}\n" for sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print length($joined), " ", unpack("%32C*", $joined), "\n";
$big = "ab" x 3000000; substr($big, 100, 5) = "x" x 50; $big =~ s/ab(?=x)/-/g; print length($big), "\n";
@sorted = sort { length($a) <=> length($b) || $a cmp $b } @lines; print unpack("%32C*", join "", @sorted), "\n";
for my $i (1 .. 4) {
    my $pid = open(my $from, "-|") // die; # a child that uses what it was given
    if (!$pid) { print unpack("%32C*", $joined x $i), " ", scalar(@lines), "\n"; exit 0; }
    print "child $i: ", <$from>; close $from; print "$?\n";
}
my @deep = map { [1 .. $_ % 50] } 1 .. 20000; print scalar(map { @$_ } @deep), "\n";
"""


def perl(run: Runner) -> Outcome:
    run.need("perl")
    lines = 300000 if run.full else 20000
    return {"summary": f"{lines} lines", "output": run.call("perl", "-e", PERL, stdin=text(lines, 1))}


def round_trip(run: Runner, program: str, *arguments: str) -> Outcome:
    run.need(program)
    content = text(400000 if run.full else 40000, 2) + random.Random(3).randbytes(1 << 20)
    run.generate("data", content)
    packed = run.call(program, *arguments, "-k", "-q", "data")
    packed_hashes = run.hashes("data.*")
    (run.folder / "data").unlink()
    unpacked = run.call(program, "-d", "-q", *(str(run.folder / name) for name in packed_hashes))
    whole = (run.folder / "data").read_bytes() == content
    return {"summary": f"{len(content) >> 20} MiB", "packed": packed, "packed files": packed_hashes,
            "unpacked": unpacked, "whole": whole}


def xz(run: Runner) -> Outcome:
    return round_trip(run, "xz", "-3", "-T2", "--block-size=2MiB")


def zstd(run: Runner) -> Outcome:
    return round_trip(run, "zstd", "-15", "-T2", "--long=24")


def sort(run: Runner) -> Outcome:
    run.need("sort")
    run.generate("data", text(2000000 if run.full else 150000, 4))
    sorted_lines = run.call("sort", "--parallel=2", "-S", "24M", "-k3,3", "-k10,10n", "data", "-o", "sorted")
    return {"summary": "lines by two keys", "status": sorted_lines, "sorted": run.hashes("sorted")}


def java(run: Runner) -> Outcome:
    run.need("java", "javac")
    source = run.source / "tests" / "programs" / "Memory.java"
    compiled = run.call("javac", "-d", str(run.folder), str(source))
    rounds = "40" if run.full else "2"
    ran = run.call("java", "-XX:-UsePerfData", "-Xmx256m", "-cp", str(run.folder), "Memory", rounds)
    return {"summary": "threads, collections, direct buffers", "javac": compiled, "java": ran,
            "classes": run.hashes("*.class")}


PROGRAMS: Dict[str, Program] = {"sqlite3": sqlite3, "git": git, "gcc": gcc, "perl": perl, "xz": xz, "zstd": zstd,
                                "sort": sort, "java": java}
