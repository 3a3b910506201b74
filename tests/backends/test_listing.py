"""The readers of lists of cards and of their processes. Every text here is simulated: written by hand."""

from __future__ import annotations

from zl_bench.backends.listing import CardProcess, ListedCard, listed_csv, processes_csv


def test_cards_are_read() -> None:
    text = "0, GPU-aa, Simulated H1, 00000000:0A:00.0\n3, GPU-bb, Simulated, dual, 00000000:0B:00.0\n"
    assert listed_csv(text) == (
        ListedCard(0, "GPU-aa", "Simulated H1", "00000000:0A:00.0"),
        ListedCard(3, "GPU-bb", "Simulated, dual", "00000000:0B:00.0"),
    )


def test_no_answer_is_no_uuid() -> None:
    text = "0, [N/A], Simulated, 0A\n1, [Unknown Error], Simulated, [N/A]\n"
    assert listed_csv(text) == (ListedCard(0, "", "Simulated", "0A"), ListedCard(1, "", "Simulated", ""))


def test_lines_that_list_no_card_are_passed_over() -> None:
    text = "Unable to determine …\n0, GPU-aa, Simulated, 0A\nx, GPU-bb, Simulated, 0B\n1, , Simulated, 0C\n2, a\n"
    assert [card.index for card in listed_csv(text)] == [0]


def test_processes_are_read() -> None:
    text = "GPU-aa, 4711, /usr/bin/python, 1024\nGPU-aa, 12, [Not Found], [N/A]\nGPU-bb, 13, a, b, 5\n"
    assert processes_csv(text) == (
        CardProcess("GPU-aa", 4711, "/usr/bin/python", 1024),
        CardProcess("GPU-aa", 12, "[Not Found]", None),
        CardProcess("GPU-bb", 13, "a, b", 5),
    )


def test_lines_that_tell_no_process_are_passed_over() -> None:
    assert processes_csv("No running processes found\n, 1, a, 2\nGPU-aa, x, a, 2\nGPU-aa, 1\n") == ()
