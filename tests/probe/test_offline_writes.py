"""Which pointers a kernel's Triton IR says it writes."""

from zl_probe.offline.writes import parse_writes

COPY = """module {
  tt.func public @copy(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32>, %n: i32) attributes {} {
    %0 = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc(#loc1)
    %1 = tt.addptr %0, %c : tensor<64x!tt.ptr<f32>>, tensor<64xi32> loc(#loc2)
    %2 = tt.load %1, %m : tensor<64x!tt.ptr<f32>> loc(#loc3)
    %3 = tt.splat %out : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    tt.store %3, %2, %m : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""
GATHER = """
  tt.func public @gather(%index: !tt.ptr<i64>, %out: !tt.ptr<f32>) attributes {noinline = false} {
    %0 = tt.load %index : !tt.ptr<i64>
    %1 = tt.addptr %out, %0 : !tt.ptr<f32>, i64
    %2 = tt.atomic_rmw fadd, acq_rel, gpu, %1, %v, %true : (!tt.ptr<f32>, f32, i1) -> f32
    tt.return
  }
"""
LOOP = """
  tt.func public @loop(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>) attributes {noinline = false} {
    %0:2 = scf.for %i = %lo to %hi step %s iter_args(%p = %a, %q = %b) -> (!tt.ptr<f32>, !tt.ptr<f32>)  : i32 {
      %1 = tt.load %p : !tt.ptr<f32>
      tt.store %q, %1 : !tt.ptr<f32>
      %2 = tt.addptr %q, %s : !tt.ptr<f32>, i32
      scf.yield %p, %2 : !tt.ptr<f32>, !tt.ptr<f32>
    }
    tt.return
  }
"""


def test_a_store_is_followed_back_to_its_parameter():
    writes = parse_writes(COPY)
    assert (writes.pointers, writes.written) == (2, {1})
    assert not writes.may_write(0, 2)
    assert writes.may_write(1, 2)


def test_a_loaded_index_is_no_target():
    assert parse_writes(GATHER).written == {1}


def test_a_pointer_carried_by_a_loop_is_followed():
    writes = parse_writes(LOOP)
    assert 1 in writes.written
    assert 2 not in writes.written


def test_unsure_means_yes():
    assert parse_writes(COPY).may_write(0, 3)
    assert parse_writes("") is None
    assert parse_writes(COPY.replace("tt.return", "tt.call @other(%x) : () -> ()")) is None
