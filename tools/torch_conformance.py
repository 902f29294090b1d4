#!/usr/bin/env python3
"""Runs PyTorch/XLA's own tests on rxla and writes docs/conformance-torch.md.

  tools/torch_conformance.py run --tests XLA/test --results R.json [--reference] [--only NAME] [--library LIB.so]
  tools/torch_conformance.py report R.json > docs/conformance-torch.md

`--tests` is the directory `test` of pytorch/xla at v2.9.0; the interpreter that runs this must have torch 2.9.1 and
torch_xla 2.9.0 and rxla's wheel, and for tests that call JAX through torchax also jax 0.7.1 and flax 0.11. Each file is
one process with a time limit; files with results are not run again unless they are named by `--only`. With `--reference` a file is also run on torch_xla's own CPU device, to tell failures of ours from
those of the test.
"""

import argparse
import dataclasses
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time


@dataclasses.dataclass(frozen=True)
class Job:
    """One command of the suite: a test file with its arguments, on so many virtual devices."""

    group: str
    command: str
    devices: int = 1
    environment: tuple = ()

    @property
    def name(self) -> str:
        return self.command if self.devices == 1 else f"{self.command} ({self.devices} devices)"


FAKE = "--fake_data --num_epochs 1 --batch_size 128"
MESH = [
    "test_xla_sharding", "test_xla_virtual_device", "test_dynamo_spmd", "test_fsdp_v2", "test_mp_input_sharding",
    "test_spmd_debugging", "test_sharding_strategies", "test_train_spmd_linear_model", "test_xla_sharding_hlo",
    "test_xla_spmd_python_api_interaction", "test_spmd_graph_dump", "test_spmd_lowering_context",
    "test_spmd_parameter_wrapping", "test_xla_distributed_checkpoint", "test_dtensor_integration",
    "test_dtensor_integration2", "test_dtensor_integration3", "test_dtensor_convert_mesh", "test_dtensor_redistribute",
    "test_xla_sharded_tensor", "test_xla_dtensor_placements", "test_xla_dtensor_spec_conversion",
]
# Files that know devices by name run on devices that are called as PyTorch/XLA's own.
NAMED = (("RXLA_PLATFORM_NAME", "cpu"),)
# What PyTorch/XLA's own `run_tests.sh` sets for single files.
SETTINGS = {
    "test_python_ops.py": NAMED,
    "test_ops.py": NAMED,
    "test_core_aten_ops.py": NAMED,
    "scan/test_scan_debug.py": (("XLA_HLO_DEBUG", "1"),),
    "stablehlo/test_stablehlo_save_load.py": (("XLA_HLO_DEBUG", "1"),),
    "stablehlo/test_stablehlo_inference.py": (("XLA_HLO_DEBUG", "1"),),
    "test_user_computation_debug_cache.py": (("XLA_IR_DEBUG", "1"), ("XLA_HLO_DEBUG", "1")),
    "dynamo/test_dynamo_graph_dump.py": (("XLA_SAVE_TENSORS_FMT", "text"),),
    "spmd/test_spmd_graph_dump.py": (("XLA_SAVE_TENSORS_FMT", "hlo"),),
    "spmd/test_spmd_lowering_context.py": (("XLA_SAVE_TENSORS_FMT", "hlo"),),
    "spmd/test_dtensor_integration3.py": (("XLA_DISABLE_FUNCTIONALIZATION", "1"),),
}
JOBS = [
    *[Job("ops", f"{name}.py") for name in [
        "test_python_ops",
        "test_operations", "test_input_output_aliases", "test_data_type", "test_while_loop",
        "scan/test_scan", "scan/test_scan_layers", "scan/test_scan_debug", "test_hlo_metadata", "test_metrics",
        "test_gru", "test_as_stride_use_slice", "test_async_closures", "test_autocast", "test_autocast_xla",
        "test_fp8", "test_devices", "test_grad_checkpoint", "test_gradient_accumulation", "test_inplace_update",
        "test_mat_mul_precision", "test_placeholder", "test_syncfree_optimizers", "test_xla_graph_execution",
        "test_operations_hlo", "test_user_computation_debug_cache", "test_callback", "test_ops_error_message",
        "test_assume_pure", "test_core_aten_ops", "test_ops",
    ]],
    *[Job("dynamo", f"dynamo/{name}.py") for name in [
        "test_bridge", "test_num_output", "test_dynamo", "test_dynamo_aliasing", "test_dynamo_config",
        "test_dynamo_dynamic_shape", "test_dynamo_graph_dump", "test_dynamo_integrations_util",
        "test_graph_input_matcher", "test_none_remover", "test_traceable_collectives",
    ]],
    *[Job("eager", f"eager/{name}.py") for name in [
        "test_eager", "test_eager_with_torch_compile", "test_eager_with_xla_compile", "test_eager_all_reduce_in_place",
    ]],
    *[Job("stablehlo", f"stablehlo/{name}.py") for name in [
        "test_pt2e_qdq", "test_stablehlo_compile", "test_composite", "test_exports", "test_implicit_broadcasting",
        "test_stablehlo_custom_call", "test_stablehlo_inference", "test_stablehlo_save_load", "test_unbounded_dynamism",
        "test_export_fx_passes", "test_mlir_debuginfo", "test_xla_export_interpreter",
    ]],
    *[Job("quantised", f"quantized_ops/{name}.py") for name in ["test_dot_general", "test_quantized_matmul"]],
    *[Job("runtime", f"pjrt/{name}.py") for name in ["test_dtypes", "test_metrics", "test_mesh_service"]],
    Job("runtime", "test_profiler_session.py"),
    *[Job("spmd", f"spmd/{name}.py", 4) for name in MESH],
    Job("spmd", "scan/test_scan_spmd.py", 4),
    *[Job("several devices", f"{name}.py", 4) for name in [
        "test_mp_all_gather", "test_mp_all_to_all", "test_mp_reduce_scatter", "test_mp_collective_permute",
        "test_mp_sync_batch_norm", "test_mp_replication", "test_mp_rendezvous", "test_mp_mesh_reduce",
        "test_mp_early_exit", "test_mp_save", "test_mp_distributed_mm",
    ]],
    *[Job("training", f"test_train_mp_{command}", devices) for devices in (1, 4) for command in [
        f"mnist.py {FAKE}",
        f"mnist_amp.py {FAKE}",
        f"mnist_zero1.py {FAKE}",
        f"mnist_fsdp_with_ckpt.py {FAKE} --no_ckpt",
    ]],
]


