"""The tables of a page: what `run.py` and `torch_run.py` put between their marks with `--write`."""

import math
import pathlib


def geometric_mean(numbers: list[float]) -> float:
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of Markdown; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "--:|" * (len(heads) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def write(page: pathlib.Path, mark: str, title: str, lines: list[str]) -> None:
    """Puts the lines between the marks of a program; with a title at the end if they are not there yet."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    text = page.read_text() if page.exists() else "# Performance\n"
    section = "\n".join([begin, "", *lines, "", end])
    if begin in text:
        before, rest = text.split(begin, 1)
        text = before + section + rest.split(end, 1)[1]
    else:
        text = f"{text.rstrip()}\n\n## {title}\n\n{section}\n"
    page.write_text(text)


# What each group of programs is asked to reach: the mean and the least.
GOALS = {
    "dispatch": "1", "small": "2", "loops": "3; least 1", "elementwise": "2.5; least 0.9", "normalisation": "2.5; least 0.9",
    "reductions": "2.5; least 0.9", "movement": "2.5; least 0.9", "rng": "2.5; least 0.9", "dot": "least 1",
    "conv": "3; least 1", "sort": "20 for a million", "linalg": "1.5; least 0.9", "models": "2.2; least 1.1",
}


def jax_section(results: list[dict], made: str) -> list[str]:
    """The results of `run.py`."""
    lines = [
        f"Written by `benches/run.py` {made}. A ratio is XLA:CPU's median time divided by rxla's: above 1 rxla is faster.",
        "", "### Groups", "", *groups(results), "", *worst(results), "", "### Compiling", "", *compiling(results),
        "", "### Memory", "", *memory(results), "", "### All programs", "",
    ]
    for group in GOALS:
        records = [r for r in results if r["group"] == group]
        if records:
            lines += [f"#### {group}", "", *programs(records), ""]
    return lines[:-1]


def measured(results: list[dict]) -> list[dict]:
    return [r for r in results if r["group"] in GOALS and r.get("ratio")]


def groups(results: list[dict]) -> list[str]:
    rows = []
    for group, goal in GOALS.items():
        records = [r for r in results if r["group"] == group]
        good = [r for r in records if r.get("ratio")]
        if good:
            least = min(good, key=lambda r: r["ratio"])
            rows.append([
                f"{group} ({len(good)} of {len(records)})", f"{geometric_mean([r['ratio'] for r in good]):.2f}",
                f"{least['ratio']:.2f} `{least['name']}`", goal,
            ])
    return table(["group", "mean", "least", "goal"], rows)


def worst(results: list[dict]) -> list[str]:
    below = sorted((r for r in measured(results) if r["ratio"] < 1), key=lambda r: r["ratio"])
    wrong = [f"`{r['name']}` by {r['difference']:.2g}" for r in measured(results) if not r["equal"]]
    ended = [f"`{r['name']}` ({r['error']})" for r in results if "error" in r]
    lines = ["Slower than XLA:CPU: " + (", ".join(f"`{r['name']}` {r['ratio']:.2f}" for r in below) or "none") + "."]
    lines += ["", "Results further apart than the program allows: " + ", ".join(wrong) + "."] if wrong else []
    lines += ["", "Not measured: " + ", ".join(ended) + "."] if ended else []
    return lines


def compiling(results: list[dict]) -> list[str]:
    records = [r for r in results if r["group"] == "compile" and "ratio" in r]
    if not records:
        return ["Not measured."]
    rows = [[
        f"`{r['name']}`", f"{r['cpu_compile'] * 1e3:.1f}", f"{r['cold'] * 1e3:.1f}", f"{r['ratio']:.2f}",
        f"{r['warm'] * 1e3:.1f}", f"{r['warm_ratio']:.2f}",
    ] for r in records]
    means = [geometric_mean([r[key] for r in records]) for key in ("ratio", "warm_ratio")]
    rows.append(["geometric mean (goals: 5 and 30)", "", "", f"{means[0]:.2f}", "", f"{means[1]:.2f}"])
    head = ["program, in milliseconds", "XLA:CPU", "rxla", "ratio", "second process", "ratio"]
    return table(head, rows)


def memory(results: list[dict]) -> list[str]:
    planned = [r for r in results if r.get("cpu_temp") is not None and r.get("rxla_temp") is not None]
    if not planned:
        return ["Not measured."]
    more = sorted((r for r in planned if r["rxla_temp"] > r["cpu_temp"]), key=lambda r: r["cpu_temp"] - r["rxla_temp"])
    lines = [f"Planned temporaries are no larger than XLA:CPU's in {len(planned) - len(more)} of {len(planned)} programs (goal: 90 %)."]
    if more:
        rows = [[f"`{r['name']}`", f"{r['cpu_temp']:,}", f"{r['rxla_temp']:,}"] for r in more]
        lines += ["", *table(["larger, in bytes", "XLA:CPU", "rxla"], rows)]
    grown = [r for r in results if "rxla_growth" in r]
    if grown:
        rows = [[f"`{r['name']}`", f"{r['cpu_growth']:,}", f"{r['rxla_growth']:,}"] for r in grown]
        lines += ["", *table(["bytes more after 10,000 runs", "XLA:CPU", "rxla"], rows)]
    return lines


def programs(records: list[dict]) -> list[str]:
    rows = [[
        f"`{r['name']}`", f"{r['cpu'] * 1e3:.4g}", f"{r['rxla'] * 1e3:.4g}", f"{r['ratio']:.2f}", near(r),
    ] if r.get("ratio") else [f"`{r['name']}`", "", "", r["error"], ""] for r in records]
    head = ["program, in milliseconds", "XLA:CPU", "rxla", "ratio", "of what the machine can"]
    if not any(row[4] for row in rows):
        head, rows = head[:4], [row[:4] for row in rows]
    return table(head, rows)


def near(record: dict) -> str:
    """How near a program is to what the machine copies or multiplies and adds (`limits.py`)."""
    return f"{100 * record['limit']:.0f} % {record['limited_by']}" if "limit" in record else ""
