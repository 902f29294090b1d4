// Other dialects have the generic form, with blocks and successors.
"func.func"() <{function_type = (i1) -> (), sym_name = "f"}> ({
^entry(%c: i1):
  "cf.cond_br"(%c, %v)[^then, ^end] {weights = [1, 2]} : (i1, i32) -> ()
^then:
  %v = "test.value"() <{kind = #test.kind<a -> b>}> : () -> i32
  "cf.br"()[^end] : () -> ()
^end:
  "func.return"() : () -> ()
}) : () -> ()
// prints
module {
  func.func @f(%arg0: i1) {
    "cf.cond_br"(%arg0, %0)[^bb1, ^bb2] {weights = [1 : i64, 2 : i64]} : (i1, i32) -> ()
  ^bb1:
    %0 = "test.value"() <{kind = #test.kind<a -> b>}> : () -> i32
    "cf.br"()[^bb2] : () -> ()
  ^bb2:
    return
  }
}
