"""The text of docs/performance.md, part by part: what was measured, what it means. docs/performance.py fills it in."""
from dataclasses import dataclass, field
from typing import Callable, List, Tuple

import performance_tables as tables
from measured import Results

Table = Tuple[str, Callable[[Results], str]]


@dataclass
class Part:
    """Left out unless every suite that it needs has a result. A table has words before it, or none."""
    title: str
    text: str
    needs: List[str] = field(default_factory=list)
    tables: List[Table] = field(default_factory=list)
    plots: List[str] = field(default_factory=list)
    after: str = ""


PARTS = [
    Part("Performance", """
Is managed memory slow? As the driver moves it by faults, yes; moved on purpose, or left where it is and used across
the bus, it is as fast as the bus, except where it has to come home as pages. This page says what was measured and
what it means; [benchmarks.md](benchmarks.md) says how, and how to run it at home. It is made by `docs/performance.py`
from the files in [benchmarks/results/h200](../benchmarks/results/h200), and a test fails when it says anything else
than they do.

Times are medians; strategies take turns in one process; results are compared with the CPU's; data is random. A number
in brackets behind a time is a share: the least time that the machine allows, measured in the same run, over the time.
What was measured, and when:
"""),
    Part("In short", """
- One pass over 1 GiB, host array to host array: [[placement/log, host to host/auto/1G 0.0]] ms under `auto`,
  [[placement/log, host to host/pinned/1G 0.0]] with explicit copies of pinned memory,
  [[placement/log, host to host/zero-copy/1G 0.0]] on pinned memory that the kernel reaches into. What does it is
  loads and stores across the bus, which use both of its directions at once and need no second array; managed memory
  that is host-homed is as good at that as pinned memory is.
- A chain of ten kernels: [[placement/ten kernels/auto/1G 0.0]] ms under `auto`, and
  [[placement/ten kernels/all prefetched/1G 0]] when everything is prefetched, the result home too. The best order
  that was written by hand took [[chain.best 0.0]].
- The same memory without hints, moved by faults, takes [[faults.least 0.0]] to [[faults.most 0.0]] times as long as
  under `auto`, for one pass over 1 GiB between what the host overwrites or reads.
- Kernels that go over an array many times, between two full reads by the host, belong on explicit copies:
  [[reuse/reuse: in-place, 16 passes, host read/auto/1G 0]] ms under `auto`,
  [[reuse/reuse: in-place, 16 passes, host read/pinned/1G 0]] with copies. Migrated pages come home at
  [[home.share part]] of the speed of a pinned copy.
- On small arrays explicit copies are mostly faster: of [[regret.64K.cells 0]] cells of `ferry bench reuse` with
  arrays of 64 KiB in [[pinned.64K.slower 0]], and `auto` takes [[pinned.64K.mean 0.00]] times as long on the average.
  With 1 GiB it takes [[pinned.1G.mean 0.00]] times as long, and is faster in [[pinned.1G.faster 0]] cells of
  [[regret.1G.cells 0]].
- A launch whose operands are in place costs [[placement/launch, operands in place/acquired, 3/1M/ns_over_bare 0]] ns
  more with three operands than CUDA's own.
- Unmodified NumPy: ten ufuncs, host to host, [[ufuncs.host.numpy 0]] times faster than NumPy's own loops and
  [[ufuncs.host.cupy 0]] times faster than CuPy with its two transfers, where the bus allows [[ufuncs.host.bus 0]].
""", needs=["placement", "reuse", "numpy", "foundation"]),
    Part("One kernel, there and back", """
The host overwrites x, `log` goes over it, the host reads y (`ferry bench placement`; ms). Up to some MiB the launch
and the wait are most of it, and copies are two more calls. From there on it is the bus: explicit copies use one
direction after the other, loads and stores across the bus both at once.
""", needs=["placement"], tables=[("", tables.host_to_host)]),
    Part("Every way to a kernel and back", """
The same for every way to get there that programs use, by size (`ferry bench transfer`; ms).
""", needs=["transfer"], tables=[("", tables.by_size("transfer"))], plots=["transfer"], after="""
`auto` does what a kernel on pinned zero-copy memory does, and is as fast; whole copies use one direction at a time and
take longer at every size. Faster than it from some hundred MiB on is one way alone: pinned memory in chunks through
three streams, two arrays and a loop by hand, which fills both directions at the rate of the copy engines. Whatever
migrates pages home loses, for the reason below. From some hundred KiB to some tens of MiB every way falls behind its
limit, copies too: the host has just written x, and what lies in its caches crosses the bus more slowly.
"""),
    Part("Kernels in a row", """
x → t → u → … → y, ten kernels, the host writing x before and reading y afterwards (`ferry bench placement`; ms):
under `auto`, and in orders written by hand. Temporaries on the device cost next to nothing; x and y are best left on
the host and used across the bus, once each.
""", needs=["placement"], tables=[("", tables.chain)]),
    Part("Arrays that are used again", """
Kernels go over an array once or up to sixteen times, then the host does something with it, and so on: four kernels,
four sizes, five things that the host does (`ferry bench reuse`). *Regret* is the time of `auto` over that of the best
of `none`, `prefetch` and `remote`, which one knows with hindsight; below one because `auto` mixes them, page by page.
""", needs=["reuse"], tables=[("", tables.regret)], plots=["reuse"], after="""
The columns on the right compare with explicit copies of pinned memory, by somebody who copies whole arrays, but none
for nothing. Where the host touches little, `auto` wins by a factor, since only those pages cross; where it reads or
overwrites all of it after many passes, copies win. On small arrays with many passes copies win by the microseconds
that a system call takes. The worst cells of 1 GiB, for each thing that the host does, are in *When managed memory
loses*.
"""),
    Part("Back and forth", """
A kernel changes an array in place, then the host changes all of it, and so on (`ferry bench pingpong`; ms an
exchange): the pattern that suits pages least.
""", needs=["pingpong"], tables=[("", tables.by_size("pingpong"))], plots=["pingpong"]),
    Part("The host fills, the device consumes", """
Buffers that the host fills one after the other while a kernel uses the one before (`ferry bench producer`; ms). The
limit is the longer of filling them and copying them.
""", needs=["producer"], tables=[("", tables.by_size("producer"))], plots=["producer"]),
    Part("Launches", """
What a launch costs when nothing has to move (`ferry bench launch`; µs).
""", needs=["launch"], tables=[("", tables.launches)], plots=["launch"]),
    Part("Bandwidth", """
Copy, scale, add and triad after McCalpin (`ferry bench stream`; GB/s), on the device, from the host's memory and on
the host.
""", needs=["stream"], tables=[("", tables.rates)], plots=["stream"]),
    Part("Allocation", """
A block allocated and freed (`ferry bench alloc`; ns), with one thread and with as many as the machine has cores.
""", needs=["alloc"], plots=["alloc"], tables=[
        ("", tables.allocation), ("Recorded traces, and fresh memory against recycled:", tables.traces)], after="""
By itself a thread pays what a bare arena of the same jemalloc takes, and some bookkeeping. Threads that go beyond their
caches at the same time wait for one another, much longer than stock jemalloc lets them: a heap is one arena, in which
each finds the warm memory that another has freed, and not one for every thread. The driver's allocators are behind by
orders of magnitude, its pools by less. Fresh managed memory is dear to fill, since the driver makes it page by page;
recycled, it is filled as fast as any or faster, which is why the heap keeps what has been freed.
"""),
    Part("Unmodified NumPy", """
Ten ufuncs over 10,000,000 elements in one process, geometric means (`benchmarks/numpy_speed.py`; ms). The host has
just written x, and reads the result afterwards, which is not timed here; with `again` the same call is made over and
over. A result that `out=` does not give is fresh.
""", needs=["numpy"], tables=[("", tables.numpy_ufuncs)], plots=["numpy"]),
    Part("NumPy and its peers", """
Ten ufuncs over 10,000,000 elements, geometric means, and other work, each library in its own way
(`benchmarks/peers.py`; ms): *host to host*, from arrays that the host has just written to a result that it has looked
at; *resident*, over and over on operands that stay, with the result left there; *made*, arrays that a library makes.
""", needs=["peers"], tables=[("", tables.peer_ufuncs), ("The rest:", tables.peer_rest)], plots=["peers"]),
    Part("Real programs", """
Five programs, each in a version with explicit copies and in one on ferry, with the same kernels
(`benchmarks/real_programs.py`). The first three columns are of the work alone, which begins when all memory has been
made and the input lies in it. A prefetch to the device takes the host's pages out of its page tables as it goes, which
a copy does not, and so it is slower: that is what `kmeans`, which begins by moving its points, is behind by, and a part
of what `cg` is; where the rest of that goes has not been found. `heat`, `images` and `epoch` cross the bus in either
version as it is needed, and differ by less than their own runs do (`programs.json` has the least and the most). Making
pinned memory is dear, which the fourth column counts, and the filling with it.
""", needs=["programs"], tables=[("", tables.programs)], plots=["programs"]),
    Part("When managed memory loses, and why", """
**Pages come home slowly.** The driver migrates in blocks of 2 MiB, but what it gives back to the host it maps in
pages of 4 KiB, one page-table entry after the other, on the CPU, while the caller waits. The copy itself is as fast
as any; the mapping is not. To the device 1 GiB takes [[foundation/to device/prefetch/1G 0.0]] ms by prefetch and
[[foundation/to device/pinned copy/1G 0.0]] as a pinned copy; home it takes [[home.least 0]] to [[home.most 0]] and
[[foundation/to host/pinned copy/1G 0.0]] (`benchmarks/h200.sh BUILD foundation`). It is the one large cost that no
placement takes away: it can only be avoided, by storing the result across the bus, which is what `auto` does unless
many passes make that dearer.

**Faults are worse.** Without hints a kernel stops for every group of pages that is not there: the first `log` of 1
GiB takes [[foundation/log: first log/none/1G 0]] ms with [[foundation/check/policy none, GPU faults 0,0]] groups of
faults, and [[foundation/log: first log/prefetch/1G 0]] with prefetches and none.

**There is one copy.** Explicit code has two: what the host only reads between two kernels stays on the device as
well, and need not go back. Managed pages are in one place, so a host that reads between two kernels that read makes
them cross twice more. Read-mostly duplicates would mend that, but make the host's next write dearer than all of it
([design.md](design.md)).

**Small arrays, many passes.** Small arrays that the host looks at after every pass are used across the bus, and
`auto` is as fast as copies or faster. After many passes they should have moved, and there everything is fixed costs:
a prefetch or a discard is a call into the driver that takes locks and waits, a copy is an entry in a queue; and every
launch through the library costs a little more than CUDA's own (the figure is above).

The worst cells of the matrix against explicit copies of pinned memory, for arrays of 1 GiB:
""", needs=["reuse", "foundation"], tables=[("", tables.lost)], after="""
So: a kernel or few between two looks by the host, or a host that looks at parts, are what managed memory is for. Many
passes between two full reads are not, unless the passes take longer than the way home; `ferry_explain` says what was
decided and why, and `ferry bench reuse --kernel in-place --passes 16` measures it for a machine.
"""),
    Part("What the simulator says beforehand: reuse", """
The median that the simulator's clock predicts for each case of the suite, beside the one that was measured
(`benchmarks/model_error.py`): how far it is off.
""", needs=["model-reuse"], tables=[("", tables.predicted("reuse"))]),
    Part("What the simulator says beforehand: transfer", """
The same for `transfer`.
""", needs=["model-transfer"], tables=[("", tables.predicted("transfer"))]),
    Part("The same on another day", """
`benchmarks/compare_results.py` compares two runs of a suite: [benchmarks.md](benchmarks.md). The device and the bus
hardly vary; what comes home does, with the host that the virtual machine runs on. Each run of the foundation's
benchmark that is committed:
""", needs=["foundation"], tables=[
        ("", tables.home_again),
        ("Second runs of the suites: cases whose median is within the first run's spread, which is from its least to\n"
         "its greatest and a quarter of the median more on either side, and those that are closer.", tables.again)]),
    Part("At home", """
    sh cmake/setup.sh test && cmake --workflow --preset test
    build/default/tools/ferry bench
    build/default/tools/ferry bench reuse --json reuse.json

`benchmarks/h200.sh` builds where there is a device and runs everything, or the steps that are named; the files land
in `$OUT`. Put them in place of those in `benchmarks/results/h200` and run `docs/performance.py --plots`, then
`docs/figures.py --write`: the page and every figure of the others are then your machine's. Without a device the
suites run on the simulator: the times are modelled and the table says so.
"""),
]
