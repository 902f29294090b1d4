//! Collectives over several replicas and partitions.

use std::time::Duration;

use crate::common::{elements, module};
use rxla_base::Code;
use rxla_hlo::Literal;
use rxla_interpreter::{Options, evaluate_spmd};

/// Runs on devices that get 1, 2, 3, … in every element, and shows what each gives.
fn run(header: &str, devices: usize, dims: &[i64], body: &str) -> Vec<String> {
    let text = format!(
        "HloModule m, {header}\nadd {{\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = s32[] add(a, b)\n}}\nENTRY e {{\n{body}\n}}\n"
    );
    let count = dims.iter().product::<i64>() as usize;
    let arguments = (0..devices)
        .map(|device| {
            let values: Vec<i32> = (0..count).map(|i| (device * 10 + i) as i32).collect();
            vec![Literal::from_values(dims.iter().copied(), &values)]
        })
        .collect();
    let results = evaluate_spmd(&module(&text), arguments, &Options::default());
    let results = results.unwrap_or_else(|error| panic!("{error}\n{text}"));
    results.iter().map(elements).collect()
}

#[test]
fn all_reduce_in_every_group_mode() {
    let p = "p = s32[] parameter(0)\n";
    let reduce =
        |attributes: &str| format!("{p}ROOT r = s32[] all-reduce(p), {attributes}, to_apply=add");
    // Devices are (replica, partition): 0 = (0,0), 1 = (0,1), 2 = (1,0), 3 = (1,1).
    let header = "replica_count=2, num_partitions=2";
    let mode = |attributes: &str| run(header, 4, &[], &reduce(attributes));
    assert_eq!(mode("replica_groups={}"), ["20", "40", "20", "40"]);
    assert_eq!(mode("replica_groups={{0},{1}}"), ["0", "10", "20", "30"]);
    assert_eq!(mode("channel_id=1, replica_groups={{0},{1}}"), ["10", "10", "50", "50"]);
    assert_eq!(
        mode("channel_id=1, replica_groups={{0,3},{1,2}}, use_global_device_ids=true"),
        ["30", "30", "30", "30"]
    );
    assert_eq!(
        mode("channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), use_global_device_ids=true"),
        ["20", "40", "20", "40"]
    );
}

#[test]
fn gathers_scatters_and_exchanges() {
    let header = "replica_count=2";
    let body = "p = s32[2] parameter(0)\nROOT r = s32[4] all-gather(p), dimensions={0}";
    assert_eq!(run(header, 2, &[2], body), ["0 1 10 11", "0 1 10 11"]);
    let body =
        "p = s32[2] parameter(0)\nROOT r = s32[1] reduce-scatter(p), dimensions={0}, to_apply=add";
    assert_eq!(run(header, 2, &[2], body), ["10", "12"]);
    let body = "p = s32[2] parameter(0)\nROOT r = s32[2] all-to-all(p), dimensions={0}";
    assert_eq!(run(header, 2, &[2], body), ["0 10", "1 11"]);
    let body =
        "p = s32[] parameter(0)\nq = s32[] negate(p)\nROOT r = (s32[], s32[]) all-to-all(p, q)";
    assert_eq!(run(header, 2, &[], body), ["0; 10", "0; -10"]);
    let body =
        "p = s32[] parameter(0)\nROOT r = s32[] collective-broadcast(p), replica_groups={{1,0}}";
    assert_eq!(run(header, 2, &[], body), ["10", "10"]);
    let body =
        "p = s32[] parameter(0)\nROOT r = s32[] collective-permute(p), source_target_pairs={{0,1}}";
    assert_eq!(run(header, 2, &[], body), ["0", "0"]);
    let body = "p = s32[] parameter(0)\nROOT r = s32[] collective-permute(p), source_target_pairs={{0,1},{1,0}}";
    assert_eq!(run(header, 2, &[], body), ["10", "0"]);
}

#[test]
fn devices_know_who_they_are() {
    let body = "p = s32[] parameter(0)\nr = u32[] replica-id()\nq = u32[] partition-id()\nROOT t = (u32[], u32[]) tuple(r, q)";
    let shown = run("replica_count=2, num_partitions=2", 4, &[], body);
    assert_eq!(shown, ["0; 0", "0; 1", "1; 0", "1; 1"]);
}

#[test]
fn devices_that_wait_for_each_other_are_named() {
    // Replica 0 goes to one meeting, replica 1 to another.
    let text = "HloModule m, replica_count=2\nadd {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = s32[] add(a, b)\n}\none {\n  p = s32[] parameter(0)\n  ROOT first = s32[] all-reduce(p), replica_groups={}, to_apply=add\n}\ntwo {\n  p = s32[] parameter(0)\n  ROOT second = s32[] all-reduce(p), replica_groups={}, to_apply=add\n}\nENTRY e {\n  p = s32[] parameter(0)\n  i = u32[] replica-id()\n  j = s32[] convert(i)\n  ROOT r = s32[] conditional(j, p, p), branch_computations={one, two}\n}\n";
    let arguments = vec![vec![Literal::scalar(1i32)]; 2];
    let error = evaluate_spmd(&module(text), arguments, &Options::default()).unwrap_err();
    assert_eq!(error.code, Code::Aborted);
    assert!(
        error.message.contains("replica 0 partition 0 in `%first = s32[] all-reduce`"),
        "{error}"
    );
    assert!(
        error.message.contains("replica 1 partition 0 in `%second = s32[] all-reduce`"),
        "{error}"
    );
}

#[test]
fn one_devices_failure_stops_the_others() {
    let text = "HloModule m, replica_count=2\nadd {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = s32[] add(a, b)\n}\nfine {\n  ROOT p = s32[] parameter(0)\n}\nbad {\n  p = s32[] parameter(0)\n  ROOT c = s32[] custom-call(p), custom_call_target=\"nothing\"\n}\nENTRY e {\n  p = s32[] parameter(0)\n  i = u32[] replica-id()\n  j = s32[] convert(i)\n  c = s32[] conditional(j, p, p), branch_computations={fine, bad}\n  ROOT r = s32[] all-reduce(c), replica_groups={}, to_apply=add\n}\n";
    let arguments = vec![vec![Literal::scalar(1i32)]; 2];
    let options = Options { collective_timeout: Duration::from_secs(30), ..Options::default() };
    let error = evaluate_spmd(&module(text), arguments, &options).unwrap_err();
    assert_eq!(error.code, Code::Unimplemented, "{error}");
}

#[test]
fn values_are_sent_from_device_to_device() {
    let pairs = "frontend_attributes={_xla_send_recv_source_target_pairs=\"{{0,1},{1,0}}\"}";
    let body = format!(
        "p = s32[] parameter(0)\nt = token[] after-all()\ns = (s32[], u32[], token[]) send(p, t), channel_id=1, {pairs}\nv = (s32[], u32[], token[]) recv(t), channel_id=1, {pairs}\nsd = token[] send-done(s), channel_id=1\nd = (s32[], token[]) recv-done(v), channel_id=1\nROOT r = s32[] get-tuple-element(d), index=0"
    );
    assert_eq!(run("replica_count=2", 2, &[], &body), ["10", "0"]);
}
