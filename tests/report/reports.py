"""Reports that tests share: a small one, written by hand, and long ones of any number of steps."""

from __future__ import annotations

from wengert.report.data import (
    Advice,
    Cost,
    FileRow,
    FrameRow,
    GuardRow,
    KernelRow,
    LineRow,
    LoopRow,
    MemoryRow,
    ReportData,
    StepRow,
    StoredRow,
    ValueRow,
)

SOURCE = '''\
def loss(params, x, y):
    """The squared error of a network of two layers."""
    for w, b in params:
        x = np.tanh(x @ w + b)
    table = lookup(x)  # Python's own
    if np.sum(table) > 0:
        x = x * table
    return np.mean((x - y) ** 2)
'''


def small(hostile: str = "") -> ReportData:
    """The report of a gradient of a network, as it could be; ``hostile`` is put into every text."""
    h = hostile
    seconds = 1e-6
    # op, parameters, reads, line, frame, kernel, flops: (what it gives is one value, "v" and its number)
    arguments = ["w0", "b0", "w1", "b1", "x", "y"]
    table = [
        ("matmul", "", [4, 0], 4, 0, 0, 2e6),
        ("add", "", [6, 1], 4, 0, 0, 1e4),
        ("tanh", "", [7], 4, 0, 0, 2e5),
        ("matmul", "", [8, 2], 4, 0, 1, 2e6),
        ("add", "", [9, 3], 4, 0, 1, 1e4),
        ("tanh", "", [10], 4, 0, 1, 2e5),
        ("lookup", f"[table={h or 'primes'}]", [11], 5, 1, 2, 0.0),
        ("sum", "", [12], 6, 0, 3, 1e4),
        ("greater", "", [13], 6, 0, 4, 1.0),
        ("multiply", "", [11, 12], 7, 0, 5, 1e4),
        ("subtract", "", [15, 5], 8, 0, 5, 1e4),
        ("square", "", [16], 8, 0, 5, 1e4),
        ("mean", "", [17], 8, 0, 5, 1e4),
    ]
    back = [
        ("scale", "[c=0.002]", [16], 8, 0, 6, 1e4),
        ("multiply", "", [19, 12], 7, 0, 6, 1e4),
        ("tanh_vjp", "", [20, 11], 4, 0, 6, 3e4),
        ("matmul", "[transpose=b]", [21, 2], 4, 0, 7, 2e6),
        ("matmul", "[transpose=a]", [8, 21], 4, 0, 8, 2e6),
        ("tanh_vjp", "", [22, 8], 4, 0, 9, 3e4),
        ("matmul", "[transpose=a]", [4, 24], 4, 0, 10, 2e6),
        ("sum", "[axis=0]", [24], 4, 0, 11, 1e4),
        ("sum", "[axis=0]", [21], 4, 0, 11, 1e4),
    ]
    cotangents = {18: -1, 15: 19, 11: 20, 10: 21, 8: 22, 2: 23, 7: 24, 0: 25, 1: 26, 3: 27}
    values, steps = [], []
    for i, name in enumerate(arguments):
        is_active = name not in "xy"
        why = "it is differentiated" if is_active else f"{h}no derivative with respect to {name} was asked for"
        values.append(
            ValueRow(name + h, "float64[64, 64]", 32768, -1, "argument", is_active, why, cotangents.get(i, -1))
        )
    for i, (op, params, reads, line, frame, kernel, flops) in enumerate(table + back):
        v = len(values)
        role = "" if i < len(table) else "cotangent"
        is_scalar = op in ("mean", "greater", "sum") and not role
        is_active = v not in (12, 13, 14)
        why = "depends on w0, b0, w1 and b1" if is_active else f"{h}lookup has no derivative"
        shape, nbytes = ("float64[]", 8) if is_scalar else ("float64[64, 64]", 32768)
        is_result = v in (23, 25, 26, 27)
        values.append(ValueRow(f"v{v}{h}", shape, nbytes, i, "value", is_active, why, cotangents.get(v, -1), is_result))
        cost = Cost(seconds * (2 + flops / 2e5), flops, 3 * nbytes)
        steps.append(StepRow(op + h, params, tuple(reads), (v,), 0, line, frame, role, kernel, cost))
    kinds = ["BLAS", "BLAS", "callback", "loops", "guard", "loops", "loops", "BLAS", "BLAS", "loops", "BLAS", "loops"]
    kernels = []
    for k, kind in enumerate(kinds):
        members = tuple(i for i, step in enumerate(steps) if step.kernel == k)
        its = [steps[i] for i in members]
        cost = Cost(sum(s.cost.time_s or 0.0 for s in its), sum(s.cost.flops for s in its), 98304)
        if kind == "callback":
            cost = cost._replace(time_s=40 * seconds)
        why = f"lookup{h} is a primitive: Python does it" if kind == "callback" else ""
        lines = tuple(dict.fromkeys((s.file, s.line) for s in its))
        kernels.append(KernelRow(its[0].op, kind, why, tuple(s.op for s in its), members, lines, cost))
    stored = []
    for v, value in enumerate(values):
        if value.step < 0 or value.nbytes < 100:
            continue
        step = steps[value.step]
        uses = [s.kernel for s in steps if v in s.reads]
        is_residual = not step.role and any(s.role for s in steps if v in s.reads)
        last = max([step.kernel, *uses]) if not value.is_result else len(kernels) - 1
        offset = -1 if value.is_result else 32768 * (len(stored) % 5)
        why = f"{h}its pullback reads it at kernel {last}" if is_residual else "the next kernel reads it"
        stored.append(StoredRow(v, step.op, 0, step.line, offset, value.nbytes, step.kernel, last, why, is_residual))
    frames = (FrameRow(-1, "loss" + h, 0, 1), FrameRow(0, "lookup" + h, 0, 5))
    lines = []
    for number in range(1, 9):
        own = tuple(i for i, s in enumerate(steps) if s.line == number)
        if own:
            way = [[steps[i].cost for i in own if bool(steps[i].role) == back] for back in (False, True)]
            lines.append(LineRow(number, _sum(way[0]), _sum(way[1]), own))
    file = FileRow(f"/home/ada/model{h}.py", 1, tuple((SOURCE + (f"# {h}" if h else "")).splitlines()), tuple(lines))
    advice = (
        Advice("callback", 0, 5, f"lookup{h} runs in Python at every call.", "Write a def_lowering, or use np.take."),
        Advice("copy", 0, 7, f"x is copied: v11{h} is read again after it is written.", "x = x * table before it."),
    )
    return ReportData(
        f"grad(loss){h}",
        {"wengert": "0.1.0", "processor": f"an AVX2 machine{h}", "threads": "1"},
        _sum([k.cost for k in kernels]),
        0.41,
        (file,),
        frames,
        tuple(values),
        tuple(steps),
        tuple(kernels),
        MemoryRow(163840, 262144, 6, tuple(stored)),
        (GuardRow(0, 6, f"np.sum(table) > 0 was True{h}", 8),),
        (f"np.sum(table) > 0{h}", "np.sum(table) <= 0"),
        (
            LoopRow(0, 3, 2, "", f"params is a list of arrays of different shapes{h}"),
            LoopRow(0, 4, -1, "scan", "each iteration does the same steps"),
        ),
        advice,
    )


