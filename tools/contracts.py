"""A contract for import-linter: the layers on top are built on the public API alone."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class PublicApiAlone(Contract):
    """The packages ``on_top`` import ``root`` and nothing that stands in it, but their own files and one another: what
    another of them shows, not the files in it.

    Packages that do not exist yet are passed over; a layer is held from its first file on.
    """

    type_name = "public_api_alone"

    root = fields.StringField()
    on_top = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        found = [
            (importer, imported)
            for layer in self.on_top  # type: ignore[attr-defined]  # a list, once the contract has read its options
            if layer in graph.modules
            for importer in sorted({layer, *graph.find_descendants(layer)})
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if imported.startswith(f"{self.root}.") and not f"{imported}.".startswith(f"{layer}.")
            if imported not in self.on_top  # type: ignore[operator]
        ]
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["found"]:
            output.print_error(
                f"{importer} imports {imported}: only `import {self.root}`, or another on top, is allowed here"
            )
