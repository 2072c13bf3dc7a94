"""The import contract of the project, run by `lint-imports`: see `tool.importlinter` in pyproject.toml."""

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class LayersOfApps(Contract):
    """Each core imports only cores of lower layers, no core imports a surface, and nothing imports `root`.

    `layers` are the packages from top to bottom.  `surfaces` are modules of these packages, with all modules in them;
    every other module of a package is its core.  A surface may import every core and every surface.
    """

    root = fields.StringField()
    layers = fields.ListField(subfield=fields.StringField())
    surfaces = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        missing = [name for name in self.surfaces if name not in graph.modules]
        wrong = [
            f"{importer} -> {imported}"
            for importer in sorted(graph.modules)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if not self._is_allowed(importer, imported)
        ]
        return ContractCheck(kept=not missing and not wrong, metadata={"missing": missing, "wrong": wrong})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for name in check.metadata["missing"]:
            output.print_error(f"{name} is listed in surfaces, but there is no such module")
        for text in check.metadata["wrong"]:
            output.print_error(f"not allowed: {text}")

    def _is_allowed(self, importer: str, imported: str) -> bool:
        package, other = importer.split(".")[0], imported.split(".")[0]
        if package not in self._ranks:
            return True
        if other not in self._ranks:
            return other != self.root
        if self._is_surface(importer):
            return True
        return not self._is_surface(imported) and (package == other or self._ranks[package] < self._ranks[other])

    def _is_surface(self, module: str) -> bool:
        return any(module == name or module.startswith(f"{name}.") for name in self.surfaces)

    @property
    def _ranks(self) -> dict[str, int]:
        """The position of each package in `layers`, 0 at the top."""
        return {name.strip(): rank for rank, line in enumerate(self.layers) for name in line.split("|")}