def _sum(costs: list[Cost]) -> Cost:
    times = [c.time_s for c in costs if c.time_s is not None]
    return Cost(sum(times) if times else None, sum(c.flops for c in costs), sum(c.moved_bytes for c in costs))


def long(n: int) -> ReportData:
    """The report of a program of ``n`` steps, forward and back, in calls within calls: of a simulation, say."""
    half = n // 2
    text, lines = [], []
    for i in range(60):
        text.append(f"    x{i % 7} = np.sin(x{(i * 3) % 7}) * {i} + forces(x{(i * 5) % 7}, rate={i / 7:.3f})")
    ops = ("sin", "multiply", "add", "exp", "subtract", "matmul", "take", "sum")
    frames = [FrameRow(-1, "simulate", 0, 1)]
    for i in range(n // 100):
        frames.append(FrameRow(0 if i % 5 == 0 else len(frames) - 1 - i % 3, f"step_{i % 12}", 0, 2 + i % 60))
    frames[1:] = [f._replace(parent=min(f.parent, i)) for i, f in enumerate(frames[1:])]
    values = [
        ValueRow(f"a[{i}]", "float64[128]", 1024, -1, "argument", True, "it is differentiated", -1) for i in range(20)
    ]
    steps, stored = [], []
    for i in range(n):
        v = len(values)
        is_back = i >= half
        near = (v - 1 - i % 3, max(0, v - 1 - (i * 7) % 40))
        reads = near if not is_back else (near[0], 20 + n - 1 - i)
        line = 2 + (i // 3 if not is_back else (n - 1 - i) // 3) % 60
        frame = ((i if not is_back else n - 1 - i) * len(frames)) // half if half else 0
        cotangent = 20 + n - 1 - i if not is_back else -1
        why = f"depends on a[{i % 20}]" if i % 9 else "nothing differentiated reaches it"
        values.append(ValueRow(f"v{v}", "float64[128]", 1024, i, "value", bool(i % 9), why, cotangent, i == n - 1))
        cost = Cost(1e-7 * (1 + i % 13), 128.0 * (1 + i % 5), 3072)
        params = f"[axis={i % 3}]" if i % 4 == 0 else ""
        role = "cotangent" if is_back else ""
        kernel = i // 3
        steps.append(
            StepRow(
                ops[i % len(ops)],
                params,
                tuple(dict.fromkeys(reads)),
                (v,),
                0,
                line,
                min(frame, len(frames) - 1),
                role,
                kernel,
                cost,
            )
        )
        last = min(n - 1, n - i if not is_back else i + 4) // 3
        if not is_back or i % 2:
            stored.append(
                StoredRow(
                    v,
                    ops[i % len(ops)],
                    0,
                    line,
                    1024 * (min(i, n - i)),
                    1024,
                    kernel,
                    max(last, kernel),
                    "its pullback reads it",
                    not is_back,
                )
            )
    kernels = []
    for k in range((n + 2) // 3):
        members = tuple(range(3 * k, min(n, 3 * k + 3)))
        kind = "callback" if k % 997 == 5 else "BLAS" if k % 5 == 0 else "loops"
        own = [steps[i] for i in members]
        pairs = tuple(dict.fromkeys((s.file, s.line) for s in own))
        kernels.append(
            KernelRow(
                own[0].op,
                kind,
                "a primitive" if kind == "callback" else "",
                tuple(s.op for s in own),
                members,
                pairs,
                _sum([s.cost for s in own]),
            )
        )
    by_line: dict[int, list[int]] = {}
    for i, s in enumerate(steps):
        by_line.setdefault(s.line, []).append(i)
    for number, own in sorted(by_line.items()):
        way = [[steps[i].cost for i in own if bool(steps[i].role) == back] for back in (False, True)]
        lines.append(LineRow(number, _sum(way[0]), _sum(way[1]), tuple(own)))
    file = FileRow("/home/ada/simulation.py", 1, ("def simulate(x):", *text), tuple(lines))
    memory = MemoryRow(1024 * half + 1024, 1024 * half, half // 3, tuple(stored))
    total = _sum([k.cost for k in kernels])
    return ReportData(
        "grad(simulate)", {"wengert": "0.1.0"}, total, 3.2, (file,), tuple(frames), tuple(values), tuple(steps),
        tuple(kernels), memory, (), (), (), (),
    )  # fmt: skip
