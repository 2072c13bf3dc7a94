"""What became of runs, in words."""

import pytest

from jobs.badges import lowercase_label


@pytest.mark.parametrize(
    "word, within",
    [
        ("Succeeded", "succeeded"),
        ("Wartet auf Genehmigung", "wartet auf Genehmigung"),
        ("İptal edildi", "iptal edildi"),
        ("Übersprungen", "übersprungen"),
        ("", ""),
    ],
)
def test_within_a_sentence_only_the_first_letter_is_small(word, within):
    assert lowercase_label(word) == within
