// Meshes become tile assignments; axes not used replicate.
// hlo: num_partitions=8
// hlo: parameter(0), sharding={devices=[4,2]<=[8]}
// hlo: parameter(1), sharding={devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}
// hlo: parameter(2), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}
// hlo: custom_call_target="Sharding", sharding={replicated}
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(
      %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
      %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
      %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {}]>}
  ) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
    %1 = stablehlo.add %0, %arg2 : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}

// -----

// Manual computations see each device's part.
// hlo: custom_call_target="Sharding", sharding={devices=[2,1]<=[2]}
// hlo: f32[2,4] custom-call(%custom-call), custom_call_target="SPMDFullToShardShape", sharding={manual}
// hlo: all-reduce
// hlo: custom_call_target="SPMDShardToFullShape", sharding={replicated}
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["i"=2]>
  func.func public @main(%arg0: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"i"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"i"} (%arg1: tensor<2x4xf32>) {
      %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      sdy.return %1 : tensor<2x4xf32>
    } : (tensor<4x4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
}

// -----

// A region that leaves an axis open says at its borders which dimensions that may cut. A region in a function
// that it calls leads back into it and not to what is outside.
// hlo: custom_call_target="Sharding", sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}, backend_config="unspecified_dims=[0,1]"
// hlo: custom_call_target="SPMDFullToShardShape", sharding={devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated}}, backend_config="unspecified_dims=[0,1]"
// hlo: custom_call_target="Sharding", sharding={devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual}}
// hlo: custom_call_target="SPMDFullToShardShape", sharding={manual}
// hlo: f32[2,4] negate
// hlo: custom_call_target="SPMDShardToFullShape", sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dims={manual}}
// hlo: custom_call_target="SPMDShardToFullShape", sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}, backend_config="unspecified_dims=[0,1]"
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["i"=2, "j"=2]>
  func.func public @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"i", ?}, {?}]>] out_shardings=[<@mesh, [{"i", ?}, {?}]>] manual_axes={"i"} (%arg1: tensor<4x4xf32>) {
      %1 = sdy.sharding_constraint %arg1 <@mesh, [{}, {"j"}]> : tensor<4x4xf32>
      %2 = func.call @place(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      sdy.return %2 : tensor<4x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
  func.func private @place(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"j"}, {?}]>] out_shardings=[<@mesh, [{"j"}, {?}]>] manual_axes={"j"} (%arg1: tensor<2x4xf32>) {
      %1 = stablehlo.negate %arg1 : tensor<2x4xf32>
      sdy.return %1 : tensor<2x4xf32>
    } : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

// -----

// On one partition shardings mean nothing.
// hlo: ROOT %add = f32[2] add(%Arg_0, %Arg_0)
module {
  sdy.mesh @mesh = <["i"=1]>
  func.func public @main(%arg0: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}]>}) -> tensor<2xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"i"}]> : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
