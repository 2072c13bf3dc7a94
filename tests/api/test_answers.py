"""Answers: the members that are rendered are those that are declared."""

from dataclasses import dataclass

import pytest
from rest_framework.serializers import CharField, IntegerField

from api.answers import GIVEN, Answer, Member
from api.fields import Document, TextField


@dataclass(frozen=True)
class Owner:
    name: str


@dataclass(frozen=True)
class Machine:
    id: int
    host_name: str
    owner: Owner | None = None
    earlier_owners: tuple[Owner, ...] = ()


class OwnerAnswer(Answer):
    name = Member(CharField, "The name.", example="ada")


class MachineAnswer(Answer):
    id = Member(IntegerField, "The id.", example=1)
    hostName = Member(CharField, "The name of the host.", example="db-2")
    label = Member(CharField, "The name in capitals.", lambda machine: machine.host_name.upper(), example="DB-2")
    ownerName = Member(CharField, "The name of the owner.", "owner.name", example="ada")
    from_ = Member(CharField, "Where it is.", GIVEN, example="Berlin")
    note = Member(CharField, "What was noted.", required=False, example="old")


class FamilyAnswer(Answer):
    owner = Member(OwnerAnswer, "The owner.", nullable=True)
    earlierOwners = Member(OwnerAnswer, "The owners before.", many=True)


MACHINE = Machine(7, "db-2", Owner("ada"), (Owner("bob"), Owner("carol")))


def test_members_are_read_by_their_names_paths_and_functions():
    assert MachineAnswer.render(MACHINE, **{"from": "Berlin"}) == {
        "id": 7,
        "hostName": "db-2",
        "label": "DB-2",
        "ownerName": "ada",
        "from": "Berlin",
    }


def test_rows_are_read_by_column():
    class RowAnswer(Answer):
        jobName = Member(CharField, "The name.", example="x")
        collection = Member(CharField, "The collection.", "collection__name", example="x")
        kind = Member(CharField, "Its kind.", lambda row: row["type"].lower(), example="x")
        parent = Member(CharField, "Its parent.", GIVEN, example="x")

    row = {"job_name": "backup", "collection__name": "nightly", "type": "HTTP"}

    assert RowAnswer.columns() == ["job_name", "collection__name"]
    assert RowAnswer.render(row, parent=None) == {
        "jobName": "backup",
        "collection": "nightly",
        "kind": "http",
        "parent": None,
    }


def test_answers_within_answers_are_rendered():
    assert FamilyAnswer.render(MACHINE) == {
        "owner": {"name": "ada"},
        "earlierOwners": [{"name": "bob"}, {"name": "carol"}],
    }
    assert FamilyAnswer.render(Machine(1, "a")) == {"owner": None, "earlierOwners": []}


def test_given_values_are_not_read_from_the_source():
    assert OwnerAnswer.render(Owner("ada"), name="bob") == {"name": "bob"}
    assert OwnerAnswer.render(name="bob") == {"name": "bob"}


def test_optional_member_is_left_out_unless_it_is_given():
    given = {"from": "Berlin", "note": "old"}

    assert list(MachineAnswer.render(MACHINE, **given)) == list(MachineAnswer.members)


def test_value_that_no_member_declares_is_refused():
    with pytest.raises(TypeError, match="OwnerAnswer declares no Member age"):
        OwnerAnswer.render(Owner("ada"), age=36)


def test_member_that_is_not_given_is_refused():
    with pytest.raises(TypeError, match=r"MachineAnswer.render\(\) needs from"):
        MachineAnswer.render(MACHINE)


def test_field_that_is_not_a_member_is_refused():
    class MixedAnswer(OwnerAnswer):
        age = IntegerField()

    with pytest.raises(TypeError, match="MixedAnswer declares no Member age"):
        MixedAnswer.render(Owner("ada"))


def test_members_of_a_base_class_come_first_and_can_be_replaced():
    class LoudAnswer(OwnerAnswer):
        id = Member(IntegerField, "The id.", GIVEN, example=1)
        name = Member(CharField, "The name.", lambda owner: owner.name.upper(), example="ADA")

    class LouderAnswer(LoudAnswer):
        age = Member(IntegerField, "The age.", GIVEN, example=36)

    assert LouderAnswer.render(Owner("ada"), id=1, age=36) == {"id": 1, "name": "ADA", "age": 36}
    assert OwnerAnswer.render(Owner("ada")) == {"name": "ada"}


def test_answer_that_is_also_a_request_is_read():
    class Share(Answer, Document):
        name = Member(TextField, "The name.", max_length=3, example="ada")

    assert Share.render(Owner("ada")) == {"name": "ada"}
    assert Share(data={"name": "ada"}).is_valid()
    assert not Share(data={"name": "adam"}).is_valid()
