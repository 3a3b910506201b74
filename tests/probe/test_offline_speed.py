"""What the stand-in does sooner must come out as what it stands for. Skipped where this interpreter has no torch."""

import pytest
from offline_script import run

pytest.importorskip("torch")
pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return run(
        tmp_path_factory.mktemp("speed"),
        """
        install(TARGET)
        import collections
        import torch
        from torch.utils._pytree import tree_leaves
        from torch.utils._python_dispatch import _get_current_dispatch_mode
        from zl_probe.offline import leaves, native, views

        aten = torch.ops.aten
        CALLS = [
            (aten.select.int, 1, 2), (aten.select.int, 1, -1), (aten.select.int, 0, 9), (aten.select.int, 5, 0),
            (aten.slice.Tensor, 0, 1, 3, 1), (aten.slice.Tensor, 2, -2, 99, 2), (aten.slice.Tensor, 1, 3, 1),
            (aten.unsqueeze.default, 1), (aten.squeeze.dim, 0), (aten.transpose.int, 0, 2),
            (aten.permute.default, [2, 0, 1]), (aten.view.default, [6, 20]), (aten.view.default, [7, 20]),
            (aten.expand.default, [2, 4, 5, 6]), (aten.expand.default, [1, 1]), (aten.detach.default,),
            (aten.alias.default,), (aten.t.default,),
        ]

        def outcome(func, arguments):
            base = torch.empty(4, 5, 6, device="cuda", dtype=torch.float16)[:, :, :]
            try:
                view = func(base, *arguments)
            except Exception as error:
                return [type(error).__name__, str(error)]
            place = view.storage_offset()
            same_memory = view.untyped_storage()._cdata == base.untyped_storage()._cdata
            return [list(view.shape), list(view.stride()), str(view.dtype), str(view.device), place, same_memory]

        mode = _get_current_dispatch_mode()
        seen, make = [], views.FastViews.make

        def watched(*arguments):
            view = make(*arguments)
            seen.append(view is not None)
            return view

        views.FastViews.make = watched
        sooner = [outcome(func, arguments) for func, *arguments in CALLS]
        taken = sum(seen)
        views.FastViews.make = lambda *arguments: None
        later = [outcome(func, arguments) for func, *arguments in CALLS]
        views.FastViews.make = make
        say(sooner=sooner, later=later, taken=taken)

        def dtypes():
            made = []
            for dtype in (torch.float16, torch.float64, torch.int8, torch.bool):
                for value in (True, 3, 2.5, 1j):
                    for tensor in (torch.ones(3, device="cuda", dtype=dtype), torch.ones((), device="cuda", dtype=dtype)):
                        for name in ("mul", "add", "div"):
                            made.append(str(getattr(torch, name)(tensor, value).dtype))
            return made

        kept = dtypes()
        native.Native._numbers_tell_the_same = lambda *arguments: False
        say(kept=kept, as_tensors=dtypes())

        Pair = collections.namedtuple("Pair", "one two")
        tensor = torch.ones(2)
        fast = leaves.make_leaves(torch)
        for place, (args, kwargs) in enumerate([
            ((tensor, 1, None), {}),
            ((tensor, [tensor, 2.0], (), Pair(1, [tensor])), {"out": tensor, "dims": [1, (2, 3)]}),
            ((), {"device": torch.device("cpu"), "dtype": torch.int8, "names": {"b": 1, "a": [2]}}),
        ]):
            ours, torchs = fast(args, kwargs), tree_leaves((args, kwargs))
            say(**{f"leaves{place}": [id(leaf) for leaf in ours] == [id(leaf) for leaf in torchs]})

        counted = torch.arange((1 << 28) + 1)
        say(
            counted=[type(counted).__name__, str(counted.device), counted.numel(), str(counted.dtype)],
            counts=torch.arange(1 << 10)[-1].item(),
        )
        """,
        with_torch=True,
    )


def test_a_view_made_directly_is_the_one_that_the_fake_mode_makes(facts):
    assert facts["sooner"] == facts["later"]
    assert facts["taken"] >= 13
    assert ["IndexError"] in [outcome[:1] for outcome in facts["sooner"]]


def test_a_number_beside_a_tensor_has_the_dtype_that_a_tensor_of_no_dimension_gives(facts):
    assert facts["kept"] == facts["as_tensors"]
    assert len(set(facts["kept"])) > 3


@pytest.mark.parametrize("place", range(3))
def test_leaves_are_those_of_torchs_own_walk(facts, place):
    assert facts[f"leaves{place}"]


def test_gigabytes_of_a_sequence_of_the_host_are_not_counted_out(facts):
    assert facts["counted"] == ["FakeTensor", "cpu", (1 << 28) + 1, "torch.int64"]
    assert facts["counts"] == 1023
