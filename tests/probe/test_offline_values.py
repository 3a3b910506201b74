"""What the stand-in knows of values, and that it counts what it guesses. Skipped where this interpreter has no torch."""

import pytest
from offline_script import run

pytest.importorskip("torch")
pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return run(
        tmp_path_factory.mktemp("values"),
        """
        install(TARGET)
        import torch

        mask = torch.tensor([0, 1, 0, 1, 1]).cuda()
        say(
            item=mask.sum().item(),
            nonzero=list(mask.nonzero().shape),
            positions=mask.nonzero().flatten().tolist(),
            unique=torch.unique(mask).tolist(),
            selected=mask[mask > 0].shape[0],
            masked=torch.arange(5, device="cuda").masked_select(mask > 0).tolist(),
            equal=torch.equal(mask, mask.clone()),
            in_place=mask.clone().add_(2).mul_(3).tolist(),
            view=mask.view(5, 1).expand(5, 2).t().contiguous().tolist(),
            out=torch.add(mask, mask, out=torch.empty_like(mask)).tolist(),
            back=mask.cpu().tolist(),
            filled=torch.zeros(2, dtype=torch.int64).fill_(mask.sum()).tolist(),
            guesses=guesses(),
        )
        values = torch.ones(256, device="cuda")
        read, written = values.clone(), values.clone()
        add[(1,)](read, read, written, 256, BLOCK=256)
        say(read=read.sum().item(), before=guesses(), written=written.sum().item() != 256, after=guesses())
        torch.manual_seed(0)
        drawn = torch.randn(4, device="cuda").sum().item()
        say(drawn=guesses())
        huge = torch.empty(1 << 24, device="cuda", dtype=torch.bool)
        say(rows=list(huge.nonzero().shape), huge=guesses())
        torch.manual_seed(3)
        alone = torch.rand(3).tolist()
        torch.manual_seed(3)
        drawn = [torch.randn(5, device="cuda").tolist() for _ in range(2)]
        torch.empty(5, device="cuda").uniform_()
        say(host_draws=torch.rand(3).tolist() == alone, device_draws_differ=drawn[0] != drawn[1])
        def last():
            ids = torch.empty(64, device="cuda", dtype=torch.int64)
            add[(1,)](ids, ids, ids, 64, BLOCK=64)
            return ids[-1].item()
        begin_call()
        say(asked=[last() for _ in range(18)])
        def count():
            found = torch.empty((), device="cuda", dtype=torch.int64)
            add[(1,)](found, found, found, 1, BLOCK=64)
            return found.item()
        say(counted=[count() for _ in range(20)])
        begin_call()
        say(asked_anew=last(), tolist=catch(lambda: torch.empty(1 << 21, device="cuda").tolist()))
        generator = torch.Generator(device="cuda").manual_seed(7)
        say(
            generator=[generator.initial_seed(), generator.device.type, isinstance(generator, torch.Generator)],
            host_generator=isinstance(torch.Generator(), torch.Generator),
        )
        state = torch.cuda.get_rng_state().view(torch.int64).tolist()
        torch.cuda.manual_seed(5)
        start = torch.cuda.get_rng_state().view(torch.int64).tolist()
        torch.randn(1000, device="cuda")
        one = torch.cuda.get_rng_state().view(torch.int64).tolist()
        torch.rand(1 << 24, device="cuda")
        two = torch.cuda.get_rng_state().view(torch.int64).tolist()
        say(start=start, one=one, two=two)
        """,
        with_torch=True,
    )


def test_small_tensors_made_of_known_values_have_values(facts):
    assert facts["item"] == 3
    assert facts["nonzero"] == [3, 1]
    assert facts["positions"] == [1, 3, 4]
    assert facts["unique"] == [0, 1]
    assert facts["selected"] == 3
    assert facts["masked"] == [1, 3, 4]
    assert facts["equal"] is True
    assert facts["in_place"] == [6, 9, 6, 9, 9]
    assert facts["view"] == [[0, 1, 0, 1, 1]] * 2
    assert facts["out"] == [0, 2, 0, 2, 2]
    assert facts["back"] == [0, 1, 0, 1, 1]
    assert facts["guesses"] == 0


def test_a_launch_makes_unknown_what_it_writes_and_nothing_else(facts):
    assert facts["read"] == 256.0
    assert facts["before"] == 0
    assert facts["written"] is True
    assert facts["after"] == 1


def test_numbers_that_the_device_would_draw_count_as_guesses(facts):
    assert facts["drawn"] == 2


def test_a_size_that_hangs_on_unknown_values_is_plausible_and_counted(facts):
    assert facts["rows"] == [1 << 23, 1]
    assert facts["huge"] == 3


def test_what_is_too_large_to_guess_needs_a_device(facts):
    assert facts["tolist"].startswith("NeedsDevice")


def test_a_generator_of_the_device_is_one_to_torch(facts):
    assert facts["generator"] == [7, "cuda", True]
    assert facts["host_generator"] is True


def test_offsets_grow_as_those_of_the_cards_generator(facts):
    """Source: ATen/native/cuda/DistributionTemplates.h, with 132 multiprocessors of 2048 threads."""
    assert facts["start"] == [5, 0]
    assert facts["one"] == [5, 4]
    assert facts["two"] == [5, 4 + 4 * -(-(1 << 24) // (256 * 132 * 8 * 4))]


def test_what_the_device_draws_leaves_the_host_s_generator_alone(facts):
    assert facts["host_draws"]
    assert facts["device_draws_differ"]


def test_a_loop_that_asks_for_an_integer_again_and_again_gets_another_guess(facts):
    assert facts["asked"] == [32] * 16 + [63] * 2
    assert facts["asked_anew"] == 32
    assert facts["counted"] == [8] * 16 + [0, 1, 3, 7]


def test_a_tensor_of_the_host_is_filled_with_the_device_s_number(facts):
    assert facts["filled"] == [3, 3]
