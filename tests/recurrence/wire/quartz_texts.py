"""Hypothesis strategies of valid Quartz expressions."""

from hypothesis import strategies as st

MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


@st.composite
def items(draw, low, high, step_limit, names=(), wraps=True):
    def value(number=None):
        number = draw(st.integers(low, high)) if number is None else number
        if names and draw(st.booleans()):
            return draw(st.sampled_from([names[number - low], names[number - low].lower()]))
        return draw(st.sampled_from([str(number), f"0{number}"])) if draw(st.integers(0, 9)) == 0 else str(number)

    step = f"/{draw(st.integers(1, min(step_limit, 9)) | st.integers(1, step_limit))}"
    form = draw(st.sampled_from(["n", "n", "*", "*/s", "/s", "n/s", "a-b", "a-b/s"]))
    if "-" not in form:
        return form.replace("n", value()).replace("/s", step)
    first, last = draw(st.integers(low, high)), draw(st.integers(low, high))
    if not wraps:
        first, last = sorted((first, last))
    return f"{value(first)}-{value(last)}" + (step if "s" in form else "")


def lists(*limits, **options):
    one = items(*limits, **options)
    return one | st.lists(one, min_size=1, max_size=4).map(",".join)


def hours():
    return st.sampled_from(["*", "0", "1", "2", "3", "23", "1,2", "2,3", "0-3"]) | lists(0, 23, 23)


def days():
    """Draw the day of month and the day of week."""
    month_days = lists(1, 31, 31) | st.sampled_from(["*", "L", "l", "LW"])
    before = st.integers(0, 30)
    from_the_end = st.builds("L-{}{}".format, before, st.sampled_from(["", "W", "w"]))
    near = st.integers(1, 31).map("{}W".format)
    weekday = st.integers(1, 7).map(str) | st.sampled_from(WEEKDAYS)
    weekdays = (
        lists(1, 7, 7, names=WEEKDAYS)
        | st.just("L")
        | weekday.map("{}L".format)
        | st.builds("{}#{}".format, weekday, st.integers(1, 5))
    )
    return (month_days | from_the_end | near).map(lambda text: (text, "?")) | weekdays.map(lambda text: ("?", text))


def years():
    return st.sampled_from(["", "", "", " *"]) | lists(1970, 2099, 200, wraps=False).map(" {}".format)


@st.composite
def expressions(draw, days=days(), months=None, years=years()):  # noqa: B008 - a strategy is a value
    second = draw(st.sampled_from(["0", "0", "*", "30", "0,30"]) | lists(0, 59, 59))
    minute, hour = draw(lists(0, 59, 59)), draw(hours())
    day_of_month, day_of_week = draw(days)
    month = draw(st.just("*") | lists(1, 12, 12, names=MONTHS) if months is None else months)
    return f"{second} {minute} {hour} {day_of_month} {month} {day_of_week}{draw(years)}"


def expressions_of_every_day():
    """Draw expressions for (nearly) every day, to test times."""
    return expressions(
        days=st.sampled_from([("*", "?"), ("?", "*"), ("?", "SUN")]), months=st.just("*"), years=st.just("")
    )
