"""The pages of everybody who has an account: sign-in, sign-out, what they may change of themselves, their tokens."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse_lazy
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.http import urlencode
from django.utils.translation import gettext, override
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from accounts import languages
from accounts.forms import TOKEN_ROLES, AccountForm, SignInForm, TokenForm
from accounts.models import ApiToken, Role, User


class SignIn(LoginView):
    """Whoever is signed in already is led on.  `?language=` is kept in the browser, for who is not."""

    template_name = "account/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get(self, request, *args, **kwargs):
        if request.htmx:  # a part of a page was asked for after the session had ended: the whole page comes here
            return HttpResponseClientRefresh()
        if (code := request.GET.get("language")) in languages.CHOICES:
            response = HttpResponseRedirect(self.address)
            languages.remember(response, code)
            return response
        return super().get(request, *args, **kwargs)

    @property
    def address(self) -> str:
        """This page's, with where it leads to."""
        on = self.get_redirect_url()
        return f"{self.request.path}?{urlencode({REDIRECT_FIELD_NAME: on})}" if on else self.request.path

    def get_redirect_url(self) -> str:  # type: ignore[override]  # the stubs describe a newer Django
        on = super().get_redirect_url()
        return "" if on.partition("?")[0] == self.request.path else on

    def get_context_data(self, **kwargs):
        on = {REDIRECT_FIELD_NAME: self.get_redirect_url()}
        choices = [(code, name, urlencode({"language": code, **on})) for code, name in settings.LANGUAGES]
        return super().get_context_data(**kwargs) | {"languages": choices}


sign_in = SignIn.as_view()
sign_out = LogoutView.as_view(template_name="account/signed_out.html")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account(request) -> HttpResponse:
    user = User.objects.get(pk=request.user.pk)  # one of its own: the page still tells who is there, whatever is sent
    form = AccountForm(request.POST or None, instance=user)
    if request.method == "POST" and form.is_valid():
        request.user = form.save()
        with override(languages.language_of(request)):
            messages.success(request, gettext("Saved."))
        return redirect("account:page")
    return render(request, "account/page.html", {"form": form, "title": gettext("Account")})


class ChangePassword(PasswordChangeView):
    template_name = "account/password.html"
    success_url = reverse_lazy("account:page")

    def form_valid(self, form):
        messages.success(
            self.request,
            gettext("From now on, sign in with the new password. Other sessions of yours have ended."),
        )
        return super().form_valid(form)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request) -> HttpResponse:
    form = TokenForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        return issued(request, form.cleaned_data)
    rows = [(token, TOKEN_ROLES[token.role]) for token in request.user.apitoken_set.order_by("-created_at")]
    context = {"form": form, "tokens": rows, "now": timezone.now(), "title": gettext("API tokens")}
    return render(request, "account/tokens.html", context)


def issued(request, wanted: dict) -> HttpResponse:
    """Make a token and show its text, this once; it is in no message, session or cookie."""
    token, text = ApiToken.objects.issue(request.user, wanted["name"], wanted["expires_at"], Role(wanted["role"]))
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
    path("account/tokens/", tokens, name="tokens"),
    path("account/tokens/<int:pk>/revoke/", revoke, name="revoke"),
]
