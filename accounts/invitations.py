"""Invite people to a subscription.  A person becomes a member by accepting; nobody else can accept for this person.

The owner of a subscription learns nothing about other users: an invitation looks the same whether or not its text names
a user, and whether the user has declined it or not answered yet.
"""

from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from accounts.models import Invitation, Membership, Role, Subscription, User, users_with_email

LIFETIME = timedelta(days=14)
MAX_OPEN_INVITATIONS = 50  # of one subscription


def invite(subscription: Subscription, addressee: str, role: Role, owner: User, now: datetime) -> Invitation:
    """Offer `role` to the person whose exact user name or e-mail address is `addressee`.

    Raises ValidationError if the person is a member already, the same text is invited already, or the subscription has
    MAX_OPEN_INVITATIONS open invitations.
    """
    with transaction.atomic():
        Subscription.objects.select_for_update(no_key=True).get(pk=subscription.pk)
        invitations = Invitation.objects.filter(subscription=subscription)
        invitations.exclude(pk__in=invitations.open(now)).delete()
        user = find_person(addressee)
        if Membership.objects.filter(subscription=subscription, user=user).exists():
            raise ValidationError("This person is a member already", "member")
        if invitations.filter(addressee=addressee).exists():
            raise ValidationError("This person is invited already", "invited")
        if invitations.count() >= MAX_OPEN_INVITATIONS:
            raise ValidationError(f"At most {MAX_OPEN_INVITATIONS} invitations can be open; withdraw one", "too_many")
        return invitations.create(
            subscription=subscription,
            addressee=addressee,
            user=user,
            role=role,
            invited_by=owner,
            created_at=now,
            expires_at=now + LIFETIME,
        )


def find_person(addressee: str) -> User | None:
    """Return the active user with this user name, else the only active one with this e-mail address, else None.

    It takes one query in every case.
    """
    by_address = users_with_email(addressee).values("pk")
    matching = User.objects.filter(Q(username=addressee) | Q(pk__in=by_address), is_active=True)
    people = list(matching)
    with_name = [person for person in people if person.username == addressee]
    found = with_name or people
    return found[0] if len(found) == 1 else None


def received(user: User, now: datetime):
    """Return the open invitations to `user`, the one that expires first at the top."""
    rows = Invitation.objects.open(now).filter(user=user)
    return rows.select_related("subscription", "invited_by").order_by("expires_at", "pk")


def accept(invitation: Invitation, user: User, now: datetime) -> bool:
    """Make `user` a member and return True; return False if the invitation was withdrawn, declined or has expired.

    Requests of this person that name no subscription continue to write to the same subscription.
    """
    with transaction.atomic():
        still_open = Invitation.objects.select_for_update().open(now)
        current = still_open.filter(pk=invitation.pk, user=user).first()
        if current is None:
            return False
        keep_default_subscription(user)
        Membership.objects.get_or_create(subscription=current.subscription, user=user, defaults={"role": current.role})
        Invitation.objects.filter(subscription=current.subscription, user=user).delete()
    return True


def decline(invitation: Invitation) -> None:
    """Stop offering the invitation to its person.  For the owner the invitation stays open until it expires."""
    Invitation.objects.filter(pk=invitation.pk).update(user=None)


def keep_default_subscription(user: User) -> None:
    """Store the subscription to which requests of `user` write that name none.

    Call it before the user gets a further membership or role.  Otherwise a second subscription that the user may write
    to makes such requests ambiguous.
    """
    only = Subscription.objects.visible_to(user, Role.OPERATOR).default_of(user)
    if only is not None:
        User.objects.filter(pk=user.pk, default_subscription=None).update(default_subscription=only)
