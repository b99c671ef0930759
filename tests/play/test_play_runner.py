"""The runner: jobs on a loop of its own, and a main thread that gives way to them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from functools import partial

import pytest

from pytest_toolcall.play import runner as runner_module
from pytest_toolcall.play.runner import Runner


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    monkeypatch.setattr(runner_module, "GIVE_WAY_S", 60.0)
    started = Runner(4)
    yield started
    started.close()


async def busy(turns: int) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    return turns


def test_jobs_that_are_submitted_together_are_all_played(runner: Runner) -> None:
    results = [runner.submit(partial(busy, turns)) for turns in range(500)]
    assert [result.result(60) for result in results] == list(range(500))


def test_giving_way_lasts_until_the_loop_has_nothing_left_to_do(runner: Runner) -> None:
    for _ in range(200):
        results = [runner.submit(lambda: busy(20)) for _ in range(3)]
        runner.give_way()
        assert all(result.done() for result in results)


def test_giving_way_does_not_wait_for_an_answer_that_is_still_to_come(runner: Runner) -> None:
    answer: asyncio.Event | None = None

    async def ask() -> str:
        nonlocal answer
        answer = asyncio.Event()
        await answer.wait()
        return "answer"

    result = runner.submit(ask)
    runner.give_way()
    assert not result.done()

    async def arrive() -> None:
        assert answer is not None
        answer.set()

    runner.submit(arrive)
    assert result.result(60) == "answer"


def test_a_loop_that_is_never_at_rest_does_not_hold_up_the_main_thread(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "GIVE_WAY_S", 0.001)
    told = False

    async def spin() -> int:
        turns = 0
        while not told:
            turns += 1
            await asyncio.sleep(0)
        return turns

    result = runner.submit(spin)
    runner.give_way()
    assert not result.done()
    told = True
    assert result.result(60) > 0


def test_nothing_is_given_way_to_before_a_job_or_after_the_end(runner: Runner) -> None:
    runner.give_way()
    runner.submit(lambda: busy(1)).result(60)
    runner.close()
    runner.give_way()


def test_a_closed_runner_can_be_used_again(runner: Runner) -> None:
    runner.submit(lambda: busy(1)).result(60)
    runner.close()
    assert runner.submit(lambda: busy(2)).result(60) == 2


class Interrupted(BaseException):
    """What a signal handler raises."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts the main thread")
def test_a_signal_in_the_middle_of_anything_wedges_neither_the_loop_nor_the_main_thread(runner: Runner) -> None:
    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        while interrupted < 300:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0002 + interrupted % 7 * 0.0001)
                while True:
                    runner.submit(partial(busy, 1))
                    runner.give_way()
            except Interrupted:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert runner.submit(partial(busy, 3)).result(60) == 3
    runner.give_way()


def test_a_loop_that_a_project_has_chosen_is_used_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Chosen(asyncio.SelectorEventLoop):
        pass

    monkeypatch.setattr(asyncio, "new_event_loop", Chosen)
    runner = Runner(1)

    async def which() -> type[asyncio.AbstractEventLoop]:
        return type(asyncio.get_running_loop())

    assert runner.submit(which).result(60) is Chosen
    runner.give_way()
    runner.close()
