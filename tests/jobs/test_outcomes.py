"""Labels of the results of runs."""

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
def test_label_within_a_sentence_has_a_lowercase_first_letter(word, within):
    assert lowercase_label(word) == within
