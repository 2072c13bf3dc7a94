"""The template tags for parts of pages."""

from django import forms
from django.template import engines


class Contact(forms.Form):
    name = forms.CharField()
    phone = forms.CharField(required=False)


def render(source: str, **context) -> str:
    return engines["django"].from_string(source).render(context)


def test_card_has_a_heading_a_note_and_a_body():
    text = render('{% card title id="jobs" note=note body_class="card-body" %}<p>none</p>{% endcard %}', title="A & B")

    assert '<h2 id="jobs">A &amp; B</h2></header>' in text
    assert '<div class="card-body"><p>none</p></div></section>' in text

    text = render('{% card "Jobs" id="jobs" note=note refresh="whole" %}<p>none</p>{% endcard %}', note="<3>")

    assert '<section class="card" aria-labelledby="jobs" id="jobs-card" data-refresh="whole">' in text
    assert '<h2 id="jobs">Jobs</h2><span class="muted small">&lt;3&gt;</span></header><p>none</p></section>' in text


def test_fields_are_shown_in_order_and_needed_ones_are_not_optional():
    text = render('{% fields form.phone form.name css_class="wide" %}', form=Contact())

    assert text.index('class="field field-phone wide"') < text.index('class="field field-name wide"')
    assert text.count('class="optional"') == 1
    assert 'class="optional"' not in render("{% fields form.phone needed=True %}", form=Contact())


def test_column_heads_align_a_slice_of_the_columns():
    text = render('{% column_heads "Job" "Took" "Tries" "By" actions="Actions" end="1:3" %}')

    assert 'scope="col">Job</th>' in text
    assert 'class="end">Took</th>' in text
    assert 'class="end">Tries</th>' in text
    assert 'scope="col">By</th>' in text
    assert '<span class="visually-hidden">Actions</span></th>' in text
