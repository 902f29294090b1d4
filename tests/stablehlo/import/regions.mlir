// A loop that uses a value from outside carries it along; constants are made again inside.
// hlo: while
module {
  func.func public @main() {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %step = stablehlo.add %n, %one : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i32>, tensor<i32>
      cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %next = stablehlo.add %i, %one : tensor<i32>
        %more = stablehlo.add %sum, %step : tensor<i32>
        stablehlo.return %next, %more : tensor<i32>, tensor<i32>
      }
    %expected = stablehlo.constant dense<30> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%0#1, %expected) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}

// -----

// Branches take what they use as their operand.
// hlo: conditional
module {
  func.func public @main() {
    %i = stablehlo.constant dense<1> : tensor<i32>
    %a = stablehlo.iota dim = 0 : tensor<3xf32>
    %b = stablehlo.add %a, %a : tensor<3xf32>
    %0:2 = "stablehlo.case"(%i) ({
      stablehlo.return %a, %b : tensor<3xf32>, tensor<3xf32>
    }, {
      %s = stablehlo.subtract %b, %a : tensor<3xf32>
      stablehlo.return %b, %s : tensor<3xf32>, tensor<3xf32>
    }) : (tensor<i32>) -> (tensor<3xf32>, tensor<3xf32>)
    %t = stablehlo.constant dense<true> : tensor<i1>
    %1 = "stablehlo.if"(%t) ({
      stablehlo.return %0#1 : tensor<3xf32>
    }, {
      stablehlo.return %0#0 : tensor<3xf32>
    }) : (tensor<i1>) -> tensor<3xf32>
    %expected = stablehlo.constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
    stablehlo.custom_call @check.expect_eq(%1, %expected) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    return
  }
}

// -----

// A reduction's function may use constants from outside.
module {
  func.func public @main() {
    %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      %m = stablehlo.maximum %s, %zero : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %expected = stablehlo.constant dense<6.0> : tensor<f32>
    stablehlo.custom_call @check.expect_eq(%0, %expected) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()
    return
  }
}

// -----

// error: uses a value computed outside its region, which HLO cannot pass in here
module {
  func.func public @main(%x: tensor<3xf32>, %y: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.reduce"(%x, %y) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
