"""One rule for the address of a server, whichever verb asks for it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from tunecheck.cli import watch_options
from tunecheck.cli.main import cli
from tunecheck.errors import Misuse, UsageError
from tunecheck.serving import reach
from tunecheck.serving.client import Client

VERBS = (["accept", "--url"], ["accept", "--base"], ["watch", "--once", "--url"])


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("url", ["127.0.0.1:18101", "127.0.0.1", "localhost:30000/v1", "[::1]:30000", "gpu3", ""])
def test_an_address_without_a_scheme_says_so(verb: list[str], url: str) -> None:
    error = CliRunner().invoke(cli, [*verb, url]).exception
    assert isinstance(error, UsageError) and error.flaw is Misuse.MALFORMED
    assert "the scheme is missing" in str(error) and f"--url {url}:" in str(error)


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
def test_v1_at_the_end_means_the_server(end: str) -> None:
    url = f"http://127.0.0.1:18101{end}"
    assert watch_options.address(url) == "http://127.0.0.1:18101"
    client = Client(reach.address(url), "m", "")
    assert client.root == "http://127.0.0.1:18101"
    client.close()


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/v2", "http://127.0.0.1:1/v1/models", "http://127.0.0.1:1/v1?x=1"])
def test_what_the_watch_cannot_ask_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        watch_options.address(url)


@pytest.mark.parametrize(("given", "named"), [
    (["--slo", "foo=1s"], "--slo foo=1s: "), (["--slo", "ttft"], "--slo ttft: "), (["--slo", "ttft=x"], "--slo ttft"),
    (["--rate", "0"], "--rate 0: "), (["--rate", "0.5,x"], "--rate 0.5,x: "),
    (["--slo", "ttft=1s"], "--sustain"), (["--rate", "2"], "--sustain"),
])
def test_a_wrong_value_is_said_before_an_option_that_is_missing(given: list[str], named: str) -> None:
    error = CliRunner().invoke(cli, ["accept", "--url", "http://127.0.0.1:9", *given]).exception
    assert isinstance(error, UsageError) and named in str(error)
    assert named == "--sustain" or "--sustain" not in str(error)