def run(job: Job, arguments: argparse.Namespace, device: dict) -> dict:
    """The outcome of one job on one device."""
    file = job.command.split()[0]
    settings = dict(SETTINGS.get(file, ()))
    saved = os.path.join(tempfile.mkdtemp(), "tensors")
    if "XLA_SAVE_TENSORS_FMT" in settings:
        settings["XLA_SAVE_TENSORS_FILE"] = saved
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [arguments.tests, os.environ.get("PYTHONPATH", "")])),
        "TORCH_TEST_DEVICES": os.path.join(arguments.tests, "pytorch_test_base.py"),
        "RXLA_NUM_DEVICES": str(job.devices),
        "CPU_NUM_DEVICES": str(job.devices),
        **dict(job.environment), **settings, **device,
    }
    started = time.time()
    process = subprocess.Popen(
        [sys.executable, *job.command.split()] if "/" not in file else
        [sys.executable, os.path.join(arguments.tests, file), *job.command.split()[1:]],
        cwd=arguments.tests, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )
    try:
        output, timeout = process.communicate(timeout=arguments.timeout)[0], False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, timeout = process.communicate()[0], True
    return outcome(output.decode(errors="replace"), process.returncode, timeout) | {"seconds": time.time() - started}


def outcome(text: str, code: int, timeout: bool) -> dict:
    """What the output of unittest, of a trainer or of a script says."""
    bad = sorted(set(re.findall(r"^(?:ERROR|FAIL): (\S+ (?:\(<.*>\) )?\([\w.$]*\))", text, re.MULTILINE)))
    bad = bad or sorted(set(re.findall(r"^\[\s*FAILED\s*\] (\S+)$", text, re.MULTILINE)))
    counts = [int(count) for count in re.findall(r"^Ran (\d+) tests? in", text, re.MULTILINE)]
    skipped = sum(int(count) for count in re.findall(r"\bskipped=(\d+)", text))
    count = sum(counts) or 1
    if timeout:
        end = "timeout"
    elif code < 0:
        end = f"signal {-code}"
    elif code != 0 and not bad:
        end = f"exit {code}"
    else:
        end = ""
    accuracy = re.findall(r"Max Accuracy: ([\d.]+)", text)
    return {
        "count": count, "skipped": skipped, "failed": bad, "end": end, "note": f"accuracy {accuracy[-1]} %" if accuracy else "",
        "tail": text[-6000:] if end or bad else "",
    }


