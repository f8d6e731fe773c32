"""Published models are checked before a run, each fault in one line that names file and key."""

import pytest

from posinfo.checks import check_presets
from posinfo.errors import InputError
from posinfo.schemas import load_yaml

RIGHT = """
name: Mine
config: {model_type: llama, head_dim: 64, max_position_embeddings: 2048, rope_theta: 10000.0}
sources:
  - {document: a, revision: b, place: c, gives: d}
"""


@pytest.fixture
def schema(root):
    return load_yaml(root / "workflow" / "schemas" / "preset.schema.yaml")


def test_a_right_one_passes(tmp_path, schema):
    path = tmp_path / "mine.yaml"
    path.write_text(RIGHT)
    check_presets([str(path)], schema, "models")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: Mine", "name: Mine\nbase: 3", "unknown key 'base'"),
        ("head_dim: 64", "head_dim: 63", "config: head_dim: rotates 63 dimensions"),
        ("gives: d", "given: d", "given"),
        ("rope_theta: 10000.0", "rope_theta: 1e4", "config: rope_theta: must be a number"),
    ],
)
def test_a_wrong_one_is_one_line(tmp_path, schema, old, new, said):
    path = tmp_path / "mine.yaml"
    assert old in RIGHT
    path.write_text(RIGHT.replace(old, new))
    with pytest.raises(InputError) as caught:
        check_presets([str(path)], schema, "models")
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_no_models_and_two_of_one_name(tmp_path, schema):
    with pytest.raises(InputError, match=r"models: holds no \.yaml file"):
        check_presets([], schema, "models")
    paths = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for path in paths:
        path.write_text(RIGHT)
    with pytest.raises(InputError, match="'Mine' is taken by"):
        check_presets([str(path) for path in paths], schema, "models")
