"""The key that signs a repository. It is judged by its fingerprint, not by where it came from."""

from __future__ import annotations

import os

from ansible.module_utils.tunecheck.parsers.packages import openpgp
from ansible.module_utils.urls import fetch_url

__all__ = ["key_material", "same_key"]

_DEADLINE = 30


def _local(path):
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except OSError:
        return None


def _fetched(module, url):
    if url.startswith("file://"):
        return _local(url[len("file://"):])
    response, _info = fetch_url(module, url, timeout=_DEADLINE)
    return response.read() if response is not None and _info.get("status") == 200 else None


def _refusal(content, fingerprint):
    """Return why these bytes are not the key, or None."""
    try:
        found = openpgp.fingerprints(content)
    except ValueError as error:
        return "it is no usable key: " + str(error)
    if not content.lstrip().startswith(b"-----BEGIN"):
        return "it is not armored; make it so with gpg --enarmor"
    return None if found == (fingerprint,) else "its fingerprint is " + ", ".join(found)


def key_material(module, repository, shipped, path, variable="nvidia_driver_key_file"):
    """Return (bytes, ""), or (None, why not). Tried in turn: what the play ships (``variable`` names its file), what
    stands at ``path``, ``key_url``, and key.asc in a mirror's root. Every primary key in the file must be the expected
    one: apt trusts all of them."""
    if not repository.fingerprint:
        return None, ("no fingerprint is known for the key of %s%s. Expected 40 hex digits; set "
                      "box_spec.driver.mirror_fingerprint." %
                      (repository.url, repository.note and ": " + repository.note))
    wanted = repository.fingerprint.upper()
    urls = [repository.key_url] if repository.key_url else []
    urls.append(repository.url.rstrip("/") + "/key.asc")
    tried = []
    for place, read in (("the key that the play ships", lambda: shipped.encode() if shipped else None),
                        (path, lambda: _local(path)), *((url, lambda url=url: _fetched(module, url)) for url in urls)):
        content = read()
        if content is None:
            tried.append(place + " (not there)")
            continue
        refusal = _refusal(content, wanted)
        if refusal is None:
            return content, ""
        # A key that was put there deliberately and is another one is not passed over in silence.
        if place != path:
            return None, ("the key of %s from %s is not the expected one: %s; expected %s. Compare the fingerprint "
                          "with the one its owner publishes." % (repository.url, place, refusal, wanted))
        tried.append("%s (%s)" % (place, refusal))
    return None, ("no key for %s; looked at %s. Put its armored key on the control node and set %s."
                  % (repository.url, ", ".join(tried), variable))


def same_key(path, content):
    """Return whether the key file holds these bytes already."""
    return os.path.exists(path) and _local(path) == content
