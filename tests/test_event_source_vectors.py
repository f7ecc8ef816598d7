"""Every scenario of the reconnecting state machine, step by step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sansio_sse import (
    Connect,
    Event,
    EventSourceProtocol,
    ReadyState,
    Receive,
    Stop,
    UnexpectedContentType,
    UnexpectedStatus,
    Wait,
)

from .sources import PLAIN

SCENARIOS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "vectors" / "event_source.json").read_text("utf-8")
)

REDIRECTS = {301, 302, 303, 307, 308}
LONGEST_MS = 2**31 - 1
# What a further attempt in a row waits for at least, even if the server asks for less.
SHORTEST_FURTHER_MS = 100


class AbortedError(Exception):
    """An error of a transport that says that another attempt is of no use."""


class Driver:
    """Does what an adapter does, and writes down what the source says, in words of the scenarios.

    It also stands for the HTTP library, which follows redirects.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        assert config.keys() <= {"url", "initial_retry_ms", "last_event_id", "method", "body"}
        self.now = 1000.0
        body: str | None = config.get("body")
        self.source = EventSourceProtocol(
            config["url"],
            random=lambda: 1.0,
            method=config.get("method"),
            body=None if body is None else body.encode("latin-1"),
            last_event_id=config.get("last_event_id", ""),
            reconnect=True,
            backoff=PLAIN._replace(base=config["initial_retry_ms"] / 1000),
        )

    def step(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        before = self.source.ready_state
        [(name, value)] = given.items()
        if name == "response" and value["status"] in REDIRECTS:
            to = dict(value["headers"]).get("Location")
            if to:
                return [{"do": "REDIRECT", "to": to}]
        out: list[dict[str, Any]] = [
            {
                "do": "EVENT",
                "type": event.type,
                "data": event.data,
                "last_event_id": event.last_event_id,
            }
            for event in self.give(name, value)
        ]
        action = self.source.next_action(self.now)
        after = self.source.ready_state
        if after is ReadyState.CLOSED:
            if before is not ReadyState.CLOSED:
                out.append(self.ending(name, value))
            # What is left of a response that was refused can be read; else all is over.
            assert isinstance(action, Receive | Stop)
            return out
        match action:
            case Connect(request):
                assert after is ReadyState.CONNECTING
                sent = request.header("Last-Event-ID")
                out.append(
                    {
                        "do": "REQUEST",
                        "last_event_id": None if sent is None else sent.decode("latin-1"),
                        "url": request.url,
                        "method": request.method,
                        "body": None if request.body is None else request.body.decode("latin-1"),
                    }
                )
            case Wait(seconds):
                assert after is ReadyState.CONNECTING
                assert self.source.progress.delay == pytest.approx(seconds)
                tracked = self.source.last_event_id
                out.append(
                    {
                        "do": "RECONNECT",
                        "after_ms": (self.source.progress.delay or 0) * 1000,
                        "last_event_id": tracked.encode().decode("latin-1") if tracked else None,
                    }
                )
            case Receive() if after is ReadyState.OPEN and before is not ReadyState.OPEN:
                out.append({"do": "OPEN"})
            case _:
                assert isinstance(action, Receive)
                assert after is before
        return out

    def give(self, name: str, value: Any) -> list[Event]:
        source = self.source
        match name:
            case "start":
                pass
            case "response":
                headers = [(field, text) for field, text in value["headers"]]
                source.receive_response(value["status"], headers, self.now)
            case "body":
                return source.feed(value.encode("latin-1"), self.now)
            case "end_of_body":
                return source.end_of_body(self.now)
            case "network_error" if value.get("aborted"):
                source.fail(AbortedError())
            case "network_error":
                source.connection_lost(self.now, OSError(value["when"]))
            case "delay_elapsed":
                deadline = source.next_deadline()
                self.now = self.now + 10_000 if deadline is None else deadline
                source.handle_timeout(self.now)
            case _:
                assert name == "close"
                source.close()
        return []

    def ending(self, name: str, value: Any) -> dict[str, Any]:
        if name == "close":
            assert self.source.progress.error is None
            return {"do": "CLOSED"}
        match self.source.progress.error:
            case UnexpectedStatus(status=status):
                assert status == value["status"]
                return {"do": "FAIL", "reason": "status"}
            case UnexpectedContentType():
                return {"do": "FAIL", "reason": "content-type"}
            case AbortedError():
                return {"do": "FAIL", "reason": "aborted"}
            case error:
                # What the specification calls a failure is for us an end as it should be.
                assert error is None
                assert value["status"] == 204
                return {"do": "FAIL", "reason": "status"}


def matches(seen: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    if len(seen) != len(expected):
        return False
    for mine, theirs in zip(seen, expected, strict=True):
        wanted = dict(theirs)
        if "after_ms" in wanted:
            # It is a minimum; the plain client waits hardly longer, and no client for ever.
            least = min(wanted["after_ms"], LONGEST_MS)
            if not least <= mine.get("after_ms", -1) <= max(least, SHORTEST_FURTHER_MS):
                return False
            wanted["after_ms"] = mine["after_ms"]
        # A request says no more than the scenario is about.
        shown = mine.items() if mine["do"] != "REQUEST" else [(k, mine[k]) for k in wanted]
        if dict(shown) != wanted:
            return False
    return True


def test_scenarios_are_all_there() -> None:
    assert len(SCENARIOS) == 91
    assert len({scenario["id"] for scenario in SCENARIOS}) == 91


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["id"])
def test_source_does_what_a_scenario_says(scenario: dict[str, Any]) -> None:
    driver = Driver(scenario["config"])
    for number, step in enumerate(scenario["steps"]):
        seen = driver.step(step["in"])
        right = step["out_any"] if "out_any" in step else [step["out"]]
        assert any(matches(seen, expected) for expected in right), (number, step, seen)
        if "state" in step:
            assert driver.source.ready_state.name == step["state"], (number, step)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["id"])
def test_bodies_of_a_scenario_can_come_byte_by_byte(scenario: dict[str, Any]) -> None:
    driver = Driver(scenario["config"])
    for step in scenario["steps"]:
        body = step["in"].get("body")
        if body is None:
            driver.step(step["in"])
            continue
        seen = [item for byte in body for item in driver.step({"body": byte})]
        assert matches(seen, step["out"])
        assert driver.source.ready_state.name == step["state"]
