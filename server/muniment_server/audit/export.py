"""The file form of an exported trail, and its check by whoever has the file and the public keys.

One JSON object a line: a header, events and checkpoints in order, a trailer. Digests, keys and
signatures are hexadecimal; "canonical" and "signed" are the exact texts that are hashed and signed, as
UTF-8. Nothing of the service is needed to check it: see `ExportCheck` for the whole rule.
"""

from collections.abc import Mapping
from typing import Any

from muniment_server.crypto.signing import key_id_of, verify_checkpoint

from .canonical import CanonicalError, chain_digest, parse_canonical


class ExportCheck:
    """Checks the lines of an export in their order; `faults` grows, `end` must be called last.

    trusted: public keys (32 bytes) got by another way, by their ids. Without any, the keys in the export
    are believed, and a whole forged export cannot be told from a genuine one.
    """

    def __init__(self, trusted: Mapping[str, bytes] | None = None) -> None:
        self.faults: list[str] = []
        self.events = 0
        self.signed_through = 0
        self._trusted = trusted
        self._keys: dict[str, bytes] = {}
        self._tenant_id = ""
        self._digests: dict[int, bytes] = {}
        self._sequence = 0
        self._digest = b""
        self._begun = False
        self._ended = False

    def line(self, line: Mapping[str, Any]) -> None:
        """Take the next line; a malformed one is a fault, not an exception."""
        try:
            match line.get("type"):
                case "header":
                    self._header(line)
                case "event":
                    self._event(line)
                case "checkpoint":
                    self._checkpoint(line)
                case "trailer":
                    self._trailer(line)
                case _:
                    self.faults.append("a line of an unknown type")
        except (KeyError, TypeError, ValueError, OverflowError):
            self.faults.append(f"a malformed line after event {self._sequence}")

    def end(self) -> list[str]:
        """All faults, an export that was cut off included."""
        if not self._begun:
            self.faults.append("there is no header")
        if not self._ended:
            self.faults.append("there is no trailer: the export was cut off")
        return self.faults

    def _header(self, line: Mapping[str, Any]) -> None:
        self._begun = True
        self._tenant_id = line["tenant_id"]
        self._sequence = max(0, line["first_sequence"] - 1)
        self._digest = bytes.fromhex(line["first_prev_digest"])
        for key_id, public in line["signing_keys"].items():
            raw = bytes.fromhex(public)
            if key_id_of(raw) != key_id:
                self.faults.append(f"the signing key {key_id} is not the key of this id")
            elif self._trusted is None or self._trusted.get(key_id) == raw:
                self._keys[key_id] = raw

    def _event(self, line: Mapping[str, Any]) -> None:
        sequence, canonical = line["sequence"], line["canonical"].encode()
        digest = bytes.fromhex(line["digest"])
        self.events += 1
        if sequence != self._sequence + 1:
            self.faults.append(f"event {sequence} follows event {self._sequence}")
        elif bytes.fromhex(line["prev_digest"]) != self._digest:
            self.faults.append(f"event {sequence} does not follow the event before it")
        elif chain_digest(self._digest, sequence, canonical) != digest:
            self.faults.append(f"event {sequence} is not the one that was chained there")
        else:
            self._stated(sequence, line["event_id"], canonical)
        self._sequence, self._digest = sequence, digest
        self._digests[sequence] = digest

    def _stated(self, sequence: int, event_id: str, canonical: bytes) -> None:
        try:
            stated = parse_canonical(canonical)
        except CanonicalError:
            self.faults.append(f"event {sequence} is not in canonical form")
            return
        if stated.get("tenant_id") != self._tenant_id or stated.get("event_id") != event_id:
            self.faults.append(f"event {sequence} says another tenant or id than the export")

    def _checkpoint(self, line: Mapping[str, Any]) -> None:
        sequence, signed = line["sequence"], line["signed"].encode()
        public = self._keys.get(line["signing_key_id"])
        if public is None:
            self.faults.append(f"the checkpoint at {sequence} is signed by a key that is not trusted")
            return
        if not verify_checkpoint(public, signed, bytes.fromhex(line["signature"])):
            self.faults.append(f"the signature of the checkpoint at {sequence} does not hold")
            return
        stated = parse_canonical(signed)
        digest = self._digests.get(sequence)
        if (
            stated.get("tenant_id") != self._tenant_id
            or stated.get("sequence") != sequence
            or digest is None
            or stated.get("digest") != digest.hex()
        ):
            self.faults.append(f"the checkpoint at {sequence} was signed for another chain")
            return
        self.signed_through = max(self.signed_through, sequence)

    def _trailer(self, line: Mapping[str, Any]) -> None:
        self._ended = True
        if line["event_count"] != self.events:
            self.faults.append(f"{line['event_count']} events were sent and {self.events} are here")
        if self.events and bytes.fromhex(line["last_digest"]) != self._digest:
            self.faults.append("the trailer names another last event")
