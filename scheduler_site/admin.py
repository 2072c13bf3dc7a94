"""The operators' site: Django's own admin in Quando's look."""

from django.contrib import admin


class QuandoAdminSite(admin.AdminSite):
    site_title = "Quando"
    site_header = "Quando"
    index_title = "Home"
