"""The pages for everybody who has an account: sign-in, sign-out, the account, subscriptions and tokens."""

from datetime import datetime

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.core.exceptions import BadRequest
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse_lazy
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext, override
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from accounts import languages
from accounts.errors import TooManyTokens
from accounts.forms import (
    MEMBER_ROLES,
    TOKEN_ROLES,
    AccountForm,
    ChangePasswordForm,
    DefaultSubscriptionForm,
    SignInForm,
    TokenForm,
)
from accounts.invitations import accept, decline, received
from accounts.models import MOST_TOKENS, ApiToken, Invitation, Role, Subscription, User


class SignIn(LoginView):
    """The sign-in page.  A viewer who is signed in already is redirected to the next page.

    For other viewers, the language in `?language=` is stored in the browser.
    """

    template_name = "account/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get(self, request, *args, **kwargs):
        if request.htmx:  # htmx asked for a part of a page after the session ended: reload the whole page
            return HttpResponseClientRefresh()
        if (code := request.GET.get("language")) in languages.CHOICES:
            response = HttpResponseRedirect(self.address)
            languages.remember(response, code)
            return response
        return super().get(request, *args, **kwargs)

    @property
    def address(self) -> str:
        """The address of this page, with the address of the next page."""
        next_url = self.get_redirect_url()
        if not next_url:
            return self.request.path
        return f"{self.request.path}?{urlencode({REDIRECT_FIELD_NAME: next_url})}"

    def get_redirect_url(self) -> str:  # type: ignore[override]  # the stubs describe a newer Django
        next_url = super().get_redirect_url()
        return "" if next_url.partition("?")[0] == self.request.path else next_url

    def get_context_data(self, **kwargs):
        after = {REDIRECT_FIELD_NAME: self.get_redirect_url()}
        choices = [(code, name, urlencode({"language": code, **after})) for code, name in settings.LANGUAGES]
        return super().get_context_data(**kwargs) | {"languages": choices}


sign_in = SignIn.as_view()
sign_out = LogoutView.as_view(template_name="account/signed_out.html")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account(request) -> HttpResponse:
    # a copy, because an invalid form changes it, and pages show request.user
    user = User.objects.get(pk=request.user.pk)
    form = AccountForm(request.POST or None, instance=user)
    if request.method == "POST" and form.is_valid() and form.save_unless_taken():
        request.user = user
        with override(languages.language_of(request)):
            messages.success(request, gettext("Saved."))
        return redirect("account:page")
    context = {"form": form, "invitations": received(user, timezone.now()), "title": gettext("Account")}
    return render(request, "account/page.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def subscriptions(request) -> HttpResponse:
    """Show the user's memberships and invitations, and change the default subscription."""
    form = DefaultSubscriptionForm(request.POST or None, instance=User.objects.get(pk=request.user.pk))
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, gettext("Saved."))
        return redirect("account:subscriptions")
    memberships = request.user.membership_set.select_related("subscription").order_by("subscription__name")
    context = {
        "form": form,
        "memberships": [(membership.subscription, MEMBER_ROLES[membership.role]) for membership in memberships],
        "invitations": [
            (invitation, MEMBER_ROLES[Role(invitation.role)]) for invitation in received(request.user, timezone.now())
        ],
        "title": gettext("Subscriptions"),
    }
    return render(request, "account/subscriptions.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request, pk: int) -> HttpResponse:
    """Ask the user to accept or decline an invitation.  One to somebody else, or one that has expired, is a 404."""
    now = timezone.now()
    found = get_object_or_404(received(request.user, now), pk=pk)
    if request.method == "POST":
        return answer_invitation(request, found, now)
    context = {
        "invitation": found,
        "role": MEMBER_ROLES[Role(found.role)],
        "default": Subscription.objects.visible_to(request.user, Role.OPERATOR).default_of(request.user),
        "title": gettext("Invitation to %(subscription)s") % {"subscription": found.subscription},
    }
    return render(request, "account/invitation.html", context)


def answer_invitation(request, found: Invitation, now: datetime) -> HttpResponse:
    answer, named = request.POST.get("answer"), {"subscription": found.subscription}
    if answer == "decline":
        decline(found)
        messages.success(request, gettext("Declined: %(subscription)s.") % named)
    elif answer == "accept" and accept(found, request.user, now):
        messages.success(request, gettext("You are now a member of %(subscription)s.") % named)
    else:
        raise BadRequest("answer: must be accept or decline, while the invitation is open")
    return redirect("account:subscriptions")


class ChangePassword(PasswordChangeView):
    template_name = "account/password.html"
    form_class = ChangePasswordForm
    success_url = reverse_lazy("account:page")

    def get_form_kwargs(self):
        kwargs = super().get_form_kwargs()
        del kwargs["user"]
        return kwargs | {"request": self.request}

    def form_valid(self, form):
        response = super().form_valid(form)
        changed = gettext("Password changed. Your other sessions are signed out.")
        messages.success(self.request, f"{changed} {revoked_words(form.revoked_count)}".rstrip())
        return response


def revoked_words(count: int) -> str:
    if not count:
        return ""
    return ngettext("%(count)d API token was revoked.", "%(count)d API tokens were revoked.", count) % {"count": count}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request) -> HttpResponse:
    form = TokenForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            return issued(request, *form.issue(request.user))
        except TooManyTokens:
            form.add_error(
                None, gettext("An account has at most %(most)d tokens; revoke one first") % {"most": MOST_TOKENS}
            )
    rows = [(token, TOKEN_ROLES[token.role]) for token in request.user.apitoken_set.order_by("-created_at")]
    context = {"form": form, "tokens": rows, "now": timezone.now(), "title": gettext("API tokens")}
    return render(request, "account/tokens.html", context)


def issued(request, token: ApiToken, text: str) -> HttpResponse:
    """Show the text of a new token.  Only this page shows it: it is in no message, session or cookie."""
    response = render(request, "account/token.html", {"token": token, "text": text, "title": token.name})
    add_never_cache_headers(response)
    return response


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request, pk: int) -> HttpResponse:
    token = get_object_or_404(request.user.apitoken_set, pk=pk)
    if request.method == "POST":
        token.delete()
        messages.success(request, gettext("Revoked: %(token)s.") % {"token": token})
        return redirect("account:tokens")
    return render(request, "account/revoke.html", {"token": token, "title": gettext("Revoke a token")})


app_name = "account"
urlpatterns = [
    path("sign-in/", sign_in, name="sign-in"),
    path("sign-out/", sign_out, name="sign-out"),
    path("account/", account, name="page"),
    path("account/password/", ChangePassword.as_view(), name="password"),
    path("account/subscriptions/", subscriptions, name="subscriptions"),
    path("account/invitations/<int:pk>/", invitation, name="invitation"),
    path("account/tokens/", tokens, name="tokens"),
    path("account/tokens/<int:pk>/revoke/", revoke, name="revoke"),
]