def run_all(arguments: argparse.Namespace) -> None:
    results = {}
    if os.path.exists(arguments.results):
        with open(arguments.results) as file:
            results = json.load(file)
    files = results.setdefault("files", {})
    results["date"] = datetime.date.today().isoformat()
    ours = {"PJRT_DEVICE": "RXLA"}
    if arguments.library:
        ours["RXLA_LIBRARY_PATH"] = os.path.abspath(arguments.library)
    for job in JOBS:
        named = arguments.only and any(job.name.startswith(part) for part in arguments.only)
        if (arguments.only and not named) or (not arguments.only and job.name in files):
            continue
        if arguments.group and job.group != arguments.group:
            continue
        if not os.path.exists(os.path.join(arguments.tests, job.command.split()[0])):
            print(f"{job.name}: no such file", file=sys.stderr)
            continue
        found = {"group": job.group, "devices": job.devices, "ours": run(job, arguments, ours)}
        if arguments.reference and (found["ours"]["failed"] or found["ours"]["end"]):
            found["reference"] = run(job, arguments, {"PJRT_DEVICE": "CPU"})
        files[job.name] = found
        print(f"{job.name}: {line(found)}", flush=True)
        with open(arguments.results, "w") as file:
            json.dump(results, file, indent=1)


def line(found: dict) -> str:
    ours, reference = found["ours"], found.get("reference")
    text = f"{ours['count']} run, {len(ours['failed'])} failed, {ours['skipped']} skipped {ours['end']} {ours['seconds']:.0f} s"
    if reference:
        text += f" | cpu: {reference['count']} run, {len(reference['failed'])} failed {reference['end']}"
    return text


def passes(result: dict) -> bool:
    return not result["failed"] and not result["end"]


def report(arguments: argparse.Namespace) -> None:
    with open(arguments.results) as file:
        results = json.load(file)
    files = results["files"]
    ordered = [job.name for job in JOBS if job.name in files]
    print("# PyTorch/XLA's own tests on rxla\n")
    print("Written by `tools/torch_conformance.py`; do not edit.\n")
    print(f"PyTorch 2.9.1 and PyTorch/XLA 2.9.0 as published, with `librxla_pjrt.so` as their device, measured on")
    print(f"{results['date']}. A row is a process. Beside failures stands what the same file does on PyTorch/XLA's own CPU device.\n")
    whole = sum(passes(files[name]["ours"]) for name in ordered)
    print(f"**{whole} of {len(ordered)} files pass whole.**")
    for group in dict.fromkeys(files[name]["group"] for name in ordered):
        print(f"\n## {group}\n\n| file | tests | skipped | fail | on its own CPU device |\n|---|--:|--:|--:|---|")
        for name in ordered:
            found = files[name]
            if found["group"] != group:
                continue
            ours = found["ours"]
            fails = ours["end"] or str(len(ours["failed"]) or "")
            print(f"| {name} {ours['note']} | {ours['count']} | {ours['skipped'] or ''} | {fails} | {beside(found)} |")
    print("\n## What fails here and not there, or was not run there\n")
    for name in ordered:
        found = files[name]
        other = set(found.get("reference", {}).get("failed", []))
        ours = [test for test in found["ours"]["failed"] if test not in other]
        if ours and not found.get("reference", {}).get("end"):
            print(f"* {name}: {', '.join(test.split()[0] for test in ours)}")
    absent = [job.name for job in JOBS if job.name not in files]
    if absent:
        print(f"\n## Not run this time\n\n{', '.join(absent)}")


def beside(found: dict) -> str:
    if passes(found["ours"]):
        return ""
    reference = found.get("reference")
    if not reference:
        return "not run"
    if passes(reference):
        return "passes"
    if reference["end"]:
        return reference["end"]
    same = set(reference["failed"]) >= set(found["ours"]["failed"])
    return f"{len(reference['failed'])} fail" + (", the same ones" if same and not found["ours"]["end"] else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("--tests", required=True)
    runs.add_argument("--library", help="a librxla_pjrt.so in place of the wheel's")
    runs.add_argument("--results", required=True)
    runs.add_argument("--reference", action="store_true")
    runs.add_argument("--only", nargs="*")
    runs.add_argument("--group")
    runs.add_argument("--timeout", type=float, default=1800)
    reports = commands.add_parser("report")
    reports.add_argument("results")
    arguments = parser.parse_args()
    if arguments.what == "run":
        arguments.tests = os.path.abspath(arguments.tests)
        run_all(arguments)
    else:
        report(arguments)


if __name__ == "__main__":
    main()
